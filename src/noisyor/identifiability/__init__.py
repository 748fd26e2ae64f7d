"""What can be known of a structure's parameters, before any data."""

from noisyor.identifiability.check import (
    Identifiability,
    check_identifiability,
    identifiability_table,
    smallest_order,
)

__all__ = ["Identifiability", "check_identifiability", "identifiability_table", "smallest_order"]
