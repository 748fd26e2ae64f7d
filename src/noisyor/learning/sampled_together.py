"""learn_sampled: diseases that depend on traits and covariates, of records that are sampled.

Where records cannot be summed up exactly, rounds of stochastic EM learn all parameters together:
whose record it is, and which diseases he has, are drawn in turn.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.information import disease_errors
from noisyor.em.people import (
    LONGEST_STEP,
    PeopleRounds,
    PeopleSampler,
    SamplerOfPeople,
)
from noisyor.em.people_on_cluster import ClusterPeopleSampler, RecordsOnCluster
from noisyor.em.runs import EMSettings, Run, best_run
from noisyor.em.stochastic import BOUNDED, StochasticSettings, stochastic_em
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.inference.flat import Booleans, Floats
from noisyor.learning.learned_causes import (
    LearnedTogether,
    covariance_of_causes,
    item_errors,
    told_parameters,
    weak_curvature,
)
from noisyor.learning.trust import rests_on_priors, rests_on_weak
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters
from noisyor.structure import Structure

FIRST_LOADING = 1.0
"""Of every disease on its first trait, to start with."""
MOST_CELLS = 20_000
"""Combinations of covariates that are told apart."""
FLAT = 3.0
"""A direction of the causes' parameters is flat if the records say less of it than a share of what
they would say if all were seen: this, over the root of their number. Sampling does not tell less
from nothing."""
WARM_UP_RECORDS, WARM_UP_ROUNDS = 25_000, 6
"""The first rounds, and how many records they are over."""
ROUNDS_BEFORE, ROUNDS_AFTER = 3, 8
"""Of more records there are so many rounds over all, before the first step and after it."""
FAR, MOST_TURNS = 0.5, 3
"""A step is long if it is so many standard errors; after a long one there are as many rounds, in
so many turns at most."""


class Looked(NamedTuple):
    """How closely records are looked at for their information on the causes."""

    n_records: int
    """About so many of them, at most."""
    n_sweeps: int
    """How often diseases and people are drawn, in each of two halves."""


FOR_ERRORS, FOR_A_STEP = Looked(50_000, 5), Looked(10_000, 2)


def learn_sampled(
    records: Findings | RecordsOnCluster,
    start: NoisyOrNetwork,
    model: LogisticModel,
    cells: Cells,
    *,
    fixed: Beliefs,
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
        warm_up_records=WARM_UP_RECORDS, rounds_after=min(ROUNDS_AFTER, options.rounds),
        warm_up_rounds=min(WARM_UP_ROUNDS, settings.max_iter or WARM_UP_ROUNDS),
    )  # fmt: skip
    sampler = _sampler(records, structure, model, cells, options.least_odds, settings.n_jobs)
    rounds = PeopleRounds(sampler, model, fixed, share)
    run, at = _run(rounds, _first_network(rounds, start), settings, options, progress)
    if model.has_categories:  # they say how much they differ, and are learned once more
        variances = np.nan_to_num(np.diag(at.covariance))
        rounds.model = model.with_learned_spreads(model.position_of(run.network.causes), variances)
        run, at = _run(rounds, run.network, settings, options, progress, is_new=False)
    network, trace = best_run([run], BOUNDED)
    totals = RecordTotals(int(sampler.starts[-1]), sampler.known)
    if at.item_errors is None:
        errors = _item_errors(rounds, network, settings.rng, options)
        items = _weak_items(rounds, network, errors)
        at = at._replace(item_errors=errors, is_weak=np.concatenate([at.is_weak, items]))
    assert at.item_errors is not None
    return LearnedTogether(
        network,
        trace,
        rounds.model,
        at.covariance,
        at.item_errors,
        totals,
        None,
        Parameters.split(structure, at.is_weak),
    )


def _sampler(
    records: Findings | RecordsOnCluster, structure: Structure, model: LogisticModel,
    cells: Cells, least_odds: float, n_jobs: int | None,
) -> SamplerOfPeople:  # fmt: skip
    """Return a sampler of the records, wherever they are."""
    if isinstance(records, RecordsOnCluster):
        return ClusterPeopleSampler(records, model, cells, least_odds)
    return PeopleSampler(
        structure, records.blocks, model, cells, least_odds=least_odds, labels=records.labels,
        n_jobs=n_jobs,
    )  # fmt: skip


def _first_network(rounds: PeopleRounds, start: NoisyOrNetwork) -> NoisyOrNetwork:
    """Return a network to start from: with loadings that cannot stay 0."""
    model, fixed = rounds.model, rounds.fixed
    position = model.position_of(start.causes).reshape(model.n_diseases, -1)
    position[:, 1 : 1 + model.n_traits] = 0.0
    for trait in range(model.n_traits):  # the first of all diseases, others of every so many
        position[trait :: max(trait * model.n_traits, 1), 1 + trait] = FIRST_LOADING
    position = model.start_at(np.where(model.is_free, position.ravel(), 0.0))
    known = start.with_causes(None).with_fixed(fixed)
    return known.with_causes(model.causes_at(rounds.known.put_into(position)))


def _run(
    rounds: PeopleRounds, start: NoisyOrNetwork, settings: EMSettings,
    options: StochasticSettings, progress: Callable[[int], None], is_new: bool = True,
) -> tuple[Run, "_Point"]:  # fmt: skip
    """Make rounds until they gain little and no step from there would be a long one."""
    seed, network, values, steps, n_before = settings.rng, start, [], [0], 0
    warm_up = partial(_warmed_up, rounds, options, seed, progress) if is_new else None
    for turn in range(MOST_TURNS):
        guard, is_settled = stochastic_em(
            rounds, network, seed + turn, options, progress, settings.tol or 0.0, warm_up
        )
        run, warm_up = guard.best(is_settled), None
        values += run.values
        n_before += run.n_before
        steps += [steps[-1] + each for each in (run.steps or [])]
        point = _Point.at(rounds, run.network, seed + turn, options, FOR_ERRORS)
        if not point.is_far or turn == MOST_TURNS - 1:
            break
        network = _moved(rounds, run.network, point.step)
        # The means of fewer rounds than before would be too noisy.
        options = replace(options, most_rounds=options.rounds)
    run = run._replace(values=values, steps=steps[1:], n_before=n_before)
    return run._replace(is_settled=not point.is_far), point


def _warmed_up(
    rounds: PeopleRounds, options: StochasticSettings, seed: int,
    progress: Callable[[int], None], network: NoisyOrNetwork,
) -> NoisyOrNetwork:  # fmt: skip
    """Come near to the maximum: by rounds over some of the records, then by a step over all."""

    def make(some: PeopleRounds, n: int, first: int, network: NoisyOrNetwork) -> NoisyOrNetwork:
        starts = some.sampler.starts
        for number in range(n):
            network = some.make(
                network, len(starts) - 1, must_screen=True, n_sweeps=options.sweeps,
                seed=seed * 1000 + first + number,
            )  # fmt: skip
            progress(int(starts[-1]))
        return network

    every = max(int(rounds.sampler.starts[-1]) // options.warm_up_records, 1)
    n_rounds = options.warm_up_rounds
    if every > 1:
        some = rounds.sampler.thinned(every)
        few = PeopleRounds(some, rounds.model, rounds.fixed, rounds.share)
        network = make(few, n_rounds, 500, network)
        n_rounds = min(n_rounds, ROUNDS_BEFORE)
    network = make(rounds, n_rounds, 600, network)
    point = _Point.at(rounds, network, seed, options, FOR_A_STEP)
    return _moved(rounds, network, point.step)


def _quiet_step(covariance: Floats, slope: Floats, noise: Floats) -> Floats:
    """Return as much of a step as is not the noise of sampling, which both halves together have."""
    length, part = float(slope @ covariance @ slope), float(noise @ covariance @ noise)
    step = covariance @ slope * max(1.0 - part / max(length, 1e-300), 0.0)
    return np.asarray(np.clip(step, -LONGEST_STEP, LONGEST_STEP))


def _moved(rounds: PeopleRounds, network: NoisyOrNetwork, step: Floats) -> NoisyOrNetwork:
    """Return the network after a step of the causes; failures and leaks follow in the next rounds.

    EM crawls where the records say little of what they would if all was seen.
    """
    position = rounds.model.position_of(network.causes) + step
    return network.with_causes(rounds.model.causes_at(rounds.known.put_into(position)))


class _Point(NamedTuple):
    """What the records say of the causes, and on small networks of all else, at a network."""

    covariance: Floats
    step: Floats
    """To where their derivatives would be 0, if the information did not change."""
    is_far: bool
    """True if that is a long way, measured by the standard errors."""
    item_errors: Floats | None
    """Of failures and leaks; None where these were not looked at."""
    is_weak: Booleans
    """P(disease), and failures and leaks that were looked at, which priors decide."""

    @classmethod
    def at(
        cls, rounds: PeopleRounds, network: NoisyOrNetwork, seed: int,
        options: StochasticSettings, looked: Looked,
    ) -> "_Point":  # fmt: skip
        """Look at the records, for their information at some of them."""
        sampler, model = rounds.sampler, rounds.model
        n_records = int(sampler.starts[-1])
        slope, noise, occupancy = _slope(rounds, network, seed, options)
        every = max(round(n_records / looked.n_records), 1)
        information = sampler.inform_causes(network, looked.n_sweeps, seed, every).matrix
        n, n_items = len(model.is_free), len(information) - len(model.is_free)
        rates = rounds.fixed.rates
        if n_items:
            information = rates.information(network.parameters, information)
        _, _, curvature = model.penalty(model.position_of(network.causes), rounds.share)
        information[:n, :n] += rounds.known.believed(network.causes).information
        rounds.known.along(network.causes, np.zeros(len(information)), information)
        cells = occupancy.sum(axis=1)
        if_seen = model.if_seen(network.causes, model.flat(network.causes, sampler.design), cells)
        seen = np.concatenate([if_seen, _items_if_seen(rounds, network)[:n_items]])
        weak = np.concatenate([curvature, _weak_of_items(rounds, network)[:n_items]])
        items_free = ~np.concatenate([rounds.fixed.mask.failures, rounds.fixed.mask.leaks])
        free = np.concatenate([model.is_free, items_free[:n_items]])
        whole, n_looked_at = np.full((len(free), len(free)), np.nan), n_records / every
        whole[np.ix_(free, free)] = _as_of_all(n_looked_at, n_records, free) * covariance_of_causes(
            information[np.ix_(free, free)], seen[free], weak[free],
            FLAT / np.sqrt(n_looked_at), partial(model.is_gauge, is_free=free),
        )  # fmt: skip
        functions = told_parameters(model, network, n_items)
        usual = weak_curvature(model, network)[: len(free)]
        is_weak = rests_on_weak(
            information[np.ix_(free, free)],
            usual[free],
            model.free_gauges(free),
            functions[:, free],
        )
        errors = None
        if n_items:
            variances = rates.variances(network.parameters, whole)
            errors = item_errors(network, variances[n:], sampler.known)
        known = np.nan_to_num(whole[:n, :n])
        length = slope @ known @ slope - noise @ known @ noise
        return cls(
            whole[:n, :n], _quiet_step(known, slope, noise),
            bool(length > FAR**2 * model.is_free.sum()), errors, is_weak,
        )  # fmt: skip


def _as_of_all(n_some: float, n_all: int, is_free: Booleans) -> float:
    """Return by how much the inverse of the information of some records is to be made smaller.

    The inverse of a sum over n records is too large on average, by about n / (n - k) with k
    parameters: what few records say of them happens to agree in some directions.
    """
    k = int(is_free.sum())
    return max(1.0 - k / n_some, 0.5) / max(1.0 - k / n_all, 0.5)


def _slope(
    rounds: PeopleRounds, network: NoisyOrNetwork, seed: int, options: StochasticSettings
) -> tuple[Floats, Floats, Floats]:
    """Return the derivatives by the causes' parameters, the noise in them, and where people are.

    Of all records: those of some would lead to the maximum of these. Two passes tell the noise.
    """
    n_blocks, found = len(rounds.sampler.starts) - 1, []
    for half in range(2):
        told = rounds.sampler.expect(
            network, n_blocks, must_screen=True, n_sweeps=options.sweeps,
            seed=seed * 1000 + 900 + half,
        )  # fmt: skip
        found.append(rounds.slope(network, told))
    return (found[0] + found[1]) / 2.0, (found[0] - found[1]) / 2.0, told.occupancy


def _items_if_seen(rounds: PeopleRounds, network: NoisyOrNetwork) -> Floats:
    """Return trials x (1 - x) of failures and leaks, if all causes were seen."""
    totals = rounds.totals(len(rounds.sampler.starts) - 1)
    owners, symptoms = network.structure.edges.T
    trials = np.concatenate([network.priors[owners] * totals.known[symptoms], totals.known])
    values = np.concatenate([network.failures, network.leaks])
    return np.asarray(trials * values * (1.0 - values))


def _weak_of_items(rounds: PeopleRounds, network: NoisyOrNetwork) -> Floats:
    """Return what the weak priors, and beliefs, of failures and leaks add to the information."""
    plain = network.as_independent()
    weak = BetaPriors.weak(plain, rounds.share).believing(rounds.fixed)
    return weak.derivatives(plain)[1][network.structure.n_diseases :]


def _weak_items(rounds: PeopleRounds, network: NoisyOrNetwork, errors: Floats) -> Booleans:
    """Return what priors decide, failures and leaks looked at one by one."""
    structure, n = network.structure, network.structure.n_diseases
    found = Parameters.split(structure, np.concatenate([np.full(n, np.nan), errors]))
    sizes = BetaPriors.weak(network.as_independent(), rounds.share).sizes
    is_weak = rests_on_priors(network.parameters, found, sizes).vector[n:]
    is_fixed = np.concatenate([rounds.fixed.mask.failures, rounds.fixed.mask.leaks])
    return np.asarray(is_weak & ~is_fixed)


def _item_errors(
    rounds: PeopleRounds, network: NoisyOrNetwork, seed: int, options: StochasticSettings
) -> Floats:
    """Return the standard errors of failures and leaks."""
    plain, totals = network.as_independent(), rounds.totals(len(rounds.sampler.starts) - 1)
    every = max(round(totals.n_records / options.informed_records), 1)
    information = rounds.sampler.inform(plain, options.information_sweeps, seed, every)
    found = disease_errors(plain, information, totals, rounds.fixed, rounds.share).errors
    return np.concatenate([found.failures, found.leaks])
