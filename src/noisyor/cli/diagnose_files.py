"""The posteriors of files of records, written block after block."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from noisyor.cli.inputs import local_files

if TYPE_CHECKING:
    from noisyor.cli.inputs import Source
    from noisyor.findings.blocks import Block
    from noisyor.findings.reading import RecordFormat, RecordStream
    from noisyor.inference.writing import MethodCounts
    from noisyor.network import NoisyOrNetwork


def diagnose_files(
    source: str,
    records: list[str],
    output: Path,
    options: Any,
    top: int | None,
    seed: int,
    request: dict[str, Any],
    told: "Told",
) -> None:
    """Write the posteriors of files of records, block after block, or on a cluster."""
    from noisyor.cli.inputs import expand_sources, read_network
    from noisyor.cli.output import tell
    from noisyor.findings.reading import RecordFormat
    from noisyor.inference.answers import make_request

    files = expand_sources(records)
    make_request(request["method"], request["budget"], request["seed"])
    job = _Job(read_network(source, seed), files, output, RecordFormat(**options), top, request)
    if told.cluster is None:
        counts = _on_this_machine(job, Path(source), told)
    else:
        counts = _on_cluster(job, told.cluster, told)
    _give_notice(counts)
    facts = {"records": counts.n_records, "methods": counts.counts, "output": str(output)}
    sentence = f"Diagnosed {counts.n_records:,} records ({counts}) into {output}"
    tell(sentence, facts, quiet=told.quiet, as_json=told.as_json)


class Told(NamedTuple):
    """Where to work, and how to speak of it."""

    cluster: str | None
    quiet: bool
    as_json: bool

    @property
    def silent(self) -> bool:
        """Whether there is no bar."""
        return self.quiet or self.as_json


class _Job(NamedTuple):
    network: "NoisyOrNetwork"
    files: "list[Source]"
    output: Path
    form: "RecordFormat"
    top: int | None
    request: dict[str, Any]


def _on_this_machine(job: _Job, source: Path, told: Told) -> "MethodCounts":
    from noisyor.cli.progress import progress_bar
    from noisyor.inference.writing import MethodCounts, PosteriorWriter
    from noisyor.io.paths import check_writable
    from noisyor.io.tables import table_kind, write_batches

    check_writable([job.output], inputs=[source, *local_files(job.files)])
    kind = table_kind(job.output)
    counts = MethodCounts()
    n_records, id_type, blocks = _open_blocks(job.files, job.network, job.form)
    with progress_bar("diagnosing", n_records, told.silent) as advance:
        writer = PosteriorWriter(job.network, id_type, job.top)
        batches = writer.batches(blocks, counts, progress=advance, **job.request)
        write_batches(job.output, writer.schema, batches, kind)
    return counts


def _on_cluster(job: _Job, address: str, told: Told) -> "MethodCounts":
    from noisyor.cli.progress import progress_bar
    from noisyor.cluster import connected
    from noisyor.errors import ParameterError
    from noisyor.inference.cluster import diagnose_on_cluster

    if job.output.suffix:
        raise ParameterError(
            f"--output {job.output}: on a cluster each worker writes files of its own; give a "
            "folder, without an ending."
        )
    request = {name: value for name, value in job.request.items() if name != "threads"}
    with (
        connected(address) as client,
        progress_bar("diagnosing", None, told.silent) as advance,
    ):
        return diagnose_on_cluster(
            client, job.network, job.files, job.output, job.form, top=job.top, progress=advance,
            **request,
        )  # fmt: skip


def _give_notice(counts: "MethodCounts") -> None:
    from noisyor.cli.output import note

    if counts.n_impossible:
        note(
            f"{counts.n_impossible:,} records are impossible under the network, and have no "
            "probabilities."
        )
    if counts.n_refused:
        note(
            f"{counts.n_refused:,} records are too much work for exact inference, and have no "
            "probabilities; raise --budget, or leave --method to auto."
        )


def _open_blocks(
    files: "list[Source]", network: "NoisyOrNetwork", form: "RecordFormat"
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
