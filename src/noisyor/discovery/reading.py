"""Records that structures are looked for in: in memory, wherever they come from."""

from typing import Any

from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.findings import findings_of
from noisyor.findings.reading import ReadOptions, RecordFormat, record_format
from noisyor.learning.sources import RecordSource
from noisyor.structure import Structure


def read_records(
    records: Any, structure: Structure, options: ReadOptions, client: Any = None
) -> Findings:
    """Read records into memory, of which there must be some; with a client on its cluster."""
    findings = findings_from(records, structure, record_format(options), client)
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    return findings.with_structure(structure)


def findings_from(
    records: Any, structure: Structure, form: RecordFormat, client: Any = None
) -> Findings:
    """Return records in memory: workers of a cluster read files, and send the findings as bits."""
    source = RecordSource(records, structure, form, client=client)
    if source.client is None:  # they are here
        return findings_of(source.records, structure, form)
    source.gather()
    return source.findings()
