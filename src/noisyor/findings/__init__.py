"""Findings: records as bits, and one reader for all that they come in."""

from noisyor.findings.checking import RecordCheck, check_records
from noisyor.findings.findings import Findings
from noisyor.findings.notes import Notes
from noisyor.findings.reading import ReadOptions, RecordFormat

__all__ = [
    "Findings",
    "Notes",
    "ReadOptions",
    "RecordCheck",
    "RecordFormat",
    "check_records",
]
