"""Algorithm 1, first pass: which triplets and pairs of symptoms teach which edges, in rounds."""

from noisyor.schedule.schedule import Schedule
from noisyor.schedule.search import find_schedule

__all__ = ["Schedule", "find_schedule"]
