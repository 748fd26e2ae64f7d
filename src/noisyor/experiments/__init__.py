"""The paper's experiments, made anew with this package, and a scoreboard of all methods."""

from noisyor.experiments.experiment import EXPERIMENTS, reproduce
from noisyor.experiments.settings import Settings

__all__ = ["EXPERIMENTS", "Settings", "reproduce"]
