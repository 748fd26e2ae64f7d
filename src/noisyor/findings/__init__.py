"""Records as bit-packed symptom columns, and the readers and writers of record files."""

from noisyor.findings.findings import Findings

__all__ = ["Findings"]
