"""The maximum of the penalised likelihood, where the records are summed up exactly.

EM steps lead near it. Fisher scoring goes on, because EM crawls where two diseases explain the same
findings: a step solves (I + damping * C) step = derivatives, with the information I of the records
and C, which would be theirs if all causes were seen. With much damping it is an EM step made short,
with none a step to where the information says the maximum is. The damping follows from how much of
the predicted gain a step brings (Levenberg and Marquardt); a step that loses penalised likelihood
is not made. Where hardly anything is known, the information is far from the curvature of the
likelihood, and what the last steps have shown of it is used as well. In valleys and near saddles
derivatives and information promise nothing although there is more to gain: where steps end, the
curvature itself is measured in a few directions, and steps go on if it promises more, or if the
likelihood bends upwards. All on the scale of log odds, so that every value stays inside of its
bounds.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.exact import ExactExpectation, ScoredRows
from noisyor.em.expected import BetaPriors, maximise
from noisyor.em.information import (
    MOST_FACTORED,
    Information,
    MatrixInformation,
    ScoreInformation,
    information_errors,
    scale_of,
)
from noisyor.em.runs import Limits, Run
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters, from_log_odds, log_odds

SETTLED, MOST_SETTLED, NEARLY_SETTLED = 1e-6, 0.002, 0.05
"""What is left to gain for each parameter, by the curvature that was found, and what the last step
gained; for all together; and over a part of the records. A standard error is 0.5, but along flat
valleys and near saddles there is far more to gain than steps promise."""
LEAST_DAMPING = 0.01
LONGEST_STEP = 2.0
"""No log odds change by more in a step: the information is that of here."""
MOST_LOG_ODDS = 16.0
MOST_TRIES = 8
"""Steps that are tried with more and more damping."""
FIRST_RECORDS, MORE_RECORDS = 5000, 4
"""The first steps look at so many records, chosen at random, the next ones at so many times more:
they are cheap, and get past maxima of no account that all records together have..."""
RECORDS_OF_PARAMETER = 20
"""... but at no fewer for a parameter: of those, chance makes few strong edges of many weak ones,
and from there steps over all records do not find back. With as many, the likelihood has one maximum
to speak of, whatever pairs and triplets tell."""
FIRST_SHARE = 0.05
"""Weak priors count for this share of theirs in the first steps."""
N_SECANTS = 5
"""Steps from which the curvature is learned: in flat valleys the information is far from it."""
N_PROBES = 4
"""Vectors of random signs, from which a mean variance is estimated."""
N_MEASURED, NUDGE = 8, 0.01
"""Directions in which the curvature is measured where steps end, and how far in log odds."""
MOST_MEASURED = 6
"""How often it is measured: after that, what is left is taken for little."""
SADDLE_STEPS = 1.0, 0.3, 0.1, 0.03, 0.01
"""How far to go from a saddle, as parts of the longest step."""
EM_STEPS, FIRST_STEPS = 5, 12
"""Steps of EM, and of Fisher scoring, over some of the records."""


class Secant(NamedTuple):
    """A step that was made, and by how much it made the derivatives smaller."""

    step: Floats
    change: Floats

    @property
    def product(self) -> float:
        """The curvature along the step, times its length squared."""
        return float(self.step @ self.change)


class Point(NamedTuple):
    """Some parameters, and what the records and their priors say of them."""

    network: NoisyOrNetwork
    value: float
    """The penalised log likelihood."""
    derivatives: Floats
    """By the log odds of the free parameters..."""
    information: Information
    """... and the information on them..."""
    if_seen: Floats
    """... and its diagonal if all causes were seen..."""
    curvature: Floats
    """... both without this, which the priors add to the diagonal."""

    def step(self, damping: float, secants: Sequence[Secant] = ()) -> Floats:
        """Return a step; what earlier ones have shown of the curvature corrects the information.

        The two loops of Nocedal (1980): BFGS with little memory.
        """
        floor = 1e-9 * (self.if_seen + self.curvature).max() + 1e-12
        diagonal = (1.0 + damping) * self.curvature + damping * self.if_seen + floor
        left, shares = self.derivatives, list[float]()
        for each in reversed(secants):
            shares.append(float(each.step @ left) / each.product)
            left = left - shares[-1] * each.change
        found = self.information.solve(diagonal, left)
        for each, share in zip(secants, reversed(shares), strict=True):
            found = found + (share - float(each.change @ found) / each.product) * each.step
        return np.clip(found, -LONGEST_STEP, LONGEST_STEP)

    def predicted(self, step: Floats, damping: float) -> float:
        """Return what a step gains where the curvature is as it was found to be.

        Earlier steps may have corrected the information, but no damping makes more of it than twice
        what the derivatives alone promise.
        """
        damped = damping * (self.curvature + self.if_seen) * step
        along = float(step @ self.derivatives)
        return min(along + float(step @ damped), 2.0 * along) / 2.0

    def left(self, secants: Sequence[Secant]) -> float:
        """Return what is left to gain, with hardly any damping."""
        return float(self.step(LEAST_DAMPING, secants) @ self.derivatives) / 2.0


class Begun(NamedTuple):
    """Where steps over a part of the records have led."""

    network: NoisyOrNetwork
    n_steps: int


class Climbable(Protocol):
    """What `climb_penalised` climbs."""

    fixed: Beliefs

    def at(self, network: NoisyOrNetwork) -> Point:
        """Look at all records."""
        ...

    def moved(self, network: NoisyOrNetwork, position: Floats) -> NoisyOrNetwork:
        """Return a network whose free parameters are elsewhere."""
        ...

    def position_of(self, network: NoisyOrNetwork) -> Floats:
        """Return where the free parameters are."""
        ...


class PenalisedLikelihood:
    """The log likelihood of records and the log densities of Beta priors, added up."""

    def __init__(
        self,
        expectation: ExactExpectation,
        priors: BetaPriors,
        fixed: Beliefs,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.expectation = expectation
        self.structure = expectation.structure
        self.priors = priors
        self.fixed = fixed
        self.is_free = ~fixed.mask.vector
        self._progress = progress

    def value_of(self, network: NoisyOrNetwork) -> float:
        """Return the penalised log likelihood of a network."""
        return self.em_step(network.with_fixed(self.fixed))[1]

    def em_step(self, network: NoisyOrNetwork) -> tuple[NoisyOrNetwork, float]:
        """Return the network after a step of EM, and the value before it."""
        expected = self.expectation.expect(network)
        self._progress(int(self.expectation.totals.n_records))
        value = expected.log_likelihood + self.priors.log_density(network, self.is_free)
        return maximise(expected.trials, network, self.fixed, self.priors), value

    def at(self, network: NoisyOrNetwork) -> Point:
        """Look at all records."""
        free = self.is_free
        log_likelihood, derivatives, information = self._scored(network)
        self._progress(int(self.expectation.totals.n_records))
        value = log_likelihood + self.priors.log_density(network, free)
        slope, curvature = self.priors.derivatives(network)
        if_seen = self._information_if_seen(network, derivatives)
        derivatives = self.fixed.rates.derivatives(network.parameters, derivatives)
        return Point(
            network, value, (derivatives + slope)[free], information, if_seen[free],
            curvature[free],
        )  # fmt: skip

    def _scored(self, network: NoisyOrNetwork) -> tuple[float, Floats, Information]:
        """Return the log likelihood, its derivatives, and the information on what is free.

        The derivatives are those by failures, the information has miss rates in their place. Of
        many parameters it is that of some records: it need not be exact.
        """
        size, free = self.structure.n_parameters, self.is_free
        if size <= MOST_FACTORED:
            found = self.expectation.score(network)
            matrix = self.fixed.rates.information(network.parameters, found.information)
            matrix = matrix if free.all() else matrix[np.ix_(free, free)]
            return found.log_likelihood, found.derivatives, MatrixInformation(matrix)
        some = self._some()
        scored = some.score_rows(network)
        information = self._of_rows(some, network, scored)
        if some is self.expectation:
            return scored.log_likelihood, scored.derivatives, information
        expected = self.expectation.expect(network)
        return expected.log_likelihood, expected.trials.derivatives(network), information

    def _some(self) -> ExactExpectation:
        """Return twice as many records as parameters: their scores take no more than a matrix."""
        return self.expectation.thinned(2 * self.structure.n_parameters, seed=0)

    def _of_rows(
        self, some: ExactExpectation, network: NoisyOrNetwork, scored: ScoredRows
    ) -> ScoreInformation:
        """Return the information on what is free, as if all records were such as these."""
        factor = self.expectation.totals.n_records / max(some.totals.n_records, 1.0)
        rates, rows = self.fixed.rates, scored.rows
        if rates.any:
            rows = rates.derivatives(network.parameters, rows.astype(float)).astype(np.float32)
        rows = rows if self.is_free.all() else rows[:, self.is_free]
        return ScoreInformation(rows, factor)

    def unknown(self, network: NoisyOrNetwork) -> float:
        """Return the mean variance of the failures' errors."""
        is_free = ~self.fixed.mask.failures
        if not is_free.any():
            return 0.0
        if self.structure.n_parameters > MOST_FACTORED:
            return self._nearly_unknown(network)
        information = self.expectation.information(network)
        errors = information_errors(network, information, self.fixed, self.priors)
        return float(np.nan_to_num(errors.failures[is_free] ** 2).mean())

    def _nearly_unknown(self, network: NoisyOrNetwork) -> float:
        """Return the same from some random signs: what they are multiplied by is the trace."""
        free, some = self.is_free, self._some()
        information = self._of_rows(some, network, some.score_rows(network))
        is_failure = Parameters.full(self.structure, (False, True, False)).vector[free]
        curvature = self.priors.derivatives(network)[1][free]
        scale = scale_of(network, self.fixed.rates)[free] * is_failure
        rng = np.random.default_rng(0)
        found = []
        for _ in range(N_PROBES):
            probe = scale * rng.choice([-1.0, 1.0], size=len(scale))
            found.append(probe @ information.solve(curvature + 1e-9, probe))
        return float(np.mean(found) / is_failure.sum())

    def _information_if_seen(self, network: NoisyOrNetwork, derivatives: Floats) -> Floats:
        """Return trials x (1 - x) of all parameters: of a failure its disease's expected cases."""
        structure, totals = network.structure, self.expectation.totals
        n_records, known = totals.n_records, totals.known
        diseases, symptoms = structure.edges.T
        cases = n_records * network.priors + derivatives[: structure.n_diseases]
        at_risk = cases[diseases] * known[symptoms] / n_records
        trials = Parameters(np.full(structure.n_diseases, n_records), at_risk, known).vector
        return np.asarray(trials * scale_of(network, self.fixed.rates))

    def moved(self, network: NoisyOrNetwork, position: Floats) -> NoisyOrNetwork:
        """Return a network whose free parameters have other log odds."""
        rates = self.fixed.rates
        values = rates.put_in(network.parameters).vector.copy()
        values[self.is_free] = from_log_odds(position, MOST_LOG_ODDS)
        moved = Parameters.split(network.structure, values)
        return network.with_parameters(rates.taken_out(moved))

    def position_of(self, network: NoisyOrNetwork) -> Floats:
        """Return the log odds of the free parameters."""
        values = self.fixed.rates.put_in(network.parameters)
        return np.asarray(log_odds(values.vector, 1e-12)[self.is_free])


def climb_penalised(
    likelihood: Climbable,
    start: NoisyOrNetwork,
    limits: Limits,
    n_em_steps: int = 0,
    settled: float | None = None,
) -> Run:
    """Climb to the maximum near a start; the penalised likelihood never falls.

    A run has settled when less than `tol` is left to gain, as a part of the likelihood; with a
    `tol` of 0, less than `settled`, or what is next to nothing for so many parameters.
    """
    network, values = start.with_fixed(likelihood.fixed), list[float]()
    for _ in range(min(n_em_steps, limits.max_iter)):
        assert isinstance(likelihood, PenalisedLikelihood)  # others have no steps of EM
        network, value = likelihood.em_step(network)
        values.append(value)
    point, damping, gain = likelihood.at(network), 0.1, 0.0
    values.append(point.value)
    next_to_nothing = min(SETTLED * len(point.derivatives), MOST_SETTLED)
    secants, n_measured = deque[Secant](maxlen=N_SECANTS), 0
    while len(point.derivatives):
        least = limits.tol * abs(point.value) or settled or next_to_nothing
        if (gain < least and point.left(secants) < least) or _has_stalled(values, least):
            if least >= NEARLY_SETTLED or n_measured == MOST_MEASURED:
                break
            n_measured += 1
            measured = _measure(likelihood, point)
            beyond = _past_saddle(likelihood, point, measured)
            if beyond is not None:
                point, secants, damping = beyond, deque(), 0.1
                values.append(point.value)
            else:
                secants, damping = deque(m for m in measured if m.product > 0.0), 0.1
                if point.left(secants) < least:
                    break
        if len(values) > limits.max_iter:
            return Run(point.network, values, False)
        after, step, damping = _gaining(likelihood, point, damping, secants)
        gain = after.value - point.value
        if gain <= 0.0:
            return Run(point.network, values, False)  # not even a short step gains anything
        share = gain / max(point.predicted(step, damping), 1e-300)
        damping *= max(0.2, 1.0 - (2.0 * share - 1.0) ** 3) if share < 1.0 else 0.2
        damping = max(damping, 1e-4)
        secant = Secant(step, point.derivatives - after.derivatives)
        if secant.product > 0.0:  # elsewhere the likelihood bends upwards
            secants = deque([*secants, secant], maxlen=N_SECANTS)
        point = after
        values.append(point.value)
    return Run(point.network, values, True)


def _gaining(
    likelihood: Climbable, point: Point, damping: float, secants: deque[Secant]
) -> tuple[Point, Floats, float]:
    """Try steps with more and more damping until one gains; return where it led, and the damping.

    What secants have shown is forgotten where it led astray.
    """
    position, growth = likelihood.position_of(point.network), 2.0
    for _ in range(MOST_TRIES):
        step = point.step(damping, secants)
        after = likelihood.at(likelihood.moved(point.network, position + step))
        if after.value > point.value:
            break
        secants.clear()
        damping, growth = max(damping, 1e-3) * growth, 2.0 * growth
    return after, step, damping


def _past_saddle(likelihood: Climbable, point: Point, measured: Sequence[Secant]) -> Point | None:
    """Return a higher point in a direction in which the likelihood bends upwards, or None."""
    if not measured or measured[0].product > 0.0:
        return None
    position, best, direction = likelihood.position_of(point.network), point, measured[0].step
    longest = LONGEST_STEP / np.abs(direction).max() * direction
    for length in SADDLE_STEPS:  # valleys are curved: often only short ones gain, which is a start
        moves = length * longest, -length * longest
        ends = [likelihood.at(likelihood.moved(point.network, position + move)) for move in moves]
        highest = max(ends, key=lambda end: end.value)
        if best is not point and highest.value <= best.value:
            break
        best = max(best, highest, key=lambda end: end.value)
    return None if best is point else best


def _measure(likelihood: Climbable, point: Point) -> list[Secant]:
    """Return the curvature in some directions, the ones that bend most upwards first.

    Directions of the smallest quotients of the curvature, found from differences of derivatives,
    and the damped information, among a few that the one leads to after the other (Rayleigh and
    Ritz). Of the information, because most quotients are then nearly 1, and the others stand out.
    """
    own = point.if_seen + point.curvature
    diagonal = point.curvature + LEAST_DAMPING * own + 1e-9 * own.max() + 1e-12
    position = likelihood.position_of(point.network)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=len(own))
    direction = point.information.solve(diagonal, signs * np.sqrt(own))
    steps, images, changes = list[Floats](), list[Floats](), list[Floats]()
    for _ in range(min(N_MEASURED, len(own))):
        for step, image in zip(steps, images, strict=True):
            direction = direction - (image @ direction) * step
        image = point.information.times(direction) + diagonal * direction
        length = float(np.sqrt(max(direction @ image, 0.0)))
        if not length > 1e-12 * float(np.abs(direction).max()):
            break
        direction, image = direction / length, image / length
        reach = NUDGE / float(np.abs(direction).max())
        near = likelihood.at(likelihood.moved(point.network, position + reach * direction))
        steps.append(direction)
        images.append(image)
        changes.append((point.derivatives - near.derivatives) / reach)
        direction = point.information.solve(diagonal, changes[-1])
    products = np.array(steps) @ np.array(changes).T
    _, vectors = np.linalg.eigh((products + products.T) / 2.0)
    return [Secant(each @ np.array(steps), each @ np.array(changes)) for each in vectors.T]


def _has_stalled(values: list[float], least: float) -> bool:
    """Return True if three steps together have gained next to nothing.

    Where few records tell little, the information is not the curvature and promises too much.
    """
    return len(values) > 3 and values[-1] - values[-4] < least


def find_maximum(
    expectation: ExactExpectation,
    starts: Sequence[NoisyOrNetwork],
    fixed: Beliefs,
    share: float,
    limits: Limits,
    seed: int,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[Run, BetaPriors]:
    """Return the way to the highest maximum from some starts, and the weak priors.

    The starts climb over some of the records, all with a label among them; the one of which all are
    most likely (`_heights`) goes on over more and more of them. Weak priors, which count for a
    `share`, are those of where it is, and stay as they are for the last steps. What is returned is
    not below any of the starts.
    """

    def likelihood_of(part: ExactExpectation, network: NoisyOrNetwork) -> PenalisedLikelihood:
        """Return what is maximised next, with priors that follow from where a network is."""
        part.cut(network)
        unsure = PenalisedLikelihood(part, BetaPriors.weak(network, share).believing(fixed), fixed)
        priors = BetaPriors.weak(network, share, unsure.unknown(network)).believing(fixed)
        return PenalisedLikelihood(part, priors, fixed, progress)

    def climbed(part: ExactExpectation, start: Begun) -> Begun:
        likelihood = likelihood_of(part, start.network)
        run = climb_penalised(likelihood, start.network, first, settled=NEARLY_SETTLED)
        return Begun(run.network, start.n_steps + len(run.values) - 1)

    def first_climbed(start: NoisyOrNetwork) -> Begun:
        part.cut(start)
        # Where failures are a guess, alike for all, their spread says nothing.
        hardly_any = BetaPriors.weak(start, FIRST_SHARE * share).believing(fixed)
        likelihood = PenalisedLikelihood(part, hardly_any, fixed, progress)
        near = climb_penalised(likelihood, start, Limits(n_em_steps, 0.0), n_em_steps)
        return climbed(part, climbed(part, Begun(near.network, len(near.values) - 1)))

    first = Limits(min(FIRST_STEPS, limits.max_iter), 0.0)
    n_em_steps = min(EM_STEPS, limits.max_iter)
    size = max(FIRST_RECORDS, RECORDS_OF_PARAMETER * expectation.structure.n_parameters)
    part, others = expectation.parted(size, seed, keep_labelled=True)
    found = [first_climbed(start) for start in starts]
    heights = _heights([each.network for each in found], part, others, fixed)
    begun, size = found[int(np.argmax(heights))], MORE_RECORDS * size
    while 2 * size < expectation.totals.n_records:
        begun = climbed(expectation.thinned(size, seed, keep_labelled=True), begun)
        size *= MORE_RECORDS
    likelihood = likelihood_of(expectation, begun.network)
    candidates = [begun.network, *(start.with_fixed(fixed) for start in starts)]
    highest = max(candidates, key=likelihood.value_of)
    n_before = begun.n_steps if highest is begun.network else 0
    run = climb_penalised(likelihood, highest, limits)
    return run._replace(n_before=n_before), likelihood.priors


def _heights(
    networks: Sequence[NoisyOrNetwork],
    part: ExactExpectation,
    others: ExactExpectation | None,
    fixed: Beliefs,
) -> list[float]:
    """Return how likely networks are that were found on a part of the records, for a choice.

    Chance makes its records more likely, and others as much less: the more so, the more a network
    follows them (few strong edges in place of many weak ones). What both say together is free of
    that, so records that were not looked at count as much, where there are as many.
    """
    beliefs, is_free = BetaPriors.none(part.structure).believing(fixed), ~fixed.mask.vector
    parts = [part]
    if others is not None and others.totals.n_records >= part.totals.n_records:
        parts.append(others.thinned(int(part.totals.n_records), seed=0))

    def height(network: NoisyOrNetwork) -> float:
        for each in parts:
            each.cut(network)
        both = sum(each.expect(network).log_likelihood for each in parts)
        return float(both + beliefs.log_density(network, is_free))

    return [height(network) for network in networks]
