"""Misfits: pairs of symptoms that occur together more or less often than the network explains.

Given how often each of two symptoms occurs, the records with both are expected to be

    n (1 - M_a - M_b + R M_a M_b)

with R from the learned network. What is observed deviates from that with a known variance. The
expected number being small more often than not, its tails are taken from a Poisson distribution
that is stretched to that variance. A pair that deviates too much may have a disease in common that
the structure does not have, or lack an edge.

>>> from noisyor import NoisyOrLearner, datasets
>>> clinic = datasets.clinic()
>>> NoisyOrLearner(clinic.structure).fit(clinic.sample(3000, rng=0)).estimate_.misfits()
Misfits(0 of 1,770 pairs deviate; p = 1)
"""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from noisyor.errors import ParameterError, quoted
from noisyor.immutable import Immutable
from noisyor.io.tables import write_table
from noisyor.learning.decompose import edge_strengths
from noisyor.moments import Moments
from noisyor.moments.values import SetValues
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats

if TYPE_CHECKING:
    import pyarrow as pa


class Scored(NamedTuple):
    """Pairs, symptoms, or edges that might be missing, that were tested; one row each."""

    members: Indices
    """Two symptoms; or one; or a disease and a symptom."""
    residuals: Floats
    """Standardised: how many standard deviations more than expected."""
    p_values: Floats
    q_values: Floats
    """The smallest false-discovery rate at which each is found (Benjamini and Hochberg 1995)."""

    @property
    def p_value(self) -> float:
        """The chance of anything as unusual as this if the network is right (Simes 1986)."""
        return float(self.q_values.min(initial=1.0))

    def found(self, level: float) -> Indices:
        """Return the rows that are found at a false-discovery rate, the clearest first."""
        rows = np.flatnonzero(self.q_values <= level)
        return np.asarray(rows[np.lexsort((-np.abs(self.residuals[rows]), self.p_values[rows]))])

    def columns(self, rows: Indices) -> dict[str, Floats]:
        """Return what a table says of some rows."""
        columns = {"residual": self.residuals, "p_value": self.p_values, "q_value": self.q_values}
        return {name: values[rows] for name, values in columns.items()}


class Misfits(Immutable):
    """What the learned network does not explain, with false-discovery control.

    Parameters
    ----------
    network
        The learned network.
    moments
        Counts of pairs of the records; pairs that share no disease are tested too.
    level
        The share of false ones that is allowed among those that are called deviating.
    variances
        How uncertain the network's ratio R of each pair is: 0 by default, as it is for a network
        that fits the records as well as any; NaN for pairs that are not to be tested.
    """

    __slots__ = ("__dict__", "expected", "level", "moments", "network", "observed", "pairs")

    def __init__(
        self, network: NoisyOrNetwork, moments: Moments, *, level: float = 0.05,
        variances: Floats | None = None,
    ) -> None:  # fmt: skip
        check_usable(network, moments, level)
        self.network, self.moments, self.level = network, moments, level
        self.observed = moments.counts(2).astype(np.float64)
        fitted = fitted_values(network, moments)
        a, b = (1.0 / (1.0 + fitted.odds)).T  # absent; 0 for a symptom that is always present
        both = 1.0 - a - b + fitted.ratios() * a * b
        self.expected = np.maximum(fitted.n_records * both, 1e-12)
        spreads = np.sqrt(fitted.ratio_variances() + (0.0 if variances is None else variances))
        with np.errstate(invalid="ignore"):
            spreads *= fitted.n_records * a * b
        rows = np.flatnonzero(np.isfinite(self.expected) & np.isfinite(spreads) & (spreads > 0))
        self.observed, self.expected = self.observed[rows], self.expected[rows]
        self.pairs = _compare(moments.plan.pairs[rows], self.observed, self.expected, spreads[rows])
        self._seal()

    @property
    def p_value(self) -> float:
        """The overall test, of pairs and symptoms: the chance of this if the network is right."""
        together = np.concatenate([self.pairs.p_values, self.symptoms.p_values])
        return float(q_values(together).min(initial=1.0))

    @property
    def n_found(self) -> int:
        """How many pairs deviate."""
        return int((self.pairs.q_values <= self.level).sum())

    @functools.cached_property
    def symptoms(self) -> Scored:
        """How often each symptom occurs, against what the network says.

        Where the leak was learned the two agree; not so where fixed values contradict the records.
        """
        singles = self.moments.values(1)
        chances = self.network.marginals()[self.moments.plan.symptoms]
        expected = singles.n_records * chances
        spreads = np.sqrt(expected * (1.0 - chances))
        rows = np.flatnonzero((spreads > 0) & np.isfinite(singles.odds[:, 0]))
        counts = self.moments.counts(1)[rows].astype(np.float64)
        members = self.moments.plan.symptoms[rows, np.newaxis]
        return _compare(members, counts, expected[rows], spreads[rows])

    @functools.cached_property
    def edges(self) -> Scored:
        """Edges that the structure does not have, each tested with all its pairs at once."""
        return _score_edges(self.network, self.pairs.members, self.moments)

    def table(self) -> "pa.Table":
        """Return the pairs that deviate, the clearest first, as an Arrow table.

        The columns: first, second (symptoms), observed, expected (records with both), residual
        (standardised), p_value, q_value, shared (diseases that explain the pair in part).
        """
        import pyarrow as pa

        rows = self.pairs.found(self.level)
        structure = self.network.structure
        members = self.pairs.members[rows].tolist()
        shared = [sorted(set(structure.parents(a)) & set(structure.parents(b))) for a, b in members]
        names = structure.symptoms
        return pa.table(
            {
                "first": pa.array([names[a] for a, _ in members], pa.string()),
                "second": pa.array([names[b] for _, b in members], pa.string()),
                "observed": self.observed[rows].astype(np.int64),
                "expected": self.expected[rows],
                **self.pairs.columns(rows),
                "shared": pa.array(
                    [", ".join(structure.diseases[i] for i in each) for each in shared], pa.string()
                ),
            }
        )

    def edge_table(self) -> "pa.Table":
        """Return the edges that seem to be missing, the clearest first, as an Arrow table.

        The columns: disease, symptom, residual (standardised), p_value, q_value. An edge that is
        missing makes its symptom deviate with many of the disease's; here they count together.
        """
        import pyarrow as pa

        rows = self.edges.found(self.level)
        structure = self.network.structure
        members = self.edges.members[rows].tolist()
        return pa.table(
            {
                "disease": pa.array([structure.diseases[i] for i, _ in members], pa.string()),
                "symptom": pa.array([structure.symptoms[j] for _, j in members], pa.string()),
                **self.edges.columns(rows),
            }
        )

    def save(self, path: Any, *, spreadsheet_safe: bool = False) -> None:
        """Write the pairs that deviate as CSV or Parquet, by the suffix of the path.

        With `spreadsheet_safe` as `Estimate.save_summary` does.
        """
        write_table(path, self.table(), spreadsheet_safe=spreadsheet_safe)

    def __repr__(self) -> str:
        return (
            f"Misfits({self.n_found:,} of {len(self.pairs.p_values):,} pairs deviate; "
            f"p = {self.p_value:.2g})"
        )


def check_usable(network: NoisyOrNetwork, moments: Moments, level: float) -> None:
    """Raise an error if the moments cannot be compared with the network."""
    if not isinstance(moments, Moments):
        raise ParameterError(f"misfits need Moments (count_moments), not {type(moments).__name__}.")
    if moments.plan.structure.symptoms != network.structure.symptoms:
        raise ParameterError("the moments are of other symptoms than the network.")
    if moments.is_exact or not moments.n_records:
        raise ParameterError("misfits are looked for in counts of records; these have none.")
    if not isinstance(level, float | int) or not 0.0 < level < 1.0:
        raise ParameterError(f"level must lie between 0 and 1, not {quoted(level)}.")


def fitted_values(network: NoisyOrNetwork, moments: Moments) -> SetValues:
    """Return the pairs' values with the network's ratios and the records' own frequencies."""
    counted = moments.values(2)
    excesses = Moments.exact(network, moments.plan).values(2).pair_excesses
    return SetValues(
        counted.n_records, counted.odds, excesses, np.zeros(len(excesses)), counted.absent
    )


def _compare(members: Indices, observed: Floats, expected: Floats, spreads: Floats) -> Scored:
    """Return standardised residuals and two-sided p-values."""
    from scipy.special import gammainc, gammaincc, ndtri

    stretch = spreads**2 / expected
    counts, mean = observed / stretch, expected / stretch
    is_more = observed > expected
    above, below = gammainc(np.maximum(counts, 1e-9), mean), gammaincc(counts + 1.0, mean)
    p_values = np.minimum(2.0 * np.where(is_more, above, below), 1.0)
    plain = (observed - expected) / spreads
    # Where the probability is hardly a floating point number any more, the plain residual does.
    scores = np.maximum(-ndtri(np.clip(p_values / 2.0, 1e-300, 0.5)), 0.0)
    scores = np.where(p_values > 1e-290, scores, np.maximum(scores, np.abs(plain)))
    return Scored(members, np.where(is_more, scores, -scores), p_values, q_values(p_values))


def q_values(p_values: Floats) -> Floats:
    """Return p-values corrected for the rate of false discoveries.

    >>> q_values(np.array([0.01, 0.9, 0.02, 0.5])).round(3).tolist()
    [0.04, 0.9, 0.04, 0.667]
    """
    n = len(p_values)
    order = np.argsort(p_values)
    adjusted = p_values[order] * n / np.arange(1, n + 1)
    smallest = np.minimum.accumulate(adjusted[::-1])[::-1]
    q = np.empty(n)
    q[order] = np.minimum(smallest, 1.0)
    return q


def ratio_variances(network: NoisyOrNetwork, errors: Floats, pairs: Indices) -> Floats:
    """Return how uncertain R of each pair is, given the standard errors of the failures.

    NaN where the error of a failure that couples the pair is. Errors of one disease's failures are
    taken as independent, and its prior as known: the strengths are what the records show.
    """
    structure = network.structure
    diseases = structure.edges[:, 0]
    p, f = network.priors[diseases], network.failures
    strengths = edge_strengths(p, f)
    relative = errors / np.maximum((1.0 - f) * (1.0 - p * (1.0 - f)), 1e-9)
    first, second = pairs.T

    def sums_over_parents(one: Floats, other: Floats) -> Floats:
        x, y = (structure.sparse_matrix(each) for each in (one, other))
        return np.asarray((x[first] * y[second] + y[first] * x[second]).sum(axis=1))

    is_lost = ~np.isfinite(relative)
    variances = sums_over_parents(strengths**2, np.where(is_lost, 0.0, strengths * relative) ** 2)
    if is_lost.any():
        n_lost = sums_over_parents(np.ones(len(f)), is_lost.astype(np.float64))
        variances[n_lost > 0] = np.nan
    return variances


def _score_edges(network: NoisyOrNetwork, pairs: Indices, moments: Moments) -> Scored:
    """Test every edge that is not there: would the pairs be explained better with it?

    An edge from disease i to symptom x makes c_xy = v v_iy for all children y of i that share no
    disease with x; without it x is independent of them. With a_y = v_iy / u_y, the sum of the
    a_y c_xy is compared with its standard deviation: n Cov(c_xy, c_xy') is u_x times u_y, or times
    c_yy' for another y'. Of the latter the disease's own part, v_iy v_iy', is taken exactly, that
    of other diseases from above.
    """
    from scipy.special import ndtr

    structure = network.structure
    diseases, symptoms = structure.edges.T
    singles = moments.values(1)
    n, u = (np.zeros(structure.n_symptoms) for _ in range(2))
    n[moments.plan.symptoms] = singles.n_records
    u[moments.plan.symptoms] = singles.odds[:, 0]
    u = np.maximum(u, 0.5 / np.maximum(n, 1.0))
    v = edge_strengths(network.priors[diseases], network.failures)
    worth = structure.sparse_matrix(v / u[symptoms])
    alone = structure.sparse_matrix(v**2 / u[symptoms])  # a u a, and also a v
    rows = moments.plan.rows_of(2, pairs)
    fitted = fitted_values(network, moments).pair_excesses[rows, 0]
    apart = fitted == 0.0
    together = worth.multiply(_symmetric(pairs, fitted, len(u)) @ worth).sum(axis=0)
    of_others = together - alone.sum(axis=0) ** 2 + (alone**2).sum(axis=0)
    is_apart = _symmetric(pairs, apart.astype(np.float64), len(u))
    excesses = _symmetric(pairs[apart], moments.excesses(2)[rows][apart], len(u))
    is_edge = structure.sparse_matrix()
    found_at = [np.empty((0, 2), dtype=np.int64)]
    found = [np.empty(0)]
    # Symptoms by diseases are too many numbers to hold at once.
    step = max(1, _HELD_AT_ONCE // max(1, structure.n_diseases))
    for start in range(0, len(u), step):
        part = slice(start, start + step)
        used, sums = (is_apart[part] @ alone).toarray(), (excesses[part] @ worth).toarray()
        spreads = used + used**2 + np.maximum(of_others, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(used > 0, sums / np.sqrt(spreads * (u / n)[part, np.newaxis]), np.nan)
        x, i = np.nonzero(np.isfinite(scores) & (is_edge[part].toarray() == 0))
        found_at.append(np.column_stack([i, x + start]))
        found.append(scores[x, i])
    z = np.concatenate(found)
    p_values = 2.0 * ndtr(-np.abs(z))
    return Scored(np.concatenate(found_at), z, p_values, q_values(p_values))


_HELD_AT_ONCE = 1 << 22
"""Numbers of symptoms by diseases: 32 MB an array."""


def _symmetric(pairs: Indices, values: Floats, n: int) -> Any:
    from scipy.sparse import csr_array

    first, second = pairs.T
    indices = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_array((np.concatenate([values, values]), indices), (n, n))
