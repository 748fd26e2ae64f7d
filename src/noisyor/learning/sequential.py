"""learn_sequential: the paper's learner, the second pass of Algorithm 1.

The steps of a schedule find their moments, and are solved round by round, all steps of a round at
once: remove the influence of learned diseases (Section 3.2), solve the pairs (Eq. 6), take the
triplets apart (Section 3.1, Eq. 4); after the last round the leaks (Eq. 5). For standard errors
they are solved again without each group of records.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.learning.adjust import (
    adjusted_excesses,
    as_couplings,
    check_moments,
    edge_numbers,
    excesses_of,
    leaks_from,
    rows_of,
)
from noisyor.learning.cleanup import Cleaned, CleanupMethod, clean_up, find_components
from noisyor.learning.decompose import (
    Influences,
    decompose_excesses,
    edge_failures,
    failures_of,
    priors_of,
    strengths_of,
)
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.learned import NEUTRAL_VALUES
from noisyor.learning.ratio_kernels import Couplings
from noisyor.learning.trust import moment_intervals
from noisyor.learning.uncertainty import jackknife_errors, jackknife_groups
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parallel import in_threads
from noisyor.parameters import KINDS, Booleans, Floats, Parameters
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Flags = NDArray[np.uint16]

CLIP = 1e-6
"""Estimates are kept within [CLIP, 1 - CLIP], as in the paper (Section 4.1)."""
LACKING = (
    "that the schedule needs. Count the records with its plan (schedule.plan(), or `noisyor plan "
    "STRUCTURE --method sequential -o FILE` and `noisyor count --plan FILE`); if they were, learn "
    "with the same method, pairs, choice and fixed values that the plan was made with."
)


def learn_sequential(
    moments: Moments,
    schedule: Schedule,
    *,
    standard_errors: bool = True,
    cleanup: CleanupMethod | None = "joint",
    fixed: Beliefs | None = None,
    n_jobs: int | None = None,
) -> Estimate:
    """Learn all that a schedule teaches from moments, one triplet or pair for each edge.

    Parameters
    ----------
    moments
        Counted for `schedule.plan()`, or for a plan that contains it.
    schedule
        From `find_schedule`.
    standard_errors
        Also learn from all groups of records but one, for each group, to see how much the
        estimates vary (jackknife). They are NaN where fewer than ten groups have records.
    cleanup
        Also learn what the schedule leaves and is identifiable (Section 3.3), if the moments have
        what that needs (`NoisyOrLearner.find_plan`): by a "joint" fit, or by the paper's "grid"
        search, which works for two diseases. None: not at all.
    fixed
        Parameters with fixed values; the schedule is best found with them too.
    n_jobs
        The number of threads; None: one per core.

    Examples
    --------
    >>> from noisyor import count_moments, datasets, find_schedule
    >>> from noisyor.learning import learn_sequential
    >>> network = datasets.figure1(rng=0)
    >>> schedule = find_schedule(network.structure)
    >>> learn_sequential(count_moments(network.sample(5000, rng=1), schedule.plan()), schedule)
    Estimate(sequential: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    structure = schedule.structure
    fixed = as_beliefs(fixed, structure)
    check_moments(moments, schedule)
    rows, everyone = _step_rows(moments, schedule), np.arange(structure.n_symptoms)
    symptoms = rows_of(moments, 1, everyone[:, np.newaxis], LACKING)
    rounds = step_tables(schedule)
    groups = jackknife_groups(moments, standard_errors)

    def absent(group: int | None) -> Floats:
        return np.asarray(moments.negative_moments(1, without=group)[symptoms])

    def solve_without(group: int | None) -> Solved:
        excesses = excesses_of(moments, rows, schedule.is_pair, group)
        return solve(fixed, rounds, excesses, absent(group))

    solved = [solve_without(None), *in_threads(solve_without, groups, n_jobs)]
    cleaned = Cleaned.nothing(structure)
    if cleanup is not None:
        components, checked = find_components(schedule, fixed)
        learned = [each.influences(structure) for each in solved]
        cleaned = clean_up(
            moments, components, learned[0], dict(zip(groups, learned[1:], strict=True)),
            method=cleanup, swaps=checked.swaps, n_jobs=n_jobs,
        )  # fmt: skip
        if cleaned.explained:
            for each, group, influences in zip(solved, [None, *groups], learned, strict=True):
                each.take_over(cleaned, influences)
                learn_leaks(structure, absent(group), each)
    estimate = _estimate(solved, moments, groups, schedule, cleaned)
    if standard_errors and not groups and not moments.is_exact:
        no_reason = estimate.flags.map(lambda flags: flags == 0)
        estimate = estimate.flagging(Flag.NO_ERROR, no_reason)
    return replace(estimate.fixing(fixed), moments=moments)


# --- the steps and their moments ---


class StepTable(NamedTuple):
    """The steps of a round."""

    numbers: Indices
    """In the schedule."""
    is_pair: Booleans
    diseases: Indices
    edges: Indices
    """From the step's disease to its symptoms a, b, c; -1 for the c of a pair."""
    removed: Couplings
    """The learned diseases that are removed first."""


def step_tables(schedule: Schedule) -> list[StepTable]:
    """Return the steps of each round."""
    structure = schedule.structure
    owners = schedule.removed[:, 0]
    tables = []
    for round_ in range(schedule.n_rounds):
        numbers = np.flatnonzero(schedule.step_rounds == round_)
        diseases, symptoms = schedule.step_diseases[numbers], schedule.step_symptoms[numbers]
        first, last = np.searchsorted(owners, [numbers[0], numbers[-1] + 1])
        removed = schedule.removed[first:last] - [numbers[0], 0]
        edges = edge_numbers(structure, diseases, symptoms)
        couplings = as_couplings(structure, symptoms, removed)
        tables.append(StepTable(numbers, schedule.is_pair[numbers], diseases, edges, couplings))
    return tables


def _step_rows(moments: Moments, schedule: Schedule) -> Indices:
    """Return the row of each step's symptoms among the pairs or triplets that were counted."""
    is_pair, sets = schedule.is_pair, schedule.step_symptoms
    rows = np.empty(len(sets), dtype=np.int64)
    rows[~is_pair] = rows_of(moments, 3, sets[~is_pair], LACKING)
    rows[is_pair] = rows_of(moments, 2, np.sort(sets[is_pair, :2], axis=1), LACKING)
    return rows


# --- solving ---


class Values:
    """One kind of parameter as it is being learned."""

    def __init__(self, fixed: Beliefs, kind: str, neutral: float) -> None:
        is_fixed = getattr(fixed.mask, kind)
        self.values = fixed.apply(kind, np.full(len(is_fixed), neutral))
        self.flags = np.where(is_fixed, Flag.FIXED, Flag.NOT_SCHEDULED).astype(np.uint16)
        self.steps = np.full(len(is_fixed), -1, dtype=np.int64)

    @property
    def is_unlearned(self) -> Booleans:
        """True where a value is still neutral."""
        return np.asarray(self.flags & Flag.NOT_LEARNED, dtype=np.bool_)

    def take_first(
        self, targets: Indices, found: Floats, found_flags: Flags, numbers: Indices
    ) -> None:
        """Learn what is still unlearned from the first step that did not fail, and clip it.

        One row per step; `targets` and `found` may have several columns. What no step teaches
        keeps its value, with the flag of the first step that failed.
        """
        steps = np.repeat(np.arange(len(targets)), targets.size // max(len(targets), 1))
        targets, found = targets.ravel(), found.ravel()
        failed = (found_flags & Flag.NOT_LEARNED).astype(np.bool_)[steps]
        rows = np.flatnonzero(failed & (self.flags[targets] == Flag.NOT_SCHEDULED))[::-1]
        teaching = np.flatnonzero(~failed & self.is_unlearned[targets])[::-1]
        # Backwards, so that of several rows for a target the first is written last.
        self.flags[targets[rows]] = found_flags[steps[rows]]
        self.values[targets[teaching]] = found[teaching]
        self.flags[targets[teaching]] = found_flags[steps[teaching]]
        self.steps[targets[teaching]] = numbers[steps[teaching]]
        self.clip()

    def put(self, targets: Indices, found: Floats) -> None:
        """Learn values from elsewhere than a step."""
        self.values[targets] = found
        self.flags[targets] = 0
        self.clip()

    def clip(self) -> None:
        """Move values from outside of (0, 1) to its bounds, and flag them."""
        outside = (self.values < CLIP) | (self.values > 1.0 - CLIP)
        self.flags[outside] |= np.uint16(Flag.CLIPPED)
        np.clip(self.values, CLIP, 1.0 - CLIP, out=self.values)


class Solved:
    """All parameters as they are being learned."""

    def __init__(self, fixed: Beliefs) -> None:
        neutral = zip(KINDS, NEUTRAL_VALUES, strict=True)
        self.kinds = [Values(fixed, kind, value) for kind, value in neutral]
        self.priors, self.failures, self.leaks = self.kinds

    def influences(self, structure: Structure) -> Influences:
        """Return strengths and lambdas; 0 and NaN where they were not learned."""
        owners, is_unlearned = structure.edges[:, 0], self.priors.is_unlearned
        found = Influences.of(owners, self.priors.values, self.failures.values)
        found.strengths[self.failures.is_unlearned | is_unlearned[owners]] = 0.0
        found.lambdas[is_unlearned] = np.nan
        return found

    def take_over(self, cleaned: Cleaned, found: Influences) -> None:
        """Take over what the clean-up has found."""
        edges, diseases = np.flatnonzero(cleaned.edges), np.flatnonzero(cleaned.priors)
        self.priors.put(diseases, priors_of(found.lambdas[diseases]))
        priors = self.priors.values[cleaned.structure.edges[edges, 0]]
        self.failures.put(edges, edge_failures(priors, found.strengths[edges]))

    def doubts(self, diseases: Indices, edges: Indices) -> Flags:
        """Return a flag for what rests on the prior and the edges (-1: none) of each row."""
        flags = np.append(self.failures.flags, np.uint16(0))[edges]
        together = np.bitwise_or.reduce(flags, axis=1) | self.priors.flags[diseases]
        doubtful = np.uint16(Flag.CLIPPED | Flag.RESTS_ON_CLIPPED)
        doubts = np.where(together & doubtful, Flag.RESTS_ON_CLIPPED, 0)
        doubts = np.where(together & Flag.NOT_LEARNED, Flag.RESTS_ON_UNLEARNED, doubts)
        return doubts.astype(np.uint16)


def solve(fixed: Beliefs, rounds: list[StepTable], excesses: Floats, absent: Floats) -> Solved:
    """Learn round after round what is not fixed, from excesses of all steps; then the leaks."""
    solved = Solved(fixed)
    owners = fixed.structure.edges[:, 0]
    for steps in rounds:
        learned = Influences.of(owners, solved.priors.values, solved.failures.values)
        adjusted = adjusted_excesses(steps.removed, learned, excesses[steps.numbers])
        doubts = _doubts_of_steps(steps, solved)
        _learn_pairs(steps, adjusted, doubts, solved)
        _learn_triplets(steps, adjusted, doubts, solved)
    learn_leaks(fixed.structure, absent, solved)
    return solved


def _doubts_of_steps(steps: StepTable, solved: Solved) -> Flags:
    """Return flags of steps whose removed diseases were not learned after all, or clipped."""
    offsets, diseases, edges = steps.removed
    each = np.append(solved.doubts(diseases, edges), np.uint16(0))
    doubts = np.bitwise_or.reduceat(each, offsets[:-1])
    doubts[np.diff(offsets) == 0] = 0  # reduceat gives these their neighbour's
    return np.asarray(doubts)


def _learn_pairs(steps: StepTable, excesses: Floats, doubts: Flags, solved: Solved) -> None:
    """Solve pairs for the failures of their first edges: t_a = c / (q t_j) (Eq. 6)."""
    pairs = steps.is_pair
    diseases, targets, learned = steps.diseases[pairs], *steps.edges[pairs, :2].T
    p, c = solved.priors.values[diseases], excesses[pairs, 0]
    strengths = c / (p * (1.0 - p) * strengths_of(p, solved.failures.values[learned]))
    flags = doubts[pairs] | solved.doubts(diseases, learned[:, np.newaxis])
    flags[np.isnan(c)] |= np.uint16(Flag.NO_MOMENT)
    solved.failures.take_first(targets, failures_of(p, strengths), flags, steps.numbers[pairs])


def _learn_triplets(steps: StepTable, excesses: Floats, doubts: Flags, solved: Solved) -> None:
    """Learn priors and failures from triplets (Eq. 4).

    Each comes from the first triplet that can be taken apart: an edge's own step, or where that
    fails another triplet of the schedule that has the edge.
    """
    triplets = ~steps.is_pair
    found = decompose_excesses(excesses[triplets, :3], excesses[triplets, 3])
    flags = np.zeros(len(found.priors), dtype=np.uint16)
    flags[found.is_complex] = Flag.COMPLEX
    flags[found.is_degenerate] = Flag.DEGENERATE
    failures = np.array(found.failures)
    is_fixed = solved.priors.flags[steps.diseases[triplets]] == Flag.FIXED
    if is_fixed.any():
        priors = solved.priors.values[steps.diseases[triplets][is_fixed]]
        failures[is_fixed] = _failures_with_prior(excesses[triplets][is_fixed], priors)
        flags[is_fixed] = np.where(np.isnan(failures[is_fixed]).any(axis=1), Flag.DEGENERATE, 0)
    flags[np.isnan(excesses[triplets]).any(axis=1)] = Flag.NO_MOMENT
    doubts = doubts[triplets]
    # Moments that were adjusted with neutral values say nothing of their own.
    flags = np.where(doubts & Flag.RESTS_ON_UNLEARNED, doubts, flags | doubts).astype(np.uint16)
    numbers = steps.numbers[triplets]
    solved.priors.take_first(steps.diseases[triplets], found.priors, flags, numbers)
    solved.failures.take_first(steps.edges[triplets], failures, flags, numbers)


def _failures_with_prior(excesses: Floats, priors: Floats) -> Floats:
    """Return the failures of triplets whose prior is fixed: q t_a^2 = c_ab c_ac / c_bc."""
    ab, ac, bc = excesses[:, :3].T
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.column_stack([ab * ac / bc, ab * bc / ac, ac * bc / ab])
        strengths = np.sqrt(squares / (priors * (1.0 - priors))[:, np.newaxis])
    found = failures_of(priors[:, np.newaxis], strengths)
    return np.where(np.isfinite(strengths), found, np.nan)


def learn_leaks(structure: Structure, absent: Floats, solved: Solved) -> None:
    """Let the leaks account for what the diseases do not (Eq. 5)."""
    # Again, if the diseases were not all learned the first time.
    solved.leaks.flags[solved.leaks.is_unlearned] = Flag.NOT_SCHEDULED
    diseases, symptoms = structure.edges.T
    leaks = leaks_from(structure, absent, solved.priors.values, solved.failures.values)
    flags = np.zeros(len(absent), dtype=np.uint16)
    doubts = solved.doubts(diseases, np.arange(structure.n_edges)[:, np.newaxis])
    np.bitwise_or.at(flags, symptoms, doubts)
    flags[np.isnan(absent)] |= np.uint16(Flag.NO_MOMENT)
    everyone = np.arange(len(absent))
    solved.leaks.take_first(everyone, leaks, flags, np.full(len(absent), -1))


# --- the result ---


def _estimate(
    all_solved: list[Solved], moments: Moments, groups: list[int], schedule: Schedule,
    cleaned: Cleaned,
) -> Estimate:  # fmt: skip
    """Return what was solved from all records, and then without each group of them."""
    structure = schedule.structure
    sizes, kinds = moments.group_records[groups], all_solved[0].kinds
    of_kinds = zip(*(solved.kinds for solved in all_solved), strict=True)
    judged = [_judged(solved, replicates, sizes) for solved, *replicates in of_kinds]
    errors, flags = (Parameters(*each) for each in zip(*judged, strict=True))
    steps = Parameters(*(each.steps for each in kinds))
    rounds = steps.map(lambda numbers: np.append(schedule.step_rounds, -1)[numbers])
    depths = cleaned.depths(schedule.n_rounds, rounds.priors, rounds.failures)
    of_leaks = np.where(kinds[2].is_unlearned, -1, depths.leaks)
    estimate = Estimate(
        structure, "sequential", moments.n_records, Parameters(*(each.values for each in kinds)),
        errors, Parameters(depths.priors, depths.failures, of_leaks), flags, schedule, steps,
    )  # fmt: skip
    estimate = cleaned.marked(estimate)
    if not groups:
        return estimate
    ends = moment_intervals(estimate.values, estimate.standard_errors, len(groups))
    return replace(estimate, interval_ends=ends)


def _judged(solved: Values, replicates: list[Values], sizes: Indices) -> tuple[Floats, Flags]:
    """Return standard errors, and flags with what the replicates show."""
    errors = np.full(len(solved.values), np.nan)
    flags = solved.flags.copy()
    if replicates:
        values = np.stack([each.values for each in replicates])
        errors = jackknife_errors(solved.values, values, sizes)
        # Where a group decides whether a value is found at all, the values are not a sample of it.
        failed = np.bitwise_or.reduce([each.flags for each in replicates])
        failed &= np.uint16(Flag.NOT_LEARNED | Flag.CLIPPED)
        flags[(failed != 0) & ~solved.is_unlearned] |= np.uint16(Flag.UNSTABLE)
    errors[flags != 0] = np.nan
    return errors, flags
