"""`noisyor diagnose`: which diseases, given findings; one patient, or files of records."""

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.options import (
    AsJson,
    IdsPerFile,
    IgnoreUnknown,
    Quiet,
    ReadLayout,
    Threads,
    read_options,
)

if TYPE_CHECKING:
    from noisyor.findings.blocks import Block
    from noisyor.findings.reading import RecordFormat, RecordStream
    from noisyor.inference import Posterior, Posteriors
    from noisyor.inference.intervals import Learned
    from noisyor.network import NoisyOrNetwork

BAR = 24
"""Characters of a bar of probability 1."""
CHECKED_COLUMNS = ("method", "error", "log_evidence")


def diagnose(
    network: Annotated[
        str,
        typer.Argument(help="A network file (JSON), a folder, or clinic, figure1, qmr_shaped, ..."),
    ],
    records: Annotated[
        list[str] | None,
        typer.Argument(help="Files of records (.parquet, .csv); none: one patient, from options."),
    ] = None,
    present: Annotated[
        list[str] | None,
        typer.Option("--present", "-p", help="A finding that is present; once for each."),
    ] = None,
    absent: Annotated[
        list[str] | None,
        typer.Option("--absent", "-a", help="A finding that is absent. Others are unknown."),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="How many diseases to show (10); of records: to write of each."),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show what each finding adds, and what has caused it."),
    ] = False,
    ask: Annotated[
        bool, typer.Option("--ask", help="Show which findings would tell most, if asked for next.")
    ] = False,
    about: Annotated[
        str | None, typer.Option(help="With --ask: the disease that is in question; all, if none.")
    ] = None,
    sets: Annotated[
        int, typer.Option(min=0, help="Show so many of the most probable sets of diseases.")
    ] = 0,
    method: Annotated[
        str, typer.Option(help="auto, exact, variational, mean_field or gibbs.")
    ] = "auto",
    budget: Annotated[
        float | None,
        typer.Option(help="Seconds a record may take, about: 1 for a patient, 0.1 for records."),
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            help="The summary that fit wrote (.csv, .parquet): shows intervals that follow from "
            "its standard errors."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Of records: where to write (.parquet, .csv)."),
    ] = None,
    layout: ReadLayout = None,
    unmentioned: Annotated[
        str, typer.Option(help="Long records: findings without a row are absent, or unknown.")
    ] = "absent",
    ignore_unknown: IgnoreUnknown = False,
    ids_per_file: IdsPerFile = False,
    threads: Threads = 0,
    seed: Annotated[int, typer.Option(min=0, help="For sampling; and for a random network.")] = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say which diseases are probable, given findings.

    Example: noisyor diagnose clinic --present fever --present cough --absent "runny nose" --explain

    Of many records: noisyor diagnose learned.json records.parquet -o posteriors.parquet
    """
    from noisyor.cli.inputs import read_network
    from noisyor.cli.progress import working
    from noisyor.errors import ParameterError

    one_patient = {
        "--present": present, "--absent": absent, "--explain": explain, "--ask": ask,
        "--about": about, "--sets": sets, "--errors": errors, "--json": as_json,
    }  # fmt: skip
    if not records:
        if output is not None:
            raise ParameterError("--output is for files of records; name some.")
        patient = Patient(read_network(network, seed), present or [], absent or [], errors)
        if layout is not None or unmentioned != "absent":
            raise ParameterError("--layout and --unmentioned are for files of records.")
        request = {"method": method, "budget": 1.0 if budget is None else budget, "seed": seed}
        with working("asking the network (the first time it is compiled: half a minute)", quiet):
            facts = patient.ask(
                request, top or 10, explain=explain, sets=sets, ask=ask or bool(about), about=about
            )
        if as_json:
            typer.echo(json.dumps(_finite(facts)))
        elif not quiet:
            patient.show(facts)
        return
    wrong = [name for name, value in one_patient.items() if value]
    if wrong:
        raise ParameterError(f"{wrong[0]} is for one patient, not for files of records.")
    if output is None:
        raise ParameterError("say where to write: --output posteriors.parquet.")
    options = read_options(layout, ignore_unknown, ids_per_file)
    options["unmentioned"] = unmentioned  # type: ignore[typeddict-item]  # checked by RecordFormat
    seconds = 0.1 if budget is None else budget
    request = {"method": method, "budget": seconds, "seed": seed, "threads": threads or None}
    _diagnose_files(network, records, output, options, top, seed, quiet, request)


class Patient:
    """Someone with findings, about whom a network is asked."""

    def __init__(
        self,
        network: "NoisyOrNetwork",
        present: list[str],
        absent: list[str],
        errors: Path | None,
    ) -> None:
        from noisyor.names import match_name

        symptoms = network.structure.symptoms
        self._network = network
        self._present = [match_name(name, symptoms, "symptom") for name in present]
        self._absent = [match_name(name, symptoms, "symptom") for name in absent]
        self._errors = errors
        self._found: Posterior | None = None

    def ask(
        self,
        request: dict[str, Any],
        top: int,
        *,
        explain: bool,
        sets: int,
        ask: bool,
        about: str | None,
    ) -> dict[str, Any]:
        """Return all answers, as facts for JSON."""
        from noisyor.inference import posterior

        self._found = posterior(self._source(), self._present, self._absent, **request)
        facts = _facts(self._found, top)
        if explain:
            facts |= self._explain(facts["diseases"][:3], request)
        if sets:
            facts["sets"] = self._sets(sets, request["budget"])
        if ask:
            facts["questions"] = self._ask(request["seed"], about)
        return facts

    def show(self, facts: dict[str, Any]) -> None:
        """Print the answers for people."""
        assert self._found is not None
        _show_posterior(self._found, facts)
        for part in _explanations, _best_sets, _questions:
            part(facts)

    def _source(self) -> "NoisyOrNetwork | Learned":
        from noisyor.inference.intervals import NetworkWithErrors
        from noisyor.learning.estimate import StandardErrors

        if self._errors is None:
            return self._network
        read = StandardErrors.load(self._errors, self._network.structure)
        return NetworkWithErrors(self._network, read)

    def _explain(self, rows: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
        from noisyor.cli.output import note
        from noisyor.inference import explain

        if request["method"] in ("variational", "mean_field"):
            note(f"{request['method']} tells no causes: they are explained by the method auto.")
            request = request | {"method": "auto"}
        told = explain(
            self._network, self._present, self._absent,
            diseases=[row["disease"] for row in rows], **request,
        )  # fmt: skip
        return {
            "contributions": told.contributions.to_pylist(),
            "causes": told.causes.to_pylist(),
        }

    def _sets(self, k: int, budget: float) -> dict[str, Any]:
        from noisyor.inference import most_probable

        found = most_probable(self._network, self._present, self._absent, k, budget=budget)
        return {"is_proven": found.is_proven, "sets": found.table().to_pylist()}

    def _ask(self, seed: int, about: str | None) -> list[dict[str, Any]]:
        from noisyor.inference import best_questions
        from noisyor.names import match_name

        diseases = self._network.structure.diseases
        disease = None if about is None else match_name(about, diseases, "disease")
        asked = best_questions(self._network, self._present, self._absent, about=disease, seed=seed)
        rows: list[dict[str, Any]] = asked.table().slice(0, 10).to_pylist()
        return rows


def _finite(value: Any) -> Any:
    """Return facts with null for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _facts(found: "Posterior", top: int) -> dict[str, Any]:
    return {
        "present": list(found.present),
        "absent": list(found.absent),
        "method": found.method,
        "error": found.error,
        "effective_sample_size": found.effective_sample_size,
        "parameters_without_error": found.n_without_error,
        "log_evidence": found.log_evidence,
        "log_evidence_upper": found.log_evidence_upper,
        "diseases": found.table().slice(0, top).to_pylist(),
    }


# --- what is printed ---


def _bar(p: float) -> str:
    can_draw = "utf" in (sys.stdout.encoding or "").lower()
    return ("█" if can_draw else "#") * round(BAR * p)


def _percent(p: float) -> str:
    if 0.0 < p < 0.0005 or 0.9995 < p < 1.0:
        return "< 0.1%" if p < 0.5 else "> 99.9%"
    return f"{100 * p:.1f}%"


def posterior_table(found: "Posterior", rows: list[dict[str, Any]]) -> Any:
    """Return the most probable diseases as a table with bars."""
    from rich.table import Table

    table = Table(box=None)
    table.add_column("disease")
    for title in "probability", "before":
        table.add_column(title, justify="right")
    has_intervals = found.interval_lower is not None
    is_rough = found.method != "exact"
    for title in ["95% interval"] * has_intervals + ["within"] * is_rough:
        table.add_column(title, justify="right")
    table.add_column("")
    for row in rows:
        cells = [row["disease"], _percent(row["probability"]), _percent(row["prior"])]
        if has_intervals:
            ends = row["interval_lower"], row["interval_upper"]
            cells.append(" to ".join(_percent(end) for end in ends))
        if is_rough:
            cells.append(f"{_percent(row['lower'])} to {_percent(row['upper'])}")
        table.add_row(*cells, _bar(row["probability"]))
    return table


def _show_posterior(found: "Posterior", facts: dict[str, Any]) -> None:
    from noisyor.cli.output import note, show

    show(_heading(found), posterior_table(found, facts["diseases"]))
    if found.n_without_error:
        note(
            f"{found.n_without_error:,} parameters that matter here have no standard error: the "
            "intervals are too narrow."
        )


def _heading(found: "Posterior") -> str:
    how = {
        "exact": "exact",
        "variational": f"bounds, no probability is off by more than {found.error:.2g}",
        "mean_field": "mean field, of unknown error",
        "gibbs": f"sampled, within {found.error:.2g} with 95% confidence",
    }[found.method]
    n_known = len(found.present) + len(found.absent)
    n_unknown = found.structure.n_symptoms - n_known
    return (
        f"{len(found.present)} findings present, {len(found.absent)} absent, {n_unknown:,} unknown "
        f"({how})."
    )


def _explanations(facts: dict[str, Any]) -> None:
    from rich.table import Table

    from noisyor.cli.output import show

    if "causes" not in facts:
        return
    for name in dict.fromkeys(row["disease"] for row in facts["contributions"]):
        table = Table(title=f"{name}: what each finding adds", title_justify="left", box=None)
        table.add_column("finding")
        table.add_column("log odds", justify="right")
        table.add_column("without it", justify="right")
        for row in facts["contributions"]:
            if row["disease"] == name:
                finding = row["finding"] if row["state"] == "present" else f"no {row['finding']}"
                table.add_row(finding, f"{row['log_odds']:+.2f}", _percent(row["without"]))
        show("", table)
    table = Table(title="What has caused each finding", title_justify="left", box=None)
    table.add_column("finding")
    table.add_column("causes (several can act at once)")
    for finding in facts["present"]:
        causes = [row for row in facts["causes"] if row["finding"] == finding][:4]
        texts = [
            f"{row['cause'] or 'none of the diseases'} {_percent(row['probability'])}"
            for row in causes
            if row["probability"] >= 0.005
        ]
        table.add_row(finding, ", ".join(texts))
    show("", table)


def _best_sets(facts: dict[str, Any]) -> None:
    from rich.table import Table

    from noisyor.cli.output import show

    if "sets" not in facts:
        return
    found = facts["sets"]
    proven = "" if found["is_proven"] else " (the budget did not suffice to exclude better ones)"
    table = Table(title=f"Most probable sets{proven}", title_justify="left", box=None)
    table.add_column("diseases")
    table.add_column("probability", justify="right")
    for row in found["sets"]:
        names = ", ".join(row["diseases"]) or "none"
        table.add_row(names, _percent(row["probability"]))
    show("", table)


def _questions(facts: dict[str, Any]) -> None:
    from rich.table import Table

    from noisyor.cli.output import show

    if "questions" not in facts:
        return
    table = Table(title="What to ask for next", title_justify="left", box=None)
    table.add_column("finding")
    table.add_column("tells (bits)", justify="right")
    table.add_column("present", justify="right")
    for row in facts["questions"]:
        table.add_row(row["symptom"], f"{row['gain']:.3f}", _percent(row["probability"]))
    show("", table)


# --- files of records ---


def _diagnose_files(
    source: str,
    records: list[str],
    output: Path,
    options: Any,
    top: int | None,
    seed: int,
    quiet: bool,
    request: dict[str, Any],
) -> None:
    """Write the posteriors of files of records, block after block."""
    from noisyor.cli.inputs import expand_files, read_network
    from noisyor.cli.output import note
    from noisyor.cli.progress import progress_bar
    from noisyor.findings.reading import RecordFormat
    from noisyor.inference.answers import make_request
    from noisyor.io.paths import check_writable
    from noisyor.io.writing import table_kind, write_batches

    files = expand_files(records)
    check_writable([output], inputs=[Path(source), *files])
    kind = table_kind(output)
    make_request(request["method"], request["budget"], request["seed"])
    network = read_network(source, seed)
    form = RecordFormat(**options)
    tally = Tally()
    n_records, id_type, blocks = _open_blocks(files, network, form)
    with progress_bar("diagnosing", n_records, quiet) as advance:
        writer = PosteriorWriter(network, id_type, top)
        batches = writer.batches(blocks, tally, progress=advance, **request)
        write_batches(output, writer.schema, batches, kind)
    if tally.n_impossible:
        note(
            f"{tally.n_impossible:,} records are impossible under the network, and have no "
            "probabilities."
        )
    if tally.n_refused:
        note(
            f"{tally.n_refused:,} records are too much work for exact inference, and have no "
            "probabilities; raise --budget, or leave --method to auto."
        )
    if not quiet:
        typer.echo(f"Diagnosed {tally.n_records:,} records ({tally}) into {output}")


def _open_blocks(
    files: list[Path], network: "NoisyOrNetwork", form: "RecordFormat"
) -> tuple[int | None, Any, Iterator["Block"]]:
    """Return how many records there are, the type of their ids, and their blocks."""
    import itertools

    from noisyor.findings.reading import record_streams

    streams = record_streams(files, network.structure, form)
    counts = [stream.n_records for stream in streams]
    n_records = None if None in counts else sum(count or 0 for count in counts)
    blocks = _same_ids(streams)
    first = next(blocks, None)
    if first is None:
        return 0, None, iter(())
    return n_records, _id_type(first), itertools.chain([first], blocks)


def _id_type(block: "Block") -> Any:
    return None if block.record_ids is None else block.record_ids.type


def _same_ids(streams: list["RecordStream"]) -> Iterator["Block"]:
    """Give all blocks; their records have ids of one type, or none has any."""
    from noisyor.errors import FileError

    known: list[tuple[Any, str]] = []
    for stream in streams:
        for block in stream.blocks:
            known = known or [(_id_type(block), stream.file_name)]
            if _id_type(block) != known[0][0]:
                raise FileError(
                    f"the ids of {stream.file_name} are of another kind than those of "
                    f"{known[0][1]} (numbers, texts, or none at all); write them alike, or "
                    "diagnose the files one by one."
                )
            yield block


class Tally:
    """How many records were solved in which way."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, found: "Posteriors") -> None:
        """Count the records of a block."""
        for name in found.method_names:
            self._counts[name] = self._counts.get(name, 0) + 1

    @property
    def n_records(self) -> int:
        """All records."""
        return sum(self._counts.values())

    @property
    def n_impossible(self) -> int:
        """Records that the network holds for impossible."""
        return self._counts.get("impossible", 0)

    @property
    def n_refused(self) -> int:
        """Records that took too long."""
        return self._counts.get("refused", 0)

    def __str__(self) -> str:
        parts = sorted(self._counts.items(), key=lambda item: -item[1])
        return ", ".join(f"{count:,} {name}" for name, count in parts) or "none"


class PosteriorWriter:
    """Turns posteriors into Arrow batches: a row per record, or per record and top disease."""

    def __init__(self, network: "NoisyOrNetwork", id_type: Any, top: int | None) -> None:
        import pyarrow as pa

        from noisyor.errors import FileError

        self._network, self._top = network, top
        diseases = network.structure.diseases
        self._has_ids = id_type is not None
        taken = {"record", *CHECKED_COLUMNS} & set(diseases)
        if taken and top is None:
            raise FileError(
                f"the disease {sorted(taken)[0]!r} is named like a column of the table; write the "
                f"most probable diseases as rows instead: --top {min(10, len(diseases))}."
            )
        details = {"method": pa.string(), "error": pa.float64(), "log_evidence": pa.float64()}
        middle = dict.fromkeys(diseases, pa.float64())
        if top is not None:
            middle = {"rank": pa.int32(), "disease": pa.string(), "probability": pa.float64()}
        self.schema = pa.schema({"record": id_type or pa.int64()} | middle | details)

    def batches(self, blocks: Iterator["Block"], tally: Tally, **request: Any) -> Iterator[Any]:
        """Diagnose block after block."""
        import numpy as np
        import pyarrow as pa

        from noisyor.inference.posterior import iter_posteriors

        seen: list[Block] = []

        def noted() -> "Iterator[Block]":
            for block in blocks:
                seen.append(block)
                yield block

        first = 0
        for found in iter_posteriors(self._network, noted(), **request):
            block = seen.pop()
            tally.add(found)
            ids = block.record_ids
            if not self._has_ids:
                ids = pa.array(np.arange(first, first + block.n_records))
            first += block.n_records
            yield self._wide(ids, found) if self._top is None else self._long(ids, found)

    def _details(self, found: "Posteriors") -> list[Any]:
        import pyarrow as pa

        errors = pa.array(found.errors, from_pandas=True)
        evidences = pa.array(found.log_evidences, from_pandas=True)
        return [pa.array(found.method_names), errors, evidences]

    def _wide(self, ids: Any, found: "Posteriors") -> Any:
        import pyarrow as pa

        columns = [pa.array(column, from_pandas=True) for column in found.probabilities.T]
        arrays = [ids, *columns, *self._details(found)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _long(self, ids: Any, found: "Posteriors") -> Any:
        import numpy as np
        import pyarrow as pa

        k = min(self._top or 1, self._network.structure.n_diseases)
        order = np.argsort(-found.probabilities, axis=1, kind="stable")[:, :k]
        rows = pa.array(np.repeat(np.arange(len(found)), k))
        names = pa.array(self._network.structure.diseases)
        no_answer = np.repeat(np.isnan(found.probabilities).any(axis=1), k)
        arrays = [
            ids.take(rows),
            pa.array(np.tile(np.arange(1, k + 1, dtype=np.int32), len(found))),
            names.take(pa.array(order.ravel(), mask=no_answer)),
            pa.array(np.take_along_axis(found.probabilities, order, 1).ravel(), from_pandas=True),
            *(column.take(rows) for column in self._details(found)),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
