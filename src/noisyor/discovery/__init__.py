"""Structure: edges and diseases that records ask for, or do not need; and none given at all."""

from noisyor.discovery.changes import Suggestion, changed
from noisyor.discovery.discover import Discovery, DiscoverySettings, discover
from noisyor.discovery.matching import Matching, match_causes
from noisyor.discovery.q_matrix import validate_q_matrix
from noisyor.discovery.quartets import Certificate, certify
from noisyor.discovery.repair import repair
from noisyor.discovery.repair_path import RepairPath, RepairStep
from noisyor.discovery.repair_steps import RepairSettings
from noisyor.discovery.suggestions import Suggestions, suggest

__all__ = [
    "Certificate",
    "Discovery",
    "DiscoverySettings",
    "Matching",
    "RepairPath",
    "RepairSettings",
    "RepairStep",
    "Suggestion",
    "Suggestions",
    "certify",
    "changed",
    "discover",
    "match_causes",
    "repair",
    "suggest",
    "validate_q_matrix",
]
