"""A case file: the records of a CSV or Parquet file that the page opens, to step through them.

The file is read by the one reader of records. Nothing of it stays here: it goes back to the page
as lists of findings, and the copy that is read is removed at once.
"""

import base64
import binascii
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.app.models import Model
from noisyor.app.replies import Body, Facts, StoppedError
from noisyor.errors import FileError, FindingsError, ParameterError, collected_notices, quoted
from noisyor.findings import Findings
from noisyor.findings.findings import open_records
from noisyor.findings.labels import Labels, as_labels
from noisyor.findings.reading import blocks_with_like_ids, record_format, total_records
from noisyor.io.tables import open_table
from noisyor.network.design import covariate_values
from noisyor.structure import Structure

MOST_RECORDS = 5000
"""Records that are shown of a file."""
MOST_LISTED = 2_000_000
"""Findings that are sent to the page, in all records together."""
ENDINGS = ".csv", ".parquet"
IN_MEMORY = Path("/dev/shm")
"""Where systems have it, files there are never written to a disk."""


def records_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return the records of a file as cases, with ids, covariates and labels where it has them."""
    structure = model.network.structure
    with collected_notices() as notices, _laid_down(body, "name", "content", notices) as file:
        findings = _read(file, structure, _names_of_covariates(model), body)
        if stop.is_set():
            raise StoppedError
        people = _covariates(file, findings, model)
        labels = _labels(body, findings, notices)
    ids = findings.record_ids
    names = range(findings.n_records) if ids is None else map(str, ids.to_pylist())
    cases = [
        {"record": str(name), **case, **person}
        for name, case, person in zip(names, _cases(findings), people, strict=True)
    ]
    if labels is not None:
        rows = zip(cases, labels.is_labelled.tolist(), labels.is_present, strict=True)
        for case, is_labelled, row in rows:
            if is_labelled:
                case["diseases"] = [structure.diseases[i] for i in np.flatnonzero(row).tolist()]
    return {"model": model.name, "notices": notices, "records": cases}


@contextmanager
def _laid_down(body: Body, name: str, content: str, notices: list[str]) -> Iterator[Path]:
    """Give a file with the content of a request; it is gone when the work is done.

    Whoever sent it knows it by its own name, which errors and notices then say.
    """
    ending = Path(body[name]).suffix.lower()
    if ending not in ENDINGS:
        raise FileError(f"{quoted(body[name])}: the file must end in {' or '.join(ENDINGS)}.")
    try:
        data = base64.b64decode(body[content], validate=True)
    except (binascii.Error, ValueError):
        raise ParameterError(f"{content!r} is not base64.") from None
    place = IN_MEMORY if IN_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="noisyor-", dir=place) as folder:
        path = Path(folder) / f"{name}{ending}"
        path.write_bytes(data)
        try:
            yield path
        except (FileError, FindingsError) as error:
            raise type(error)(str(error).replace(str(path), quoted(body[name]))) from None
        finally:
            notices[:] = [each.replace(str(path), quoted(body[name])) for each in notices]


def _names_of_covariates(model: Model) -> tuple[str, ...]:
    effects = model.network.causes.effects
    return () if effects is None else tuple(each.name for each in effects.covariates)


def _read(file: Path, structure: Structure, passed_over: tuple[str, ...], body: Body) -> Findings:
    """Read the records, refusing a file with too many of them."""
    unmentioned = body.get("unmentioned", "absent")
    form = record_format({
        "unmentioned": unmentioned, "passed_over": passed_over,
        "ignore_unknown": bool(body.get("ignore_unknown", False)),
    })  # fmt: skip
    streams = open_records(file, structure, form)
    known = total_records(streams)
    blocks, n = [], 0
    if known is None or known <= MOST_RECORDS:
        for block in blocks_with_like_ids(streams):
            blocks.append(block)
            n += block.n_records
            if n > MOST_RECORDS:
                break
    if max(known or 0, n) > MOST_RECORDS:
        raise FileError(
            f"{file} has more than {MOST_RECORDS:,} records, which is what the page steps "
            "through: `noisyor diagnose MODEL FILE -o posteriors.parquet` takes any number."
        )
    return Findings(structure, blocks)


def _cases(findings: Findings) -> Iterator[Facts]:
    """Give the present and absent findings of each record, by their numbers in the model."""
    n_listed = 0
    for row in findings.to_numpy():
        present, absent = np.flatnonzero(row == 1), np.flatnonzero(row == 0)
        n_listed += len(present) + min(len(absent), len(row) - len(absent))
        if n_listed > MOST_LISTED:
            raise FindingsError("the records have too many findings for a page: open fewer.")
        yield _listed(present, absent, len(row))


def _listed(present: Any, absent: Any, n_symptoms: int) -> Facts:
    """List the absent findings, or if that is shorter the unknown ones, all others being absent."""
    unknown = np.setdiff1d(np.arange(n_symptoms), np.concatenate([present, absent]))
    shorter = {"unknown": unknown} if len(unknown) < len(absent) else {"absent": absent}
    return {"present": present.tolist(), **{key: x.tolist() for key, x in shorter.items()}}


def _covariates(file: Path, findings: Findings, model: Model) -> list[Facts]:
    """Return the covariates of each record that stand in columns of the file."""
    effects, n = model.network.causes.effects, findings.n_records
    columns = set(open_table(file).column_names)
    found = [] if effects is None else [x for x in effects.covariates if x.name in columns]
    if not found:
        return [{}] * n
    table = open_table(file)
    values = {x.name: covariate_values(table, x.name, bool(x.levels)) for x in found}
    if any(len(column) != n for column in values.values()):
        return [{}] * n  # long: rows are findings, and say nothing of people
    rows = zip(*values.values(), strict=True)
    return [{"covariates": dict(zip(values, row, strict=True))} for row in rows]


def _labels(body: Body, findings: Findings, notices: list[str]) -> Labels | None:
    """Return which diseases each record was seen to have, where a table of labels is given."""
    if "labels" not in body:
        return None
    if "labels_name" not in body:
        raise ParameterError("'labels' needs 'labels_name', the name of its file.")
    with _laid_down(body, "labels_name", "labels", notices) as file:
        return as_labels(file, findings)
