"""What the standard errors of a learned network mean for its posteriors: networks drawn around it.

Each parameter is drawn by itself, on the scale of log odds. What the errors of two parameters have
in common is not known (an estimate has no covariances), and is left out.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from noisyor.errors import ParameterError
from noisyor.inference.flat import Floats, Records
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Parameters


@runtime_checkable
class LearnedNetwork(Protocol):
    """A network with standard errors, such as an `Estimate`."""

    @property
    def network(self) -> NoisyOrNetwork:
        """The learned network."""
        ...

    @property
    def standard_errors(self) -> Any:
        """Those of priors, failures and leaks, NaN where there is none."""
        ...


class NetworkWithErrors(NamedTuple):
    """A network and standard errors from elsewhere, such as a file."""

    network: NoisyOrNetwork
    standard_errors: Any


def network_of(source: NoisyOrNetwork | LearnedNetwork) -> NoisyOrNetwork:
    """Return the network itself, or that of an estimate."""
    if isinstance(source, NoisyOrNetwork):
        return source
    if isinstance(source, LearnedNetwork):
        return source.network
    raise ParameterError(f"expected a NoisyOrNetwork or an Estimate, not {type(source).__name__}.")


class Drawn(NamedTuple):
    """Networks drawn around an estimate, and what could not be drawn."""

    networks: list[NoisyOrNetwork]
    n_without_error: int
    """How many parameters that matter have no standard error."""
    has_errors: Booleans
    """Whether the prior of each disease has an error, and its failures that matter have."""


def draw_networks(estimate: LearnedNetwork, records: Records, draws: int, seed: int) -> Drawn:
    """Draw networks around an estimate.

    Only parameters that matter for the records are drawn and counted: all priors, and the failures
    and leaks of findings that are known.
    """
    network = estimate.network
    structure, errors = network.structure, Parameters(*estimate.standard_errors)
    owners, symptoms = structure.edges.T
    is_known = np.isin(np.arange(structure.n_symptoms), records.symptoms)
    everything = np.ones(structure.n_diseases, dtype=np.bool_)
    matters = Parameters(everything, is_known[symptoms], is_known)
    is_without = errors.map(lambda error, here: np.isnan(error) & here, matters)
    has_errors = ~is_without.priors
    has_errors[owners[is_without.failures]] = False
    rng = np.random.default_rng(seed)
    values, spread = network.parameters.vector, np.where(matters.vector, errors.vector, 0.0)
    drawn = [Parameters.split(structure, _drawn(values, spread, rng)) for _ in range(draws)]
    causes = getattr(estimate, "learned_causes", None)
    if network.is_plain:
        networks = [NoisyOrNetwork(structure, *each) for each in drawn]
    elif causes is None:  # how sure it is how diseases occur together, nobody knows
        networks, has_errors = [network] * draws, np.zeros_like(has_errors)
    else:
        networks = [
            NoisyOrNetwork(structure, None, each.failures, each.leaks, causes=other)
            for each, other in zip(drawn, causes.drawn(draws, rng), strict=True)
        ]
    return Drawn(networks, int(is_without.vector.sum()), has_errors)


def _drawn(values: Floats, errors: Floats, rng: np.random.Generator) -> Floats:
    """Draw log odds around values, with errors that become those of the values.

    None is larger than 3 in log odds, which leaves open nearly everything.
    """
    inner = (values > 0.0) & (values < 1.0) & np.isfinite(errors)
    safe = np.where(inner, values, 0.5)
    spread = np.minimum(np.where(inner, errors, 0.0) / (safe * (1.0 - safe)), 3.0)
    log_odds = np.log(safe) - np.log1p(-safe) + spread * rng.standard_normal(len(values))
    return np.where(inner, 1.0 / (1.0 + np.exp(-log_odds)), values)
