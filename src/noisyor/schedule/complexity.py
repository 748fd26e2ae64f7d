"""How many records Theorem 2 asks for (Section 3.4, Definition 3).

    N = f^(2d+2) K^(2d) M^(-6d) eps^(-2) ln(|Theta| / delta)      for eps < M^3 / (30 K f)
    f = M^(-11) (1 - f_max)^(-10) min(1 - p_max, p_min)^(-2) ln(1 / delta') / delta'

with d the largest depth, K the largest number of parents of a symptom, M the smallest P(symptom
absent), Theta the priors and failures to be learned, and delta' = delta / (|Theta| K^d). The
paper gives N up to logarithmic factors and f up to proportionality: here all constants that it
does not print are 1. The bound is far from tight; what matters is how it grows.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noisyor.errors import ParameterError, StructureError, quoted
from noisyor.network import NoisyOrNetwork

if TYPE_CHECKING:
    from noisyor.schedule.schedule import Schedule


@dataclass(frozen=True)
class SampleComplexity:
    """What Theorem 2 asks for; as decimal logarithms, because the numbers are enormous."""

    epsilon: float
    """The bound on every parameter's error."""
    delta: float
    """The probability with which the bound may be missed."""
    depth: int
    max_parents: int
    min_absent: float
    max_failure: float
    min_prior: float
    max_prior: float
    n_parameters: int
    log10_error_growth: float
    """Of Definition 3's f."""
    log10_records: float
    """Of N, with the constants that the paper does not print set to 1."""
    log10_largest_epsilon: float
    """The theorem holds only for errors below this."""

    @property
    def holds(self) -> bool:
        """True if epsilon is small enough for the theorem to speak of it."""
        return math.log10(self.epsilon) < self.log10_largest_epsilon


def sample_complexity(
    schedule: "Schedule", network: NoisyOrNetwork, epsilon: float, delta: float
) -> SampleComplexity:
    """Evaluate Theorem 2 for a schedule and a guess at the parameters."""
    _check(schedule, network, epsilon, delta)
    learned, priors = schedule.depths >= 0, network.priors[schedule.prior_depths >= 0]
    depth = int(schedule.depths.max(initial=0))
    max_parents = int(np.diff(schedule.structure.parent_offsets).max(initial=1))
    min_absent = float((1.0 - network.marginals()).min(initial=1.0))
    max_failure = float(network.failures[learned].max(initial=0.0))
    min_prior, max_prior = float(priors.min(initial=1.0)), float(priors.max(initial=0.0))
    n_parameters = int(learned.sum()) + len(priors)
    log_absent, log_parents = math.log10(min_absent), math.log10(max_parents)
    log_confidence = math.log10(delta / n_parameters) - depth * log_parents
    growth = (
        -11 * log_absent
        - 10 * math.log10(1.0 - max_failure)
        - 2 * math.log10(min(1.0 - max_prior, min_prior))
        + math.log10(-log_confidence * math.log(10.0))
        - log_confidence
    )
    records = (
        (2 * depth + 2) * growth
        + 2 * depth * log_parents
        - 6 * depth * log_absent
        - 2 * math.log10(epsilon)
        + math.log10(math.log(n_parameters / delta))
    )
    largest = 3 * log_absent - math.log10(30 * max_parents) - growth
    return SampleComplexity(
        epsilon, delta, depth, max_parents, min_absent, max_failure, min_prior, max_prior,
        n_parameters, growth, records, largest,
    )  # fmt: skip


def _check(schedule: "Schedule", network: NoisyOrNetwork, epsilon: float, delta: float) -> None:
    if network.structure != schedule.structure:
        raise StructureError("the network and the schedule have different structures.")
    for name, value in ("epsilon", epsilon), ("delta", delta):
        if not 0.0 < value < 1.0:
            raise ParameterError(f"{name} must lie between 0 and 1, not {quoted(value)}.")
    if not (schedule.depths >= 0).any():
        raise ParameterError("the schedule learns nothing, so Theorem 2 has nothing to say.")
    learned = {
        "a prior": network.priors[schedule.prior_depths >= 0],
        "a failure": network.failures[schedule.depths >= 0],
        "P(present) of a symptom": network.marginals(),
    }
    for name, values in learned.items():
        is_one = bool((values >= 1.0).any())
        if is_one or (name == "a prior" and (values <= 0.0).any()):
            raise ParameterError(
                f"Theorem 2 has no finite number for this guess: {name} is {int(is_one)}."
            )
