"""learn_sampled: diseases that depend on traits and covariates, of records that are sampled.

Where records cannot be summed up exactly, rounds of stochastic EM learn all parameters together:
whose record it is, and which diseases he has, are drawn in turn.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from noisyor.em.expected import RecordTotals
from noisyor.em.information import disease_errors
from noisyor.em.mixed import Cells, LogisticModel
from noisyor.em.people import LONGEST_STEP, SCORED_RECORDS, PeopleRounds, PeopleSampler
from noisyor.em.runs import EMSettings, Run, best_run
from noisyor.em.stochastic import BOUNDED, StochasticSettings, stochastic_em
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.inference.flat import Floats
from noisyor.learning.learned_causes import LearnedTogether, covariance_of_causes
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed

FIRST_LOADING = 1.0
"""Of every disease on its first trait, to start with."""
MOST_CELLS = 20_000
"""Combinations of covariates that are told apart."""
FLAT = 3.0
"""A direction of the causes' parameters is flat if the records say less of it than a share of what
they would say if all were seen: this, over the root of their number. Sampling does not tell less
from nothing."""
FAR, MOST_TURNS = 0.5, 3
"""A step is long if it is so many standard errors; after a long one there are as many rounds, in
so many turns at most."""
SCORED_SWEEPS = 4
"""How often diseases and people are drawn, in each of two halves, for standard errors."""


def learn_sampled(
    findings: Findings,
    start: NoisyOrNetwork,
    model: LogisticModel,
    cells: Cells,
    *,
    fixed: Fixed,
    share: float,
    settings: EMSettings,
    progress: Callable[[int], None],
) -> LearnedTogether:
    """Learn the parameters of the causes, and all others, from a network that has none of them.

    `cells` says whose records they are; the weak priors count for a `share` of their sizes.
    """
    if len(cells.design) > MOST_CELLS:
        raise ParameterError(
            f"the covariates have {len(cells.design):,} different combinations; where records are "
            f"sampled, at most {MOST_CELLS:,} are told apart: leave out some covariates."
        )
    structure = start.structure
    options = StochasticSettings.of(structure, settings.max_iter)
    options = replace(  # no Fisher scoring follows, not even on small networks
        options, least_odds=StochasticSettings.least_odds,
        most_rounds=settings.max_iter or StochasticSettings.most_rounds,
    )  # fmt: skip
    sampler = PeopleSampler(
        structure, findings.blocks, model, cells.design, cells.of_kinds(cells.kinds),
        least_odds=options.least_odds, n_jobs=settings.n_jobs,
    )  # fmt: skip
    rounds = PeopleRounds(sampler, model, fixed, share)
    run, at = _run(rounds, _first_network(model, start, fixed), settings, options, progress)
    if model.has_categories:  # they say how much they differ, and are learned once more
        variances = np.nan_to_num(np.diag(at.covariance))
        rounds.model = model.with_learned_spreads(model.position_of(run.network.causes), variances)
        run, at = _run(rounds, run.network, settings, options, progress)
    network, trace = best_run([run], BOUNDED)
    totals = RecordTotals(int(sampler.starts[-1]), sampler.known)
    errors = _item_errors(rounds, network, settings.rng, options)
    return LearnedTogether(network, trace, rounds.model, at.covariance, errors, totals, None)


def _first_network(model: LogisticModel, start: NoisyOrNetwork, fixed: Fixed) -> NoisyOrNetwork:
    """Return a network to start from: with loadings that cannot stay 0."""
    position = model.position_of(start.causes).reshape(model.n_diseases, -1)
    position[:, 1 : 1 + model.n_traits] = 0.0
    for trait in range(model.n_traits):  # the first of all diseases, others of every so many
        position[trait :: max(trait * model.n_traits, 1), 1 + trait] = FIRST_LOADING
    position = np.where(model.is_free, position.ravel(), 0.0)
    known = start.with_causes(None).with_fixed(fixed)
    return known.with_causes(model.causes_at(position))


def _run(
    rounds: PeopleRounds, start: NoisyOrNetwork, settings: EMSettings,
    options: StochasticSettings, progress: Callable[[int], None],
) -> tuple[Run, "_Point"]:  # fmt: skip
    """Make rounds until they gain little and no step from there would be a long one."""
    seed, network, values, steps = settings.rng, start, [], [0]
    for turn in range(MOST_TURNS):
        guard, is_settled = stochastic_em(
            rounds, network, seed + turn, options, progress, settings.tol or 0.0
        )
        run = guard.best(is_settled)
        values += run.values
        steps += [steps[-1] + each for each in (run.steps or [])]
        point = _Point.at(rounds, run.network, seed + turn, options)
        if not point.is_far or turn == MOST_TURNS - 1:
            break
        # EM crawls where the records say little of what they would if all was seen.
        position = rounds.model.position_of(run.network.causes) + point.step
        network = run.network.with_causes(rounds.model.causes_at(position))
        # The means of fewer rounds than before would be too noisy.
        options = replace(options, most_rounds=options.rounds)
    return run._replace(values=values, steps=steps[1:], is_settled=not point.is_far), point


class _Point(NamedTuple):
    """What the records say of the causes at a network."""

    covariance: Floats
    step: Floats
    """To where their derivatives would be 0, if the information did not change."""
    is_far: bool
    """True if that is a long way, measured by the standard errors."""

    @classmethod
    def at(
        cls, rounds: PeopleRounds, network: NoisyOrNetwork, seed: int, options: StochasticSettings
    ) -> "_Point":
        """Look at the records."""
        sampler, model = rounds.sampler, rounds.model
        told = sampler.expect_people(
            network, len(sampler.starts) - 1, n_sweeps=options.sweeps, seed=seed
        )
        scores = sampler.score_causes(network, SCORED_SWEEPS, seed)
        _, slope, curvature = model.penalty(model.position_of(network.causes), rounds.share)
        cells = told.people.occupancy.sum(axis=1)
        if_seen = model.if_seen(network.causes, model.flat(network.causes, sampler.design), cells)
        free = model.is_free
        covariance = np.full((len(free), len(free)), np.nan)
        covariance[np.ix_(free, free)] = covariance_of_causes(
            scores.information[np.ix_(free, free)], if_seen[free], curvature[free],
            FLAT / np.sqrt(min(cells.sum(), SCORED_RECORDS)), partial(model.is_gauge, is_free=free),
        )  # fmt: skip
        known = np.nan_to_num(covariance)
        slope = scores.halves.mean(axis=0) + slope
        noise = (scores.halves[0] - scores.halves[1]) / 2.0
        # As much of the step as is not the noise of sampling, which both halves together have.
        length, part = slope @ known @ slope, noise @ known @ noise
        step = known @ slope * max(1.0 - part / max(length, 1e-300), 0.0)
        return cls(
            covariance, np.clip(step, -LONGEST_STEP, LONGEST_STEP),
            bool(length - part > FAR**2 * free.sum()),
        )  # fmt: skip


def _item_errors(
    rounds: PeopleRounds, network: NoisyOrNetwork, seed: int, options: StochasticSettings
) -> Floats:
    """Return the standard errors of failures and leaks."""
    plain, totals = network.as_independent(), rounds.totals(len(rounds.sampler.starts) - 1)
    information = rounds.sampler.inform(plain, options.information_sweeps, seed)
    found = disease_errors(plain, information, totals, rounds.fixed, rounds.share).errors
    return np.concatenate([found.failures, found.leaks])
