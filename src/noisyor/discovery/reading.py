"""Records that structures are looked for in: in memory, wherever they come from."""

from os import PathLike
from typing import Any

import numpy as np

from noisyor.errors import FindingsError, ParameterError, ValueFileError
from noisyor.findings import Findings
from noisyor.findings.findings import findings_of
from noisyor.findings.reading import ReadOptions, RecordFormat, record_format
from noisyor.io.tables import open_table
from noisyor.learning.sources import RecordSource
from noisyor.structure import Structure

WIDE_ONLY = (
    "where a cluster reads records to look for structures in, they must have a column per symptom: "
    "leave out --cluster (the client), or write them so."
)
FEWER = "take some of the records"
FEWEST_SYMPTOMS = 3
"""What causes fewer symptoms cannot be told from an accident of pairs."""


def read_records(
    records: Any, structure: Structure, options: ReadOptions, client: Any = None
) -> Findings:
    """Read records into memory, of which there must be some; with a client on its cluster."""
    findings = findings_from(records, structure, record_format(options), client)
    _check_some(findings)
    return findings.with_structure(structure)


def read_unstructured(
    records: Any, structure: Structure | None, options: ReadOptions, client: Any = None
) -> Findings:
    """Read records whose symptoms are the columns that they have, or those of a structure."""
    form = record_format(options)
    bare = structure or Structure((), _columns_of(records, form), np.empty((0, 2), int))
    found = _read(records, bare, form, client, is_bare=structure is None)
    _check_some(found)
    n_present, n_known = found.count_present(), found.n_records - found.count_unknown()
    n_varying = int(((n_present > 0) & (n_present < n_known)).sum())
    if n_varying < FEWEST_SYMPTOMS:
        raise ParameterError(
            f"causes show in {FEWEST_SYMPTOMS} or more symptoms that some records have and others "
            f"do not; of {found.structure.n_symptoms} here {n_varying} vary."
        )
    return found


def _check_some(findings: Findings) -> None:
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")


def _read(
    source: Any, bare: Structure, form: RecordFormat, client: Any, *, is_bare: bool
) -> Findings:
    """Read records; where any column may be a symptom, an error of its values says so."""
    try:
        return findings_from(source, bare, form, client)
    except ValueFileError as error:
        if not is_bare:
            raise
        raise ValueFileError(
            f"{error} Without a structure every column but that of the ids is taken for a symptom "
            "(--record names it): leave out those that are none."
        ) from None


def _columns_of(records: Any, form: RecordFormat) -> list[str]:
    """Return the names of symptoms: columns of a table, or numbers of an array's."""
    if isinstance(records, Findings):
        return list(records.structure.symptoms)
    shape = getattr(records, "shape", None)
    has_names = hasattr(records, "__arrow_c_stream__") or hasattr(records, "columns")
    if isinstance(records, list | tuple) and records and isinstance(records[0], list | tuple):
        return [f"S{j}" for j in range(len(records[0]))]
    if shape is not None and not has_names:
        if len(shape) != 2:
            raise ParameterError(f"records must be an array records x symptoms, not {shape}.")
        return [f"S{j}" for j in range(shape[1])]
    if hasattr(records, "to_delayed"):  # a Dask frame
        return [str(name) for name in records.columns if name != form.record]
    if isinstance(records, list | tuple) and not records:
        raise FindingsError("no files to read records from.")
    first = records[0] if isinstance(records, list | tuple) else records
    return [name for name in open_table(first).column_names if name != form.record]


def findings_from(
    records: Any, structure: Structure, form: RecordFormat, client: Any = None
) -> Findings:
    """Return records in memory: workers of a cluster read files, and send the findings as bits."""
    if client is None or not _is_elsewhere(records):
        return findings_of(records, structure, form)
    source = RecordSource(records, structure, form, client=client)
    source.on_cluster(must_be_wide=WIDE_ONLY)
    source.gather(FEWER)
    return source.findings()


def _is_elsewhere(records: Any) -> bool:
    """Return True for files and Dask frames, which workers can read."""
    each = records[0] if isinstance(records, list | tuple) and records else records
    return isinstance(each, str | PathLike) or hasattr(each, "to_delayed")
