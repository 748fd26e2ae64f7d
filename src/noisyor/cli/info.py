"""`noisyor info`: what a file is and what is in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisyor.io.tables import Table
    from noisyor.network import NoisyOrNetwork
    from noisyor.structure import Structure

Facts = dict[str, str | int | float]


def info(
    file: Annotated[
        str,
        typer.Argument(
            help="A network or structure (JSON, CSV, Parquet, a folder, or a built-in name), or "
            "a file of records (CSV, Parquet).",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
) -> None:
    """Say what a file is and what is in it.

    Example: noisyor info clinic
    """
    facts = _facts(file)
    if as_json:
        import json

        typer.echo(json.dumps(facts))
    else:
        _print_table(facts)


def _facts(source: str) -> Facts:
    from noisyor.cli.inputs import BUILT_IN, read_network
    from noisyor.io.paths import existing_file

    path = Path(source)
    is_built_in = source.replace("-", "_") in BUILT_IN and not path.exists()
    if is_built_in or path.is_dir():
        return _network_facts(read_network(source, seed=0))
    if existing_file(path).suffix.lower() == ".json":
        return _document_facts(path)
    return _table_facts(path)


def _document_facts(path: Path) -> Facts:
    from noisyor.io.documents import read_document
    from noisyor.network import NoisyOrNetwork
    from noisyor.network.network import FORMAT as NETWORK
    from noisyor.structure import FORMAT as STRUCTURE
    from noisyor.structure import Structure

    document = read_document(path, {NETWORK: 1, STRUCTURE: 1})
    if document["format"] == NETWORK:
        return _network_facts(NoisyOrNetwork.load(path))
    return _structure_facts(Structure.load(path))


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


def _print_table(facts: Mapping[str, str | int | float]) -> None:
    from rich.console import Console
    from rich.table import Table as RichTable

    table = RichTable(show_header=False, box=None)
    for name, value in facts.items():
        shown = f"{value:,}" if isinstance(value, int | float) else value
        table.add_row(name, shown)
    Console().print(table)
