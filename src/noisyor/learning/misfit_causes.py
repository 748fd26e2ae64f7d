"""Which cause would explain what a network does not: an edge, a disease, dependence of diseases.

Each would move log R of some pairs (x, y) of symptoms, to first order in its own strength, by

    v_iy                        an edge from disease i to x that is missing, for the children y of i
    v_ix v_jy + v_iy v_jx       diseases i and j that depend on each other; the sum over all
                                two of them, with loads, where several have a trait in common
    1                           a disease that is missing, for all pairs of its symptoms

with v the strengths of edges (`decompose.edge_strengths`). The residuals of the pairs are summed up
with these weights. Of all such causes the one that explains most, less a toll for their number, is
named; what it explains is taken off, and the next is looked for.
"""

import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from noisyor.learning.decompose import edge_strengths
from noisyor.learning.residuals import CountComparison
from noisyor.names import Indices
from noisyor.network import Joint, NoisyOrNetwork
from noisyor.parameters import Booleans, Floats
from noisyor.structure import Structure

EDGE, DEPENDENCE, HIDDEN = "missing edge", "dependent diseases", "missing disease"
MOST_CAUSES = 5
MOST_DENSE = 1000
"""With so many symptoms matrices of them are dense: small, and faster."""
N_TRIED = 10
"""So many edges and pairs of diseases are looked at closely, and so many pairs of symptoms are
grown to blocks of symptoms that may have a disease in common."""
SMALLEST_BLOCK = 3
MOST_OF_IT, NEARLY_ALL = 0.75, 0.9
"""A trait of diseases is named before a missing disease that has nearly all of their symptoms if it
explains most of what that one does: to first order both are the same."""
SHARED = 0.5
"""The part of a disease's own symptoms from which on a missing one may be the same."""
LEAST_LOAD = 0.5
"""Diseases that have a trait in common: those with at least this share of the largest load."""


class Cause(NamedTuple):
    """Something that would explain a part of what the network does not."""

    kind: str
    """"missing edge", "dependent diseases" or "missing disease"."""
    members: tuple[int, ...]
    """A disease and a symptom; two or more diseases; or symptoms."""
    residual: float
    """Standardised: what is observed along this cause."""
    share: float
    """The part of what is in excess that it explains."""


def disease_like(structure: Structure, symptoms: Collection[int]) -> int | None:
    """Return the disease that may lack edges where one with some symptoms seems to be missing.

    It is the one of whose own symptoms most are among these, at least half, and two.

    >>> structure = Structure.from_edges([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z")])
    >>> disease_like(structure, [0, 1, 2]), disease_like(structure, [0])
    (0, None)
    """
    best, most = None, 0.0
    for i in range(structure.n_diseases):
        own = set(structure.children(i).tolist())
        n_shared = len(own & set(symptoms))
        if n_shared > 1 and n_shared / len(own) > most:
            best, most = i, n_shared / len(own)
    return best if most >= SHARED else None


class Weights:
    """Sums of residuals over the pairs that a missing edge, or dependent diseases, would move."""

    def __init__(self, comparison: CountComparison) -> None:
        network = comparison.network
        structure, diseases = network.structure, network.structure.edges[:, 0]
        v = edge_strengths(network.priors[diseases], network.failures)
        self._pairs, self._n = comparison.pairs, structure.n_symptoms
        self._weights = comparison.of_pairs.sensitivities
        self._is_dense = self._n <= MOST_DENSE
        strengths = (structure.sparse_matrix(v**power) for power in (1, 2, 3))
        self._strengths = [each.toarray() if self._is_dense else each for each in strengths]
        compared = comparison.of_pairs
        skewness = compared.spreads / compared.expected
        squares, cubes = self._weights**2, self._weights**3 * skewness
        (of_edges, of_diseases), (edge_cubes, disease_cubes) = (
            self._sums(squares, 1), self._sums(cubes, 2)
        )  # fmt: skip
        is_missing = (of_edges > 0) & (structure.sparse_matrix().toarray() == 0)
        is_missing &= comparison.is_known
        self.edges = np.argwhere(is_missing)
        """Symptom and disease of each edge that might be missing."""
        self._edge_norms = np.sqrt(of_edges[is_missing])
        self.edge_means = _means(edge_cubes[is_missing], self._edge_norms)
        is_first = np.triu(of_diseases > 0, 1)
        is_first &= comparison.is_known & comparison.is_known[:, np.newaxis]
        is_first &= ~_in_one_block(network)
        self.diseases = np.argwhere(is_first)
        self._disease_norms = np.sqrt(of_diseases[is_first])
        self.disease_means = _means(disease_cubes[is_first], self._disease_norms)

    def of(self, residuals: Floats) -> tuple[Floats, Floats]:
        """Return the standardised sums of edges, and of pairs of diseases."""
        by_edge, by_disease = self._sums(residuals * self._weights, 0)
        edges = by_edge[self.edges[:, 0], self.edges[:, 1]]
        diseases = by_disease[self.diseases[:, 0], self.diseases[:, 1]]
        return edges / self._edge_norms, diseases / self._disease_norms

    def direction(self, kind: str, number: int) -> Floats:
        """Return by how much each pair would move, up to a factor."""
        strengths = self._strengths[0] if self._is_dense else self._strengths[0].tocsc()
        first, second = self._pairs.T

        def column(i: int) -> Floats:
            found = strengths[:, [i]]
            return np.asarray(found if self._is_dense else found.toarray())[:, 0]

        if kind == EDGE:
            symptom, disease = self.edges[number]
            v = column(disease)
            moved = np.where(
                first == symptom, v[second], np.where(second == symptom, v[first], 0.0)
            )
        else:
            i, j = self.diseases[number]
            v, u = column(i), column(j)
            moved = v[first] * u[second] + v[second] * u[first]
        return np.asarray(moved * self._weights)

    def common(self, loads: Floats) -> Floats:
        """Return by how much each pair would move if diseases had a trait in common."""
        first, second = self._pairs.T
        strengths = self._strengths[0]
        total = np.asarray(strengths @ loads)
        squares = strengths * (loads**2)[np.newaxis]
        if self._is_dense:
            alone = (squares[first] * strengths[second]).sum(axis=1)
        else:
            alone = np.asarray(squares.tocsr()[first].multiply(strengths.tocsr()[second]).sum(1))
        return np.asarray((total[first] * total[second] - np.ravel(alone)) * self._weights)

    def _sums(self, values: Floats, power: int) -> tuple[Floats, Floats]:
        """Return sums of values of pairs: of symptom and disease, of disease and disease."""
        strengths = self._strengths[power]
        inner = self._matrix(values) @ strengths
        return _array(inner), _array(strengths.T @ inner)

    def _matrix(self, values: Floats) -> Any:
        if not self._is_dense:
            return symmetric(self._pairs, values, self._n)
        first, second = self._pairs.T
        matrix = np.zeros((self._n, self._n))
        matrix[first, second] = matrix[second, first] = values
        return matrix


def _in_one_block(network: NoisyOrNetwork) -> Booleans:
    """Return which two diseases have any joint distribution already: it explains all of theirs."""
    n, causes = network.structure.n_diseases, network.causes
    found = np.zeros((n, n), dtype=np.bool_)
    for block in causes.blocks if isinstance(causes, Joint) else ():
        found[np.ix_(block, block)] = True
    return found


def _array(matrix: Any) -> Floats:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def _means(cubes: Floats, norms: Floats) -> Floats:
    """Return the means of Poisson distributions with the skewness of some sums."""
    return 1.0 / np.maximum(cubes / norms**3, 1e-4) ** 2


def symmetric(pairs: Indices, values: Floats, n: int) -> Any:
    """Return values of pairs as a sparse matrix, each at both its places."""
    from scipy.sparse import csr_array

    first, second = pairs.T
    indices = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_array((np.concatenate([values, values]), indices), (n, n))


class Candidate(NamedTuple):
    """A cause before it is known how much it explains."""

    kind: str
    members: tuple[int, ...]
    toll: float
    """Twice the logarithm of how many such causes there are."""
    direction: Floats
    """By how much it would move the residual of each pair, up to a factor."""


class CauseSearch:
    """Looks for causes, one after the other.

    Parameters
    ----------
    scales
        Standard deviations of the sums of edges, and of those of pairs of diseases.
    simulated
        Projected residuals of pairs by chance, a row for each set.
    level
        The chance of naming a cause that is none.
    """

    def __init__(
        self, comparison: CountComparison, weights: Weights, scales: tuple[Floats, Floats],
        simulated: Floats, level: float,
    ) -> None:  # fmt: skip
        self._comparison, self._weights, self._scales = comparison, weights, scales
        self._simulated = simulated
        self._n_symptoms = comparison.network.structure.n_symptoms
        self._toll = -2.0 * math.log(level)

    def causes(self, residuals: Floats, excess: float) -> tuple[Cause, ...]:
        """Return the causes that explain more than chance would.

        Parameters
        ----------
        residuals
            Of the pairs, projected.
        excess
            By how much the sum of their squares is larger than it would be by chance.
        """
        found: list[tuple[str, tuple[int, ...], float]] = []
        left = residuals.copy()
        while len(found) < MOST_CAUSES:
            candidates = [*self._weighted(left), *self._traits(left), *self._blocks(left)]
            if not candidates:
                break
            directions = self._projected(np.array([each.direction for each in candidates]))
            norms = np.sqrt((directions**2).sum(axis=1))
            norms = np.maximum(norms, 1e-9)
            scores = directions @ left / norms
            tolls = np.array([each.toll for each in candidates]) + self._toll
            is_possible = np.array([each.kind == DEPENDENCE for each in candidates]) | (scores > 0)
            # Pairs go together, so that chance alone may explain more than a square of 1.
            by_chance = ((self._simulated @ directions.T / norms) ** 2).mean(axis=0)
            is_possible &= scores**2 > tolls * np.maximum(by_chance, 1.0)
            gains = np.where(is_possible, scores**2 - tolls, -np.inf)
            if not is_possible.any():
                break
            best = self._best(candidates, gains)
            found.append((*candidates[best][:2], float(scores[best])))
            left -= directions[best] * scores[best] / norms[best]
        whole = max(excess, sum(score**2 for *_, score in found), 1e-300)
        return tuple(Cause(*each, each[2] ** 2 / whole) for each in found)

    def _best(self, candidates: list[Candidate], gains: Floats) -> int:
        """Return the candidate that explains most.

        A disease that is missing, with all symptoms of the others, moves the same pairs as a trait
        that these have in common, and has a load for every symptom to fit them with. Pairs do not
        tell the two apart; the trait needs no disease that nobody knows of.
        """
        best = int(np.argmax(gains))
        if candidates[best].kind != HIDDEN:
            return best
        is_common = [each.kind == DEPENDENCE and len(each.members) > 2 for each in candidates]
        common = int(np.argmax(np.where(is_common, gains, -np.inf)))
        if not is_common[common] or gains[common] < MOST_OF_IT * gains[best]:
            return best
        structure = self._comparison.network.structure
        theirs = {j for i in candidates[common].members for j in structure.children(i)}
        covered = len(theirs.intersection(candidates[best].members))
        return common if covered >= NEARLY_ALL * len(theirs) else best

    def _projected(self, directions: Floats) -> Floats:
        """Return what is left of directions when the fitted parameters have followed them."""
        n = len(self._comparison.symptoms)
        found = self._comparison.projection(np.pad(directions, ((0, 0), (0, n))))
        return found[:, : self._comparison.n_pairs]

    def _weighted(self, left: Floats) -> list[Candidate]:
        """Return the best edges and the best pairs of diseases."""
        candidates = []
        names = (EDGE, self._weights.edges[:, ::-1]), (DEPENDENCE, self._weights.diseases)
        sums = self._weights.of(left)
        for (kind, members), values, scale in zip(names, sums, self._scales, strict=True):
            scores = values / scale if kind == EDGE else np.abs(values / scale)
            toll = 2.0 * math.log(max(len(scores), 1))
            for row in np.argsort(-scores)[:N_TRIED].tolist():
                direction = self._weights.direction(kind, row)
                candidates.append(Candidate(kind, tuple(members[row].tolist()), toll, direction))
        return candidates

    def _traits(self, left: Floats) -> list[Candidate]:
        """Return the diseases that seem to have a trait in common, if there are three or more."""
        pairs, n = self._weights.diseases, self._comparison.network.structure.n_diseases
        if len(pairs) < 3:
            return []
        scores = self._weights.of(left)[1] / self._scales[1]
        matrix = symmetric(pairs, np.nan_to_num(scores), n).toarray()
        loads = np.linalg.eigh(matrix)[1][:, -1]
        loads *= 1.0 if loads.sum() > 0.0 else -1.0
        loads = np.where(loads >= LEAST_LOAD * loads.max(), loads, 0.0)
        members = tuple(np.flatnonzero(loads).tolist())
        k = len(members)
        if k < 3:
            return []
        # Which diseases, and their loads: the best ones explain a square of 2 k by chance, half the
        # square of the largest eigenvalue of a random matrix.
        toll = 2.0 * (k * math.log(n) - math.lgamma(k + 1.0) + k)
        return [Candidate(DEPENDENCE, members, toll, self._weights.common(loads))]

    def _blocks(self, left: Floats) -> list[Candidate]:
        """Return blocks of symptoms that occur together more often than explained."""
        pairs = self._comparison.pairs
        matrix = symmetric(pairs, left, self._n_symptoms).tocsc()
        starts = pairs[np.argsort(-left)[:N_TRIED]].tolist()
        blocks = {tuple(sorted(self._grown(matrix, start))) for start in starts}
        candidates = []
        for block in sorted(each for each in blocks if len(each) >= SMALLEST_BLOCK):
            k = len(block)
            toll = 2.0 * (k * math.log(self._n_symptoms) - math.lgamma(k + 1.0))
            inside = matrix[:, list(block)][list(block)].toarray()
            loads = np.zeros(self._n_symptoms)
            loads[list(block)] = np.maximum(inside.sum(axis=1), 0.0)
            direction = loads[pairs[:, 0]] * loads[pairs[:, 1]]
            candidates.append(Candidate(HIDDEN, block, toll, direction))
        return candidates

    def _grown(self, matrix: Any, block: list[int]) -> list[int]:
        """Add symptom after symptom as long as the block explains more, less a toll for each."""
        links = np.asarray(matrix[:, block].sum(axis=1)).ravel()
        total, best = float(links[block].sum()) / 2.0, -math.inf
        while True:
            k = len(block)
            gain = total * abs(total) / (k * (k - 1) / 2.0)
            gain -= 2.0 * (k * math.log(self._n_symptoms) - math.lgamma(k + 1.0))
            if gain <= best:
                return block[:-1]
            best = gain
            if k == self._n_symptoms:
                return block
            outside = links.copy()
            outside[block] = -np.inf
            new = int(np.argmax(outside))
            total += float(links[new])
            block = [*block, new]
            links = links + matrix[:, [new]].toarray()[:, 0]
