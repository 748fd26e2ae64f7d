"""Findings: records as bits, and one reader for all that they come in."""

from noisyor.findings.findings import Findings
from noisyor.findings.reading import ReadOptions, RecordFormat

__all__ = ["Findings", "ReadOptions", "RecordFormat"]
