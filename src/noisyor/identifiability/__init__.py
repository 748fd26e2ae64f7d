"""What can be known of a structure's parameters, before any data."""

from noisyor.identifiability.check import Identifiability, check_identifiability
from noisyor.identifiability.table import identifiability_table

__all__ = ["Identifiability", "check_identifiability", "identifiability_table"]
