"""How large an experiment is."""

from pathlib import Path
from typing import NamedTuple


class Settings(NamedTuple):
    """How large an experiment is."""

    quick: bool = False
    """Minutes instead of hours: fewer networks, fewer records."""
    seed: int = 0
    """Where the seeds of networks and samples start."""
    structures: Path | None = None
    """A folder of real networks; or one network: a folder with edges.csv."""
