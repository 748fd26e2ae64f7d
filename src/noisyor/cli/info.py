"""`noisyor info`: what a file is and what is in it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.inputs import existing, is_built_in, read_network
from noisyor.cli.options import AsJson
from noisyor.cli.output import Facts, show_facts
from noisyor.errors import FileError
from noisyor.io.paths import existing_file

if TYPE_CHECKING:
    from noisyor.io.columns import Table
    from noisyor.moments import MomentPlan, Moments
    from noisyor.network import NoisyOrNetwork
    from noisyor.schedule import Schedule
    from noisyor.structure import Structure


def info(
    file: Annotated[
        str,
        typer.Argument(
            help="A network or structure (JSON, CSV, Parquet, XDSL, BIF, UAI, a folder, or a "
            "built-in name), or a file of records (CSV, Parquet).",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say what a file is and what is in it.

    Example: noisyor info clinic
    """
    show_facts(_facts(file), as_json)


def _facts(source: str) -> Facts:
    if is_built_in(source) or Path(source).is_dir():
        return _network_facts(read_network(source, seed=0))
    path = existing(source, "a file of a structure, network, records, plan or moments")
    suffix = existing_file(path).suffix.lower()
    if suffix == ".json":
        return _document_facts(path)
    if suffix in (".xdsl", ".bif", ".uai"):
        return _foreign_facts(path)
    if suffix in (".moments", ".partial", ".plan"):
        return _moment_facts(path)
    return _table_facts(path)


def _document_facts(path: Path) -> Facts:
    from noisyor.io.documents import read_document
    from noisyor.network import NoisyOrNetwork
    from noisyor.schedule import Schedule
    from noisyor.structure import FORMATS, NETWORK_FORMAT, SCHEDULE_FORMAT, Structure

    document = read_document(path, FORMATS)
    if document["format"] == NETWORK_FORMAT:
        return _network_facts(NoisyOrNetwork.load(path))
    if document["format"] == SCHEDULE_FORMAT:
        return _schedule_facts(Schedule.load(path))
    return _structure_facts(Structure.load(path))


def _foreign_facts(path: Path) -> Facts:
    from noisyor.exchange import read_model
    from noisyor.structure import Structure

    model = read_model(path)
    return _structure_facts(model) if isinstance(model, Structure) else _network_facts(model)


def _moment_facts(path: Path) -> Facts:
    from noisyor.moments import MomentPlan, Moments

    if path.suffix.lower() == ".plan":
        return {"kind": "plan", **facts_of_plan(MomentPlan.load(path))}
    return {"kind": "moments", **facts_of_moments(Moments.load(path))}


def facts_of_moments(moments: "Moments") -> Facts:
    """Return how much was counted, and of what."""
    hidden = sum(int(each.sum()) for each in moments.hidden or ())
    return {
        "records": moments.n_records,
        "groups": moments.n_groups,
        "some findings unknown": "yes" if moments.margins is not None else "no",
        "sets hidden as too small": hidden,
        **facts_of_plan(moments.plan),
    }


def facts_of_plan(plan: "MomentPlan") -> Facts:
    """Return how many sets a plan counts, and of which structure."""
    names = "symptoms", "pairs", "triplets"
    return {
        **dict(zip(names, plan.sizes, strict=True)),
        "fingerprint of the plan": plan.fingerprint,
        "fingerprint of the structure": plan.structure.fingerprint,
    }


def _table_facts(path: Path) -> Facts:
    from noisyor.io.tables import open_table
    from noisyor.structure import Structure

    table = open_table(path)
    names = set(table.column_names)
    if {"disease", "symptom"} <= names:
        return _structure_facts(Structure.from_arrow(path))
    if {"record", "symptom"} <= names:
        return _long_facts(table)
    return _wide_facts(table)


def _structure_facts(structure: "Structure") -> Facts:
    import numpy as np

    children = np.diff(structure.child_offsets)
    parents = np.diff(structure.parent_offsets)
    return {
        "kind": "structure",
        "diseases": structure.n_diseases,
        "symptoms": structure.n_symptoms,
        "edges": structure.n_edges,
        "median children of a disease": float(np.median(children)) if children.size else 0.0,
        "most children of a disease": int(children.max(initial=0)),
        "median parents of a symptom": float(np.median(parents)) if parents.size else 0.0,
        "most parents of a symptom": int(parents.max(initial=0)),
        "fingerprint": structure.fingerprint,
    }


def _network_facts(network: "NoisyOrNetwork") -> Facts:
    return _structure_facts(network.structure) | {
        "kind": "network",
        "expected diseases of a record": round(float(network.priors.sum()), 3),
        "expected findings of a record": round(float(network.marginals().sum()), 3),
    }


def _schedule_facts(schedule: "Schedule") -> Facts:
    return {
        "kind": "schedule",
        "rounds": schedule.n_rounds,
        "edges learned": int((schedule.depths >= 0).sum()),
        "edges": schedule.structure.n_edges,
        "triplets": int((~schedule.is_pair).sum()),
        "pairs": int(schedule.is_pair.sum()),
        "complete": "yes" if schedule.is_complete else "no",
        "fingerprint of the structure": schedule.structure.fingerprint,
    }


def _long_facts(table: "Table") -> Facts:
    """Count rows, records and symptoms of a long file without knowing its structure."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from noisyor.io.columns import ColumnKind

    n_rows = 0
    ids = symptoms = pa.chunked_array([], pa.null())
    for batch in table.batches({"record": ColumnKind.ID, "symptom": ColumnKind.ID}):
        n_rows += batch.num_rows
        ids = _distinct(ids, batch.column(0))
        symptoms = _distinct(symptoms, batch.column(1))
    n_symptoms = pc.sum(pc.and_(pc.is_valid(symptoms), pc.not_equal(symptoms.cast("string"), "")))
    return {
        "kind": "records, long (a row per finding)",
        "rows": n_rows,
        "records": len(ids),
        "symptoms seen": n_symptoms.as_py() or 0,
    }


def _distinct(known: Any, more: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    new = pc.unique(more)
    return new if not len(known) else pc.unique(pa.chunked_array([known, new]))


def _wide_facts(table: "Table") -> Facts:
    from noisyor.io.columns import ColumnKind

    symptoms = [name for name in table.column_names if name != "record"]
    if not symptoms:
        raise FileError(f"{table.name} has no columns of symptoms.")
    n_records = present = unknown = 0
    for batch in table.batches(dict.fromkeys(symptoms, ColumnKind.FLAG)):
        n_records += batch.num_rows
        present += sum(column.true_count for column in batch)
        unknown += sum(column.null_count for column in batch)
    return {
        "kind": "records, wide (a column per symptom)",
        "records": n_records,
        "symptoms": len(symptoms),
        "findings of a record": round(present / n_records, 3) if n_records else 0.0,
        "unknown findings": unknown,
    }
