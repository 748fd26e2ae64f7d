"""`noisyor sample`: records drawn from a network, with the diseases thrown away."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyor.cli.inputs import read_network
from noisyor.cli.options import (
    AsJson,
    Layout,
    NetworkFile,
    NumberOfRecords,
    Quiet,
    Seed,
    output_option,
)
from noisyor.cli.output import progress_bar, tell
from noisyor.io.paths import check_writable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from noisyor.cli.output import Advance
    from noisyor.findings.blocks import Block
    from noisyor.network import NoisyOrNetwork


def sample(
    network: NetworkFile,
    output: Annotated[Path, output_option("Where to write the records: .parquet or .csv.")],
    records: NumberOfRecords = 1000,
    seed: Seed = 0,
    layout: Annotated[
        Layout, typer.Option(help="wide: a column per symptom; long: a row per finding.")
    ] = Layout.wide,
    diseases: Annotated[
        Path | None,
        typer.Option(help="Also write which diseases each record had: .parquet or .csv."),
    ] = None,
    save_network: Annotated[
        Path | None, typer.Option(help="Also write the network that was sampled, as JSON.")
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Sample records from a network, with the diseases thrown away.

    Example: noisyor sample clinic --records 10000 --seed 1 -o records.parquet
    """
    from noisyor.io.tables import table_kind

    # What cannot be written should not show only after the work is done.
    check_writable(filter(None, [output, diseases, save_network]))
    for path in filter(None, [output, diseases]):
        table_kind(path)
    source = read_network(network, seed)
    silent = quiet or as_json
    _write_records(source, records, seed, output, layout.value, silent)
    if diseases is not None:
        _write_diseases(source, records, seed, diseases, silent)
    if save_network is not None:
        source.save(save_network)
    tell(
        f"Sampled {records:,} records into {output}",
        {
            "records": records, "seed": seed, "layout": layout.value, "output": str(output),
            "diseases": str(diseases) if diseases else None,
            "network": str(save_network) if save_network else None,
        },
        quiet=quiet,
        as_json=as_json,
    )  # fmt: skip


def _write_records(
    network: "NoisyOrNetwork", records: int, seed: int, path: Path, layout: str, quiet: bool
) -> None:
    """Write block after block, so that memory stays bounded whatever the number of records."""
    from noisyor.findings.writing import RecordWriter
    from noisyor.io.tables import table_kind

    with progress_bar("sampling records", records, quiet) as advance:
        blocks = _advancing((each.block for each in network.iter_sample(records, seed)), advance)
        RecordWriter(network.structure.symptoms, layout=layout).write(
            path, table_kind(path), blocks
        )


def _write_diseases(
    network: "NoisyOrNetwork", records: int, seed: int, path: Path, quiet: bool
) -> None:
    """Sample the same records once more for their diseases: cheaper than holding two files open."""
    from noisyor.findings.blocks import Block, pack
    from noisyor.findings.writing import RecordWriter
    from noisyor.io.tables import table_kind

    with progress_bar("writing diseases", records, quiet) as advance:
        sampled = network.iter_sample(records, seed, keep_diseases=True)
        blocks = (Block(len(each.diseases), pack(each.diseases)) for each in sampled)
        RecordWriter(network.structure.diseases).write(
            path, table_kind(path), _advancing(blocks, advance)
        )


def _advancing(blocks: "Iterable[Block]", advance: "Advance") -> "Iterator[Block]":
    for block in blocks:
        yield block
        advance(block.n_records)
