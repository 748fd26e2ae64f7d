"""The clean-up: learning what a schedule leaves and the moments identify (Section 3.3)."""

from noisyor.learning.cleanup.cleaned import Cleaned, CleanupMethod, clean_up
from noisyor.learning.cleanup.components import find_components, plan_for

__all__ = ["Cleaned", "CleanupMethod", "clean_up", "find_components", "plan_for"]
