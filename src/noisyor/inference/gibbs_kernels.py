"""Posteriors of one record by Gibbs sampling, a few diseases at a time.

Diseases that explain the same findings exclude each other, so that single ones hardly ever change:
a block of such diseases is drawn at once, given all others. Only diseases with several present
findings are drawn; the others are summed out exactly (see record_kernels.py), and of a disease that
is drawn its probability is kept, not the outcome.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.inference import record_kernels
from noisyor.inference.flat import Booleans, Evidence, FlatNetwork, Floats, Integers
from noisyor.inference.piece_kernels import Piece, parents_of
from noisyor.inference.record_kernels import Workspace
from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import fill, new_floats, new_integers, new_marks, new_zeros
from noisyor.parameters import REACH

Random = NDArray[np.uint64]
"""The state of a stream of random numbers, in an array of one."""

LARGEST_BLOCK = 5
SURE = 1e-17
"""A failure below it is as good as 0: what it is subtracted from 1 leaves 1."""
LOG_IMPOSSIBLE = -1e5
"""The log probability of a finding without a cause: chains may start there, but never stay."""
ALL_EVERY = 10
"""One sweep in so many has blocks of all diseases: a rare explanation that excludes the others
would not be found again by diseases that are drawn alone."""
OF_BATCHES, OF_CHAINS = 1.8 / REACH, 2.1 / REACH
"""What the spread of 32 batches, and that of 8 chains, says of a standard error is multiplied by:
the larger of both then covers 95% where draws are independent. Either alone would need more (2.04
and 2.365 in place of 1.8 and 2.1), but the larger of two is already wide."""


@kernel
def random_of(seed: int, record: int) -> Random:
    """Return the random numbers of a record: a stream of its own, whoever works on it."""
    random = np.empty(1, dtype=np.uint64)
    start_random(random, seed, record)
    return random


@kernel
def start_random(random: Random, seed: int, record: int) -> None:
    """Begin the random numbers of a record."""
    random[0] = np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
    random[0] += np.uint64(record) * np.uint64(0x2545F4914F6CDD1D)


@kernel
def next_uniform(random: Random) -> float:
    """Return a number in [0, 1), by splitmix64."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = (random[0] ^ (random[0] >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return float(z >> np.uint64(11)) / 9007199254740992.0


class Sampling(NamedTuple):
    """How long to sample."""

    n_chains: int
    n_batches: int
    """Of each chain, after as much again as a quarter of them."""
    n_sweeps: int
    """Of each batch: how often each disease is drawn."""


class Chain(NamedTuple):
    """What is drawn of a piece for the moment, and what has been added up."""

    is_on: Booleans
    silent: Floats
    """Of each finding: P(no disease that is on causes it), but for those that surely do."""
    n_on: Integers
    """Of each finding: how many of its diseases are on."""
    n_sure: Integers
    """Of each finding: how many of them surely cause it."""
    is_lively: Booleans
    """Diseases that are drawn in blocks."""
    order: Integers
    """In which the diseases are drawn."""
    probabilities: Floats
    """Of each disease, added up."""
    caused: Floats
    """Of each entry, added up."""
    if_caused: Floats
    if_not: Floats
    marks: Integers
    """Of each disease: the block that it was last in."""
    parent_offsets: Integers
    parents: Integers
    """The diseases of finding x are `parents[parent_offsets[x] : parent_offsets[x + 1]]`."""


class Batches(NamedTuple):
    """What each batch of draws has found."""

    on: Floats
    """Batches x diseases."""
    if_caused: Floats
    """Batches x symptoms."""
    if_not: Floats


@kernel
def sample_record(
    net: FlatNetwork, evidence: Evidence, sampling: Sampling, random: Random, workspace: Workspace
) -> tuple[Floats, Floats]:
    """Return posteriors of a record that is possible, and their standard errors."""
    record_kernels.weigh_absent(net, evidence, workspace)
    present = record_kernels.present_of(evidence)
    n_pieces = record_kernels.open_findings(net, present, workspace)
    before = workspace.on.copy()
    n_batches = sampling.n_chains * sampling.n_batches
    by_symptom = n_batches, len(net.leaks)
    batches = Batches(
        np.empty((n_batches, len(before))), np.empty(by_symptom), np.zeros(by_symptom)
    )
    batches.on[:] = before
    for j in present:
        if workspace.present[j] > 0.0:
            batches.if_caused[:, j] = 1.0 / workspace.present[j]
    edge_causes = np.zeros(len(net.failures))
    for number in range(n_pieces):
        piece, diseases, findings, edges = record_kernels.make_piece(
            net, present, number, workspace
        )
        edge_causes[edges] = sample_piece(piece, diseases, findings, sampling, batches, random)
    for batch in range(n_batches):
        workspace.on[:] = before
        for j in present:
            workspace.if_caused[j] = batches.if_caused[batch, j]
            workspace.if_not[j] = batches.if_not[batch, j]
            record_kernels.close_finding(net, j, workspace)
        batches.on[batch] = np.where(workspace.piece_of >= 0, batches.on[batch], workspace.on)
    row, errors = _summarise(batches, sampling)
    for j in present:
        workspace.leaked[j] = net.leaks[j] * batches.if_caused[:, j].mean()
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            if workspace.n_open[disease] == 1:
                chance = before[disease] * (1.0 - net.failures[edge])
                edge_causes[edge] = chance * batches.if_caused[:, j].mean()
            workspace.caused[edge] = edge_causes[edge]
    workspace.on[:] = row
    return row, errors


@kernel
def _summarise(batches: Batches, sampling: Sampling) -> tuple[Floats, Floats]:
    """Return the mean of each disease over all batches, and its standard error.

    The error is what the spread of the batches says, or that of the chains, if it is larger: from
    their different starts, these may not have come to the same.
    """
    n_chains, n_batches = sampling.n_chains, sampling.n_chains * sampling.n_batches
    # What never happened in so many draws may still be that probable.
    least = 1.0 / (n_batches * sampling.n_sweeps)
    n_diseases = batches.on.shape[1]
    row, errors = np.empty(n_diseases), np.empty(n_diseases)
    for disease in range(n_diseases):
        on = batches.on[:, disease].copy()
        of_chains = np.empty(n_chains)
        for chain in range(n_chains):
            first = chain * sampling.n_batches
            of_chains[chain] = on[first : first + sampling.n_batches].mean()
        row[disease] = on.mean()
        of_batches = OF_BATCHES * on.std() / np.sqrt(max(n_batches - 1, 1))
        between = OF_CHAINS * of_chains.std() / np.sqrt(max(n_chains - 1, 1))
        errors[disease] = max(of_batches, between, least)
    return row, errors


@kernel
def sample_piece(
    piece: Piece,
    diseases: Integers,
    findings: Integers,
    sampling: Sampling,
    batches: Batches,
    random: Random,
) -> Floats:
    """Fill in the batches of one piece; return what causes each entry."""
    all_caused = np.zeros(len(piece.findings))
    n_first = sampling.n_batches * sampling.n_sweeps // 4
    chains = settle_chains(piece, sampling.n_chains, n_first, random)
    for number in range(sampling.n_chains):
        chain = chains[number]
        for batch in range(sampling.n_batches):
            run_chain(piece, chain, sampling.n_sweeps, random)
            index = number * sampling.n_batches + batch
            batches.on[index, diseases] = chain.probabilities / sampling.n_sweeps
            batches.if_caused[index, findings] = chain.if_caused / sampling.n_sweeps
            batches.if_not[index, findings] = chain.if_not / sampling.n_sweeps
            all_caused += chain.caused
    n_sweeps = sampling.n_chains * sampling.n_batches * sampling.n_sweeps
    return all_caused * (1.0 - piece.failures) / n_sweeps


@kernel
def settle_chains(piece: Piece, n_chains: int, n_sweeps: int, random: Random) -> list[Chain]:
    """Let chains forget their starts, and find out which diseases are drawn in blocks.

    These are the diseases with a probability over 0.02 in any chain: where chains have found
    explanations that exclude each other, blocks of both let each chain change from one to the
    other.
    """
    n_sweeps = max(n_sweeps, 10)
    is_lively = new_marks(len(piece.on))
    chains = []
    for number in range(n_chains):
        chain = new_chain(piece, number, random)
        run_chain(piece, chain, n_sweeps, random)
        for disease in range(len(is_lively)):
            is_lively[disease] |= chain.probabilities[disease] > 0.02 * n_sweeps
        chains.append(chain)
    for chain in chains:
        for disease in range(len(is_lively)):
            chain.is_lively[disease] = is_lively[disease]
    return chains


@kernel
def new_chain(piece: Piece, number: int, random: Random) -> Chain:
    """Return the start of a chain: no disease is on, or all, or some at random, or as priors say.

    Each draws the diseases in a random order of its own: otherwise all would find the same of
    several explanations that exclude each other.
    """
    k, m = len(piece.on), len(piece.absent)
    order, is_on, is_lively = new_integers(k), new_marks(k), new_marks(k)
    for disease in range(k):
        order[disease], is_on[disease], is_lively[disease] = disease, number % 4 == 1, True
    for index in range(k - 1, 0, -1):
        other = int(next_uniform(random) * (index + 1))
        order[index], order[other] = order[other], order[index]
    if number % 4 > 1:
        for disease in range(k):
            is_on[disease] = next_uniform(random) < (0.5 if number % 4 == 2 else piece.on[disease])
    offsets, parents = parents_of(piece)
    return Chain(
        is_on, new_floats(m), new_integers(m), new_integers(m), is_lively, order, new_zeros(k),
        new_zeros(len(piece.failures)), new_zeros(m), new_zeros(m), new_integers(k), offsets,
        parents,
    )  # fmt: skip


@kernel
def run_chain(piece: Piece, chain: Chain, n_sweeps: int, random: Random) -> None:
    """Draw each disease so many times; add up from nothing."""
    block, weights = new_integers(LARGEST_BLOCK), new_floats(1 << LARGEST_BLOCK)
    fill(chain.probabilities, 0.0)
    fill(chain.caused, 0.0)
    fill(chain.if_caused, 0.0)
    fill(chain.if_not, 0.0)
    for disease in range(len(chain.marks)):
        chain.marks[disease] = -1
    for sweep in range(n_sweeps):
        _multiply(piece, chain)
        of_all = next_uniform(random) * ALL_EVERY < 1.0
        for disease in chain.order:
            block[0], stamp = disease, sweep * len(piece.on) + disease
            n = choose_block(piece, chain, stamp, of_all, block, random)
            draw_block(piece, chain, block[:n], weights, random)
        _add_causes(piece, chain)


@kernel
def choose_block(
    piece: Piece, chain: Chain, stamp: int, of_all: bool, block: Integers, random: Random
) -> int:
    """Add diseases that share findings with the first one, whatever is on; return how many."""
    disease, n = block[0], 1
    offsets = chain.parent_offsets
    if not (of_all or chain.is_lively[disease]):
        return n
    chain.marks[disease] = stamp
    first, last = piece.offsets[disease], piece.offsets[disease + 1]
    for _ in range(2 * LARGEST_BLOCK):
        x = piece.findings[first + int(next_uniform(random) * (last - first))]
        n_parents = offsets[x + 1] - offsets[x]
        other = chain.parents[offsets[x] + int(next_uniform(random) * n_parents)]
        if (of_all or chain.is_lively[other]) and chain.marks[other] != stamp:
            block[n], chain.marks[other] = other, stamp
            n += 1
            if n == LARGEST_BLOCK:
                break
    return n


@kernel
def draw_block(
    piece: Piece, chain: Chain, block: Integers, weights: Floats, random: Random
) -> None:
    """Draw the diseases of a block, given all others; add the probability of the first one.

    All states are visited in Gray's order, one disease turned at a time.
    """
    for disease in block:
        if chain.is_on[disease]:
            turn(piece, chain, disease)
    n, log_weight, top, state = len(block), 0.0, 0.0, 0
    weights[0] = 0.0
    for code in range(1, 1 << n):
        bit = 0
        while not (code >> bit) & 1:
            bit += 1
        state ^= 1 << bit
        log_weight += turn(piece, chain, block[bit])
        weights[state] = log_weight
        top = max(top, log_weight)
    total = within = 0.0
    for each in range(1 << n):
        weights[each] = np.exp(weights[each] - top)
        total += weights[each]
        within += weights[each] if each & 1 else 0.0
    chain.probabilities[block[0]] += within / total
    left, drawn = next_uniform(random) * total, 0
    while drawn + 1 < 1 << n and left >= weights[drawn]:
        left -= weights[drawn]
        drawn += 1
    for bit in range(n):
        if ((state ^ drawn) >> bit) & 1:
            turn(piece, chain, block[bit])


@kernel
def turn(piece: Piece, chain: Chain, disease: int) -> float:
    """Turn a disease on or off; return by how much the log probability of the state changes."""
    is_on = not chain.is_on[disease]
    chain.is_on[disease] = is_on
    p = min(piece.on[disease], 1.0 - 1e-16)
    change, ratio = np.log(p) - np.log1p(-p), 1.0
    change = change if is_on else -change
    for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
        x = piece.findings[entry]
        before = chance_of(piece, chain, x)
        turn_entry(chain, x, piece.failures[entry], is_on)
        after = chance_of(piece, chain, x)
        if 1e-50 * before < after < 1e50 * before:  # a logarithm for each would be slow
            ratio *= after / before
        else:
            change += np.log(after) if after > 0.0 else LOG_IMPOSSIBLE
            change -= np.log(before) if before > 0.0 else LOG_IMPOSSIBLE
        if not 1e-100 < ratio < 1e100:
            change += np.log(ratio)
            ratio = 1.0
    return float(change + np.log(ratio))


@kernel
def turn_entry(chain: Chain, x: int, failure: float, is_on: bool) -> None:
    """Let a disease that has just been turned on or off cause a finding, or no longer."""
    step = 1 if is_on else -1
    chain.n_on[x] += step
    if failure < SURE:
        chain.n_sure[x] += step
    elif is_on:
        chain.silent[x] *= failure
    elif chain.n_on[x] == chain.n_sure[x]:
        chain.silent[x] = 1.0  # exactly: a rounding error would be a cause
    else:
        chain.silent[x] = min(chain.silent[x] / failure, 1.0)


@kernel
def causing(chain: Chain, x: int) -> float:
    """Return P(a disease that is on causes the finding)."""
    return 1.0 if chain.n_sure[x] > 0 else 1.0 - chain.silent[x]


@kernel
def chance_of(piece: Piece, chain: Chain, x: int) -> float:
    """Return P(the finding is present | the diseases that are on)."""
    return float(piece.present[x] + piece.absent[x] * causing(chain, x))


@kernel
def _multiply(piece: Piece, chain: Chain) -> None:
    """Find the products anew: many turns would let rounding errors grow."""
    for x in range(len(chain.silent)):
        chain.silent[x], chain.n_on[x], chain.n_sure[x] = 1.0, 0, 0
    for disease in range(len(chain.is_on)):
        if not chain.is_on[disease]:
            continue
        for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
            turn_entry(chain, piece.findings[entry], piece.failures[entry], True)


@kernel
def _add_causes(piece: Piece, chain: Chain) -> None:
    """Add what the state that is drawn says of the findings' causes."""
    inverses = new_floats(len(piece.absent))
    for x in range(len(inverses)):
        chance = chance_of(piece, chain, x)
        inverses[x] = 1.0 / chance if chance > 0.0 else 0.0  # a start that is impossible
        chain.if_caused[x] += inverses[x]
        chain.if_not[x] += causing(chain, x) * inverses[x]
    for disease in range(len(chain.is_on)):
        if not chain.is_on[disease]:
            continue
        for entry in range(piece.offsets[disease], piece.offsets[disease + 1]):
            chain.caused[entry] += inverses[piece.findings[entry]]
