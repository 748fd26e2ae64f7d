"""Tests of all edges that a network does not have, and of those that it has.

A record's probability is linear in each failure. So one pass over the records tells by how much the
log likelihood would be higher with any edge that is not there, for some strengths of it, and by how
much lower without any that is, all other parameters being as they are. They would follow: with the
scores u of the fitted parameters and s of an edge in each record (the derivatives of its log
likelihood; `score_kernels`), they take up the part

    1 - share = sum(s u') (sum u u')^-1 sum(u s) / sum(s^2)

of what the records say of an edge (the efficient score is what is left). Near f = 1 the likelihood
ratio is then that of the pass, divided by the share where an edge comes, times it where one goes;
twice that is half a chi-square if the edge is not there. For all pairs a disease's prior and a
symptom's leak are taken off; that leaves the share too large at worst, and the test too careful. A
second pass takes all parameters off for the pairs that stand out. Parameters at the border of what
they can be, which the records would have go on, do not move and take up nothing.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from noisyor.discovery import score_kernels
from noisyor.discovery.score_kernels import STRENGTHS, PairSums
from noisyor.em.candidate_kernels import SampledRecords, Seen
from noisyor.em.expected import inside, total_of
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.inference.flat import FlatNetwork, Floats, Integers, Listed, distinct_records, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads, one_by_one
from noisyor.parameters import Booleans
from noisyor.structure import Structure

PART, N_PARTS = 2048, 16
"""Records that a thread takes at a time, and into how many parts these are taken together, whatever
the number of threads: so sums are equal."""
MOST_PROJECTED = 4000
"""With more parameters no others than the nearest are taken off."""
MOST_CLOSE, STANDS_OUT = 1500, 1.0
"""So many pairs are looked at once more, with at least this gain."""
LEAST_SHARE = 0.01
"""Of what is nearly all taken up: it cannot be told from what was fitted."""
NEAR = 20.0
"""Log likelihood up to which a difference is taken to be that near f = 1."""
FEW_RECORDS = 10.0
AT_BORDER = 1e-4
"""A failure so near to 1, or a leak so near to 0, is at the border."""


class RecordLists(NamedTuple):
    """Records as kernels list them, equal ones once."""

    offsets: Integers
    listed: Listed
    is_unknown: Booleans
    weights: Floats
    known: Floats
    """Records in which each symptom is known."""

    @classmethod
    def of(cls, findings: Findings) -> "RecordLists":
        """List the records of some findings."""
        records = distinct_records(findings)
        known = findings.n_records - findings.count_unknown().astype(float)
        return cls(records.offsets, records.symptoms, ~records.is_present, records.weights, known)

    def fresh(self, n_diseases: int) -> SampledRecords:
        """Return them with no disease on."""
        shape = len(self.weights), (n_diseases + 63) // 64
        states, candidates = (np.zeros(shape, dtype=np.uint64) for _ in range(2))
        nothing = np.zeros((0, shape[1]), dtype=np.uint64)
        return SampledRecords(
            self.offsets, self.listed, self.is_unknown, 0, states, candidates,
            Seen(nothing, nothing),
        )  # fmt: skip

    def spans(self) -> list[Integers]:
        """Split them into parts."""
        n = len(self.weights)
        return [np.array([first, min(first + PART, n)]) for first in range(0, n, PART)]


class EdgeScores(NamedTuple):
    """Tests of edges, one entry each: of those a network does not have, or of those that it has."""

    edges: Integers
    """Disease, symptom."""
    alone: Floats
    """By how much the log likelihood is higher with the edge, all else as it is; 0 or
    below where one that is there would better be none. Of edges that are not there it is too high
    for the best of many, where diseases are sampled: see `again`."""
    shares: Floats
    """The part of what records say of an edge that no fitted parameter takes up."""
    strengths: Floats
    """1 - f, with the edge."""
    is_close: Booleans
    """True where all parameters were taken off, not only the nearest."""
    is_there: bool
    """True if the network has the edges."""
    again: Floats | None = None
    """As `alone`, by other samples of diseases: the best of many are chosen by those that happened
    to speak for them. None: they were not looked at again."""

    @property
    def gains(self) -> Floats:
        """Nearly the difference of log likelihoods when all parameters have followed.

        They follow to where it is smaller where an edge goes, larger where one comes; by how much
        is known only near f = 1, where that is little.
        """
        if self.is_there:
            return np.maximum(self.alone, 0.0) * self.shares
        alone = self.alone if self.again is None else np.clip(self.again, 0.0, self.alone)
        return np.maximum(alone, np.minimum(alone / self.shares, NEAR))

    @property
    def p_values(self) -> Floats:
        """The chance of such a gain without the edge: half a chi-square, f = 1 being a border."""
        return np.asarray(np.where(self.gains > 0.0, ndtr(-np.sqrt(2.0 * self.gains)), 1.0))


class PairScorer:
    """Scores of all pairs of diseases and symptoms under a network."""

    def __init__(
        self, network: NoisyOrNetwork, findings: Findings, *, seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        if not network.is_plain:
            raise ParameterError(
                "edges are tested in networks of independent diseases; those of this one occur "
                "together, or depend on covariates. Give network.as_independent(), or learn one "
                "with causes='independent' and without covariates."
            )
        self.network = network.with_parameters(inside(network.parameters))
        self.structure = network.structure
        self._records = RecordLists.of(findings.with_structure(self.structure))
        self._flat = flatten(self.network), _with_all_edges(self.network)
        self._seed, self._n_jobs = seed, n_jobs

    def sums(self) -> PairSums:
        """Add up what all records say."""
        sampled = self._records.fresh(self.structure.n_diseases)

        def add(spans: list[Integers]) -> PairSums:
            sums = PairSums.zeros(self.structure)
            for span in spans:
                score_kernels.sum_pairs(
                    *self._flat, sampled, self._records.weights, span, self._seed, sums
                )
            return sums

        spans = self._records.spans()
        parts = [spans[number::N_PARTS] for number in range(max(min(N_PARTS, len(spans)), 1))]
        # Each has large matrices of its own: no more are there at a time than threads need.
        return total_of(one_by_one(add, parts, self._n_jobs, n_waiting=0), self._n_jobs)

    def absent_edges(self, sums: PairSums) -> EdgeScores:
        """Test all edges that the network does not have."""
        is_edge = self.structure.sparse_matrix().toarray().T != 0
        gains = sums.gains + sums.absent_gains[:, np.newaxis]
        alone, strengths = highest(gains[~is_edge])
        shares = unexplained(sums, self.network.priors, self._records.known)[~is_edge]
        edges = np.argwhere(~is_edge)
        is_close = np.zeros(len(edges), dtype=np.bool_)
        found = EdgeScores(edges, alone, shares, strengths, is_close, is_there=False)
        if self.structure.n_parameters > MOST_PROJECTED or not len(edges):
            return found
        best = np.argsort(-found.gains)[:MOST_CLOSE]
        best = best[found.gains[best] > STANDS_OUT]
        is_close[best], again = True, alone.copy()
        shares[best], again[best] = self.closely(edges[best], strengths[best])
        return found._replace(again=again)

    def present_edges(self, sums: PairSums) -> EdgeScores:
        """Test all edges that the network has."""
        edges, alone = self.structure.edges, -sums.edge_gains
        if self.structure.n_parameters <= MOST_PROJECTED:
            shares = self._own_shares()
        else:
            shares = unexplained(sums, self.network.priors, self._records.known)[tuple(edges.T)]
        is_close = np.full(len(edges), self.structure.n_parameters <= MOST_PROJECTED)
        strengths = 1.0 - self.network.failures
        return EdgeScores(edges, alone, shares, strengths, is_close, is_there=True)

    def _own_shares(self) -> Floats:
        """Return the part of what records say of each edge that no other parameter takes up.

        The information on it given the others is the inverse of its variance.
        """
        total, products, *_ = self._products(np.empty((0, 2), dtype=np.int64), np.empty(0))
        is_free = self._is_free(total)
        first = self.structure.n_parameters - self.structure.n_edges
        own = np.diag(products)[first:]
        free = np.flatnonzero(is_free)
        inverse = np.full(len(total), np.inf)
        inverse[free] = np.diag(np.linalg.inv(_regular(products[np.ix_(free, free)])))
        shares = 1.0 / np.maximum(inverse[first:] * own, 1.0)
        shares[~is_free[first:]] = 1.0  # nothing else moves with what is at the border
        return np.clip(shares, LEAST_SHARE, 1.0)

    def closely(self, edges: Integers, strengths: Floats) -> tuple[Floats, Floats]:
        """Return the part of what records say of edges that no fitted parameter takes up.

        And by how much the log likelihood is higher with each, by other samples than those that it
        was chosen by: where these hold a state that hardly ever occurs, they seem to ask for edges.
        """
        total, products, n_effective, gains = self._products(edges, strengths)
        n_fitted = self.structure.n_parameters
        free = np.flatnonzero(self._is_free(total[:n_fitted]))
        information, cross = products[np.ix_(free, free)], products[free, n_fitted:]
        taken = np.linalg.solve(_regular(information), cross)
        own = np.maximum(np.diag(products)[n_fitted:], 1e-300)
        explained = np.einsum("ij,ij->j", taken, cross) / own
        return np.maximum(1.0 - less_of_few(explained, n_effective), LEAST_SHARE), gains

    def _is_free(self, total: Floats) -> Booleans:
        n, m = self.structure.n_diseases, self.structure.n_symptoms
        is_small = np.concatenate([
            np.zeros(n, dtype=np.bool_), self.network.leaks < AT_BORDER**2,
            self.network.failures > 1.0 - AT_BORDER,
        ])  # fmt: skip
        assert len(total) == n + m + self.structure.n_edges
        return ~(is_small & (total < 0.0))

    def _products(
        self, edges: Integers, strengths: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Return sums of scores, and of their products, of what was fitted and of some edges.

        And on how many records each edge's rest, (sum s^2)^2 / sum s^4, and what each gains with a
        strength.
        """
        pairs = np.concatenate([self.structure.edges, edges])
        size = self.structure.n_parameters + len(edges)
        sampled = self._records.fresh(self.structure.n_diseases)
        total, products = np.zeros(size), np.zeros((size, size))
        fourth, gains = np.zeros(len(edges)), np.zeros(len(edges))
        for span in self._records.spans():
            rows = self._rows(sampled, span, pairs, size)
            weights = self._records.weights[span[0] : span[1]]
            total += weights @ rows
            scores = rows[:, size - len(edges) :]
            fourth += weights @ scores**4
            gains += weights @ np.log1p(strengths * scores)
            rows *= np.sqrt(weights)[:, np.newaxis]
            fitted = rows[:, : self.structure.n_parameters]
            products[: fitted.shape[1]] += fitted.T @ rows
            own = np.einsum("ij,ij->j", rows, rows)
            others = np.arange(fitted.shape[1], size)
            products[others, others] += own[others]
        numbers = np.arange(size - len(pairs), size)
        own = products[numbers, numbers]
        n_effective = own[len(pairs) - len(edges) :] ** 2 / np.maximum(fourth, 1e-300)
        products[numbers, numbers] = np.maximum(own, self._expected(pairs, np.diag(products)))
        return total, products, n_effective, gains

    def _expected(self, pairs: Integers, squares: Floats) -> Floats:
        """Return what the sum of squares of each pair's scores is expected to be.

        `squares` begins with those of the priors' scores.

        Where a finding is too rare to have occurred with a disease, the records that would tell
        most are not there; then all edges of a disease look alike. With a = P(absent | disease) a
        case has the score -1 or, with a probability of 1 - a, a / (1 - a).
        """
        i, j = pairs.T
        failures = self._flat[1].failures.reshape(
            self.structure.n_diseases, self.structure.n_symptoms
        )[i, j]
        p = self.network.priors[i]
        absent = (1.0 - self.network.marginals())[j] * failures / (1.0 - p + p * failures)
        cases = squares[i] + self._records.weights.sum() * p**2  # of posteriors, squared
        return np.asarray(cases * absent / np.maximum(1.0 - absent, 1e-9))

    def _rows(self, sampled: SampledRecords, span: Integers, pairs: Integers, size: int) -> Floats:
        """Return the scores of some records, a row each."""
        rows = np.empty((int(span[1] - span[0]), size))
        starts = range(int(span[0]), int(span[1]), PART // 4)

        def write(first: int) -> None:
            here = np.array([first, min(first + PART // 4, int(span[1]))])
            part = rows[first - int(span[0]) :]
            score_kernels.score_pairs(*self._flat, sampled, here, self._seed + 1, pairs, part)

        in_threads(write, starts, self._n_jobs)
        return rows


def _with_all_edges(network: NoisyOrNetwork) -> FlatNetwork:
    """Return a network with an edge of failure 1 wherever there is none."""
    structure = network.structure
    n, m = structure.n_diseases, structure.n_symptoms
    everything = np.column_stack([np.repeat(np.arange(n), m), np.tile(np.arange(m), n)])
    failures = np.ones((n, m))
    failures[structure.edges[:, 0], structure.edges[:, 1]] = network.failures
    full = Structure(structure.diseases, structure.symptoms, everything)
    return flatten(NoisyOrNetwork(full, network.priors, failures.ravel(), network.leaks))


def _regular(matrix: Floats) -> Floats:
    """Return a matrix that can be inverted: what records say nothing of does not move."""
    diagonal = np.diag(matrix)
    ridge = 1e-8 * diagonal + 1e-10 * diagonal.max(initial=1e-300)
    return np.asarray(matrix + np.diag(ridge))


def highest(gains: Floats) -> tuple[Floats, Floats]:
    """Return the largest gains over all strengths, and where they are; 0 where none gains.

    `gains` has a row for each edge. Between two strengths a parabola is followed.
    """
    strengths = np.array([0.0, *STRENGTHS])
    values = np.column_stack([np.zeros(len(gains)), gains])
    best = np.argmax(values, axis=1)
    middle = np.clip(best, 1, len(strengths) - 2)
    rows = np.arange(len(gains))
    x0, x1, x2 = (strengths[middle + step] for step in (-1, 0, 1))
    y0, y1, y2 = (values[rows, middle + step] for step in (-1, 0, 1))
    left, right = (y1 - y0) / (x1 - x0), (y2 - y1) / (x2 - x1)
    bend = (right - left) / (x2 - x0)  # never upwards: each record's term is concave
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.clip((x0 + x1) / 2.0 - left / (2.0 * bend), x0, x2)
    x = np.where(bend < 0.0, x, strengths[best])
    y = y0 + left * (x - x0) + bend * (x - x0) * (x - x1)
    is_higher = (y > values[rows, best]) & (best > 0)
    return np.where(is_higher, y, values[rows, best]), np.where(is_higher, x, strengths[best])


def unexplained(sums: PairSums, priors: Floats, known: Floats) -> Floats:
    """Return the part of what records say of each pair that its prior and leak do not take up.

    With s = g - e, l = h - 1 and r = e - p, all in records where the symptom is known.
    """
    p = priors[:, np.newaxis]
    e = sums.e[:, np.newaxis] - sums.unknown_e
    ee = sums.ee[:, np.newaxis] - sums.unknown_ee
    s, ss = sums.g - e, sums.gg - 2.0 * sums.ge + ee
    leaks = sums.hh - 2.0 * sums.h + known
    s_leak = sums.gh - sums.g - sums.eh + e
    prior_prior, s_prior = ee - 2.0 * p * e + p * p * known, sums.ge - ee - p * s
    prior_leak = sums.eh - e - p * (sums.h - known)
    # Least squares of s on the two, in closed form.
    determinant = leaks * prior_prior - prior_leak**2
    taken = s_leak**2 * prior_prior - 2.0 * s_leak * s_prior * prior_leak + s_prior**2 * leaks
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = 1.0 - taken / determinant / ss
        n_present = np.where(sums.gg > 0.0, sums.g**2 / sums.gg, 0.0)
        shares = 1.0 - less_of_few(1.0 - shares, n_present)
    is_fine = (determinant > 1e-9 * leaks * prior_prior) & (ss > 0.0)
    return np.maximum(np.where(is_fine, shares, 1.0), LEAST_SHARE)


def less_of_few(explained: Floats, n_effective: Floats) -> Floats:
    """Return what parameters explain of records, less where these are few: there anything fits."""
    return np.asarray(explained * n_effective / (n_effective + FEW_RECORDS))
