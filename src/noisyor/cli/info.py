"""`noisyor info`: what a file is and what is in it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import existing, is_built_in, read_network, read_structure
from noisyor.cli.output import Facts, in_words_of, show_facts
from noisyor.errors import FileError, some_of
from noisyor.flags import Flag
from noisyor.io.paths import existing_file

if TYPE_CHECKING:
    from noisyor.io.columns import Table

    Model = noisyor.Estimate | noisyor.NoisyOrNetwork | noisyor.Structure

RESULTS = {
    "pairs that are not explained (misfits)": {"first", "second", "observed", "expected"},
    "items of a test": {"item", "parameter", "skill", "value"},
    "posteriors": {"method", "error", "log_evidence"},
}
"""Tables that noisyor writes, by their columns; they are no records."""


def info(
    file: Annotated[
        str,
        typer.Argument(
            help="A network or structure (JSON, CSV, Parquet, XDSL, BIF, UAI, a folder, or a "
            "built-in name), or a file of records (CSV, Parquet).",
        ),
    ],
    as_json: options.AsJson = False,
) -> None:
    """Say what a file is and what is in it.

    Example: noisyor info clinic
    """
    model = _model_of(file)
    if model is None:
        show_facts(_facts(file), as_json)
        return
    with in_words_of(model if isinstance(model, noisyor.Structure) else model.structure):
        show_facts(_model_facts(model), as_json)


def _model_of(source: str) -> "Model | None":
    """Return what a file of a network or structure holds, or None if it is something else."""
    if is_built_in(source) or Path(source).is_dir():
        from noisyor.datasets.folders import missing_files

        is_structure = Path(source).is_dir() and missing_files(Path(source))
        return read_structure(source) if is_structure else read_network(source)
    path = existing(source, "a file of a structure, network, records, plan or moments")
    suffix = existing_file(path).suffix.lower()
    if suffix == ".json":
        return _model_of_document(path)
    return noisyor.read_model(path) if suffix in (".xdsl", ".bif", ".uai") else None


def _model_of_document(path: Path) -> "Model | None":
    from noisyor.io.documents import read_document
    from noisyor.learning.estimate import load_learned
    from noisyor.structure import FORMATS, NETWORK_FORMAT, SCHEDULE_FORMAT

    kind = read_document(path, FORMATS)["format"]
    if kind == SCHEDULE_FORMAT:
        return None
    return load_learned(path) if kind == NETWORK_FORMAT else noisyor.read_model(path)


def _facts(source: str) -> Facts:
    """Return what is in a file that is no model."""
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix == ".json":
        return _schedule_facts(noisyor.Schedule.load(path))
    if suffix == ".plan":
        return {"kind": "plan", **facts_of_plan(noisyor.MomentPlan.load(path))}
    if suffix in (".moments", ".partial"):
        return {"kind": "moments", **facts_of_moments(noisyor.Moments.load(path))}
    return _table_facts(path)


def facts_of_moments(moments: "noisyor.Moments") -> Facts:
    """Return how much was counted, and of what."""
    hidden = sum(int(each.sum()) for each in moments.hidden or ())
    return {
        "records": moments.n_records,
        "groups": moments.n_groups,
        "some findings unknown": "yes" if moments.margins is not None else "no",
        "sets hidden as too small": hidden,
        "records with a label": 0 if moments.labelled is None else moments.labelled.n_records,
        **facts_of_plan(moments.plan),
    }


def facts_of_plan(plan: "noisyor.MomentPlan") -> Facts:
    """Return how many sets a plan counts, and of which structure."""
    names = "symptoms", "pairs", "triplets", "quartets"
    return {
        **dict(zip(names, plan.sizes, strict=True)),
        "fingerprint of the plan": plan.fingerprint,
        "fingerprint of the structure": plan.structure.fingerprint,
    }


def _table_facts(path: Path) -> Facts:
    from noisyor.exchange.formats import are_of_q_matrix
    from noisyor.io.columns import ColumnKind
    from noisyor.io.tables import open_table

    table = open_table(path)
    names = set(table.column_names)
    if {"parameter", "disease", "symptom"} <= names:
        return _parameter_facts(table)
    for kind, columns in RESULTS.items():
        if columns <= names:
            batches = table.batches({min(columns): ColumnKind.TEXT})
            return {"kind": kind, "rows": sum(batch.num_rows for batch in batches)}
    if {"disease", "symptom"} <= names:
        return _model_facts(noisyor.Structure.from_arrow(path))
    if {"record", "symptom"} <= names:
        return _long_facts(table)
    if are_of_q_matrix(table.column_names):
        return _model_facts(read_structure(str(path)))
    return _wide_facts(table)


def _parameter_facts(table: "Table") -> Facts:
    """Count the rows of a summary, or of values to be fixed."""
    from noisyor.io.columns import ColumnKind

    is_summary, has_flags = ("standard_error" in table.column_names, "flags" in table.column_names)
    columns = ["parameter", *["flags"] * has_flags]
    rows, flagged = Counter[str](), 0
    for batch in table.batches(dict.fromkeys(columns, ColumnKind.TEXT)):
        rows.update(batch.column(0).to_pylist())
        flagged += sum(map(bool, batch.column(1).to_pylist())) if has_flags else 0
    return {
        "kind": "parameters with standard errors" if is_summary else "values of parameters",
        **{f"{kind}s": rows[kind] for kind in ("prior", "failure", "leak")},
        **({"flagged": flagged} if has_flags else {}),
    }


def _model_facts(model: "Model") -> Facts:
    import numpy as np

    learned: Facts = {}
    # All of learning is loaded only for a model that was learned.
    if not isinstance(model, noisyor.Structure | noisyor.NoisyOrNetwork):
        learned, model = _learned_facts(model), model.network
    structure = model if isinstance(model, noisyor.Structure) else model.structure
    children = np.diff(structure.child_offsets)
    parents = np.diff(structure.parent_offsets)
    facts: dict[str, Any] = {
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
    if isinstance(model, noisyor.NoisyOrNetwork):
        facts |= {
            "kind": "network",
            "expected diseases of a record": round(float(model.priors.sum()), 3),
            "expected findings of a record": round(float(model.marginals().sum()), 3),
        }
        if model.flags is not None:
            facts |= _flag_facts(model.flags.vector)
    return {**facts, **learned}


def _learned_facts(estimate: "noisyor.Estimate") -> Facts:
    """Return how a network was learned: by what, from what, when, and whether it fits."""
    import numpy as np

    made, verdict = estimate.lineage, estimate.verdict
    fits = None if verdict is None else verdict.fits
    facts: dict[str, Any] = {
        "learned by the method": estimate.method,
        "learned from records": estimate.n_records,
        "parameters with a standard error": int(np.isfinite(estimate.standard_errors.vector).sum()),
    }
    if made is not None:
        labelled = made.settings.get("labelled_records")
        facts |= {} if labelled is None else {"records with a label": labelled}
        facts |= {"learned on": made.date, "by version": made.version}
        facts |= {} if made.seed is None else {"seed": made.seed}
    facts["explains its records"] = {True: "yes", False: "no", None: "not known"}[fits]
    if verdict is not None and verdict.sentences:
        facts["verdict"] = " ".join(verdict.sentences)
    if (labels := estimate.label_check) is not None:
        good = f"go with the findings of their records ({labels.n_records:,} looked at)"
        facts["labels"] = labels.sentence or good
    if (learned := estimate.learned_causes) is not None:
        facts["causes"] = repr(learned)
        facts |= {"doubtful of causes": " ".join(learned.cautions)} if learned.cautions else {}
    if estimate.doubt:
        facts["warning"] = estimate.doubt
    return facts


def _flag_facts(flags: Any) -> Facts:
    """Return how many parameters are flagged, and for which reasons."""
    counts = {flag.code: int((flags & flag != 0).sum()) for flag in Flag}
    return {
        "flagged parameters": int((flags & Flag.DOUBTFUL != 0).sum()),
        "flags": {code: n for code, n in counts.items() if n},
    }


def _schedule_facts(schedule: "noisyor.Schedule") -> Facts:
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
    try:
        for batch in table.batches(dict.fromkeys(symptoms, ColumnKind.FLAG)):
            n_records += batch.num_rows
            present += sum(column.true_count for column in batch)
            unknown += sum(column.null_count for column in batch)
    except FileError as error:
        raise FileError(
            f"{table.name} (columns {some_of(table.column_names)}) is no structure, which has the "
            "columns disease and symptom, nor are these records as they stand: "
            f"{error} `noisyor check` says of records what is understood and what is not."
        ) from None
    return {
        "kind": "records, wide (a column per symptom)",
        "records": n_records,
        "symptoms": len(symptoms),
        "findings of a record": round(present / n_records, 3) if n_records else 0.0,
        "unknown findings": unknown,
    }
