"""The posteriors of files of records, written block after block."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from noisyor.findings.blocks import Block
    from noisyor.findings.reading import RecordFormat, RecordStream
    from noisyor.inference import Posteriors
    from noisyor.network import NoisyOrNetwork

DETAILS = ("method", "error", "log_evidence")
"""Beside the probabilities."""


def diagnose_files(
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
        taken = {"record", *DETAILS} & set(diseases)
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
