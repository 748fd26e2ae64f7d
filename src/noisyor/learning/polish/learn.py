"""learn_refined: from the pooled start, stochastic EM on the records.

It uses moments of all orders, which the records hold and the counts of pairs and triplets do not.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError
from noisyor.findings import Findings
from noisyor.learning.cleanup import Cleaned
from noisyor.learning.estimate import Estimate, Flag, leak_depths
from noisyor.learning.polish.em import Information, RecordSampler, Sampler, failure_prior, maximise
from noisyor.learning.polish.fisher import fisher_scoring, without
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, as_fixed
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]

WARM_UP_RECORDS = 100_000
"""With more records the first rounds look at so many only."""
WARM_UPS = 5
ROUNDS = 10
"""Rounds over all records; half of them where the warm-up was on a part."""
AVERAGED = 0.5
"""The share of the rounds whose results are averaged, the last ones."""
SCREEN_EVERY = 3
"""Rounds after which every record's candidates are looked for anew."""
SWEEPS = 2
INFORMATION_SWEEPS = 4
MOST_TOGETHER = 3000
"""Parameters whose information is inverted together; of more, each disease's on its own."""
LEAST_ODDS, LEAST_ODDS_SMALL = 1e-5, 1e-3
"""Odds below which a disease is no candidate of a record. On small networks fewer candidates can be
summed up exactly; the others then count for so much that they are looked at in every round."""
LEAST_TOLD = 0.5
"""Records should tell as large a share of what they would tell of a prior if the disease was seen.
EM comes nearer by that share in a round; with less, ten rounds are too few to be sure."""
WEAK = 0.64
"""A value is weak if the weak prior makes up more than this part of what is known of it."""
UNSHRUNK = 1e-3
"""The share of the weak priors where values are not to be shrunk; 0 would leave some undefined."""
FEWEST_CASES = 5.0
"""A prior that rests on fewer expected cases is weak."""


def learn_refined(
    findings: Findings,
    schedule: Schedule,
    start: NoisyOrNetwork,
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    fixed: Fixed | None = None,
    shrink: bool = True,
    cleaned: Cleaned | None = None,
) -> Estimate:
    """Polish a good start on the records, by sampling each record's diseases.

    Parameters
    ----------
    findings
        The records, in memory.
    schedule
        Tells which parameters are certified to be identifiable.
    start
        From `learn_pooled`; never a random one: EM finds the nearest maximum.
    seed
        The same seed gives the same estimate, whatever the number of threads.
    progress
        Called with the number of records sampled since the last call.
    fixed
        Parameters held at given values.
    shrink
        Use the weak priors, which hold what the records hardly tell near the other parameters.
    cleaned
        What the clean-up has learned beyond the schedule, for the start.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets, find_schedule, learn_refined
    >>> network = datasets.figure1(seed=0)
    >>> findings, schedule = network.sample(5000, seed=1), find_schedule(network.structure)
    >>> start = NoisyOrLearner(network.structure, method="pooled").fit(findings).network_
    >>> learn_refined(findings, schedule, start)
    Estimate(refined: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    structure = schedule.structure
    if findings.structure.symptoms != structure.symptoms or start.structure != structure:
        raise StructureError("findings, schedule and start have different structures.")
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    sampler = RecordSampler(structure, findings.blocks, least_odds(structure))
    known = findings.n_records - findings.count_unknown().astype(np.float64)
    return refine(
        sampler, known, schedule, start, seed=seed, progress=progress, fixed=fixed, shrink=shrink,
        cleaned=cleaned,
    )  # fmt: skip


def refine(
    sampler: Sampler,
    known: Floats,
    schedule: Schedule,
    start: NoisyOrNetwork,
    *,
    seed: int,
    progress: Callable[[int], None] | None,
    fixed: Fixed | None,
    shrink: bool,
    cleaned: Cleaned | None,
) -> Estimate:
    """Polish a start on the records of a sampler; `known` has how often each symptom is known."""
    structure, n_records = schedule.structure, int(sampler.starts[-1])
    held, share = as_fixed(fixed, structure), 1.0 if shrink else UNSHRUNK
    small = is_small(structure)
    screen_every = 1 if small else SCREEN_EVERY
    run = _Run(sampler, known, held, share, seed, screen_every, progress or (lambda _: None))
    n_blocks = len(sampler.starts) - 1
    n_warm = int(np.searchsorted(sampler.starts, WARM_UP_RECORDS))
    network, n_rounds = start.with_fixed(held), ROUNDS
    if n_warm < n_blocks:
        network = run.rounds(network, WARM_UPS, n_warm)[-1]
        n_rounds = ROUNDS // 2
    last = run.rounds(network, n_rounds, n_blocks)[int(AVERAGED * n_rounds) :]
    learned = NoisyOrNetwork(
        structure,
        np.mean([each.priors for each in last], axis=0),
        np.mean([each.failures for each in last], axis=0),
        np.mean([each.leaks for each in last], axis=0),
    )
    if small:
        learned, *errors_by_kind = fisher_scoring(sampler, learned, seed, held, share)
        errors = Errors(*errors_by_kind)
    else:
        information = sampler.inform(learned, INFORMATION_SWEEPS, seed)
        errors = standard_errors(learned, information, n_records, known, held, share)
    is_entangled = np.zeros(structure.n_diseases, dtype=np.bool_)
    if not small:  # Fisher scoring has settled
        seen = learned.priors * (1.0 - learned.priors) / n_records
        is_entangled = ~(seen >= LEAST_TOLD * errors.priors**2) & ~held.mask.priors
    errors = _at_least_if_seen(errors, learned, n_records, known)
    beyond = cleaned or Cleaned.nothing(structure)
    estimate = _estimate(learned, errors, n_records, schedule, beyond, is_entangled, share)
    return beyond.marked(estimate).fixing(held)


def is_small(structure: Structure) -> bool:
    """Say whether the information on all parameters of a network can be inverted together."""
    return structure.n_parameters <= MOST_TOGETHER


def least_odds(structure: Structure) -> float:
    """Return the odds below which a disease is no candidate of a record."""
    return LEAST_ODDS_SMALL if is_small(structure) else LEAST_ODDS


class _Run:
    """Rounds of stochastic EM, one after the other."""

    def __init__(
        self,
        sampler: Sampler,
        known: Floats,
        fixed: Fixed,
        share: float,
        seed: int,
        screen_every: int,
        progress: Callable[[int], None],
    ) -> None:
        self._screen_every = screen_every
        self._known = known
        self._fixed = fixed
        self._share = share
        self._sampler = sampler
        self._seed = seed
        self._progress = progress
        self._n_done = 0

    def rounds(self, network: NoisyOrNetwork, n: int, n_blocks: int) -> list[NoisyOrNetwork]:
        """Return the networks after each of `n` rounds over the first blocks."""
        n_records = int(self._sampler.starts[n_blocks])
        share = n_records / self._sampler.starts[-1]
        found = []
        for number in range(n):
            self._n_done += 1
            expected = self._sampler.expect(
                network,
                n_blocks,
                must_screen=number % self._screen_every == 0,
                n_sweeps=SWEEPS,
                seed=self._seed * 1000 + self._n_done,
            )
            network = maximise(
                network, expected, n_records, share * self._known, self._fixed, self._share
            )
            self._progress(n_records)
            found.append(network)
        return found


class Errors(NamedTuple):
    """Standard errors of each kind."""

    failures: Floats
    priors: Floats
    leaks: Floats


def standard_errors(
    network: NoisyOrNetwork,
    information: Information,
    n_records: int,
    known: Floats,
    fixed: Fixed,
    share: float = 1.0,
) -> Errors:
    """Invert the information of each disease; the weak priors of the M-step count as records."""
    structure = network.structure
    mean, size = failure_prior(network, share)
    f, p = network.failures, network.priors
    of_prior = size * (1.0 - mean) / f**2 + size * mean / (1.0 - f) ** 2
    priors, failures = np.empty(structure.n_diseases), np.empty(structure.n_edges)
    held_priors, held_failures = fixed.mask.priors, fixed.mask.failures
    for disease in range(structure.n_diseases):
        edges = structure.edges_of(disease)
        m = edges.stop - edges.start + 1
        rows = slice(information.offsets[disease], information.offsets[disease + 1])
        matrix = information.matrices[rows].reshape(m, m).copy()
        matrix += np.tril(matrix, -1).T
        matrix[np.arange(m - 1), np.arange(m - 1)] += of_prior[edges]
        matrix[-1, -1] += n_records / (p[disease] * (1.0 - p[disease]))
        is_held = np.append(held_failures[edges], held_priors[disease])
        found = _inverse_diagonal(without(is_held, matrix))
        failures[edges], priors[disease] = found[:-1], found[-1]
    leaks = information.leaks + known / (1.0 - network.leaks) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return Errors(failures, priors, 1.0 / np.sqrt(np.where(leaks > 0, leaks, np.nan)))


def _at_least_if_seen(
    errors: Errors, network: NoisyOrNetwork, n_records: int, known: Floats
) -> Errors:
    """Return errors that are not smaller than if all causes had been seen.

    Where diseases are hardly told apart, the information is so uncertain that they can be.
    """
    p, f, leaks = network.priors, network.failures, network.leaks
    cases = n_records * p[network.structure.edges[:, 0]]
    with np.errstate(invalid="ignore"):
        return Errors(
            np.maximum(errors.failures, np.sqrt(f * (1.0 - f) / np.maximum(cases, 1.0))),
            np.maximum(errors.priors, np.sqrt(p * (1.0 - p) / n_records)),
            np.maximum(errors.leaks, np.sqrt(leaks * (1.0 - leaks) / np.maximum(known, 1.0))),
        )


def _inverse_diagonal(matrix: Floats) -> Floats:
    """Return the square roots of the inverse's diagonal; NaN where it is not positive."""
    try:
        variances = np.diag(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.full(len(matrix), np.nan)
    return np.sqrt(np.where(variances > 0, variances, np.nan))


def _estimate(
    network: NoisyOrNetwork,
    errors: Errors,
    n_records: int,
    schedule: Schedule,
    cleaned: Cleaned,
    is_entangled: NDArray[np.bool_],
    share: float,
) -> Estimate:
    """Mark what nothing certifies, what rests on too few cases, and what may not be settled."""
    structure = schedule.structure
    diseases, symptoms = structure.edges.T
    # What the clean-up learns comes after the last round.
    prior_depths = np.where(cleaned.priors, schedule.n_rounds, schedule.prior_depths)
    depths = np.where(cleaned.edges, schedule.n_rounds, schedule.depths)
    lost = np.zeros(structure.n_symptoms, dtype=np.bool_)
    lost[symptoms[depths < 0]] = True
    _, size = failure_prior(network, share)
    few = n_records * network.priors < FEWEST_CASES
    by_entangled = np.zeros(structure.n_symptoms, dtype=np.bool_)
    by_entangled[symptoms[is_entangled[diseases]]] = True
    sizes = share, size, share
    is_weak = [
        _is_weak(values, error, each)
        for values, error, each in zip(
            network.parameters, (errors.priors, errors.failures, errors.leaks), sizes, strict=True
        )
    ]
    is_weak[0] |= few
    beyond = Parameters(prior_depths < 0, depths < 0, lost)
    unidentified = Parameters(is_entangled, is_entangled[diseases], by_entangled)
    flags = beyond.map(
        lambda here, weak, other: (
            here * Flag.UNCERTIFIED + weak * Flag.WEAK + other * Flag.WEAKLY_IDENTIFIED
        ).astype(np.uint16),
        Parameters(*is_weak),
        unidentified,
    )
    return Estimate(
        structure, "refined", n_records, network.parameters,
        beyond.map(
            lambda here, error: np.where(here, np.nan, error),
            Parameters(errors.priors, errors.failures, errors.leaks),
        ),
        Parameters(prior_depths, depths, leak_depths(structure, depths)), flags, schedule,
        sources=Parameters.full(structure, "records", object),
    )  # fmt: skip


def _is_weak(values: Floats, errors: Floats, size: float) -> NDArray[np.bool_]:
    """Say where a weak prior of a size makes up most of the precision, or none is known."""
    with np.errstate(invalid="ignore"):
        return ~(errors**2 * size <= WEAK * values * (1.0 - values))
