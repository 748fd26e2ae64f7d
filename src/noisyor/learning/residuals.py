"""Counts against a network: standardised residuals, and what fitting has taken off them.

Given how often each of two symptoms occurs, the records with both are expected to be

    n (1 - M_a - M_b + R M_a M_b)

with R from the network. After learning, residuals e are smaller than those of the true parameters,
and by how much depends on the method. Not so what the projection

    (I - J (J' J)^+ J') e

leaves of them, with J the derivatives of the expectations by the parameters that were fitted: for
e + J d, with a small error d of the parameters, it is the same. One reference serves all methods.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from noisyor.findings import Findings
from noisyor.findings.blocks import Block, pack
from noisyor.flags import Flag
from noisyor.learning.decompose import edge_strengths, strengths_of
from noisyor.learning.mixture_derivatives import log_moment_derivatives
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.moments.moments import Margins
from noisyor.moments.values import SetValues
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import MARGIN, Booleans, Floats, Parameters
from noisyor.structure import Structure

DOUBTED = Flag.WEAK | Flag.WEAKLY_IDENTIFIED | Flag.AMBIGUOUS | Flag.SWAPPABLE
"""Of diseases with such a prior, what they would move is a guess: whether one depends on another,
or an edge of it is missing, is not tested."""
MOST_DENSE = 1500
"""So many fitted parameters are projected off exactly; more of them by conjugate gradients."""
MOST_STEPS = 60
TOLERANCE = 1e-4
MOST_IMPROVEMENTS = 5
WORTHWHILE = 0.5
"""By so much the sum of squares must fall with better parameters."""
USUAL_ERROR = 0.3
"""Parameters of which pairs say less than this stay about where they are."""


class Compared(NamedTuple):
    """What was counted of some sets of symptoms, and what a network expects."""

    observed: Floats
    expected: Floats
    spreads: Floats
    """Standard deviations of what is observed, were nothing fitted; 0 where it cannot vary."""
    sensitivities: Floats
    """By how many of them the expectation moves with log R of a pair, or log M of a symptom."""

    @property
    def residuals(self) -> Floats:
        """How many standard deviations more were observed than expected."""
        residuals = np.zeros(len(self.spreads))
        difference = self.observed - self.expected
        return np.divide(difference, self.spreads, where=self.spreads > 0, out=residuals)

    def at(self, rows: Indices) -> "Compared":
        """Return some of the sets."""
        return Compared(*(each[rows] for each in self))


class CountComparison:
    """Which pairs and symptoms of some counts are tested against a network, and how.

    Parameters
    ----------
    flags
        Those of an estimate that was learned from the records: what is neither fixed nor left
        unlearned was fitted. None: the network is compared as it stands.
    fixed_causes
        Which parameters of the causes are fixed, in the order of `LearnedCauses`; None: none.
    """

    def __init__(
        self,
        network: NoisyOrNetwork,
        moments: Moments,
        flags: Parameters | None = None,
        fixed_causes: Booleans | None = None,
    ) -> None:
        self._fixed_causes = fixed_causes
        self.network, plan = network, moments.plan
        structure = network.structure
        given = Parameters.full(structure, int(Flag.FIXED)) if flags is None else flags
        self._is_free = given.map(lambda each: (each & (Flag.FIXED | Flag.NOT_LEARNED)) == 0)
        pairs = compare_pairs(moments, _excesses(network, plan))
        is_tested = (pairs.spreads > 0) & np.isfinite(pairs.spreads) & np.isfinite(pairs.expected)
        self._rows = np.flatnonzero(is_tested & ~_rest_on_unlearned(given, structure, plan.pairs))
        self.pairs = plan.pairs[self._rows]
        is_lost = ((given.failures | given.priors[structure.edges[:, 0]]) & Flag.NOT_LEARNED) != 0
        n_lost = np.bincount(structure.edges[is_lost, 0], minlength=structure.n_diseases)
        self.is_known = (n_lost == 0) & ((given.priors & DOUBTED) == 0)
        """True for diseases all of whose parameters were learned or fixed, and well."""
        # A leak that was fitted takes up all that its symptom's frequency could show.
        is_fixed = (given.leaks & Flag.FIXED) != 0
        singles = compare_symptoms(moments, network)
        is_tested = (
            is_fixed[plan.symptoms] & (singles.spreads > 0) & (moments.values(1).n_records > 0)
        )
        self._single_rows = np.flatnonzero(is_tested)
        self.symptoms = plan.symptoms[self._single_rows]
        self._known_shares = np.ones(structure.n_symptoms)
        self._known_shares[plan.symptoms] = moments.values(1).n_records / moments.n_records
        self.plan = MomentPlan(structure, symptoms=self.symptoms[:, np.newaxis], pairs=self.pairs)
        self._look(network, moments)
        # Where diseases occur together only the maximum of the likelihood is known, and is near.
        for _ in range(MOST_IMPROVEMENTS if network.is_plain else 0):
            if not self._improve(moments):
                break
        if not is_fixed.all():
            self.network = _with_rates(self.network, moments, ~is_fixed)

    def _look(self, network: NoisyOrNetwork, moments: Moments) -> None:
        """Compare with a network."""
        excesses = _excesses(network, moments.plan)
        self.network, self.excesses = network, excesses[self._rows]
        self.of_pairs = compare_pairs(moments, excesses).at(self._rows)
        self.of_symptoms = compare_symptoms(moments, network).at(self._single_rows)
        self.projection = Projection(self._derivatives(self._is_free))

    def _improve(self, moments: Moments) -> bool:
        """Move the fitted parameters to where they explain most, if that is far; False if not.

        What the projection leaves is the same only for small errors of the parameters.
        """
        before, kept = self.residuals(), vars(self).copy()
        step = self.projection.step(before)
        free = self._is_free
        values = Parameters(self.network.priors, self.network.failures, self.network.leaks)
        failures, priors = values.failures.copy(), values.priors.copy()
        n_failures = int(free.failures.sum())
        failures[free.failures] += step[:n_failures]
        priors[free.priors] += step[n_failures:]
        low, high = MARGIN, 1.0 - MARGIN
        structure = self.network.structure
        moved = NoisyOrNetwork(
            structure, np.clip(priors, low, high), np.clip(failures, low, high), values.leaks
        )
        self._look(moved, moments)
        if (self.residuals() ** 2).sum() < (before**2).sum() - WORTHWHILE:
            return True
        vars(self).update(kept)
        return False

    @property
    def n_pairs(self) -> int:
        """How many pairs are tested; their residuals come first."""
        return len(self.pairs)

    def residuals(self) -> Floats:
        """Return the residuals of the pairs and the symptoms that are tested."""
        return np.concatenate([self.of_pairs.residuals, self.of_symptoms.residuals])

    def simulated(self, n_sets: int, n_records: int, rng: np.random.Generator) -> Floats:
        """Return such residuals of records that the network itself has made, a row for each set.

        A set has about so many records; as many findings of each symptom are unknown as were.
        """
        records = self.network.sample(n_sets * n_records, rng)
        if (self._known_shares < 1.0).any():
            records = _hidden(records, self._known_shares, rng)
        counted = count_moments(records, self.plan, n_groups=n_sets)
        rows = np.searchsorted(self.plan.symptoms, self.symptoms)
        found = np.zeros((n_sets, len(self.pairs) + len(self.symptoms)))
        for number in np.flatnonzero(counted.group_records).tolist():
            group = slice(number, number + 1)
            present = tuple(counts[group] for counts in counted.present)
            margins = counted.margins and Margins(*(counts[group] for counts in counted.margins))
            moments = Moments(self.plan, counted.group_records[group], present, margins)
            pairs = compare_pairs(moments, self.excesses).residuals
            singles = compare_symptoms(moments, self.network).at(rows).residuals
            found[number] = np.concatenate([pairs, singles])
        return np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0)

    def _derivatives(self, is_free: Parameters) -> Any:
        """Return the derivatives of the expectations, in standard deviations; sparse."""
        from scipy.sparse import csr_array, vstack

        if not self.network.is_plain:
            return self._mixture_derivatives(is_free)
        structure = self.network.structure
        owners, symptoms = structure.edges.T
        p, f = self.network.priors[owners], self.network.failures
        edges = np.arange(structure.n_edges)
        # Of v by f, and its logarithm by p; of log M by f and by p.
        slope = -np.sqrt(p * (1.0 - p)) / np.maximum(1.0 - p + p * f, 1e-9) ** 2
        growth = (1.0 - 2.0 * p) / np.maximum(2.0 * p * (1.0 - p), 1e-9) + strengths_of(p, f)
        v = edge_strengths(p, f)
        k, one, other = _shared_edges(structure, self.pairs)
        by_v = self.of_pairs.sensitivities[k] * v[other] / (1.0 + v[one] * v[other])
        shape = len(self.pairs), len(f)
        of_strengths = csr_array((by_v, (k, one)), shape)
        of_pairs = _chained(of_strengths, slope, v * growth, owners, is_free)
        own = self.of_symptoms.sensitivities
        to_row = np.full(structure.n_symptoms, -1)
        to_row[self.symptoms] = np.arange(len(self.symptoms))
        here = to_row[symptoms] >= 0
        entries = own[to_row[symptoms[here]]], (to_row[symptoms[here]], edges[here])
        of_edges = csr_array(entries, (len(self.symptoms), len(f)))
        by_f = p / np.maximum(1.0 - p + p * f, 1e-9)
        of_symptoms = _chained(of_edges, by_f, -strengths_of(p, f), owners, is_free)
        return csr_array(vstack([of_pairs, of_symptoms]))

    def _mixture_derivatives(self, is_free: Parameters) -> Any:
        """Return the same where diseases occur together, or depend on covariates."""
        from scipy.sparse import csr_array, vstack

        n_edges = self.network.structure.n_edges
        everything = np.arange(self.network.structure.n_symptoms)[:, np.newaxis]
        singles = log_moment_derivatives(self.network, everything)
        first, second = self.pairs.T
        both = log_moment_derivatives(self.network, self.pairs)
        rows = vstack([both - singles[first] - singles[second], singles[self.symptoms]])
        own = self.of_pairs.sensitivities, self.of_symptoms.sensitivities
        # Parameters of the causes were fitted with the failures, or all of it is as it stands.
        causes = np.full(rows.shape[1] - n_edges, bool(is_free.priors.any()))
        if self._fixed_causes is not None and len(self._fixed_causes) == len(causes):
            causes &= ~self._fixed_causes
            rows = _keeping_shares(rows.tocsr(), self.network.causes, self._fixed_causes, n_edges)
        kept = np.flatnonzero(np.concatenate([is_free.failures, causes]))
        return csr_array(rows.multiply(np.concatenate(own)[:, np.newaxis]).tocsr()[:, kept])


def _keeping_shares(rows: Any, causes: Any, is_fixed: Booleans, first: int) -> Any:
    """Return derivatives by the logarithms of shares, in blocks with fixed ones at their sum.

    The logarithm of one share changes all others of its block; where some are fixed, the others
    must take from each other.
    """
    if causes.kind != "joint":
        return rows
    rows, start = rows.tolil(), 0
    for shares in causes.shares:
        free = start + np.flatnonzero(~is_fixed[start : start + len(shares)])
        if len(free) < len(shares) and (total := shares[free - start].sum()) > 0.0:
            columns = first + free
            together = np.asarray(rows[:, columns].sum(axis=1)).reshape(-1, 1)
            rows[:, columns] = rows[:, columns].toarray() - together * shares[free - start] / total
        start += len(shares)
    return rows.tocsr()


def _hidden(records: Findings, shares: Floats, rng: np.random.Generator) -> Findings:
    """Return the records with as large a share of each symptom known, chosen at random."""
    blocks = []
    for block in records.blocks:
        draws = rng.random((block.n_records, len(shares)), dtype=np.float32)
        unknown = pack(draws >= shares.astype(np.float32))
        blocks.append(Block(block.n_records, block.present & ~unknown, unknown))
    return Findings(records.structure, blocks)


def _excesses(network: NoisyOrNetwork, plan: MomentPlan) -> Floats:
    return Moments.exact(network, plan).values(2).pair_excesses


def _with_rates(network: NoisyOrNetwork, moments: Moments, is_free: Booleans) -> NoisyOrNetwork:
    """Return the network with leaks, where free, that make symptoms as frequent as seen."""
    rates = network.marginals()
    seen = moments.plan.symptoms
    n_records = np.maximum(moments.values(1).n_records, 1.0)
    rates[seen] = np.where(is_free[seen], moments.counts(1) / n_records, rates[seen])
    alone = (1.0 - network.marginals()) / (1.0 - network.leaks)
    leaks = np.clip(1.0 - (1.0 - rates) / np.maximum(alone, MARGIN), MARGIN, 1.0 - MARGIN)
    leaks = np.where(is_free, leaks, network.leaks)
    causes = None if network.is_plain else network.causes
    priors = network.priors if causes is None else None
    return NoisyOrNetwork(network.structure, priors, network.failures, leaks, causes=causes)


def compare_pairs(moments: Moments, excesses: Floats) -> Compared:
    """Compare counts of pairs with a network's R - 1, given how often each symptom occurs."""
    counted = moments.values(2)
    fitted = SetValues(
        counted.n_records, counted.odds, excesses, np.zeros(len(excesses)), counted.absent
    )
    ratios = fitted.ratios()
    with np.errstate(all="ignore"):
        a, b = (1.0 / (1.0 + fitted.odds)).T  # absent; 0 for a symptom that is always present
        both = 1.0 - a - b + ratios * a * b
        expected = np.maximum(fitted.n_records * both, 1e-12)
        scale = fitted.n_records * a * b
        spreads = np.sqrt(fitted.ratio_variances()) * scale
        spreads[~np.isfinite(spreads)] = 0.0
        sensitivities = np.where(spreads > 0, scale * ratios / spreads, 0.0)
    return Compared(moments.counts(2).astype(np.float64), expected, spreads, sensitivities)


def compare_symptoms(moments: Moments, network: NoisyOrNetwork) -> Compared:
    """Compare how often each symptom occurs with what a network says."""
    n_records = moments.values(1).n_records
    chances = network.marginals()[moments.plan.symptoms]
    expected = n_records * chances
    spreads = np.sqrt(expected * (1.0 - chances))
    absent = n_records - expected
    sensitivities = np.divide(-absent, spreads, where=spreads > 0, out=np.zeros(len(spreads)))
    return Compared(moments.counts(1).astype(np.float64), expected, spreads, sensitivities)


def _rest_on_unlearned(flags: Parameters, structure: Structure, pairs: Indices) -> Booleans:
    """Return True for pairs that a disease couples by a prior or failure that was not learned."""
    owners = structure.edges[:, 0]
    is_lost = ((flags.failures | flags.priors[owners]) & Flag.NOT_LEARNED) != 0
    k, one, _ = _shared_edges(structure, pairs)
    return np.bincount(k, weights=is_lost[one], minlength=len(pairs)) > 0


def _shared_edges(structure: Structure, pairs: Indices) -> tuple[Indices, Indices, Indices]:
    """Return, for each disease that couples a pair, its row and the edges to both; twice.

    The second time the edges change places.
    """
    numbered = structure.sparse_matrix(np.arange(1, structure.n_edges + 1))
    is_edge = structure.sparse_matrix()
    first, second = pairs.T
    a = (numbered[first] * is_edge[second]).tocoo()
    b = (is_edge[first] * numbered[second]).tocoo()
    order_a, order_b = (np.lexsort(each.coords[::-1]) for each in (a, b))
    rows = a.coords[0][order_a]
    one, other = a.data[order_a] - 1, b.data[order_b] - 1
    return (
        np.concatenate([rows, rows]),
        np.concatenate([one, other]),
        np.concatenate([other, one]),
    )


def _chained(
    matrix: Any, by_failure: Floats, by_prior: Floats, owners: Indices, is_free: Parameters
) -> Any:
    """Return derivatives by free failures and priors, from those by something of each edge."""
    from scipy.sparse import csr_array, hstack

    edges, n_diseases = np.arange(len(owners)), len(is_free.priors)
    to_priors = csr_array((by_prior, (edges, owners)), (len(owners), n_diseases))
    failures = matrix.multiply(by_failure[np.newaxis]).tocsr()[:, is_free.failures]
    priors = (matrix @ to_priors)[:, is_free.priors]
    return hstack([failures, priors]).tocsr()


class Projection:
    """Takes off residuals what small changes of the fitted parameters would."""

    def __init__(self, derivatives: Any) -> None:
        norms = np.sqrt(np.asarray(derivatives.multiply(derivatives).sum(axis=0)).ravel())
        self._norms = norms
        self._used = used = np.flatnonzero(norms > 1e-9)
        self._derivatives = derivatives[:, used].multiply(1.0 / norms[np.newaxis, used]).tocsr()
        self._squares = (self._derivatives.T @ self._derivatives).tocsr()
        self.is_exact = len(used) <= MOST_DENSE

    @functools.cached_property
    def _roots(self) -> Floats:
        """A matrix whose square is the inverse of J' J, as far as that has one."""
        values, vectors = np.linalg.eigh(self._squares.toarray())
        kept = values > 1e-8 * values.max(initial=0.0)
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, residuals: Floats) -> Floats:
        """Return what is left of residuals, a row for each set of them."""
        sums = np.asarray((self._derivatives.T @ residuals.T).T)
        if self.is_exact:
            solved = (sums @ self._roots) @ self._roots.T
        else:
            solved = _conjugate_gradients(self._squares, sums)
        return np.asarray(residuals - (self._derivatives @ solved.T).T)

    def step(self, residuals: Floats) -> Floats:
        """Return how the fitted parameters would change to explain more of the residuals."""
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import cg

        norms = self._norms[self._used]
        sums = self._derivatives.T @ residuals
        matrix = self._squares + diags_array((norms * USUAL_ERROR) ** -2.0)
        found, _ = cg(matrix, sums, rtol=1e-3, maxiter=MOST_STEPS)
        step = np.zeros(len(self._norms))
        step[self._used] = found / norms
        return step

    def left(self) -> Floats:
        """Return the share of each residual's variance that is left, were all independent."""
        n = self._derivatives.shape[0]
        if not self.is_exact:
            return np.ones(n)
        taken = np.empty(n)
        for start in range(0, n, 4096):
            part = slice(start, start + 4096)
            taken[part] = ((self._derivatives[part] @ self._roots) ** 2).sum(axis=1)
        return np.clip(1.0 - taken, 0.0, 1.0)


def _conjugate_gradients(matrix: Any, sums: Floats) -> Floats:
    """Solve matrix x = sums for each row of sums; the matrix has a diagonal of ones."""
    solved = np.zeros_like(sums)
    left, direction = sums.copy(), sums.copy()
    squares = (left**2).sum(axis=1, keepdims=True)
    end = TOLERANCE**2 * squares.max(initial=0.0)
    for _ in range(MOST_STEPS):
        if squares.max(initial=0.0) <= end:
            break
        moved = np.asarray((matrix @ direction.T).T)
        curved = (direction * moved).sum(axis=1, keepdims=True)
        step = squares / np.where(curved > 0, curved, np.inf)
        solved += step * direction
        left -= step * moved
        before, squares = squares, (left**2).sum(axis=1, keepdims=True)
        direction = left + squares / np.where(before > 0, before, np.inf) * direction
    return solved
