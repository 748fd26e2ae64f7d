"""learn_refined: from the pooled start, the maximum of the penalised likelihood of the records.

Records that can be summed up exactly are; of others the diseases are sampled (stochastic EM).
It uses moments of all orders, which the records hold and the counts of pairs and triplets do not.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import FEWEST_CASES, Beliefs, as_beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors, RecordTotals
from noisyor.em.information import (
    MOST_TOGETHER,
    at_least_if_seen,
    covariance_of,
    disease_errors,
    errors_of,
    scale_of,
)
from noisyor.em.maximum import FIRST_RECORDS, find_maximum
from noisyor.em.robust import check_robust, robust_covariance, robust_errors
from noisyor.em.runs import EMSettings, Trace, best_run
from noisyor.em.sampled import RecordSampler, Sampler, with_children
from noisyor.em.sampled_on_card import CardSampler, sampling_work
from noisyor.em.stochastic import (
    BOUNDED,
    Guard,
    Rounds,
    StochasticSettings,
    fisher_scoring,
    is_small,
    sampled_covariance,
    stochastic_em,
)
from noisyor.errors import ParameterError, StructureError
from noisyor.findings import Findings
from noisyor.gpu import prefers_card
from noisyor.learning.cleanup import Cleaned
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.labelled import (
    check_labels,
    cleaned_with,
    known_with,
    labelled_start,
    seen_in,
)
from noisyor.learning.learned import NEUTRAL_VALUES
from noisyor.learning.starts import believed_start, likely_even_network
from noisyor.learning.trust import (
    FlatDirections,
    all_if_most,
    flat_directions,
    hides_in_weak_edges,
    rests_on_few,
    rests_on_priors,
    with_priors,
)
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats, Parameters
from noisyor.schedule import Schedule, find_schedule
from noisyor.structure import Structure

UNSHRUNK = 1e-3
"""The share of the weak priors where values are not to be shrunk; 0 would leave some undefined."""


def learn_refined(
    records: Findings | Sampler,
    schedule: Schedule,
    start: NoisyOrNetwork,
    *,
    fixed: Beliefs | None = None,
    shrink: bool = True,
    cleaned: Cleaned | None = None,
    settings: EMSettings = EMSettings(),
    progress: Callable[[int], None] | None = None,
) -> Estimate:
    """Refine a good start on the records: sum them up exactly where that can be done, or sample.

    Parameters
    ----------
    records
        In memory, or a sampler of records that are elsewhere.
    schedule
        Says which parameters are certified to be identifiable.
    start
        From `learn_pooled`; never a random one: EM finds the nearest maximum.
    fixed
        Parameters that keep their values.
    shrink
        Use the weak priors, which keep what the records say little of near the other parameters.
    cleaned
        What the clean-up has learned beyond the schedule, for the start.
    settings
        `max_iter`: steps over all records at most (100 by default), or rounds where diseases are
        sampled (20); `tol`; `rng`; `n_jobs`; `robust`.
    progress
        Called with the number of records sampled since the last call.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets, find_schedule
    >>> from noisyor.learning import learn_refined
    >>> network = datasets.figure1(rng=0)
    >>> findings, schedule = network.sample(5000, rng=1), find_schedule(network.structure)
    >>> start = NoisyOrLearner(network.structure, method="pooled").fit(findings).network_
    >>> learn_refined(findings, schedule, start)
    Estimate(refined: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    structure = schedule.structure
    is_other = records.structure.symptoms != structure.symptoms
    if is_other or start.structure != structure:
        raise StructureError("findings, schedule and start have different structures.")
    fixed = as_beliefs(fixed, structure)
    if isinstance(records, Findings):
        records = records.with_structure(structure)
    seen = seen_in(records)
    check_labels(seen, fixed)
    found = _refine(records, start, fixed, shrink, settings, progress or (lambda _: None))
    known, certified = known_with(seen, fixed), schedule
    cleaned = cleaned or Cleaned.nothing(structure)
    if known is not fixed:
        cleaned = cleaned_with(known, cleaned)
        certified = find_schedule(structure, pairs=schedule.pairs, fixed=known)
    depths = cleaned.depths(certified.n_rounds, certified.prior_depths, certified.depths)
    # A leak is what edges leave: such with a known prior, and a failure that is learned or fixed.
    diseases, symptoms = structure.edges.T
    is_edge_known = known.mask.failures & (depths.priors[diseases] >= 0)
    is_open = np.zeros(structure.n_symptoms, dtype=np.bool_)
    is_open[symptoms[(depths.failures < 0) & ~is_edge_known]] = True
    beyond = Parameters(depths.priors < 0, depths.failures < 0, is_open)

    def flag(flags: NDArray[np.uint16], here: Booleans) -> NDArray[np.uint16]:
        is_learned = (flags & Flag.NOT_LEARNED) == 0
        return np.where(here & is_learned, flags | Flag.UNCERTIFIED, flags).astype(np.uint16)

    estimate = Estimate(
        structure, "refined", found.n_records, found.values,
        beyond.map(lambda here, error: np.where(here, np.nan, error), found.errors), depths,
        found.flags.map(flag, beyond), schedule,
        sources=Parameters.full(structure, "records", object), trace=found.trace,
        partners=found.partners, n_iter=max(found.trace.n_steps, 1),
        miss_errors=found.miss_errors,
    )  # fmt: skip
    return cleaned.marked(estimate, by_moments=found.partners is None).fixing(fixed)


class Refined(NamedTuple):
    """What the records say of all parameters."""

    n_records: int
    values: Parameters
    errors: Parameters
    flags: Parameters
    trace: Trace
    partners: Parameters | None
    miss_errors: Floats | None


class Climbed(NamedTuple):
    """What was found of diseases with symptoms, and how well."""

    network: NoisyOrNetwork
    errors: Parameters
    totals: RecordTotals
    unidentified: Booleans
    """Diseases that the records hardly tell from others, where `flat` does not say it."""
    priors: BetaPriors
    """The weak priors."""
    trace: Trace
    flat: FlatDirections | None
    """None if the information is not that of all parameters together..."""
    miss_errors: Floats | None = None
    """... and so are the standard errors of miss rates, of all edges."""


def _refine(
    records: Findings | Sampler, start: NoisyOrNetwork, fixed: Beliefs, shrink: bool,
    settings: EMSettings, progress: Callable[[int], None],
) -> Refined:  # fmt: skip
    """Refine what records say something of; a disease without symptoms has a neutral prior."""
    whole, structure = start.structure, with_children(start.structure, seen_in(records))
    kept = [whole.disease_index(name) for name in structure.diseases]
    start = NoisyOrNetwork(structure, start.priors[kept], start.failures, start.leaks)
    fixed = fixed.of_diseases(structure, kept)
    share = 1.0 if shrink else UNSHRUNK
    found = _climb(records, start, fixed, share, settings, progress)
    errors = at_least_if_seen(found.errors, found.network, found.totals, fixed.cases)
    fill = partial(_with_childless, whole, kept)
    return Refined(
        int(found.totals.n_records), fill(found.network.parameters, NEUTRAL_VALUES[0]),
        fill(errors, np.nan), fill(_flags(found, errors, fixed), Flag.NOT_SCHEDULED), found.trace,
        found.flat and fill(_partners(structure, found.flat, whole, kept), -1),
        found.miss_errors,
    )  # fmt: skip


def _partners(
    structure: Structure, flat: FlatDirections, whole: Structure, kept: list[int]
) -> Parameters:
    """Return the partners, counted as in the whole structure."""
    n_more = whole.n_diseases - structure.n_diseases
    others = np.arange(structure.n_diseases, structure.n_parameters) + n_more
    numbers = np.concatenate([kept, others, [-1]]).astype(np.int64)
    return Parameters.split(structure, numbers[flat.partners])


def _with_childless(
    whole: Structure, kept: list[int], found: Parameters, value: float
) -> Parameters:
    """Return what was found of the diseases that were kept, and a value for the others."""
    priors = np.full(whole.n_diseases, value, dtype=found.priors.dtype)
    priors[kept] = found.priors
    return Parameters(priors, found.failures, found.leaks)


def _climb(
    records: Findings | Sampler, start: NoisyOrNetwork, fixed: Beliefs, share: float,
    settings: EMSettings, progress: Callable[[int], None],
) -> Climbed:  # fmt: skip
    """Sum the records up exactly where that can be done, otherwise sample them."""
    structure = start.structure
    if isinstance(records, Findings):
        if not records.n_records:
            raise ParameterError("there is nothing to learn from: there are no records.")
        records = records.with_structure(structure)
        if structure.n_parameters <= MOST_TOGETHER:
            exact = ExactExpectation(records, may_cut=True, n_jobs=settings.n_jobs)
            if settings.robust:
                check_robust(structure.n_parameters, is_exact=exact.is_affordable)
            if exact.is_affordable:
                starts = [start, labelled_start(records, start, fixed)]
                starts.append(believed_start(start, fixed))
                return _climb_exactly(exact, starts, fixed, share, settings, progress)
    if settings.robust:
        check_robust(structure.n_parameters, is_exact=False)
    return _sample(records, start, fixed, share, settings, progress)


def _climb_exactly(
    expectation: ExactExpectation, starts: list[NoisyOrNetwork], fixed: Beliefs, share: float,
    settings: EMSettings, progress: Callable[[int], None],
) -> Climbed:  # fmt: skip
    """Find the maximum of the penalised likelihood."""
    totals = expectation.totals
    even = likely_even_network(expectation.thinned(FIRST_RECORDS, settings.rng), fixed)
    starts = list(dict.fromkeys([*starts, even]))  # the same where counts, or labels, tell nothing
    limits = settings.limits(max_iter=100, tol=0.0)
    run, priors = find_maximum(expectation, starts, fixed, share, limits, settings.rng, progress)
    network, trace = best_run([run], "penalised log likelihood")
    if settings.robust:
        robust = robust_covariance(expectation, network, fixed, priors)
        found = _climbed_together(network, robust.bread, totals, fixed, priors, trace)
        errors = robust_errors(expectation, network, fixed, robust, priors)
        of_misses = fixed.rates.errors(network.structure, network.parameters, robust.sandwich)
        usual = fixed.rates.errors(network.structure, network.parameters, robust.bread)
        return found._replace(errors=errors, miss_errors=np.fmax(usual, of_misses))
    covariance = covariance_of(network, expectation.information(network), fixed, priors)
    return _climbed_together(network, covariance, totals, fixed, priors, trace)


def _climbed_together(
    network: NoisyOrNetwork, covariance: Floats, totals: RecordTotals, fixed: Beliefs,
    priors: BetaPriors, trace: Trace,
) -> Climbed:  # fmt: skip
    """Return what follows from the information on all parameters together."""
    structure, rates = network.structure, fixed.rates
    weak = priors.without_beliefs().vector * scale_of(network, rates)
    flat = flat_directions(covariance, weak)
    nobody = np.zeros(structure.n_diseases, dtype=np.bool_)
    return Climbed(
        network, errors_of(network, covariance, rates), totals, nobody, priors, trace, flat,
        rates.errors(structure, network.parameters, covariance),
    )  # fmt: skip


def _sample(
    records: Findings | Sampler, start: NoisyOrNetwork, fixed: Beliefs, share: float,
    settings: EMSettings, progress: Callable[[int], None],
) -> Climbed:  # fmt: skip
    """Make rounds of stochastic EM."""
    structure = start.structure
    rounds = StochasticSettings.of(structure, settings.max_iter)
    start = labelled_start(records, believed_start(start, fixed), fixed)
    if isinstance(records, Findings):
        work = sampling_work(structure, records.n_records)
        on_card = prefers_card(settings.device, work, settings.n_jobs)
        records = (CardSampler if on_card else RecordSampler)(
            structure, records.blocks, rounds.least_odds, labels=records.labels,
            n_jobs=settings.n_jobs,
        )  # fmt: skip
    totals = RecordTotals(int(records.starts[-1]), records.known)
    if not totals.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    tol = settings.tol or 0.0
    if settings.is_start:
        return _begun(Rounds(records, fixed, share), start, totals)
    guard, is_settled = stochastic_em(
        Rounds(records, fixed, share), start, settings.rng, rounds, progress, tol
    )
    if is_small(structure):
        return _scored(records, guard, fixed, share, settings.rng, totals)
    learned, trace = best_run([guard.best(is_settled)], BOUNDED)
    weak = BetaPriors.weak(learned, share).believing(fixed)
    every = max(round(totals.n_records / rounds.informed_records), 1)
    information = records.inform(learned, rounds.information_sweeps, settings.rng, every)
    of_diseases = disease_errors(learned, information, totals, fixed, share, settings.n_jobs)
    following, n_sweeps = of_diseases.following, rounds.information_sweeps
    shared = records.share(learned, following, n_sweeps, settings.rng, every)
    errors = of_diseases.together(shared, fixed, structure.edges[:, 0])
    if_seen = learned.priors * (1.0 - learned.priors) / totals.n_records
    # Records should say half of what they would say of a prior if the disease was seen: EM
    # comes nearer by that share in a round; with less, ten rounds are too few to be sure.
    unidentified = ~(if_seen >= 0.5 * errors.priors**2) & ~fixed.mask.priors
    return Climbed(learned, errors, totals, unidentified, weak, trace, None)


def _begun(rounds: Rounds, start: NoisyOrNetwork, totals: RecordTotals) -> Climbed:
    """Return the start, of which nothing more is known."""
    structure = start.structure
    found, trace = best_run([Guard(rounds, rounds.prepared(start), 0.0).best(False)], BOUNDED)
    weak = BetaPriors.weak(found, rounds.share).believing(rounds.fixed)
    nobody = np.zeros(structure.n_diseases, dtype=np.bool_)
    return Climbed(found, Parameters.full(structure, np.nan), totals, nobody, weak, trace, None)


def _scored(
    records: Sampler, guard: Guard, fixed: Beliefs, share: float, seed: int, totals: RecordTotals
) -> Climbed:
    """Go on by Fisher scoring, unless that loses."""
    before = guard.best(False).network
    learned, covariance = fisher_scoring(records, before, seed, fixed, share, see=guard.see)
    last_gain = guard.values[-1] - guard.values[-2]
    network, trace = best_run([guard.best(guard.is_little(abs(last_gain)))], BOUNDED)
    if network is not learned:
        covariance = sampled_covariance(records, network, seed, fixed, share)
    weak = BetaPriors.weak(network, share).believing(fixed)
    return _climbed_together(network, covariance, totals, fixed, weak, trace)


def _flags(found: Climbed, errors: Parameters, fixed: Beliefs) -> Parameters:
    """Mark what rests on too few cases, and what may not have settled; beliefs are cases, too."""
    network, totals = found.network, found.totals
    structure = network.structure
    few = rests_on_few(structure, network.priors, totals.known, totals.n_records)
    few = few.map(lambda is_few, cases: is_few & (cases < FEWEST_CASES), fixed.cases)
    if found.flat is None:
        weak = rests_on_priors(network.parameters, errors, found.priors.without_beliefs())
    else:
        weak = Parameters.split(structure, found.flat.is_flat)
    hidden = hides_in_weak_edges(structure, network.failures, errors.failures)
    is_learned = fixed.mask.map(np.logical_not)
    weak = weak.map(lambda *found: np.any(found, axis=0), few, hidden)
    weak = with_priors(structure, weak, is_learned)
    return all_if_most(weak, is_learned).map(
        lambda is_weak, other: is_weak * Flag.WEAK | other * Flag.WEAKLY_IDENTIFIED,
        Parameters.of_diseases(structure, found.unidentified),
    )
