"""learn_exact_em: expectation maximisation with exact inference, for small networks.

The E-step finds, for each distinct record, P(disease | record) and the probability that each edge,
and each leak, has caused its finding; the M-step is then a division. Because EM crawls where two
diseases explain the same findings, two EM steps and a leap make a step: a step of Fisher scoring on
small networks, else one in the direction of both (Varadhan and Roland 2008). A leap that loses
likelihood is not made, so the likelihood never falls.
"""

import numpy as np
from numpy.typing import NDArray

from noisyor.baselines.runs import (
    Progress,
    Run,
    best_run,
    check_input,
    from_log_odds,
    inside,
    starts,
    to_estimate,
    to_log_odds,
)
from noisyor.findings import Findings
from noisyor.inference.exact import (
    MOST_OPERATIONS,
    ExactInference,
    Expected,
)
from noisyor.learning.estimate import Estimate
from noisyor.learning.polish.fisher import information_errors
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, as_fixed
from noisyor.structure import Structure

Floats = NDArray[np.float64]

LONGEST_LEAP = 1e4
MOST_SCORED = 300
"""Up to so many parameters, a leap is a step of Fisher scoring..."""
LONGEST_MOVE = 3.0
"""... which changes no log odds by more than this."""
RIDGE, LARGEST_DAMPING = 1e-9, 1e4


def learn_exact_em(
    findings: Findings,
    structure: Structure,
    *,
    restarts: int = 4,
    seed: int = 0,
    fixed: Fixed | None = None,
    progress: Progress | None = None,
    tolerance: float = 1e-11,
    max_steps: int = 5000,
    most_operations: float = MOST_OPERATIONS,
    threads: int | None = None,
) -> Estimate:
    """Learn by EM from random starts; the run with the highest likelihood is kept.

    Parameters
    ----------
    findings
        The records; those that are the same are looked at once.
    structure
        The diseases, symptoms and edges.
    restarts
        Runs from different random starts (the paper makes 4).
    seed
        The same seed gives the same estimate.
    fixed
        Parameters held at given values.
    progress
        Called with the number of records looked at since the last call.
    tolerance
        A run ends when the likelihood rises by less than this part of it.
    max_steps
        A run ends after so many steps.
    most_operations
        Records that need more are refused: exact inference is exponential.
    threads
        None: as many as there are cores.

    Examples
    --------
    >>> from noisyor import datasets, learn_exact_em
    >>> network = datasets.figure1(seed=0)
    >>> learn_exact_em(network.sample(500, seed=1), network.structure, restarts=1)
    Estimate(exact_em: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    check_input(
        findings, structure, restarts=restarts, seed=seed, tolerance=tolerance, max_steps=max_steps
    )
    held = as_fixed(fixed, structure)
    steps = EmSteps(findings.with_structure(structure), held, progress, most_operations, threads)
    runs = [
        steps.run(start, tolerance, max_steps)
        for start in starts(findings, structure, held, restarts, seed)
    ]
    network, trace = best_run(runs, "log likelihood")
    errors = steps.standard_errors(network)
    return to_estimate("exact_em", network, errors, findings.n_records, held, trace)


class EmSteps:
    """Steps of EM on some findings."""

    def __init__(
        self,
        findings: Findings,
        fixed: Fixed,
        progress: Progress | None,
        most_operations: float = MOST_OPERATIONS,
        threads: int | None = None,
    ) -> None:
        self._inference = ExactInference(findings, most_operations=most_operations, threads=threads)
        self._structure = findings.structure
        self._n_records = findings.n_records
        self._known = findings.n_records - findings.count_unknown()
        self._fixed = fixed
        self._is_small = findings.structure.n_parameters <= MOST_SCORED
        self._progress = progress or (lambda _: None)

    def expect(self, network: NoisyOrNetwork) -> Expected:
        """Do an E-step."""
        self._progress(self._n_records)
        return self._inference.expect(network)

    def maximise(self, expected: Expected, network: NoisyOrNetwork) -> NoisyOrNetwork:
        """Do an M-step; what no record tells anything of stays as it is."""
        sums, structure = expected.sums, self._structure
        at_risk = sums.cases[structure.edges[:, 0]] - sums.unknown
        with np.errstate(divide="ignore", invalid="ignore"):
            failures = np.where(at_risk > 0.0, 1.0 - sums.caused / at_risk, network.failures)
            leaks = np.where(self._known > 0, sums.leaked / self._known, network.leaks)
        found = inside(structure, sums.cases / self._n_records, failures, leaks)
        return found.with_fixed(self._fixed)

    def run(self, network: NoisyOrNetwork, tolerance: float, max_steps: int) -> Run:
        """Climb from a start until the likelihood hardly rises."""
        expected = self.expect(network)
        values = [expected.log_likelihood]
        damping = 1.0
        for _ in range(max_steps):
            one = self.maximise(expected, network)
            after_one = self.expect(one)
            two = self.maximise(after_one, one)
            if self._is_small:
                leap = self._scored(one, after_one, damping)
            else:
                leap = self._leap(network, one, two)
            network, expected = leap, self.expect(leap)
            damping /= 4.0
            if not expected.log_likelihood >= after_one.log_likelihood:
                network, expected = two, self.expect(two)
                damping = min(32.0 * damping, LARGEST_DAMPING)
            values.append(expected.log_likelihood)
            if values[-1] - values[-2] <= tolerance * abs(values[-1]):
                return Run(network, values, True)
        return Run(network, values, False)

    def _scored(
        self, network: NoisyOrNetwork, expected: Expected, damping: float
    ) -> NoisyOrNetwork:
        """Return where the likelihood's slopes and the records' information point at."""
        structure = self._structure
        cuts = structure.n_edges, structure.n_edges + structure.n_diseases
        position = to_log_odds(network)
        failures, priors, leaks = np.split(np.arange(len(position)), cuts)
        order = np.concatenate([priors, failures, leaks])  # the information's order is another
        slopes = 1.0 / (2.0 + 2.0 * np.cosh(position))
        information = self._inference.information(network)[np.ix_(order, order)]
        information *= slopes * slopes[:, np.newaxis]
        diagonal = np.diag(information)
        ridge = RIDGE * diagonal.max(initial=1e-300)
        information.flat[:: len(position) + 1] += damping * diagonal + ridge
        move = np.linalg.solve(information, self.gradient(expected, network))
        position += move * min(1.0, LONGEST_MOVE / max(np.abs(move).max(), 1e-300))
        return from_log_odds(structure, position).with_fixed(self._fixed)

    def _leap(
        self, start: NoisyOrNetwork, one: NoisyOrNetwork, two: NoisyOrNetwork
    ) -> NoisyOrNetwork:
        """Return where two steps point at, on the scale of log odds."""
        at, then, last = (to_log_odds(network) for network in (start, one, two))
        first, change = then - at, last - 2.0 * then + at
        curve = max(float(np.linalg.norm(change)), 1e-300)
        length = min(float(np.linalg.norm(first)) / curve, LONGEST_LEAP)
        if length <= 1.0:
            return two
        position = at + 2.0 * length * first + length**2 * change
        return from_log_odds(self._structure, position).with_fixed(self._fixed)

    def gradient(self, expected: Expected, network: NoisyOrNetwork) -> Floats:
        """Return the slopes of the log likelihood by all log odds: priors, failures, leaks.

        With x the log odds of a chance p that was taken k times in n, the slope is k - n p.
        """
        sums, structure = expected.sums, self._structure
        at_risk = sums.cases[structure.edges[:, 0]] - sums.unknown
        survived = at_risk - sums.caused
        return np.concatenate(
            [
                sums.cases - self._n_records * network.priors,
                survived - at_risk * network.failures,
                sums.leaked - self._known * network.leaks,
            ]
        )

    def standard_errors(self, network: NoisyOrNetwork) -> Parameters:
        """Return standard errors from the records' scores."""
        information = self._inference.information(network)
        failures, priors, leaks = information_errors(network, information, self._fixed, 1e-3)
        return Parameters(priors, failures, leaks)
