"""learn_pooled: all coupled pairs and the best triplets, each weighted by what it tells.

Strengths from the pairs, in rounds and then jointly; lambdas, hence priors, from the triplets; then
failures, and leaks from what is left. Uncertain values are shrunk towards the others of their kind.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.identifiability import Identifiability
from noisyor.learning.adjust import leaks_from
from noisyor.learning.cleanup.clean import Cleaned, clean_up
from noisyor.learning.cleanup.pieces import Piece, cleanup_plan, find_pieces
from noisyor.learning.decompose import failures_of, priors_of
from noisyor.learning.estimate import (
    NEUTRAL_VALUES,
    Estimate,
    Flag,
    leak_depths,
)
from noisyor.learning.jackknife import FEWEST_GROUPS, jackknife_errors
from noisyor.learning.pooled.errors import strengths_without
from noisyor.learning.pooled.known_failures import Observed, lambdas_with_known_failures
from noisyor.learning.pooled.pairs import PairFit, PairTable, check_coupled, pair_table
from noisyor.learning.pooled.shrink import (
    Shrunk,
    shrink_failures,
    shrink_leaks,
    shrink_priors,
    unshrunk,
)
from noisyor.learning.pooled.triplets import (
    LambdaFit,
    choose_triplets,
    triplet_table,
)
from noisyor.moments import MomentPlan, Moments
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, as_fixed
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]

MOST_GROUPS = 25
"""Groups are joined in pairs beyond this: more cost time and tell hardly more."""


def plan_triplets(
    moments: Moments, schedule: Schedule, *, fixed: Fixed | None = None
) -> MomentPlan:
    """Return all coupled pairs and the triplets that tell most, given the counts of the pairs.

    What `learn_pooled` needs: count all records again with this plan.

    Examples
    --------
    >>> from noisyor import MomentPlan, count_moments, datasets, find_schedule, plan_triplets
    >>> network = datasets.figure1(seed=0)
    >>> pairs = count_moments(network.sample(5000, seed=1), MomentPlan.coupled(network.structure))
    >>> plan_triplets(pairs, find_schedule(network.structure))
    MomentPlan(5 symptoms, 8 pairs, 5 triplets)
    """
    check_coupled(moments, schedule)
    fitted = fit_pairs(moments, schedule, as_fixed(fixed, schedule.structure))
    return MomentPlan.coupled(schedule.structure) | fitted.best_triplets()


def fit_pairs(moments: Moments, schedule: Schedule, fixed: Fixed) -> "FittedPairs":
    """Fit the strengths of all edges that a schedule reaches to the counts of all pairs."""
    table = pair_table(moments.plan, schedule)
    fit = PairFit(moments, table, fixed)
    fit.run()
    pieces, checked = find_pieces(schedule, fixed)
    return FittedPairs(_in_fewer_groups(moments), table, fit, fixed, pieces, checked)


class FittedPairs(NamedTuple):
    """The pairs, and the strengths fitted to them."""

    moments: Moments
    """In no more groups than the jackknife needs."""
    table: PairTable
    fit: PairFit
    fixed: Fixed
    pieces: list[Piece]
    """What the schedule leaves and the clean-up can learn."""
    identifiability: Identifiability

    def best_triplets(self) -> MomentPlan:
        """Return the plan of the triplets that tell most about the priors, and of the clean-up."""
        structure = self.table.structure
        odds = self.moments.values(1).odds[:, 0]
        triplets = choose_triplets(self.table, self.fit.strengths, odds)
        return MomentPlan(structure, triplets=triplets) | cleanup_plan(structure, self.pieces)


class PooledFit(NamedTuple):
    """Strengths and lambdas, with those of each group of records left out."""

    strengths: Floats
    lambdas: Floats
    n_pairs: NDArray[np.int64]
    n_triplets: NDArray[np.int64]
    group_strengths: Floats
    group_lambdas: Floats
    cleaned: Cleaned

    def start(self, structure: Structure, absent: Floats, fixed: Fixed) -> NoisyOrNetwork:
        """Return a network to start from: all values well inside of their bounds.

        What no schedule reaches starts at the middle of what was learned.
        """
        owners = structure.edges[:, 0]
        found = priors_of(self.lambdas)
        usual = float(np.nanmedian(found)) if np.isfinite(found).any() else 0.05
        priors = np.clip(np.where(np.isfinite(found), found, usual), 1e-4, 0.95)
        priors = fixed.apply("priors", priors)
        failures = np.clip(failures_from(priors, self.strengths, owners), 0.02, 0.98)
        reached = self.strengths > 0
        failures[~reached] = failures[reached].mean() if reached.any() else 0.5
        failures = fixed.apply("failures", failures)
        leaks = leaks_from(structure, np.nan_to_num(absent, nan=0.99), priors, failures)
        leaks = fixed.apply("leaks", np.clip(leaks, 1e-3, 0.5))
        return NoisyOrNetwork(structure, priors, failures, leaks)


def learn_pooled(
    moments: Moments,
    schedule: Schedule,
    *,
    triplets: Moments | None = None,
    pairs: FittedPairs | None = None,
    fixed: Fixed | None = None,
    shrink: bool = True,
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
    pairs
        The fit of the pairs, where it was made before.
    fixed
        Parameters held at given values; the schedule is best found with them too. Not needed
        where `pairs` is given, which has them.
    shrink
        Hold uncertain values near the others of their kind; without, they are only kept inside of
        their bounds.

    Examples
    --------
    >>> from noisyor import MomentPlan, count_moments, datasets, find_schedule, learn_pooled
    >>> network = datasets.figure1(seed=0)
    >>> schedule = find_schedule(network.structure)
    >>> plan = MomentPlan.coupled(network.structure) | schedule.plan()
    >>> learn_pooled(count_moments(network.sample(5000, seed=1), plan), schedule)
    Estimate(pooled: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    if pairs is None:
        check_coupled(moments, schedule)
    is_some_prior_reached = bool((schedule.prior_steps >= 0).any())
    if is_some_prior_reached and not len((triplets or moments).plan.triplets):
        raise ParameterError(
            "the moments have no triplets, without which priors cannot be learned; choose some "
            "(plan_triplets, or `noisyor plan-triplets MOMENTS -o FILE`, with the same fixed "
            "values) and count all records again with that plan."
        )
    fitted = pairs or fit_pairs(moments, schedule, as_fixed(fixed, schedule.structure))
    fit = fit_pooled(fitted, schedule, triplets or moments, with_groups=True)
    estimate = to_estimate(fit, fitted.moments, schedule, fitted.fixed, shrink)
    return replace(estimate.fixing(fitted.fixed), moments=moments)


def fit_pooled(
    pairs: FittedPairs, schedule: Schedule, triplets: Moments, *, with_groups: bool
) -> PooledFit:
    """Fit lambdas to the triplets; with groups, also strengths and lambdas without each of them."""
    structure = schedule.structure
    moments, triplets = pairs.moments, _in_fewer_groups(triplets)
    third = LambdaFit(triplets, triplet_table(structure, triplets.plan, pairs.table), pairs.fixed)
    strengths = pairs.fit.strengths.copy()
    lambdas = third.run(strengths)
    groups = np.flatnonzero(moments.group_records > 0).tolist()
    if len(groups) < FEWEST_GROUPS or not with_groups:
        groups = []
    group_strengths = strengths_without(pairs.fit, pairs.table, moments, groups)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(
            lambda each, group: third.run(each, lambdas, without=group, rounds=1),
            group_strengths,
            groups,
        )
        group_lambdas = np.array(list(found)).reshape(-1, structure.n_diseases)
    lambdas, group_lambdas = lambdas_with_known_failures(
        pairs.fixed, Observed(strengths, lambdas), Observed(group_strengths, group_lambdas),
        moments.group_records[groups],
    )  # fmt: skip
    cleaned = clean_up(
        triplets,
        pairs.pieces,
        (strengths, lambdas),
        list(zip(groups, group_strengths, group_lambdas, strict=True)),
        swaps=pairs.identifiability.swaps,
    )
    owners = structure.edges[:, 0]
    reached = np.bincount(owners, schedule.depths >= 0, minlength=structure.n_diseases)
    n_pairs = np.maximum(reached[owners] - 1, 0).astype(np.int64)
    return PooledFit(
        strengths, lambdas, n_pairs, third.n_triplets, group_strengths, group_lambdas, cleaned
    )


def _in_fewer_groups(moments: Moments) -> Moments:
    """Join groups of records until there are few enough for the jackknife."""
    n = moments.n_groups
    while n > MOST_GROUPS and n % 2 == 0:
        n //= 2
    return moments if n == moments.n_groups or moments.is_exact else moments.in_groups(n)


def to_estimate(
    fit: PooledFit, moments: Moments, schedule: Schedule, fixed: Fixed, shrink: bool
) -> Estimate:
    """Turn strengths and lambdas into priors, failures and leaks with their errors."""
    structure = schedule.structure
    groups = np.flatnonzero(moments.group_records > 0)[: len(fit.group_lambdas)]
    shrink = shrink and len(groups) > 0  # without errors nobody knows how far
    sizes = moments.group_records[groups]
    raw, replicates = priors_of(fit.lambdas), priors_of(fit.group_lambdas)
    lambda_errors = _errors(fit.lambdas, fit.group_lambdas, sizes)
    priors = (
        shrink_priors(raw, fit.lambdas, lambda_errors)
        if shrink
        else unshrunk(raw, _errors(raw, replicates, sizes))
    )
    # A replicate's prior moves as far as the shrunk prior does when lambda moves.
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.minimum(priors.standard_errors / _errors(raw, replicates, sizes), 1.0)
    moves = np.nan_to_num(share * (replicates - raw))
    prior_values = fixed.apply("priors", priors.values)
    group_priors = fixed.apply("priors", np.clip(priors.values + moves, 1e-9, 1.0 - 1e-9))
    owners = structure.edges[:, 0]
    raw = fixed.apply("failures", failures_from(prior_values, fit.strengths, owners))
    replicates = np.array(
        [
            fixed.apply("failures", failures_from(p, v, owners))
            for p, v in zip(group_priors, fit.group_strengths, strict=True)
        ]
    ).reshape(len(groups), structure.n_edges)
    errors = _errors(raw, replicates, sizes)
    failures = shrink_failures(raw, errors) if shrink else unshrunk(raw, errors)
    raw_leaks = leaks_from(structure, moments.negative_moments(1), prior_values, raw)
    group_leaks = np.array(
        [
            leaks_from(structure, moments.negative_moments(1, without=int(g)), p, f)
            for g, p, f in zip(groups, group_priors, replicates, strict=True)
        ]
    ).reshape(len(groups), structure.n_symptoms)
    errors = _errors(raw_leaks, group_leaks, sizes)
    leaks = shrink_leaks(raw_leaks, errors) if shrink else unshrunk(raw_leaks, errors)
    return _estimate(priors, failures, leaks, fit, moments, schedule, fixed)


def failures_from(priors: Floats, strengths: Floats, owners: NDArray[np.int64]) -> Floats:
    """Return f of each edge from its strength v = sqrt(q) t and its disease's prior."""
    p = priors[owners]
    return failures_of(p, strengths / np.sqrt(p * (1.0 - p)))


def _errors(whole: Floats, replicates: Floats, sizes: NDArray[np.int64]) -> Floats:
    if not len(sizes):
        return np.zeros(len(whole))  # not known; flagged, unless the moments are exact
    return jackknife_errors(whole, replicates, sizes)


def _estimate(
    priors: Shrunk, failures: Shrunk, leaks: Shrunk, fit: PooledFit, moments: Moments,
    schedule: Schedule, fixed: Fixed,
) -> Estimate:  # fmt: skip
    """Mark what the schedule does not reach, and what the data hardly tell."""
    structure = schedule.structure
    diseases, symptoms = structure.edges.T
    cleaned = fit.cleaned
    lost_priors = (schedule.prior_depths < 0) & ~cleaned.priors
    lost_priors |= ~np.isfinite(fit.lambdas)
    lost_failures = ((schedule.depths < 0) & ~cleaned.edges) | lost_priors[diseases]
    # What the clean-up learns comes after the last round.
    prior_depths = np.where(cleaned.priors, schedule.n_rounds, schedule.prior_depths)
    depths = np.where(cleaned.edges, schedule.n_rounds, schedule.depths)
    lost_leaks = np.zeros(structure.n_symptoms, dtype=np.bool_)
    lost_leaks[symptoms[lost_failures & ~(fixed.mask.failures & ~lost_priors[diseases])]] = True
    has_errors = len(fit.group_lambdas) > 0
    flag = Flag(0) if has_errors or moments.is_exact else Flag.NO_ERROR
    lost = Parameters(lost_priors, lost_failures, lost_leaks)
    reason = (Flag.NOT_SCHEDULED, Flag.NOT_SCHEDULED, Flag.RESTS_ON_UNLEARNED)
    shrunk = priors, failures, leaks
    flags = Parameters(
        *(
            np.where(here, why, flag | np.where(part.is_weak, Flag.WEAK, 0)).astype(np.uint16)
            for here, why, part in zip(lost, reason, shrunk, strict=True)
        )
    )
    values = Parameters(
        *(
            np.where(here, neutral, part.values)
            for here, neutral, part in zip(lost, NEUTRAL_VALUES, shrunk, strict=True)
        )
    )
    errors = lost.map(
        lambda here, error: np.where(here | (not has_errors), np.nan, error),
        Parameters(*(part.standard_errors for part in shrunk)),
    )
    all_depths = lost.map(
        lambda here, depth: np.where(here, -1, depth),
        Parameters(prior_depths, depths, leak_depths(structure, depths)),
    )
    sources = Parameters(
        _sources(fit.n_triplets, "triplets", cleaned.priors),
        _sources(fit.n_pairs, "pairs", cleaned.edges),
        np.full(structure.n_symptoms, "marginal", dtype=object),
    )
    estimate = Estimate(
        structure, "pooled", moments.n_records, values, errors, all_depths, flags, schedule,
        sources=sources,
    )  # fmt: skip
    return cleaned.marked(estimate)


def _sources(
    numbers: NDArray[np.int64], kind: str, is_cleaned: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """Return in words what each parameter was learned from."""
    texts = [
        "clean-up" if by_cleanup else f"{n:,} {kind}"
        for n, by_cleanup in zip(numbers, is_cleaned, strict=True)
    ]
    return np.array(texts, dtype=object)
