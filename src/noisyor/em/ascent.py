"""Climbing the likelihood, or a bound of it.

Plain EM crawls where two diseases explain the same findings. With exact expectations two EM steps
and a leap make a step: a step of Fisher scoring on networks of up to 300 parameters, else one in
the direction of both (Varadhan and Roland 2008). A leap that loses likelihood is not made, so the
likelihood never falls. Or the gradient, which the E-step gives, goes to a quasi-Newton method
(L-BFGS).
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors, Expected, RecordTotals, inside, maximise
from noisyor.em.runs import Limits, Run
from noisyor.inference.flat import Floats
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters, from_log_odds, log_odds

# --- plain EM ---


class Expectation(Protocol):
    """An E-step."""

    totals: RecordTotals

    def expect(self, network: NoisyOrNetwork) -> Expected:
        """Return expected trials, and the log likelihood or a bound of it."""
        ...


Maximise = Callable[[Expected, NoisyOrNetwork], NoisyOrNetwork]


def climb(
    expectation: Expectation,
    step: Maximise,
    start: NoisyOrNetwork,
    limits: Limits,
    progress: Callable[[int], None],
) -> Run:
    """Climb by plain EM until the likelihood hardly rises; it is that of the network returned."""
    network, values, is_settled = start, list[float](), False
    for number in range(limits.max_iter + 1):
        expected = expectation.expect(network)
        progress(int(expectation.totals.n_records))
        values.append(expected.log_likelihood)
        is_settled = len(values) > 1 and _is_small(values, limits.tol)
        if is_settled or number == limits.max_iter:
            break
        network = step(expected, network)
    return Run(network, values, is_settled)


def _is_small(values: list[float], tol: float) -> bool:
    """Return True if the last step has gained hardly anything."""
    return values[-1] - values[-2] <= tol * abs(values[-1])


# --- exact expectations: leaps and gradients ---


class ExactAscent:
    """Climbs the exact likelihood of some findings."""

    def __init__(
        self, expectation: ExactExpectation, fixed: Beliefs, progress: Callable[[int], None]
    ) -> None:
        self._expectation = expectation
        self._structure = expectation.structure
        self._fixed = fixed
        self._beliefs = BetaPriors.none(self._structure).believing(fixed)
        self._progress = progress

    def expect(self, network: NoisyOrNetwork) -> Expected:
        """Do an E-step; the log density of what is believed counts."""
        self._progress(int(self._expectation.totals.n_records))
        found = self._expectation.expect(network)
        if not self._fixed.has_weighted:
            return found
        density = self._beliefs.log_density(network, ~self._fixed.mask.vector)
        return Expected(found.trials, found.log_likelihood + density)

    def _maximise(self, expected: Expected, network: NoisyOrNetwork) -> NoisyOrNetwork:
        """Do an M-step; what is believed counts as so many cases."""
        return maximise(expected.trials, network, self._fixed, self._beliefs)

    def _derivatives(self, expected: Expected, network: NoisyOrNetwork) -> Floats:
        """Return those of the log likelihood and of what is believed."""
        found = self._fixed.rates.derivatives(
            network.parameters, expected.trials.derivatives(network)
        )
        return found + self._beliefs.derivatives(network)[0]

    def by_leaps(self, start: NoisyOrNetwork, limits: Limits) -> Run:
        """Climb by EM steps and leaps."""
        network, expected = start, self.expect(start)
        values = [expected.log_likelihood]
        is_small, damping = self._structure.n_parameters <= 300, 1.0
        for _ in range(limits.max_iter):
            one = self._maximise(expected, network)
            after_one = self.expect(one)
            two = self._maximise(after_one, one)
            if is_small:
                leap = self._scored(one, after_one, damping)
            else:
                leap = self._leap(network, one, two)
            network, expected = leap, self.expect(leap)
            damping /= 4.0
            if not expected.log_likelihood >= after_one.log_likelihood:
                network, expected = two, self.expect(two)
                damping = min(32.0 * damping, 1e4)
            values.append(expected.log_likelihood)
            if _is_small(values, limits.tol):
                return Run(network, values, True)
        return Run(network, values, False)

    def _scored(
        self, network: NoisyOrNetwork, expected: Expected, damping: float
    ) -> NoisyOrNetwork:
        """Return where the likelihood's derivatives and the records' information point at."""
        position = self._position(network)
        information = self._fixed.rates.information(
            network.parameters, self._expectation.information(network)
        )
        information.flat[:: len(position) + 1] += self._beliefs.derivatives(network)[1]
        diagonal = np.diag(information)
        ridge = 1e-9 * diagonal.max(initial=1e-300)
        information.flat[:: len(position) + 1] += damping * diagonal + ridge
        move = np.linalg.solve(information, self._derivatives(expected, network))
        longest = max(np.abs(move).max(), 1e-300)  # no log odds change by more than 3
        position += move * min(1.0, 3.0 / longest)
        return self._network(position)

    def _leap(
        self, start: NoisyOrNetwork, one: NoisyOrNetwork, two: NoisyOrNetwork
    ) -> NoisyOrNetwork:
        """Return where two steps point at, on the scale of log odds."""
        at, then, last = (self._position(network) for network in (start, one, two))
        first, change = then - at, last - 2.0 * then + at
        curve = max(float(np.linalg.norm(change)), 1e-300)
        length = min(float(np.linalg.norm(first)) / curve, 1e4)
        if length <= 1.0:
            return two
        return self._network(at + 2.0 * length * first + length**2 * change)

    def by_gradients(self, start: NoisyOrNetwork, limits: Limits) -> Run:
        """Climb by a quasi-Newton method."""
        from scipy.optimize import minimize

        n_records = self._expectation.totals.n_records
        is_free = ~self._fixed.mask.vector
        values = [self.expect(start).log_likelihood]
        if not is_free.any():
            return Run(start, values, True)

        def network_at(position: Floats) -> NoisyOrNetwork:
            whole = np.zeros(len(is_free))
            whole[is_free] = position
            return self._network(whole)

        def downhill(position: Floats) -> tuple[float, Floats]:
            network = network_at(position)
            expected = self.expect(network)
            gradient = self._derivatives(expected, network)[is_free]
            return -expected.log_likelihood / n_records, -gradient / n_records

        def keep(intermediate_result: Any) -> None:  # scipy looks at the name
            values.append(-float(intermediate_result.fun) * n_records)

        n = limits.max_iter
        found = minimize(
            downhill, self._position(start)[is_free], jac=True, method="L-BFGS-B", callback=keep,
            bounds=[(-14.0, 14.0)] * int(is_free.sum()),
            options={"maxiter": n, "maxfun": 2 * n, "ftol": limits.tol, "gtol": 1e-9},
        )  # fmt: skip
        return Run(network_at(found.x), values, bool(found.success))

    def _network(self, position: Floats) -> NoisyOrNetwork:
        values = from_log_odds(position, 30.0)
        parameters = inside(Parameters.split(self._structure, values))
        parameters = self._fixed.rates.taken_out(parameters)
        return NoisyOrNetwork(self._structure, *parameters).with_fixed(self._fixed)

    def _position(self, network: NoisyOrNetwork) -> Floats:
        return log_odds(self._fixed.rates.put_in(network.parameters).vector, 1e-12)
