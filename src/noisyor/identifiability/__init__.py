"""What can be known of a structure's parameters, before any data."""

from noisyor.identifiability.check import (
    Identifiability,
    Tradeoff,
    check_identifiability,
    identifiability_table,
    smallest_order,
)
from noisyor.identifiability.dependence import DependentIdentifiability, DependentTradeoff
from noisyor.identifiability.repairs import Repair

__all__ = [
    "DependentIdentifiability",
    "DependentTradeoff",
    "Identifiability",
    "Repair",
    "Tradeoff",
    "check_identifiability",
    "identifiability_table",
    "smallest_order",
]
