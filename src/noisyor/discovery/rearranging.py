"""Rearrangements: edges that only together make a structure better.

Where a disease lacks an edge to a symptom that it shares with near-duplicates, these take over its
cases: they are fitted with a higher prior, and edges seem to be missing from them to the symptoms
that only the other has. Once such an edge has come, no single one leads back: the disease that it
belongs to has hardly a case left. And what other diseases can take up, no test sees in which
parameters stay near where they are. So edges are tried together that may be missing: those that
tests speak for at least a little, and those that near-duplicates have. Fitting them begins with
cases that are shared out.

A disease that lacks an edge, or has a false one, may even be left with hardly a case: all tests
of it are silent then. It gets cases back, and one edge of those that it may lack.

Near-duplicates may also have changed their roles on the way: the records do not know the names of
diseases. Then names are given back so that as little as possible of what was given has changed.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from noisyor.discovery.scores import STANDS_OUT, EdgeScores
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats
from noisyor.structure import Structure

MOST_BY_TEST, MOST_BY_LIKENESS = 60, 100
"""Edges that are tried together."""
FEWEST_SHARED = 2
"""Symptoms that a disease shares with one that took over an edge of it."""
WEAKLY = 0.05
"""1 - f of edges that begin next to none."""
STARVING = 0.3
"""Times a near-duplicate's prior, below which a disease may have lost its cases to it."""
LEAST_LIKELY = 0.05
"""Likeness of two diseases, times the strength of the edge that one of them lacks."""

Edge = tuple[int, int]


def edges_to_try(network: NoisyOrNetwork, absent: EdgeScores) -> dict[Edge, float]:
    """Return edges that may be missing, and strengths to begin with."""
    # These are only tried: that the samples they were chosen by speak for them is enough.
    gains = absent._replace(again=None).gains
    by_test = np.argsort(-gains)[:MOST_BY_TEST]
    by_test = by_test[gains[by_test] > STANDS_OUT]
    likely = likenesses(network)[absent.edges[:, 0], absent.edges[:, 1]]
    by_likeness = np.argsort(-likely)[:MOST_BY_LIKENESS]
    by_likeness = by_likeness[likely[by_likeness] > LEAST_LIKELY]
    chosen = np.union1d(by_test, by_likeness)
    strengths = np.maximum(absent.strengths, likely / 2.0)
    return {
        (int(i), int(j)): float(strength)
        for (i, j), strength in zip(absent.edges[chosen], strengths[chosen], strict=True)
    }


def likenesses(network: NoisyOrNetwork) -> Floats:
    """Return how likely it is that a disease has a symptom, by those that it shares symptoms with.

    The largest product of the part of its symptoms that another one has too, and the strength of
    that one's edge; diseases x symptoms.
    """
    structure = network.structure
    strengths = np.zeros((structure.n_diseases, structure.n_symptoms))
    strengths[structure.edges[:, 0], structure.edges[:, 1]] = 1.0 - network.failures
    is_edge = structure.sparse_matrix().T.astype(float)
    shared = (is_edge @ is_edge.T).toarray()
    sizes = np.maximum(np.diag(shared).copy(), 1.0)
    np.fill_diagonal(shared, 0.0)
    found = np.zeros_like(strengths)
    for i, row in enumerate(shared):
        others = np.flatnonzero(row)
        if len(others):
            found[i] = (row[others, np.newaxis] / sizes[i] * strengths[others]).max(axis=0)
    return found


def shared_out(network: NoisyOrNetwork, came: Collection[Edge]) -> NoisyOrNetwork:
    """Return a network in which the cases of near-duplicates are shared out where edges came.

    An edge of a disease that came may belong to another one with this symptom, that which shares
    most others with it.
    """
    structure = network.structure
    children = [set(structure.children(i).tolist()) for i in range(structure.n_diseases)]
    priors, failures = network.priors.copy(), network.failures.copy()
    pairs = {(edge[0], _owner(children, edge, came)) for edge in came}
    for taker, giver in sorted(pairs):
        if giver < 0:
            continue
        priors[[taker, giver]] = priors[[taker, giver]].mean()
        for j in children[taker] & children[giver]:
            if (taker, j) not in came:
                own = structure.edge_index(giver, j)
                failures[own] = failures[structure.edge_index(taker, j)]
    return NoisyOrNetwork(structure, priors, failures, network.leaks)


def starving(network: NoisyOrNetwork) -> list[tuple[int, int]]:
    """Return diseases with far fewer cases than a near-duplicate, who may have theirs, and that.

    It has at least half of their symptoms, and of all such ones is most like them; the most
    starving diseases come first.
    """
    structure = network.structure
    children = [set(structure.children(i).tolist()) for i in range(structure.n_diseases)]
    found = []
    for i, own in enumerate(children):
        others = [
            (len(own & theirs) / len(own | theirs), -other)
            for other, theirs in enumerate(children)
            if other != i and len(own & theirs) >= max(FEWEST_SHARED, len(own) / 2.0)
        ]
        if others:
            near = -max(others)[1]
            found.append((float(network.priors[i] / network.priors[near]), i, near))
    return [(i, near) for ratio, i, near in sorted(found) if ratio < STARVING]


def given_back(network: NoisyOrNetwork, pairs: Iterable[tuple[int, int]]) -> NoisyOrNetwork:
    """Return a network in which the first of each pair shares the second one's cases.

    What was fitted of it is not kept, since it was fitted to hardly any case: it begins with the
    symptoms that both have as often as the other, and hardly with those that the other lacks, since
    false ones would starve it again.
    """
    structure = network.structure
    priors, failures = network.priors.copy(), network.failures.copy()
    for i, near in pairs:
        priors[[i, near]] = priors[[i, near]].mean()
        for edge, j in enumerate(structure.children(i).tolist(), structure.child_offsets[i]):
            is_shared = structure.has_edge(near, j)
            known = failures[structure.edge_index(near, j)] if is_shared else 1.0 - WEAKLY
            failures[edge] = known
    return NoisyOrNetwork(structure, priors, failures, network.leaks)


def taken_over(structure: Structure, came: Collection[Edge]) -> list[Edge]:
    """Return the edges of those that came that may belong to a near-duplicate."""
    children = [set(structure.children(i).tolist()) for i in range(structure.n_diseases)]
    return [edge for edge in came if _owner(children, edge, came) >= 0]


def _owner(children: list[set[int]], edge: Edge, came: Collection[Edge]) -> int:
    """Return the near-duplicate that an edge may belong to, or -1."""
    taker, symptom = edge
    others = [
        (len(children[taker] & theirs) / len(theirs), -i)
        for i, theirs in enumerate(children)
        if i != taker and symptom in theirs and (i, symptom) not in came
        and len(children[taker] & theirs) >= FEWEST_SHARED
    ]  # fmt: skip
    return -max(others)[1] if others else -1


def with_edges(network: NoisyOrNetwork, edges: dict[Edge, float]) -> NoisyOrNetwork:
    """Return a network with some more edges, of given strengths."""
    structure = network.structure
    known = zip(map(tuple, structure.edges.tolist()), 1.0 - network.failures, strict=True)
    strengths = dict(known) | edges
    listed: Indices = np.array(sorted(strengths)).reshape(-1, 2)
    failures = 1.0 - np.array([strengths[edge] for edge in sorted(strengths)])
    larger = Structure(structure.diseases, structure.symptoms, listed)
    return NoisyOrNetwork(larger, network.priors, failures, network.leaks)


def with_disease_of(network: NoisyOrNetwork, other: NoisyOrNetwork, disease: str) -> NoisyOrNetwork:
    """Return a network in which a disease has the prior and the failures that it has in another."""
    structure, known = network.structure, other.structure
    i, old = structure.disease_index(disease), known.disease_index(disease)
    priors, failures = network.priors.copy(), network.failures.copy()
    priors[i] = other.priors[old]
    for j in structure.children(i).tolist():
        if known.has_edge(old, j):
            own = structure.edge_index(i, j)
            failures[own] = other.failures[known.edge_index(old, j)]
    return NoisyOrNetwork(structure, priors, failures, network.leaks)


def nearest_roles(structure: Structure, given: Mapping[str, Collection[str]]) -> Indices:
    """Return for each disease the one whose symptoms it should have, to be nearest to what it had.

    `given` are the symptoms that diseases had, by names; others stay as they are. The number of
    edges that differ is the smallest of all assignments; of equal ones as many as possible stay.
    """
    from scipy.optimize import linear_sum_assignment

    roles: Indices = np.arange(structure.n_diseases)
    known = [i for i, name in enumerate(structure.diseases) if name in given]
    has = structure.sparse_matrix().toarray().T[known].astype(float)
    had = np.zeros_like(has)
    for row, i in zip(had, known, strict=True):
        row[structure.symptom_indices(sorted(given[structure.diseases[i]]))] = 1.0
    n_changes = had.sum(axis=1)[:, np.newaxis] + has.sum(axis=1) - 2.0 * had @ has.T
    n_changes -= np.eye(len(known)) / (len(known) + 1)
    roles[known] = roles[known][linear_sum_assignment(n_changes)[1]]
    return roles


def with_roles(structure: Structure, roles: Indices) -> tuple[Structure, Indices]:
    """Return a structure in which each disease has another's symptoms, and the edges' old indices.

    So `values[indices]` are the values of its edges, if `values` were those of the old ones.
    """
    edges = [
        (i, int(j), structure.edge_index(int(role), int(j)))
        for i, role in enumerate(roles)
        for j in structure.children(int(role))
    ]
    listed: Indices = np.array(sorted(edges), dtype=np.int64).reshape(-1, 3)
    return Structure(structure.diseases, structure.symptoms, listed[:, :2]), listed[:, 2]
