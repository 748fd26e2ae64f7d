"""States of the diseases drawn from a posterior, and what a question would say of them."""

import numpy as np

from noisyor.inference import record_kernels
from noisyor.inference.flat import Booleans, Evidence, FlatNetwork, Floats
from noisyor.inference.gibbs_kernels import Random, next_uniform, run_chain, settle_chains
from noisyor.inference.record_kernels import Workspace, is_active
from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import new_floats, new_integers, new_marks, new_zeros


@kernel
def draw_states(
    net: FlatNetwork, evidence: Evidence, n_draws: int, n_chains: int, random: Random
) -> Booleans:
    """Return draws x diseases, of a record that is possible.

    The draws are dealt to the chains; between two of a chain each disease is drawn once.
    """
    workspace = record_kernels.new_workspace(net)
    record_kernels.weigh_absent(net, evidence, workspace)
    present = record_kernels.present_of(evidence)
    states = np.zeros((n_draws, len(net.priors)), dtype=np.bool_)
    for number in range(record_kernels.open_findings(net, present, workspace)):
        piece, diseases, _, _ = record_kernels.make_piece(net, present, number, workspace)
        chains = settle_chains(piece, n_chains, n_draws // n_chains // 4, random)
        for part in range(n_chains):
            for draw in range(part * n_draws // n_chains, (part + 1) * n_draws // n_chains):
                run_chain(piece, chains[part], 1, random)
                for d in range(len(diseases)):
                    states[draw, diseases[d]] = chains[part].is_on[d]
    for draw in range(n_draws):
        for disease in range(len(net.priors)):
            if workspace.n_open[disease] == 0:
                states[draw, disease] = next_uniform(random) < workspace.on[disease]
        for j in present:
            draw_merged(net, j, workspace, states[draw], random)
    return states


@kernel
def draw_merged(
    net: FlatNetwork, j: int, workspace: Workspace, state: Booleans, random: Random
) -> None:
    """Draw the diseases that have one present finding only, given the others.

    Either the leak or another disease explains the finding, and they are as without it; or one of
    them must, and they are asked in turn.
    """
    first, last = net.parent_offsets[j], net.parent_offsets[j + 1]
    # P(one of the merged diseases from here on causes it); added up, as 1 minus it would lose it.
    causing = new_zeros(last - first + 1)
    others, explained = 1.0 - net.leaks[j], net.leaks[j]
    for index in range(last - 1, first - 1, -1):
        edge, disease = net.parent_edges[index], net.parent_diseases[index]
        causing[index - first] = causing[index - first + 1]
        if workspace.n_open[disease] == 1 and is_active(net, edge, disease, workspace):
            chance = workspace.on[disease] * (1.0 - net.failures[edge])
            causing[index - first] = chance + (1.0 - chance) * causing[index - first + 1]
        elif workspace.piece_of[disease] >= 0 and state[disease]:
            explained += others * (1.0 - net.failures[edge])
            others *= net.failures[edge]
    is_explained = next_uniform(random) * (explained + others * causing[0]) < explained
    for index in range(first, last):
        edge, disease = net.parent_edges[index], net.parent_diseases[index]
        if workspace.n_open[disease] != 1 or not is_active(net, edge, disease, workspace):
            continue
        on, f = workspace.on[disease], net.failures[edge]
        chance = on * (1.0 - f)
        uniform = next_uniform(random)
        if not is_explained and uniform * causing[index - first] < chance:
            state[disease] = is_explained = True
            continue
        chance = on if is_explained else on * f / (1.0 - chance)
        state[disease] = next_uniform(random) < chance


@kernel
def ask(
    net: FlatNetwork, evidence: Evidence, n_draws: int, random: Random
) -> tuple[Floats, Floats]:
    """Return the entropy that the answer for each symptom has if the diseases are known, in bits,
    and P(present).
    """
    states, n_symptoms = draw_states(net, evidence, n_draws, 8, random), len(net.leaks)
    logs, is_touched = new_floats(n_symptoms), new_marks(n_symptoms)
    touched = new_integers(n_symptoms)
    n_times, chances, left = new_zeros(n_symptoms), new_zeros(n_symptoms), new_zeros(n_symptoms)
    for draw in range(n_draws):
        n_touched = 0
        for disease in range(len(net.priors)):
            if not states[draw, disease]:
                continue
            for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
                j = net.edge_symptoms[edge]
                if not is_touched[j]:
                    is_touched[j], logs[j] = True, net.log_silent[j]
                    touched[n_touched] = j
                    n_touched += 1
                is_sure = net.failures[edge] == 0.0 or net.is_certain[j]
                logs[j] += -np.inf if is_sure else net.log_failures[edge]
        for j in touched[:n_touched]:
            is_touched[j] = False
            n_times[j] += 1.0
            chance = -np.expm1(logs[j])
            chances[j] += chance
            left[j] += entropy(chance)
    for j in range(n_symptoms):
        n_others = n_draws - n_times[j]
        chances[j] = (chances[j] + n_others * net.leaks[j]) / n_draws
        left[j] = (left[j] + n_others * entropy(net.leaks[j])) / n_draws
    return left, chances


@kernel
def entropy(p: float) -> float:
    """Return the entropy of a yes or no, in bits."""
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return float(-(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p)))
