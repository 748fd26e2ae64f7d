"""States of the diseases drawn from a posterior, and what a question would tell of them."""

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.flat import FlatNetwork
from noisyor.inference.gibbs_kernels import Sampling, run_chain, settle_chains
from noisyor.inference.piece_kernels import parents_of
from noisyor.inference.random_kernels import next_uniform
from noisyor.inference.record_kernels import (
    Booleans,
    Listed,
    Workspace,
    is_active,
    make_piece,
    open_findings,
    present_of,
    weigh_absent,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def draw_states(
    net: FlatNetwork,
    symptoms: Listed,
    is_present: Booleans,
    others_unknown: bool,
    sampling: Sampling,
    random: np.uint64,
    workspace: Workspace,
    states: Booleans,
) -> None:
    """Fill in draws x diseases, of a record that is possible.

    The draws are dealt to the chains; between two of a chain are `n_sweeps` sweeps.
    """
    weigh_absent(net, symptoms, is_present, others_unknown, workspace)
    present = present_of(symptoms, is_present)
    n_pieces = open_findings(net, present, workspace)
    n_draws = len(states)
    for number in range(n_pieces):
        piece, diseases, _, _ = make_piece(net, present, number, workspace)
        parents = parents_of(piece)
        n_first = n_draws // sampling.n_chains // 4
        chains, random = settle_chains(piece, parents, sampling.n_chains, n_first, random)
        for part in range(sampling.n_chains):
            chain = chains[part]
            first = part * n_draws // sampling.n_chains
            last = (part + 1) * n_draws // sampling.n_chains
            for draw in range(first, last):
                random = run_chain(piece, parents, chain, sampling.n_sweeps, random)
                for d in range(len(diseases)):
                    states[draw, diseases[d]] = chain.is_on[d]
    for draw in range(n_draws):
        for disease in range(len(net.priors)):
            if workspace.n_open[disease] == 0:
                random, uniform = next_uniform(random)
                states[draw, disease] = uniform < workspace.on[disease]
        for j in present:
            random = draw_merged(net, j, workspace, states[draw], random)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def draw_merged(
    net: FlatNetwork, j: int, workspace: Workspace, state: Booleans, random: np.uint64
) -> np.uint64:
    """Draw the diseases that have one present finding only, given the others.

    Either the leak or another disease explains the finding, and they are as without it; or one of
    them must, and they are asked in turn.
    """
    first, last = net.parent_offsets[j], net.parent_offsets[j + 1]
    silent = np.ones(last - first + 1)  # P(none of the merged diseases from here on causes it)
    others, explained = 1.0 - net.leaks[j], net.leaks[j]
    for index in range(last - 1, first - 1, -1):
        edge, disease = net.parent_edges[index], net.parent_diseases[index]
        silent[index - first] = silent[index - first + 1]
        if workspace.n_open[disease] == 1 and is_active(net, edge, disease, workspace):
            silent[index - first] *= 1.0 - workspace.on[disease] * (1.0 - net.failures[edge])
        elif workspace.piece_of[disease] >= 0 and state[disease]:
            explained += others * (1.0 - net.failures[edge])
            others *= net.failures[edge]
    random, uniform = next_uniform(random)
    is_explained = uniform * (explained + others * (1.0 - silent[0])) < explained
    for index in range(first, last):
        edge, disease = net.parent_edges[index], net.parent_diseases[index]
        if workspace.n_open[disease] != 1 or not is_active(net, edge, disease, workspace):
            continue
        on, f = workspace.on[disease], net.failures[edge]
        chance = on * (1.0 - f)
        random, uniform = next_uniform(random)
        if not is_explained and uniform * (1.0 - silent[index - first]) < chance:
            state[disease] = is_explained = True
            continue
        random, uniform = next_uniform(random)
        state[disease] = uniform < (on if is_explained else on * f / (1.0 - chance))
    return random


@numba.njit(nogil=True, cache=True, error_model="numpy")
def inform(
    net: FlatNetwork,
    child_offsets: Integers,
    edge_symptoms: Integers,
    states: Booleans,
    chances: Floats,
    gains: Floats,
) -> None:
    """Write P(present) of every symptom, and the bits that asking for it tells of the diseases.

    That is the entropy of the answer, less what it has left if the diseases are known.
    """
    n_draws, n_symptoms = states.shape[0], len(net.leaks)
    logs, is_touched = np.empty(n_symptoms), np.zeros(n_symptoms, dtype=np.bool_)
    touched = np.empty(n_symptoms, dtype=np.int64)
    n_times = np.zeros(n_symptoms)
    chances[:], gains[:] = 0.0, 0.0
    for draw in range(n_draws):
        n_touched = 0
        for disease in range(len(net.priors)):
            if states[draw, disease]:
                for edge in range(child_offsets[disease], child_offsets[disease + 1]):
                    j = edge_symptoms[edge]
                    if not is_touched[j]:
                        is_touched[j], logs[j] = True, net.log_silent[j]
                        touched[n_touched] = j
                        n_touched += 1
                    is_sure = net.failures[edge] == 0.0 or net.is_certain[j]
                    logs[j] += -np.inf if is_sure else net.log_failures[edge]
        for index in range(n_touched):
            j = touched[index]
            is_touched[j] = False
            n_times[j] += 1.0
            chance = -np.expm1(logs[j])
            chances[j] += chance
            gains[j] -= entropy(chance)
    for j in range(n_symptoms):
        rest = n_draws - n_times[j]
        chances[j] = (chances[j] + rest * net.leaks[j]) / n_draws
        left = (gains[j] - rest * entropy(net.leaks[j])) / n_draws
        gains[j] = max(entropy(chances[j]) + left, 0.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def entropy(p: float) -> float:
    """Return the entropy of a yes or no, in bits."""
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return float(-(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p)))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def entropies(chances: Floats) -> Floats:
    """Return the entropy of each yes or no, in bits."""
    found = np.empty(len(chances))
    for j in range(len(chances)):
        found[j] = entropy(chances[j])
    return found
