"""What is known of what was learned: parameters of a kind, parts of the clean-up, doubts."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisyor.flags import Flag
from noisyor.immutable import equal_by_entries
from noisyor.names import Indices
from noisyor.parameters import Booleans, Floats, intervals_of
from noisyor.structure import Structure

NEUTRAL_VALUES = (0.5, 0.5, 1e-6)
"""Prior, failure and leak of what was not learned: the paper's guess `Uniform` (Section 4.1)."""


@equal_by_entries
class Learned(NamedTuple):
    """What is known of one kind of parameter, one entry each in the structure's order."""

    values: Floats
    standard_errors: Floats
    depths: Indices
    flags: NDArray[np.uint16]
    by_log_odds: bool = False
    """True if intervals are symmetric in log odds: of priors, whose likelihood is skewed."""
    interval_ends: tuple[Floats, Floats] | None = None
    """The ends of the intervals, where they come from draws or from moments."""

    @property
    def is_learned(self) -> Booleans:
        """True where a value was learned or fixed, and is not a neutral one."""
        return np.asarray((self.flags & Flag.NOT_LEARNED) == 0, dtype=np.bool_)

    def intervals(self) -> tuple[Floats, Floats]:
        """Return 95% intervals, of equal length on both sides and cut at 0 and 1.

        Those of priors have equal lengths on the scale of log odds; those of "bayesian" have equal
        probabilities on both sides; those of "pooled" and "sequential" reach as far as either.
        """
        if self.interval_ends is not None:
            return self.interval_ends
        return intervals_of(self.values, self.standard_errors, by_log_odds=self.by_log_odds)

    def count(self, flag: Flag) -> int:
        """Return how many parameters have a flag."""
        return int(np.count_nonzero(self.flags & flag))


def leak_depths(structure: Structure, edge_depths: Indices) -> Indices:
    """Return the depths of the leaks: each rests on all parents of its symptom, so it is one more
    than the deepest of them.
    """
    depths = np.zeros(structure.n_symptoms, dtype=np.int64)
    np.maximum.at(depths, structure.edges[:, 1], edge_depths + 1)
    return depths


NEARLY_ALL = 0.9


def doubt_about(flags: NDArray[np.uint16]) -> str:
    """Return a warning where all or nearly all that was to be learned is flagged, else nothing."""
    n_doubtful = int(np.count_nonzero(flags & Flag.DOUBTFUL))
    n_asked = int(np.count_nonzero((flags & Flag.FIXED) == 0))
    if not n_asked or n_doubtful < NEARLY_ALL * n_asked:
        return ""
    share = f"all {n_asked:,}" if n_doubtful == n_asked else f"{n_doubtful:,} of {n_asked:,}"
    return f"Beware: {share} parameters that were to be learned are flagged."


@equal_by_entries
class Explained(NamedTuple):
    """How well the best explanation of a part fits the moments, and the next best one."""

    diseases: Indices
    n_moments: int
    """The pairs and triplets that were fitted."""
    n_unknown: int
    """The parameters that were fitted to them."""
    misfit: float
    """The weighted sum of squares; about one for each independent moment where all is right."""
    second: float
    """That of the next best minimum that other starts have found; infinite if there is none."""
    weakly_identified: Indices
    """The diseases of which the moments say too little."""

    @classmethod
    def from_document(cls, listed: dict[str, Any]) -> Self:
        """Return what a file holds of it."""
        return cls(
            np.array(listed["diseases"], dtype=np.int64),
            int(listed["n_moments"]),
            int(listed["n_unknown"]),
            float(listed["misfit"]),
            float(listed["second"]),
            np.array(listed["weakly_identified"], dtype=np.int64),
        )

    @property
    def is_ambiguous(self) -> bool:
        """True if both fit nearly alike, so that the moments do not say which is right."""
        return self.second < self.misfit + 10.0

    @property
    def is_poor(self) -> bool:
        """True if the best explanation misses the moments by far, each of those in excess."""
        return self.misfit > 5.0 * max(self.n_moments - self.n_unknown, 1) + 10.0
