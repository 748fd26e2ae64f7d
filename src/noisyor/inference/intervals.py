"""What the standard errors of a learned network mean for its posteriors: networks drawn around it.

Each parameter is drawn by itself, on the scale of log odds. What the errors of two parameters have
in common is not known (an estimate holds no covariances), and is left out.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.inference.flat import Records
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]

WIDEST = 3.0
"""A standard error in log odds that is not exceeded: it leaves open nearly everything."""


@runtime_checkable
class Learned(Protocol):
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


def network_of(source: NoisyOrNetwork | Learned) -> NoisyOrNetwork:
    """Return the network itself, or that of an estimate."""
    if isinstance(source, NoisyOrNetwork):
        return source
    if isinstance(source, Learned):
        return source.network
    raise ParameterError(f"a NoisyOrNetwork or an Estimate is wanted, not {type(source).__name__}.")


def draw_networks(
    estimate: Learned, records: Records, draws: int, seed: int
) -> tuple[list[NoisyOrNetwork], int]:
    """Return networks drawn around an estimate, and how many parameters have no error.

    Only parameters that matter for the records are drawn and counted: all priors, and the failures
    and leaks of findings that are known.
    """
    network, errors = estimate.network, estimate.standard_errors
    structure = network.structure
    is_known = np.zeros(structure.n_symptoms, dtype=np.bool_)
    is_known[records.symptoms] = True
    matters = (
        np.ones(structure.n_diseases, dtype=np.bool_),
        is_known[structure.edges[:, 1]],
        is_known,
    )
    values = network.priors, network.failures, network.leaks
    n_without = sum(
        int((np.isnan(error) & chosen).sum()) for error, chosen in zip(errors, matters, strict=True)
    )
    rng = np.random.default_rng(seed)
    networks = []
    for _ in range(draws):
        drawn = [
            _drawn(value, np.where(chosen, error, 0.0), rng)
            for value, error, chosen in zip(values, errors, matters, strict=True)
        ]
        networks.append(NoisyOrNetwork(structure, *drawn))
    return networks, n_without


def _drawn(values: Floats, errors: Floats, rng: np.random.Generator) -> Floats:
    """Draw log odds around values, with errors that become those of the values."""
    inner = (values > 0.0) & (values < 1.0) & np.isfinite(errors)
    safe = np.where(inner, values, 0.5)
    spread = np.minimum(np.where(inner, errors, 0.0) / (safe * (1.0 - safe)), WIDEST)
    log_odds = np.log(safe) - np.log1p(-safe) + spread * rng.standard_normal(len(values))
    return np.where(inner, 1.0 / (1.0 + np.exp(-log_odds)), values)
