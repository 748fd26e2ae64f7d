"""learn_sequential: the paper's learner, the second pass of Algorithm 1.

The steps of a schedule find their moments here, are solved (`solving`), and solved again without
each group of records for the standard errors.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError
from noisyor.learning.cleanup import Cleaned, CleanupMethod, clean_up, find_parts
from noisyor.learning.decompose import Influences, edge_failures, priors_of
from noisyor.learning.estimate import Estimate, Flag, leak_depths
from noisyor.learning.solving import Inputs, Solved, Values, learn_leaks, solve, step_tables
from noisyor.learning.uncertainty import FEWEST_GROUPS, jackknife_errors
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parallel import in_threads
from noisyor.parameters import KINDS, Fixed, Parameters, as_fixed
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]


def learn_sequential(
    moments: Moments,
    schedule: Schedule,
    *,
    standard_errors: bool = True,
    cleanup: CleanupMethod | None = "joint",
    fixed: Fixed | None = None,
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
    >>> from noisyor import count_moments, datasets, find_schedule, learn_sequential
    >>> network = datasets.figure1(seed=0)
    >>> schedule = find_schedule(network.structure)
    >>> learn_sequential(count_moments(network.sample(5000, seed=1), schedule.plan()), schedule)
    Estimate(sequential: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    structure = schedule.structure
    fixed = as_fixed(fixed, structure)
    source = ScheduleMoments(moments, schedule)
    rounds = step_tables(schedule)
    groups: list[int] = []
    if standard_errors and len(source.groups) >= FEWEST_GROUPS:
        groups = source.groups

    def solve_without(group: int | None) -> Solved:
        return solve(fixed, rounds, source.inputs(group))

    solved = [solve_without(None), *in_threads(solve_without, groups, n_jobs)]
    cleaned = Cleaned.nothing(structure)
    if cleanup is not None:
        parts, checked = find_parts(schedule, fixed)
        learned = [_influences(structure, each) for each in solved]
        cleaned = clean_up(
            moments, parts, learned[0], dict(zip(groups, learned[1:], strict=True)),
            method=cleanup, swaps=checked.swaps, n_jobs=n_jobs,
        )  # fmt: skip
        if cleaned.parts:
            for each, group, influences in zip(solved, [None, *groups], learned, strict=True):
                _put(each, cleaned, influences)
                learn_leaks(structure, source.inputs(group).absent, each)
    estimate = _estimate(solved, moments, groups, schedule, cleaned)
    if standard_errors and not groups and not moments.is_exact:
        no_reason = estimate.flags.map(lambda flags: flags == 0)
        estimate = estimate.flagging(Flag.NO_ERROR, no_reason)
    return replace(estimate.fixing(fixed), moments=moments)


def _influences(structure: Structure, solved: Solved) -> Influences:
    """Return strengths and lambdas; 0 and NaN where they were not learned."""
    owners, is_unlearned = structure.edges[:, 0], solved.priors.is_unlearned
    found = Influences.of(owners, solved.priors.values, solved.failures.values)
    found.strengths[solved.failures.is_unlearned | is_unlearned[owners]] = 0.0
    return Influences(found.strengths, np.where(is_unlearned, np.nan, found.lambdas))


def _put(solved: Solved, cleaned: Cleaned, found: Influences) -> None:
    """Take over what the clean-up has found."""
    edges, diseases = np.flatnonzero(cleaned.edges), np.flatnonzero(cleaned.priors)
    solved.priors.put(diseases, priors_of(found.lambdas[diseases]))
    priors = solved.priors.values[cleaned.structure.edges[edges, 0]]
    solved.failures.put(edges, edge_failures(priors, found.strengths[edges]))


# --- what a schedule needs of the moments ---


class ScheduleMoments:
    """Finds the moments that a schedule needs among those that were counted."""

    def __init__(self, moments: Moments, schedule: Schedule) -> None:
        if not isinstance(moments, Moments) or not isinstance(schedule, Schedule):
            raise ParameterError(
                "learning takes moments (count_moments) and a schedule (find_schedule), not "
                f"{type(moments).__name__} and {type(schedule).__name__}."
            )
        if moments.plan.structure != schedule.structure:
            raise StructureError(
                "the moments and the schedule belong to different structures: "
                f"{moments.plan.structure!r} and {schedule.structure!r}."
            )
        if moments.n_records == 0 and not moments.is_exact:
            raise ParameterError("there is nothing to learn from: the moments have no records.")
        self._moments = moments
        self._is_pair = schedule.is_pair
        sets = schedule.step_symptoms
        self._triplets = self._find(3, sets[~self._is_pair])
        self._pairs = self._find(2, np.sort(sets[self._is_pair, :2], axis=1))
        self._symptoms = self._find(1, np.arange(schedule.structure.n_symptoms)[:, np.newaxis])
        self.groups = np.flatnonzero(moments.group_records > 0).tolist()
        """Groups that have records, which can be left out one at a time."""

    def _find(self, order: int, sets: Indices) -> Indices:
        rows = self._moments.plan.rows_of(order, sets)
        n_missing = int((rows < 0).sum())
        if n_missing:
            kind = ("symptoms", "pairs", "triplets")[order - 1]
            raise ParameterError(
                f"the moments lack {n_missing:,} of the {len(sets):,} {kind} that the schedule "
                "needs. Count the records with its plan (schedule.plan(), or `noisyor plan "
                "STRUCTURE -o FILE` and `noisyor count --plan FILE`); if they were, learn with the "
                "same pairs, choice and fixed values that the plan was made with."
            )
        return rows

    def inputs(self, without: int | None = None) -> Inputs:
        """Return the moments; `without` leaves a group of records out."""
        excesses = np.zeros((len(self._is_pair), 4))
        triplets = self._moments.values(3, without=without)
        excesses[~self._is_pair, :3] = triplets.pair_excesses[self._triplets]
        excesses[~self._is_pair, 3] = triplets.triplet_excess[self._triplets]
        if len(self._pairs):
            pairs = self._moments.excesses(2, without=without)
            excesses[self._is_pair, 0] = pairs[self._pairs]
        absent = self._moments.negative_moments(1, without=without)[self._symptoms]
        return Inputs(excesses, absent)


# --- the result ---


def _estimate(
    all_solved: list[Solved], moments: Moments, groups: list[int], schedule: Schedule,
    cleaned: Cleaned,
) -> Estimate:  # fmt: skip
    """Return what was solved from all records, and then without each group of them."""
    structure = schedule.structure
    solved, *replicates = all_solved
    sizes = moments.group_records[groups]
    rounds = np.append(schedule.step_rounds, -1)
    # What the clean-up learns comes after the last round.
    failure_depths = np.where(cleaned.edges, schedule.n_rounds, rounds[solved.failures.steps])
    prior_depths = np.where(cleaned.priors, schedule.n_rounds, rounds[solved.priors.steps])
    of_leaks = leak_depths(structure, failure_depths)
    of_leaks[solved.leaks.is_unlearned] = -1
    judged = [
        _judged(getattr(solved, kind), [getattr(each, kind) for each in replicates], sizes)
        for kind in KINDS
    ]
    errors, flags = (Parameters(*each) for each in zip(*judged, strict=True))
    values, steps = (
        Parameters(*(getattr(getattr(solved, kind), name) for kind in KINDS))
        for name in ("values", "steps")
    )
    depths = Parameters(prior_depths, failure_depths, of_leaks)
    estimate = Estimate(
        structure, "sequential", moments.n_records, values, errors, depths, flags, schedule, steps
    )
    return cleaned.marked(estimate)


def _judged(
    solved: Values, replicates: list[Values], sizes: Indices
) -> tuple[Floats, NDArray[np.uint16]]:
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
