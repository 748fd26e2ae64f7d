"""Misfits: whether the learned network explains the records, and what is wrong if it does not.

Looked at are pairs of symptoms that occur together more or less often than the network says, one by
one and all together; how much the number of findings varies from record to record; edges and
dependences of diseases, each with all the pairs that it would move; and, where leaks are fixed,
single symptoms. Each has a p-value, and together they have one, which is uniform if the network
is right: the verdict. How: `residuals`, `calibration`, `misfit_causes`; in words:
`misfit_sentences`.

>>> from noisyor import NoisyOrLearner, datasets
>>> clinic = datasets.clinic()
>>> NoisyOrLearner(clinic.structure).fit(clinic.sample(3000, rng=1)).estimate_.misfits().fits
True
"""

import functools
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from noisyor.errors import ParameterError, quoted
from noisyor.immutable import Immutable
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learning.calibration import TestedFamily, family_of, of_smallest, of_sum
from noisyor.learning.misfit_causes import DEPENDENCE, Cause, CauseSearch, Weights
from noisyor.learning.misfit_sentences import (
    learnable,
    names_of,
    sentence_of,
    sentences,
    shown_p_value,
)
from noisyor.learning.pictures import plot_residuals
from noisyor.learning.residuals import CountComparison
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats, Parameters

MOST_SETS, FEWEST_SETS = 200, 20
"""Sets of records that are simulated: fewer where there are more pairs."""
MOST_SIMULATED = 2_000_000
"""Residuals of pairs in all sets."""
MOST_RECORDS, FEWEST_RECORDS = 20_000, 64
"""Records of a set: no more are needed to see how residuals vary, and groups of fewer differ."""
MUCH_LESS = 0.01
"""The part of the level below which a network does not fit, even if little is known of it."""
STREAM = 0x6D6973666974


class Scored(NamedTuple):
    """Pairs, symptoms, edges that might be missing, or diseases that might depend; one row each."""

    members: Indices
    """Two symptoms; or one; or a disease and a symptom; or two diseases."""
    residuals: Floats
    """Standardised: how many standard deviations more than expected."""
    p_values: Floats
    q_values: Floats
    """The smallest false-discovery rate at which each is found (Benjamini and Hochberg 1995)."""
    p_value: float
    """The chance of any as unusual as the most unusual of them if the network is right."""

    def found(self, level: float) -> Indices:
        """Return the rows that are found at a false-discovery rate, the clearest first."""
        rows = np.flatnonzero(self.q_values <= level)
        return np.asarray(rows[np.lexsort((self.p_values[rows], -np.abs(self.residuals[rows])))])

    def columns(self, rows: Indices) -> dict[str, Floats]:
        """Return what a table says of some rows."""
        columns = {"residual": self.residuals, "p_value": self.p_values, "q_value": self.q_values}
        return {name: values[rows] for name, values in columns.items()}


class NumberOfFindings(NamedTuple):
    """How many symptoms a record has: its mean and variance, and what the network expects.

    Variances are known where all pairs are tested, else NaN. The expected one is that of records
    whose symptoms are as frequent as they are.
    """

    mean: float
    expected_mean: float
    variance: float
    expected_variance: float
    p_value: float
    """Of the variance, or of as many pairs of it as are tested."""


class Misfits(ShownAsTable, Immutable):
    """Whether a network explains the records, and what it does not explain.

    Parameters
    ----------
    network
        The learned network.
    moments
        Counts of pairs of the records; pairs that share no disease are tested too.
    level
        The network fits if the p-value is above this. It is also the share of false ones that is
        allowed among those that are called deviating.
    flags
        Those of the estimate, if the network was learned from these records: they tell what was
        fitted. None: the network is compared as it stands.
    fixed_causes
        Which parameters of causes that occur together were fixed; None: none.
    rng
        For the records that are simulated from the network.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets
    >>> network = datasets.figure1(rng=0)
    >>> learner = NoisyOrLearner(network.structure).fit(network.sample(1000, rng=0))
    >>> print(learner.estimate_.misfits().table().select(["first", "second", "shared"]))
    first  second  shared
    (no rows)
    """

    __slots__ = (
        "__dict__", "_comparison", "_fixed_causes", "_flags", "_rng", "level", "moments", "network"
    )  # fmt: skip

    def __init__(
        self, network: NoisyOrNetwork, moments: Moments, *, level: float = 0.05,
        flags: Parameters | None = None, fixed_causes: Booleans | None = None, rng: int = 0,
    ) -> None:  # fmt: skip
        check_usable(network, moments, level)
        self.network, self.moments, self.level = network, moments, level
        self._comparison = CountComparison(network, moments, flags, fixed_causes)
        self._flags, self._fixed_causes, self._rng = flags, fixed_causes, rng
        self._seal()

    def __eq__(self, other: object) -> bool:
        """Compare what was asked; the same question has the same answer."""
        if not isinstance(other, Misfits):
            return NotImplemented
        mine, theirs = ((each.network, each.moments, each.level, each._rng)
                        for each in (self, other))  # fmt: skip
        if not np.array_equal(self._fixed_causes, other._fixed_causes):  # type: ignore[arg-type]
            return False
        return mine == theirs and _equal_flags(self._flags, other._flags)

    __hash__ = None  # type: ignore[assignment]

    @property
    def fits(self) -> bool | None:
        """The verdict: True if the network explains the records.

        None if nothing can be tested; or if little is known of most diseases and the p-value is
        not far below the level: then p-values are too small.
        """
        if not self.tests:
            return None
        if self.p_value > self.level:
            return True
        is_clear = self.p_value <= self.level * MUCH_LESS
        return (
            False if is_clear or self.n_doubted <= self.network.structure.n_diseases / 2 else None
        )

    @property
    def n_doubted(self) -> int:
        """Of how many diseases parameters were not learned, or the prior is in doubt."""
        return int((~self._comparison.is_known).sum())

    @functools.cached_property
    def p_value(self) -> float:
        """The chance of anything as unusual in any of the tests if the network is right."""
        if not self.tests:
            return 1.0
        least = np.array([min(self.tests.values())])
        simulated = np.min([each.simulated for each in self._outcomes.values()], axis=0)
        return float(of_smallest(least, simulated)[0])

    @property
    def tests(self) -> dict[str, float]:
        """The p-value of each test by its name."""
        return {name: float(each.p_value) for name, each in self._outcomes.items()}

    @property
    def n_tested(self) -> int:
        """How many pairs are tested."""
        return self._comparison.n_pairs

    @property
    def n_found(self) -> int:
        """How many pairs deviate; none unless the network does not fit."""
        return len(self.found(self.pairs))

    def found(self, scored: Scored) -> Indices:
        """Return what deviates, the clearest first; nothing unless the network does not fit."""
        return scored.found(self.level) if self.fits is False else np.empty(0, dtype=np.int64)

    @property
    def pairs(self) -> Scored:
        """The pairs of symptoms that are tested, one by one."""
        return _scored(self._comparison.pairs, self._families[PAIRS])

    @property
    def symptoms(self) -> Scored:
        """How often single symptoms occur, against what the network says.

        Tested are those whose leak is fixed: a leak that is learned takes up any difference.
        """
        return _scored(self._comparison.symptoms[:, np.newaxis], self._families[SYMPTOMS])

    @property
    def edges(self) -> Scored:
        """Edges that the structure does not have, each tested with all its pairs at once."""
        return _scored(self._weights.edges[:, ::-1], self._families[EDGES])

    @property
    def dependences(self) -> Scored:
        """Pairs of diseases that might depend on each other, tested in the same way."""
        return _scored(self._weights.diseases, self._families[DEPENDENCES])

    @functools.cached_property
    def number_of_findings(self) -> NumberOfFindings:
        """How many symptoms a record has, where diseases that depend on each other show first."""
        singles = self.moments.values(1)
        rates = self.moments.counts(1) / np.maximum(singles.n_records, 1.0)
        expected = self.network.marginals()[self.moments.plan.symptoms]
        variance = expected_variance = np.nan
        pairs, n = self._comparison.of_pairs, self.network.structure.n_symptoms
        if self.n_tested == n * (n - 1) // 2:
            first, second = self._comparison.pairs.T
            known = self.moments.values(2).n_records
            both = pairs.observed / known - rates[first] * rates[second]
            variance = float((rates * (1.0 - rates)).sum() + 2.0 * both.sum())
            more = (pairs.observed - pairs.expected) / known
            expected_variance = variance - 2.0 * float(more.sum())
        p_value = self.tests.get(FINDINGS, 1.0)
        sums = float(rates.sum()), float(expected.sum())
        return NumberOfFindings(*sums, variance, expected_variance, p_value)

    @functools.cached_property
    def causes(self) -> tuple[Cause, ...]:
        """What would explain it if the network does not fit, the clearest first."""
        if self.fits is not False or not self.n_tested:
            return ()
        residuals = self._residuals[: self.n_tested]
        simulated = self._simulated[:, : self.n_tested]
        excess = float((residuals**2).sum() - (simulated**2).sum(axis=1).mean())
        scales = self._families[EDGES].spreads, self._families[DEPENDENCES].spreads
        search = CauseSearch(self._comparison, self._weights, scales, simulated, self.level)
        return search.causes(residuals, excess)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words: whether the network fits, what deviates, and the likely causes."""
        return tuple(sentences(self))

    @property
    def remedy(self) -> str:
        """What to do where dependence of diseases explains most of what is wrong; or nothing."""
        if not self.causes or self.causes[0].kind != DEPENDENCE:
            return ""
        return " ".join(
            f"Its diseases are not independent. {way}" for way in learnable(self.network)
        )

    def table(self) -> ResultTable:
        """Return the pairs that deviate, the clearest first.

        The columns: first, second (symptoms), observed, expected (records with both), residual
        (standardised), p_value, q_value, shared (diseases that explain the pair in part). Where the
        network fits there are none.
        """
        scored = self.pairs
        rows = self.found(scored)
        structure = self.network.structure
        members = scored.members[rows].tolist()
        shared = [sorted(set(structure.parents(a)) & set(structure.parents(b))) for a, b in members]
        names, compared = structure.symptoms, self._comparison.of_pairs
        return ResultTable(
            {
                "first": pa.array([names[a] for a, _ in members], pa.string()),
                "second": pa.array([names[b] for _, b in members], pa.string()),
                "observed": compared.observed[rows].astype(np.int64),
                "expected": compared.expected[rows],
                **scored.columns(rows),
                "shared": pa.array(
                    [", ".join(structure.diseases[i] for i in each) for each in shared], pa.string()
                ),
            },
            ("first", "second"),
        )

    def plot(self, ax: Any = None, *, top: int = 20) -> Any:
        """Draw the residuals of the symptoms that deviate most, each two; return the axes.

        Red pairs come together more often than the network expects, blue ones less often.
        """
        scored = self.pairs
        return plot_residuals(scored.members, scored.residuals, self.network.structure, ax, top)

    def edge_table(self) -> ResultTable:
        """Return the edges that seem to be missing, the clearest first.

        The columns: disease, symptom, residual (standardised), p_value, q_value. An edge that is
        missing makes its symptom deviate with many of the disease's; here they count together.
        """
        scored = self.edges
        rows = self.found(scored)
        structure = self.network.structure
        members = scored.members[rows].tolist()
        return ResultTable(
            {
                "disease": pa.array([structure.diseases[i] for i, _ in members], pa.string()),
                "symptom": pa.array([structure.symptoms[j] for _, j in members], pa.string()),
                **scored.columns(rows),
            },
            ("disease", "symptom"),
        )

    def cause_table(self) -> ResultTable:
        """Return the likely causes, the clearest first.

        The columns: kind (missing edge, dependent diseases or missing disease), diseases, symptoms,
        residual (standardised), share (of what is in excess, that it explains), sentence.
        """
        names = [names_of(cause, self.network) for cause in self.causes]
        texts = pa.string()
        return ResultTable(
            {
                "kind": pa.array([cause.kind for cause in self.causes], texts),
                "diseases": pa.array([", ".join(diseases) for diseases, _ in names], texts),
                "symptoms": pa.array([", ".join(symptoms) for _, symptoms in names], texts),
                "residual": pa.array([cause.residual for cause in self.causes], pa.float64()),
                "share": pa.array([cause.share for cause in self.causes], pa.float64()),
                "sentence": pa.array(
                    [sentence_of(cause, self.network) for cause in self.causes], texts
                ),
            },
            ("kind", "diseases", "symptoms"),
        )

    def save(self, path: Any, *, spreadsheet_safe: bool = False) -> None:
        """Write the pairs that deviate as CSV or Parquet, by the suffix of the path.

        With `spreadsheet_safe` as `Estimate.save_summary` does.
        """
        self.table().save(path, spreadsheet_safe=spreadsheet_safe)

    def __repr__(self) -> str:
        if not self.tests:
            return "Misfits(nothing could be tested)"
        verdict = {True: "fits", False: "does not fit", None: "undecided"}[self.fits]
        return (
            f"Misfits({verdict}; {shown_p_value(self.p_value)}; "
            f"{self.n_found:,} of {self.n_tested:,} pairs deviate)"
        )

    # --- residuals, and those of simulated sets of records ---

    @functools.cached_property
    def _residuals(self) -> Floats:
        found = self._comparison.projection(self._comparison.residuals()[np.newaxis])
        return np.asarray(found[0])

    @functools.cached_property
    def _simulated(self) -> Floats:
        """Projected residuals of simulated records, a row for each set."""
        return self._comparison.projection(self._unprojected)

    @functools.cached_property
    def _unprojected(self) -> Floats:
        """Residuals of simulated records as they are."""
        # Another stream than that of records which somebody has sampled with the same seed.
        rng = np.random.default_rng([STREAM, self._rng])
        n_sets = min(max(MOST_SIMULATED // max(self.n_tested, 1), FEWEST_SETS), MOST_SETS)
        return self._comparison.simulated(n_sets, self._n_simulated, rng)

    @property
    def _n_simulated(self) -> int:
        return min(max(self.moments.n_records, FEWEST_RECORDS), MOST_RECORDS)

    @functools.cached_property
    def _weights(self) -> Weights:
        return Weights(self._comparison)

    @functools.cached_property
    def _families(self) -> dict[str, TestedFamily]:
        """What is tested one by one: pairs, symptoms, edges, pairs of diseases."""
        n, comparison = self.n_tested, self._comparison
        real, simulated = self._residuals, self._simulated
        left = comparison.projection.left()
        pairs, symptoms = comparison.of_pairs, comparison.of_symptoms
        means = [(each.expected / each.spreads) ** 2 for each in (pairs, symptoms)]
        sums = [self._weights.of(each) for each in (real[:n], *simulated[:, :n])]
        edges, diseases = (np.array(each) for each in zip(*sums, strict=True))
        of_edges, of_diseases = self._weights.edge_means, self._weights.disease_means
        ones = np.ones_like
        return {
            PAIRS: family_of(real[:n], simulated[:, :n], left[:n], means[0]),
            EDGES: family_of(edges[0], edges[1:], ones(of_edges), of_edges, is_positive=True),
            DEPENDENCES: family_of(diseases[0], diseases[1:], ones(of_diseases), of_diseases),
            SYMPTOMS: family_of(real[n:], simulated[:, n:], left[n:], means[1]),
        }

    @functools.cached_property
    def _outcomes(self) -> dict[str, "Outcome"]:
        """The tests that can be made."""
        found = {
            name: Outcome(family.p_value, family.simulated)
            for name, family in self._families.items()
            if np.isfinite(family.spreads).any() and len(family.spreads)
        }
        if self.n_tested:
            pairs, n = self._comparison.of_pairs, self.n_tested
            expected = pairs.expected * self._n_simulated / max(self.moments.n_records, 1)
            weights = 1.0 / (1.0 + 0.5 / expected)  # the variance of a square is 2 + 1 / expected
            residuals = np.vstack([self._residuals[:n], self._simulated[:, :n]])
            squares = np.cbrt(residuals**2 @ weights)
            found[TOGETHER] = Outcome(*of_sum(squares[0], squares[1:], is_positive=True))
            if not self.network.is_plain:
                # Where parameters of causes are fixed, or hardly matter, the projection takes off
                # what only impossible changes of the others would explain. At the maximum of the
                # likelihood residuals are not larger than those of the truth even without it.
                as_it_is = np.vstack([self._comparison.residuals(), self._unprojected])[:, :n]
                squares = np.cbrt(as_it_is**2 @ weights)
                found[AS_IT_IS] = Outcome(*of_sum(squares[0], squares[1:], is_positive=True))
            sums = residuals @ pairs.spreads
            found[FINDINGS] = Outcome(*of_sum(sums[0], sums[1:]))
        return found


PAIRS, SYMPTOMS, TOGETHER = "single pairs", "symptoms", "all pairs together"
AS_IT_IS = "all pairs together, with the parameters as they are"
EDGES, DEPENDENCES, FINDINGS = "missing edges", "dependent diseases", "number of findings"


class Outcome(NamedTuple):
    """The p-value of a test, and those of the simulated sets."""

    p_value: float
    simulated: Floats


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


def _equal_flags(one: Parameters | None, other: Parameters | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one.vector, other.vector))


def _scored(members: Indices, family: TestedFamily) -> Scored:
    p_values = family.p_values
    return Scored(members, family.residuals, p_values, q_values(p_values), family.p_value)


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
