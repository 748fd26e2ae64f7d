"""Draws: parameters drawn from their posterior distribution, and what follows from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.em.convergence import Convergence
from noisyor.errors import ParameterError, quoted
from noisyor.immutable import EqualByValue
from noisyor.io.paths import PathLike
from noisyor.io.result_tables import ResultTable
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats, Parameters
from noisyor.structure import Structure

LARGEST_R_HAT, FEWEST_EFFECTIVE = 1.05, 100.0
"""Chains agree with an R-hat up to this, and so many effective draws."""


@dataclass(frozen=True, eq=False)
class Draws(EqualByValue):
    """Parameters drawn from their posterior distribution, by several chains."""

    structure: Structure
    values: Floats
    """Chains x draws x parameters (priors, failures, leaks); the burn-in is left out."""
    convergence: Convergence
    n_rounds: int
    """Of each chain, the burn-in among them; of the others some were kept, evenly spaced."""

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    @property
    def together(self) -> Floats:
        """The draws of all chains, draws x parameters."""
        return self.values.reshape(-1, self.values.shape[2])

    @property
    def means(self) -> Parameters:
        """The posterior means."""
        return self._split(self.together.mean(axis=0))

    @property
    def standard_deviations(self) -> Parameters:
        """The posterior standard deviations."""
        return self._split(self.together.std(axis=0))

    @property
    def r_hats(self) -> Parameters:
        """1 where chains agree."""
        return self._split(self.convergence.r_hats)

    @property
    def effective_sizes(self) -> Parameters:
        """How many independent draws would tell as much of the posterior means."""
        return self._split(self.convergence.effective_sizes)

    @property
    def is_unmixed(self) -> Parameters:
        """True where chains disagree, or the draws hang together too much."""
        return self._split(is_unmixed(self.convergence, LARGEST_R_HAT, FEWEST_EFFECTIVE))

    def intervals(self, level: float = 0.95) -> tuple[Parameters, Parameters]:
        """Return lower and upper ends between which the parameters are with this probability.

        They are below and above with equal probabilities.
        """
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, not {quoted(level)}.")
        tail = (1.0 - level) / 2.0
        lower, upper = np.quantile(self.together, [tail, 1.0 - tail], axis=0)
        return self._split(lower), self._split(upper)

    def networks(self, n: int = 100) -> list[NoisyOrNetwork]:
        """Return about so many of the draws as networks, evenly spaced."""
        if n < 1:
            raise ParameterError(f"n must be a whole number from 1 on, not {quoted(n)}.")
        return [
            NoisyOrNetwork(self.structure, *self._split(values))
            for values in self.together[self._thinned(n)]
        ]

    def table(self, n: int = 1000) -> ResultTable:
        """Return about so many of the draws, evenly spaced: a row per draw and parameter.

        The columns: parameter (prior, failure, leak), disease, symptom, chain, draw, value.
        """
        chosen, n_kept = self._thinned(n), self.values.shape[1]
        n_parameters = self.values.shape[2]
        names = pa.table(self.structure.parameter_names())
        repeated = names.take(pa.array(np.tile(np.arange(n_parameters), len(chosen))))
        for name, numbers in (("chain", chosen // n_kept), ("draw", chosen % n_kept)):
            repeated = repeated.append_column(name, pa.array(np.repeat(numbers, n_parameters)))
        whole = repeated.append_column("value", pa.array(self.together[chosen].ravel()))
        return ResultTable(whole, ("parameter", "disease", "symptom"))

    def save(self, path: PathLike, n: int = 1000) -> None:
        """Write the table as CSV or Parquet, by the suffix of the path."""
        self.table(n).save(path)

    def facts(self) -> dict[str, object]:
        """Return what is to be known of the chains, for JSON."""
        return {
            "chains": self.values.shape[0],
            "rounds": self.n_rounds,
            "draws": len(self.together),
            "largest_r_hat": float(self.convergence.r_hats.max(initial=1.0)),
            "smallest_effective_size": float(
                self.convergence.effective_sizes.min(initial=len(self.together))
            ),
        }

    def __str__(self) -> str:
        facts = self.facts()
        n_unmixed = int(self.is_unmixed.vector.sum())
        agreement = (
            "The chains agree"
            if not n_unmixed
            else f"The chains do not agree yet on {n_unmixed:,} parameters (more rounds: max_iter)"
        )
        return (
            f"{facts['chains']} chains of {self.n_rounds:,} rounds, {facts['draws']:,} draws kept. "
            f"{agreement}: R-hat up to {facts['largest_r_hat']:.3f}, at least "
            f"{facts['smallest_effective_size']:.0f} effective draws."
        )

    def __repr__(self) -> str:
        n_chains, n_draws, n_parameters = self.values.shape
        return f"Draws({n_chains} chains x {n_draws:,} draws x {n_parameters:,} parameters)"

    def _thinned(self, n: int) -> NDArray[np.int64]:
        """Return the numbers of about n draws, evenly spaced."""
        n_all = len(self.together)
        return np.unique(np.linspace(0, n_all - 1, min(n, n_all)).astype(np.int64))

    def _split(self, vector: NDArray[Any]) -> Parameters:
        return Parameters.split(self.structure, vector)


def is_unmixed(found: Convergence, largest_r_hat: float, fewest: float) -> Booleans:
    """Return True where chains do not agree well enough."""
    return np.asarray(~((found.r_hats <= largest_r_hat) & (found.effective_sizes >= fewest)))
