"""Derivatives of negative moments where diseases occur together.

In a component k of the mixture (`network.causes`) a disease i lets all of a set S be absent with

    I_ik(S) = 1 - p_ik + p_ik F_i(S)        F_i(S): the product of its failures to S

and with the weights v_k(S), those of the components given that S is absent,

    d log M(S) / d f_ij  =  sum over k of v_k(S) p_ik F_i(S) / (f_ij I_ik(S))
    d log M(S) / d p_ik  =  v_k(S) (F_i(S) - 1) / I_ik(S)
    d log M(S) / d log w_k  =  v_k(S)

from which those by the parameters of the causes follow.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from noisyor.names import Indices
from noisyor.network import Independent, Joint, NoisyOrNetwork, Trait
from noisyor.network.causes import trait_grid
from noisyor.parameters import Floats

SETS_AT_ONCE = 1 << 21
"""Sets x components that are worked on at a time."""


def log_moment_derivatives(network: NoisyOrNetwork, sets: Indices) -> Any:
    """Return derivatives of log M(S) by failures, then by the parameters of the causes; sparse.

    The causes' parameters: of `Joint` the logarithms of shares, block after block, and the log
    odds of the other diseases; else the intercept, loadings and effects of each disease.
    """
    from scipy.sparse import csr_array, vstack

    known = _Known.of(network)
    size = max(SETS_AT_ONCE // len(known.weights), 64)
    parts = [_part(known, sets[start : start + size]) for start in range(0, len(sets), size)]
    width = network.structure.n_edges + known.n_parameters
    return csr_array(vstack(parts)) if parts else csr_array((0, width))


class _Known(NamedTuple):
    """A network as the derivatives need it."""

    network: NoisyOrNetwork
    failures: Floats
    """Diseases x symptoms; 1 where there is no edge."""
    edges: Indices
    """The number of each edge, diseases x symptoms; -1 where there is none."""
    weights: Floats
    priors: Floats
    by_weights: Floats
    """Derivatives of the logarithms of the weights by the causes' parameters."""
    by_log_odds: Floats
    """Of each disease's log odds, by the parameters of one disease; components x width."""
    first: int
    """The column of the first parameter of a disease."""
    owners: Indices
    """Diseases whose log odds are parameters, in the order of these."""

    @classmethod
    def of(cls, network: NoisyOrNetwork) -> "_Known":
        structure, causes = network.structure, network.causes
        failures = np.ones((structure.n_diseases, structure.n_symptoms))
        edges = np.full(failures.shape, -1)
        owners, symptoms = structure.edges.T
        failures[owners, symptoms] = network.failures
        edges[owners, symptoms] = np.arange(structure.n_edges)
        weights, priors = network.components
        if isinstance(causes, Joint):
            rest = np.flatnonzero(~causes.is_blocked)
            by_weights, ones = _weight_derivatives(causes), np.ones((len(weights), 1))
            first = structure.n_edges + by_weights.shape[1]
            return cls(
                network, failures, edges, weights, priors, by_weights, ones, first, rest
            )  # fmt: skip
        rows, none = _logistic_rows(causes), np.zeros((len(weights), 0))
        everyone = np.arange(structure.n_diseases)
        return cls(
            network, failures, edges, weights, priors, none, rows, structure.n_edges, everyone
        )  # fmt: skip

    @property
    def n_parameters(self) -> int:
        """How many parameters the causes have."""
        own = len(self.owners) * self.by_log_odds.shape[1]
        return int(self.by_weights.shape[1] + own)


def _weight_derivatives(causes: Joint) -> Floats:
    """Return d log w_k by the logarithms of all shares: those of a block add up to 1."""
    parts = [np.zeros((len(causes.components.weights), 0))]
    for shares, states in zip(causes.shares, causes.states(), strict=True):
        is_state = states[:, np.newaxis] == np.arange(len(shares))
        parts.append(is_state - shares)
    return np.concatenate(parts, axis=1)


def _logistic_rows(causes: Any) -> Floats:
    """Return 1, the traits and the design of each component, as the components are ordered."""
    assert isinstance(causes, Independent | Trait)
    nodes, _ = trait_grid(causes.loadings.shape[1])
    cells = np.zeros((1, 0)) if causes.effects is None else causes.effects.cells
    rows = [np.concatenate([[1.0], node, cell]) for cell in cells for node in nodes]
    return np.array(rows)


def _part(known: _Known, sets: Indices) -> Any:
    from scipy.sparse import csr_array

    n = len(sets)
    influences = {i: _influence(known, i, sets) for i in range(len(known.failures))}
    logs = np.zeros((n, len(known.weights)))
    for rows, _, influence in influences.values():
        logs[rows] += np.log(influence)
    with np.errstate(divide="ignore"):
        logs += np.log(known.weights)
    given = np.exp(logs - logs.max(axis=1, keepdims=True))
    given /= given.sum(axis=1, keepdims=True)
    width = known.network.structure.n_edges + known.n_parameters
    entries = [*_by_weights(known, given), *_by_diseases(known, sets, given, influences)]
    columns = zip(*entries, strict=True) if entries else ((), (), ())
    rows, places, values = (np.concatenate([*each, []]) for each in columns)
    return csr_array((values, (rows.astype(np.int64), places.astype(np.int64))), (n, width))


def _influence(known: _Known, disease: int, sets: Indices) -> tuple[Indices, Floats, Floats]:
    """Return the sets with children of a disease, the products F and the influences I."""
    rows = np.flatnonzero((known.edges[disease][sets] >= 0).any(axis=1))
    product = known.failures[disease][sets[rows]].prod(axis=1)
    p = known.priors[:, disease]
    return rows, product, np.maximum(1.0 - p + p * product[:, np.newaxis], 1e-300)


Entries = Iterator[tuple[Any, Any, Floats]]
"""Rows, columns and values of a sparse matrix."""


def _by_weights(known: _Known, given: Floats) -> Entries:
    moved, first = given @ known.by_weights, known.network.structure.n_edges
    for column in range(moved.shape[1]):
        yield np.arange(len(given)), np.full(len(given), first + column), moved[:, column]


def _by_diseases(known: _Known, sets: Indices, given: Floats, influences: Any) -> Entries:
    width = known.by_log_odds.shape[1]
    numbers = {int(i): number for number, i in enumerate(known.owners)}
    for i, (rows, product, influence) in influences.items():
        p = known.priors[:, i]
        chances = given[rows] / influence
        present = (chances @ p) * product
        for members in sets[rows].T:
            edge = known.edges[i][members]
            here = np.flatnonzero(edge >= 0)
            failures = np.maximum(known.failures[i][members[here]], 1e-12)
            yield rows[here], edge[here], present[here] / failures
        if i not in numbers:
            continue
        slopes = chances * (product - 1.0)[:, np.newaxis] * (p * (1.0 - p))
        moved = slopes @ known.by_log_odds
        for column in range(width):
            place = known.first + numbers[i] * width + column
            yield rows, np.full(len(rows), place), moved[:, column]
