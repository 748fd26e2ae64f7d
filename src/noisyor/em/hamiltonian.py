"""Moves along the valleys of the posterior, where the records can be summed up exactly.

Rounds of Gibbs sampling crawl where two diseases explain the same findings, as EM does. There a
Hamiltonian move helps: parameters roll, with a random momentum, over the log posterior of the
records themselves, the diseases summed out, and the end of the way is accepted with the probability
that leaves the posterior as it is (Duane, Kennedy, Pendleton & Roweth 1987). The scale is that of
log odds, made round by the information at the maximum.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from noisyor.beliefs import Beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors
from noisyor.em.maximum import PenalisedLikelihood, climb_penalised
from noisyor.em.runs import Limits
from noisyor.findings import Findings
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork

MOST_OPERATIONS, MOST_IN_ALL = 2.0**18, 2.0**26
"""Of a record and of a pass, up to which a move is worth its time."""
MOST_MOVED = 1500
"""Parameters up to which their information is looked at together in every step of a move."""
WAY = 1.5
"""How far a move rolls: a quarter of a turn, were the posterior a normal distribution."""
MOST_STEPS = 10
N_TUNED, ACCEPTED = 50, 0.8
"""In the first moves of a chain the length of its steps is tuned, to be accepted so often."""
MOST_ENERGY = 1000.0
"""What a step must not lose: then it was far too long."""


class SummedPosterior:
    """The log posterior density of the free parameters' log odds, and its shape at the maximum."""

    def __init__(
        self,
        expectation: ExactExpectation,
        start: NoisyOrNetwork,
        priors: BetaPriors,
        fixed: Beliefs,
    ) -> None:
        self._likelihood = PenalisedLikelihood(expectation, priors, fixed)
        run = climb_penalised(self._likelihood, start, Limits(100, 0.0), n_em_steps=5)
        self.mode = run.network
        self.center = self._likelihood.position_of(self.mode)
        information = fixed.rates.information(
            self.mode.parameters, expectation.information(self.mode)
        )
        information.flat[:: len(information) + 1] += priors.derivatives(self.mode)[1]
        free = self._likelihood.is_free
        root = cholesky(information[np.ix_(free, free)])
        self._stretching = solve_triangular(root, np.eye(len(root)))

    @classmethod
    def of(
        cls, findings: Findings, start: NoisyOrNetwork, priors: BetaPriors, fixed: Beliefs
    ) -> "SummedPosterior | None":
        """Return the posterior, where the records can be summed up exactly, and often."""
        if findings.structure.n_parameters > MOST_MOVED or fixed.mask.vector.all():
            return None
        expectation = ExactExpectation(findings, may_cut=True, n_jobs=1)
        costs = expectation.costs
        if costs.max() > MOST_OPERATIONS or costs.sum() > MOST_IN_ALL:
            return None
        return cls(expectation, start, priors, fixed)

    def at(self, network: NoisyOrNetwork) -> tuple[float, Floats]:
        """Return the log density, but for a constant, and its derivatives."""
        likelihood = self._likelihood
        expected = likelihood.expectation.expect(network)
        slope = likelihood.fixed.rates.derivatives(
            network.parameters, expected.trials.derivatives(network)
        )
        slope = slope + likelihood.priors.derivatives(network)[0]
        density = likelihood.priors.log_density(network, likelihood.is_free)
        return expected.log_likelihood + density, slope[likelihood.is_free]

    def position_of(self, network: NoisyOrNetwork) -> Floats:
        """Return the log odds of the free parameters."""
        return self._likelihood.position_of(network)

    def moved(self, network: NoisyOrNetwork, position: Floats) -> NoisyOrNetwork:
        """Return a network whose free parameters have other log odds."""
        return self._likelihood.moved(network, position)

    def stretched(self, directions: Floats) -> Floats:
        """Return directions on the scale of log odds, of such whose variances are 1."""
        return np.asarray(self._stretching @ directions)

    def rounded(self, derivatives: Floats) -> Floats:
        """Return derivatives on the scale on which variances are 1."""
        return np.asarray(derivatives @ self._stretching)

    def draw_start(self, spread: float, rng: np.random.Generator) -> NoisyOrNetwork:
        """Return a network around the maximum, so many standard deviations off."""
        off = self.stretched(spread * rng.normal(size=len(self.center)))
        return self.moved(self.mode, self.center + np.clip(off, -3.0, 3.0))


class Hamiltonian:
    """The moves of one chain."""

    def __init__(self, posterior: SummedPosterior, rng: np.random.Generator) -> None:
        self._posterior, self._rng = posterior, rng
        self.step, self._n_moves = 0.5, 0

    def move(self, network: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return the network after a move; the same one, where that was not accepted."""
        momentum = self._rng.normal(size=len(self._posterior.center))
        step = self.step * self._rng.uniform(0.8, 1.2)
        value, slope = self._posterior.at(network)
        energy = value - float(momentum @ momentum) / 2.0
        after, momentum, value = self._roll(network, momentum, slope, step, energy - MOST_ENERGY)
        gain = value - float(momentum @ momentum) / 2.0 - energy
        probability = float(np.exp(min(gain, 0.0))) if np.isfinite(gain) else 0.0
        self._tune(probability)
        return after if self._rng.random() < probability else network

    def _roll(
        self, network: NoisyOrNetwork, momentum: Floats, slope: Floats, step: float, least: float
    ) -> tuple[NoisyOrNetwork, Floats, float]:
        """Go the way in steps that can be gone back (leapfrog); stop where the energy is lost."""
        posterior, value = self._posterior, least
        position = posterior.position_of(network)
        for _ in range(min(int(np.ceil(WAY / step)), MOST_STEPS)):
            momentum = momentum + step / 2.0 * posterior.rounded(slope)
            position = position + step * posterior.stretched(momentum)
            network = posterior.moved(network, position)
            value, slope = posterior.at(network)
            momentum = momentum + step / 2.0 * posterior.rounded(slope)
            if not value > least:
                return network, momentum, -np.inf
        return network, momentum, value

    def _tune(self, probability: float) -> None:
        """Make the first steps longer or shorter, ever less so; later ones stay as they are."""
        self._n_moves += 1
        if self._n_moves <= N_TUNED:
            change = (probability - ACCEPTED) / self._n_moves**0.6
            self.step = float(np.clip(self.step * np.exp(change), 0.02, WAY))
