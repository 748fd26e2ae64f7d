"""learn_maximum_likelihood: the exact likelihood, maximised directly; the gold standard."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.baselines.exact_em import EmSteps
from noisyor.baselines.runs import (
    Progress,
    Run,
    best_run,
    check_input,
    from_log_odds,
    starts,
    to_estimate,
    to_log_odds,
)
from noisyor.findings import Findings
from noisyor.inference.exact import MOST_OPERATIONS
from noisyor.learning.estimate import Estimate
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, as_fixed
from noisyor.structure import Structure

Floats = NDArray[np.float64]

LARGEST_LOG_ODDS = 14.0


def learn_maximum_likelihood(
    findings: Findings,
    structure: Structure,
    *,
    restarts: int = 4,
    seed: int = 0,
    fixed: Fixed | None = None,
    progress: Progress | None = None,
    max_steps: int = 2000,
    most_operations: float = MOST_OPERATIONS,
    threads: int | None = None,
) -> Estimate:
    """Maximise the exact likelihood by a quasi-Newton method (L-BFGS) in log odds.

    Parameters as those of `learn_exact_em`; another way to the same maximum, for small networks.

    Examples
    --------
    >>> from noisyor import datasets, learn_maximum_likelihood
    >>> network = datasets.figure1(seed=0)
    >>> learn_maximum_likelihood(network.sample(500, seed=1), network.structure, restarts=1)
    Estimate(maximum_likelihood: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    check_input(findings, structure, restarts=restarts, seed=seed, max_steps=max_steps)
    held = as_fixed(fixed, structure)
    steps = EmSteps(findings.with_structure(structure), held, progress, most_operations, threads)
    climber = _Climber(steps, structure, held, findings.n_records)
    first = starts(findings, structure, held, restarts, seed)
    runs = [climber.run(start, max_steps) for start in first]
    network, trace = best_run(runs, "log likelihood")
    errors = steps.standard_errors(network)
    return to_estimate("maximum_likelihood", network, errors, findings.n_records, held, trace)


class _Climber:
    """Runs of the quasi-Newton method."""

    def __init__(self, steps: EmSteps, structure: Structure, fixed: Fixed, n_records: int) -> None:
        self._steps = steps
        self._structure = structure
        self._fixed = fixed
        self._n_records = n_records
        self._is_free = ~fixed.mask.vector

    def run(self, start: NoisyOrNetwork, max_steps: int) -> Run:
        """Climb from a start."""
        from scipy.optimize import minimize

        values = [self._steps.expect(start).log_likelihood]
        if not self._is_free.any():
            return Run(start, values, True)

        def downhill(position: Floats) -> tuple[float, Floats]:
            value, gradient = self._climb(position)
            return -value / self._n_records, -gradient / self._n_records

        def keep(intermediate_result: Any) -> None:  # scipy looks at the name
            values.append(-float(intermediate_result.fun) * self._n_records)

        found = minimize(
            downhill, to_log_odds(start)[self._is_free], jac=True, method="L-BFGS-B", callback=keep,
            bounds=[(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)] * int(self._is_free.sum()),
            options={"maxiter": max_steps, "maxfun": 2 * max_steps, "ftol": 1e-14, "gtol": 1e-9},
        )  # fmt: skip
        return Run(self._network(found.x), values, bool(found.success))

    def _network(self, position: Floats) -> NoisyOrNetwork:
        log_odds = np.zeros(len(self._is_free))
        log_odds[self._is_free] = position
        return from_log_odds(self._structure, log_odds).with_fixed(self._fixed)

    def _climb(self, position: Floats) -> tuple[float, Floats]:
        """Return the log likelihood and its gradient, which the E-step's sums give (Fisher)."""
        network = self._network(position)
        expected = self._steps.expect(network)
        gradient = self._steps.gradient(expected, network)
        return expected.log_likelihood, gradient[self._is_free]
