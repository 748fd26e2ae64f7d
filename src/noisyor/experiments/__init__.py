"""Experiments: the paper's, made anew; this package's accuracy, speed and limits."""

from noisyor.experiments.experiment import EXPERIMENTS, reproduce
from noisyor.experiments.settings import ExperimentSettings

__all__ = ["EXPERIMENTS", "ExperimentSettings", "reproduce"]
