"""Experiments: the paper's, made anew; this package's accuracy, speed and limits."""

from noisyor.experiments.experiment import EXPERIMENTS, reproduce
from noisyor.experiments.settings import Settings

__all__ = ["EXPERIMENTS", "Settings", "reproduce"]
