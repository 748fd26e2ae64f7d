"""learn_pooled: all coupled pairs and the best triplets, each weighted by what it says.

Strengths from the pairs, in rounds and then jointly; lambdas, hence priors, from the triplets; then
failures, and leaks from what is left. Uncertain values are shrunk towards the others of their kind.
Where some records are labelled, what these say is put to it, and is all that is known where no pair
or triplet tells anything.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.em.expected import RecordTotals
from noisyor.em.information import at_least_if_seen
from noisyor.errors import ParameterError
from noisyor.identifiability import Identifiability
from noisyor.learning.adjust import leaks_from
from noisyor.learning.cleanup import Cleaned, clean_up, find_components
from noisyor.learning.cleanup.components import Component, plan_of
from noisyor.learning.decompose import Influences, edge_failures, priors_of
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.from_labels import Combined, LabelsSay
from noisyor.learning.lambdas import (
    LambdaFit,
    choose_triplets,
    triplet_table,
    with_fixed_failures,
)
from noisyor.learning.learned import NEUTRAL_VALUES
from noisyor.learning.pairs import PairFit, check_coupled, pair_table, strengths_without
from noisyor.learning.starts import even_network, with_well_known
from noisyor.learning.trust import (
    all_if_most,
    is_mostly_untold,
    moment_intervals,
    rests_on_few,
    with_priors,
)
from noisyor.learning.uncertainty import (
    Shrunk,
    jackknife_errors,
    jackknife_groups,
    shrink_failures,
    shrink_leaks,
    shrink_priors,
    unshrunk,
)
from noisyor.moments import MomentPlan, Moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads, meanwhile
from noisyor.parameters import Booleans, Floats, Parameters
from noisyor.schedule import Schedule


def plan_triplets(
    moments: Moments, schedule: Schedule, *, fixed: Beliefs | None = None
) -> MomentPlan:
    """Return all coupled pairs and the triplets that say most, given the counts of the pairs.

    What `learn_pooled` needs: count all records again with this plan.

    Examples
    --------
    >>> from noisyor import MomentPlan, count_moments, datasets, find_schedule
    >>> from noisyor.learning import plan_triplets
    >>> network = datasets.figure1(rng=0)
    >>> pairs = count_moments(network.sample(5000, rng=1), MomentPlan.coupled(network.structure))
    >>> plan_triplets(pairs, find_schedule(network.structure))
    MomentPlan(5 symptoms, 8 pairs, 5 triplets)
    """
    check_coupled(moments, schedule)
    fitted = fit_pairs(moments, schedule, as_beliefs(fixed, schedule.structure))
    return MomentPlan.coupled(schedule.structure) | fitted.best_triplets()


def learn_pooled(
    moments: Moments,
    schedule: Schedule,
    *,
    triplets: Moments | None = None,
    fixed: Beliefs | None = None,
    shrink: bool = True,
    n_jobs: int | None = None,
) -> Estimate:
    """Learn all that a schedule reaches from all coupled pairs and some triplets.

    Parameters
    ----------
    moments
        All coupled pairs (`MomentPlan.coupled`), and triplets if `triplets` is not given.
    schedule
        From `find_schedule`: its rounds say which pairs are admissible when.
    triplets
        The triplets, counted apart, over the same records and in the same groups.
    fixed
        Parameters with fixed values; the schedule is best found with them too.
    shrink
        Shrink uncertain values towards the others of their kind; without, they are only kept
        inside of their bounds.
    n_jobs
        The number of threads; None: one per core.

    Examples
    --------
    >>> from noisyor import MomentPlan, count_moments, datasets, find_schedule
    >>> from noisyor.learning import learn_pooled
    >>> network = datasets.figure1(rng=0)
    >>> schedule = find_schedule(network.structure)
    >>> plan = MomentPlan.coupled(network.structure) | schedule.plan()
    >>> learn_pooled(count_moments(network.sample(5000, rng=1), plan), schedule)
    Estimate(pooled: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    check_coupled(moments, schedule)
    fitted = fit_pairs(moments, schedule, as_beliefs(fixed, schedule.structure), n_jobs)
    return fitted.fit(triplets or moments, n_jobs=n_jobs).estimate(shrink)


def fit_pairs(
    moments: Moments, schedule: Schedule, fixed: Beliefs, n_jobs: int | None = None
) -> "FittedPairs":
    """Fit the strengths of all edges that a schedule reaches to the counts of all pairs.

    Where a sensitivity is known, the failure is that of no leak: `methods` goes on from there.
    """
    fixed = fixed.at_leaks(np.zeros(schedule.structure.n_symptoms))
    with meanwhile(lambda: find_components(schedule, fixed), n_jobs) as left:
        fit = PairFit(moments, pair_table(moments.plan, schedule, n_jobs), fixed, n_jobs)
        fit.run()
        components, identifiability = left()
    return FittedPairs(moments, schedule, fixed, fit, components, identifiability)


@dataclass(frozen=True)
class FittedPairs:
    """The pairs, and the strengths fitted to them."""

    moments: Moments
    schedule: Schedule
    fixed: Beliefs
    pairs: PairFit
    components: list[Component]
    """What the schedule leaves and the clean-up can learn."""
    identifiability: Identifiability

    def best_triplets(self, n_jobs: int | None = None) -> MomentPlan:
        """Return the plan of the triplets that say most about the priors, and of the clean-up."""
        structure = self.schedule.structure
        odds = self.moments.values(1).odds[:, 0]
        triplets = choose_triplets(self.pairs.table, self.pairs.strengths, odds, n_jobs)
        return MomentPlan(structure, triplets=triplets) | plan_of(structure, self.components)

    def fit(
        self, triplets: Moments, *, standard_errors: bool = True, n_jobs: int | None = None
    ) -> "PooledFit":
        """Fit lambdas to triplets, counted over the same records and in the same groups.

        For standard errors everything is also fitted without each group of records.
        """
        schedule, structure = self.schedule, self.schedule.structure
        if (schedule.prior_steps >= 0).any() and not len(triplets.plan.triplets):
            raise ParameterError(
                "the moments have no triplets, without which priors cannot be learned; choose some "
                "(plan_triplets, or `noisyor plan-triplets MOMENTS -o FILE`, with the same fixed "
                "values) and count all records again with that plan."
            )
        _check_same_records(self.moments, triplets)
        moments, triplets = (_in_fewer_groups(each, n_jobs) for each in (self.moments, triplets))
        table = triplet_table(structure, triplets.plan, self.pairs.table, n_jobs)
        third = LambdaFit(triplets, table, self.fixed)
        strengths = self.pairs.strengths.copy()
        whole = Influences(strengths, third.run(strengths))
        groups = jackknife_groups(moments, standard_errors)
        without = strengths_without(self.pairs, moments, groups, n_jobs)

        def lambdas_without(row: int) -> Floats:
            return third.run(without[row], whole.lambdas, without=groups[row], rounds=1)

        found = in_threads(lambdas_without, range(len(groups)), n_jobs)
        replicates = Influences(without, np.array(found).reshape(len(groups), structure.n_diseases))
        sizes = moments.group_records[groups]
        whole, replicates = with_fixed_failures(self.fixed, whole, replicates, sizes)
        by_group = {
            group: Influences(*each) for group, *each in zip(groups, *replicates, strict=True)
        }
        swaps = self.identifiability.swaps
        cleaned = clean_up(triplets, self.components, whole, by_group, swaps=swaps, n_jobs=n_jobs)
        return PooledFit(
            self, moments, groups, whole, replicates, third.n_triplets, cleaned, n_jobs
        )


@dataclass(frozen=True)
class PooledFit:
    """Strengths and lambdas, with those of each group of records left out."""

    pairs: FittedPairs
    moments: Moments
    """In no more groups than the jackknife needs."""
    groups: list[int]
    """Those that were left out, one at a time; none: there are no standard errors."""
    whole: Influences
    without: Influences
    """The same without each group, in rows."""
    n_triplets: Indices
    """How many triplets each disease has."""
    cleaned: Cleaned
    n_jobs: int | None

    def start(self) -> NoisyOrNetwork:
        """Return a network to start from: all values well inside of their bounds.

        Of what is uncertain, where errors are known, the values are even; otherwise what no
        schedule reaches starts at the middle of what was learned.
        """
        structure, fixed = self.pairs.schedule.structure, self.pairs.fixed
        if self.groups:
            present = 1.0 - np.nan_to_num(self.moments.negative_moments(1), nan=0.99)
            even = even_network(structure, present, fixed)
            return with_well_known(even, self.estimate()).with_fixed(fixed)
        found = priors_of(self.whole.lambdas)
        usual = float(np.nanmedian(found)) if np.isfinite(found).any() else 0.05
        priors = np.clip(np.where(np.isfinite(found), found, usual), 1e-4, 0.95)
        priors = fixed.apply("priors", priors)
        strengths = self.whole.strengths
        failures = np.clip(edge_failures(priors[structure.edges[:, 0]], strengths), 0.02, 0.98)
        reached = strengths > 0
        failures[~reached] = failures[reached].mean() if reached.any() else 0.5
        failures = fixed.apply("failures", failures)
        absent = np.nan_to_num(self.moments.negative_moments(1), nan=0.99)
        leaks = leaks_from(structure, absent, priors, failures)
        leaks = fixed.apply("leaks", np.clip(leaks, 1e-3, 0.5))
        return NoisyOrNetwork(structure, priors, failures, leaks)

    def estimate(self, shrink: bool = True) -> Estimate:
        """Return values and errors of all parameters, uncertain ones shrunk if asked."""
        structure, fixed = self.pairs.schedule.structure, self.pairs.fixed
        shrink = shrink and len(self.groups) > 0  # without errors nobody knows how far
        lambdas = self.whole.lambdas, self.without.lambdas
        raw, replicates = map(priors_of, lambdas)
        errors = self._errors(raw, replicates)
        priors = unshrunk(raw, errors)
        if shrink:
            priors = shrink_priors(raw, lambdas[0], self._errors(*lambdas), self.n_jobs)
        # A replicate's prior moves as far as the shrunk prior does when lambda moves.
        moves = np.nan_to_num(_share(priors, errors) * (replicates - raw))
        group_priors = np.clip(priors.values + moves, 1e-9, 1.0 - 1e-9)
        labels, lost = self.labels, self.lost()
        if labels is not None:
            priors, group_priors = self._with_labels(labels.priors, priors, group_priors, lost[0])
        prior_values = fixed.apply("priors", priors.values)
        group_priors = fixed.apply("priors", group_priors)
        owners = structure.edges[:, 0]
        strengths = self.whole.strengths, self.without.strengths
        raw, replicates = (
            fixed.apply("failures", edge_failures(p[..., owners], v))
            for p, v in zip((prior_values, group_priors), strengths, strict=True)
        )
        errors = self._errors(raw, replicates)
        failures = unshrunk(raw, errors)
        if shrink:
            failures = shrink_failures(raw, errors, self.n_jobs)
        if labels is not None:
            before, share = failures, _share(failures, errors)
            moved = np.clip(before.values + share * (replicates - raw), 1e-9, 1.0 - 1e-9)
            failures, groups = self._with_labels(labels.failures, before, moved, lost[1])
            raw = np.where(lost[1], failures.values, raw + failures.values - before.values)
            replicates = np.where(lost[1], groups, replicates + groups - moved)
            raw, replicates = (fixed.apply("failures", each) for each in (raw, replicates))

        def leaks_without(group: int | None, priors: Floats, failures: Floats) -> Floats:
            absent = self.moments.negative_moments(1, without=group)
            return leaks_from(structure, absent, priors, failures)

        raw = leaks_without(None, prior_values, raw)
        each = list(zip(self.groups, group_priors, replicates, strict=True))
        found = in_threads(lambda group: leaks_without(*group), each, self.n_jobs)
        errors = self._errors(raw, np.array(found))
        leaks = shrink_leaks(raw, errors, self.n_jobs) if shrink else unshrunk(raw, errors)
        estimate = _estimate(self, (priors, failures, leaks))
        if self.groups:
            ends = moment_intervals(estimate.values, estimate.standard_errors, len(self.groups))
            estimate = replace(estimate, interval_ends=ends)
        return replace(estimate.fixing(fixed), moments=self.pairs.moments)

    @property
    def labels(self) -> LabelsSay | None:
        """What labelled records say, where there are some."""
        counts = self.moments.labelled
        return None if counts is None or not counts.n_records else LabelsSay(counts)

    def told(self) -> Parameters:
        """Return of which priors and failures enough labelled records tell; of no leak."""
        found = Parameters.full(self.pairs.schedule.structure, False)
        if self.labels is None:
            return found
        return Parameters(self.labels.of_priors, self.labels.of_failures, found.leaks)

    def lost(self) -> tuple[Booleans, Booleans]:
        """Return which priors and failures no moment of findings tells.

        And those of diseases that have labels and that the moments do not tell from others, or not
        from a second solution: which one it is, is not known either.
        """
        schedule, cleaned = self.pairs.schedule, self.cleaned
        owners = schedule.structure.edges[:, 0]
        priors = (schedule.prior_depths < 0) & ~cleaned.priors | ~np.isfinite(self.whole.lambdas)
        failures = (schedule.depths < 0) & ~cleaned.edges
        if self.labels is not None:
            in_doubt = cleaned.in_doubt & self.labels.of_priors
            return priors | in_doubt, failures | in_doubt[owners]
        return priors, failures

    def _with_labels(
        self, put: Callable[..., Combined], found: Shrunk, replicates: Floats, is_lost: Booleans
    ) -> tuple[Shrunk, Floats]:
        """Put labels to values, and to those without each group of records.

        Without standard errors nobody knows what the values are worth: labels then tell what is
        lost, and no more.
        """
        before = np.where(is_lost, np.nan, found.standard_errors)
        values, errors = put(found.values, before)
        without = [
            put(each, before, without=group)[0]
            for each, group in zip(replicates, self.groups, strict=True)
        ]
        if not self.groups:
            values, errors = (
                np.where(is_lost, *each)
                for each in ((values, found.values), (errors, found.standard_errors))
            )
        is_weak = found.is_weak & ~(errors < 0.8 * before) & ~is_lost
        groups = np.array(without).reshape(replicates.shape)
        if self.groups:  # the same records tell both: not all of it is news
            errors = np.where(is_lost, errors, np.fmax(errors, self._errors(values, groups)))
        return Shrunk(values, errors, is_weak), groups

    def _errors(self, whole: Floats, replicates: Floats) -> Floats:
        if not self.groups:
            return np.zeros(len(whole))  # not known; flagged, unless the moments are exact
        return jackknife_errors(whole, replicates, self.moments.group_records[self.groups])


def _share(found: Shrunk, errors: Floats) -> Floats:
    """Return how far shrunk values move where raw ones do."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.minimum(np.nan_to_num(found.standard_errors / errors), 1.0)


def _check_same_records(pairs: Moments, triplets: Moments) -> None:
    """Raise an error where triplets were counted over other records than pairs."""
    if pairs.is_exact and triplets.is_exact:
        return
    if pairs.n_records != triplets.n_records:
        raise ParameterError(
            f"the triplets were counted over {triplets.n_records:,} records and the pairs over "
            f"{pairs.n_records:,}: count both over the same ones."
        )
    if not np.array_equal(pairs.group_records, triplets.group_records):
        raise ParameterError(
            "the triplets and the pairs were counted over other records, or in other groups of "
            "them: count both over the same records, with the same n_groups (--groups)."
        )


def _in_fewer_groups(moments: Moments, n_jobs: int | None) -> Moments:
    """Join groups of records in pairs while they are many: more cost time and say hardly more."""
    n = moments.n_groups
    while n > 25 and n % 2 == 0:
        n //= 2
    if n == moments.n_groups or moments.is_exact:
        return moments
    return moments.in_groups(n, n_jobs=n_jobs)


def _estimate(fit: PooledFit, shrunk: tuple[Shrunk, Shrunk, Shrunk]) -> Estimate:
    """Mark what the schedule does not reach, and what the data hardly say."""
    schedule, moments, cleaned = fit.pairs.schedule, fit.moments, fit.cleaned
    structure, fixed = schedule.structure, fit.pairs.fixed
    diseases, symptoms = structure.edges.T
    told = fit.told()
    lost_priors, lost_failures = fit.lost()
    by_labels = lost_priors & told.priors, lost_failures & told.failures
    lost_priors = lost_priors & ~told.priors
    lost_failures = (lost_failures | lost_priors[diseases]) & ~told.failures
    lost_leaks = np.zeros(structure.n_symptoms, dtype=np.bool_)
    lost_leaks[symptoms[lost_failures & ~(fixed.mask.failures & ~lost_priors[diseases])]] = True
    lost = Parameters(lost_priors, lost_failures, lost_leaks)
    reasons = Flag.NOT_SCHEDULED, Flag.NOT_SCHEDULED, Flag.RESTS_ON_UNLEARNED
    values, errors, is_weak = (Parameters(*each) for each in zip(*shrunk, strict=True))
    values = lost.map(np.where, Parameters.full(structure, NEUTRAL_VALUES), values)
    if not fit.groups:
        errors = Parameters.full(structure, np.nan)
    flag = Flag(0) if fit.groups or moments.is_exact else Flag.NO_ERROR
    if not moments.is_exact:
        totals = RecordTotals(moments.n_records, _known(moments))
        errors = at_least_if_seen(errors, NoisyOrNetwork(structure, *values), totals)
        few = rests_on_few(structure, values.priors, totals.known, totals.n_records)
        is_weak = _is_weak(fit, is_weak.map(np.logical_or, few), lost, values, errors)
    flags = is_weak.map(lambda weak: flag | np.where(weak, Flag.WEAK, 0))
    flags = lost.map(np.where, Parameters.full(structure, reasons), flags)
    depths = cleaned.depths(schedule.n_rounds, schedule.prior_depths, schedule.depths)
    n_reached = np.bincount(diseases, schedule.depths >= 0, minlength=structure.n_diseases)
    n_pairs = np.maximum(n_reached[diseases] - 1, 0).astype(np.int64)
    sources = Parameters(
        _sources(fit.n_triplets, "triplets", cleaned.priors),
        _sources(n_pairs, "pairs", cleaned.edges),
        np.full(structure.n_symptoms, "marginal", dtype=object),
    )
    estimate = Estimate(
        structure, "pooled", moments.n_records, values,
        lost.map(lambda here, error: np.where(here, np.nan, error), errors),
        lost.map(lambda here, depth: np.where(here, -1, depth), depths),
        flags.map(lambda each: each.astype(np.uint16)), schedule, sources=sources,
    )  # fmt: skip
    return _unmarked(cleaned.marked(estimate), Parameters(*by_labels, told.leaks))


def _is_weak(
    fit: PooledFit, is_weak: Parameters, lost: Parameters, values: Parameters, errors: Parameters
) -> Parameters:
    """Return what is weak together with what rests on it."""
    structure, fixed, told = fit.pairs.schedule.structure, fit.pairs.fixed.mask, fit.told()
    # Pairs tell a failure given its disease's prior: where that is a guess, so is this.
    guessed = Parameters.of_diseases(structure, is_weak.priors & ~fixed.priors, leaks=False)
    guessed = guessed.map(lambda here, is_told: here & ~is_told, told)
    is_learned = lost.map(lambda is_lost, is_fixed: ~(is_lost | is_fixed), fixed)
    is_weak = with_priors(structure, is_weak.map(np.logical_or, guessed), is_learned)
    is_weak = all_if_most(is_weak, is_learned)
    # Pairs give a finding's strength to one of the diseases that share it: where most edges are
    # next to nothing, some of it goes to these, and no error shows it.
    of_learned = np.where(is_learned.failures, errors.failures, 0.0)
    if fit.groups and is_mostly_untold(values.failures, of_learned):
        of_findings = is_learned.map(lambda here, is_told: here & ~is_told, told)
        is_weak = is_weak.map(np.logical_or, of_findings)
    return is_weak


def _unmarked(estimate: Estimate, by_labels: Parameters) -> Estimate:
    """Take from what labels alone tell the doubts about moments, and say what told it."""
    doubts = np.uint16(~(Flag.AMBIGUOUS | Flag.WEAKLY_IDENTIFIED | Flag.SWAPPABLE) & 0xFFFF)
    sources = estimate.sources
    assert sources is not None
    return replace(
        estimate,
        flags=by_labels.map(lambda here, flag: np.where(here, flag & doubts, flag), estimate.flags),
        depths=by_labels.map(lambda here, depth: np.where(here, 0, depth), estimate.depths),
        sources=by_labels.map(lambda here, text: np.where(here, "labels", text), sources),
    )


def _known(moments: Moments) -> Floats:
    """Return in how many records each symptom is known."""
    known = np.full(moments.plan.structure.n_symptoms, float(moments.n_records))
    if moments.margins is not None:
        known[moments.plan.symptoms] = moments.margins.symptoms.sum(axis=0)
    return known


def _sources(numbers: Indices, kind: str, is_cleaned: Booleans) -> NDArray[np.object_]:
    """Return in words what each parameter was learned from."""
    texts = np.array([f"{n:,} {kind}" for n in numbers], dtype=object)
    return np.where(is_cleaned, "clean-up", texts)
