"""What to count, counting it, and counts as a value that adds up."""

from noisyor.moments.counting import count_moments
from noisyor.moments.moments import Moments, PopulationMoments
from noisyor.moments.plan import MomentPlan

__all__ = ["MomentPlan", "Moments", "PopulationMoments", "count_moments"]
