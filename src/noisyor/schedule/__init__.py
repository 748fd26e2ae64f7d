"""Algorithm 1, first pass: which triplets and pairs of symptoms teach which edges, in rounds."""

from noisyor.schedule.complexity import SampleComplexity
from noisyor.schedule.schedule import Schedule, Step
from noisyor.schedule.search import find_schedule
from noisyor.schedule.unlearned import Subnetwork

__all__ = ["SampleComplexity", "Schedule", "Step", "Subnetwork", "find_schedule"]
