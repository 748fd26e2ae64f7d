"""`noisyor sample`: records drawn from a network, with the diseases thrown away."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import check_files, read_network
from noisyor.cli.output import Advance, progress_bar, tell
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.findings.blocks import Block


def sample(
    network: options.NetworkFile,
    output: Annotated[Path, options.output_option("Where to write the records: .parquet or .csv.")],
    records: options.NumberOfRecords = 1000,
    seed: options.Seed = 0,
    layout: Annotated[
        options.Layout, typer.Option(help="wide: a column per symptom; long: a row per finding.")
    ] = options.Layout.wide,
    diseases: Annotated[
        Path | None,
        typer.Option(help="Also write which diseases each record had: .parquet or .csv."),
    ] = None,
    save_network: Annotated[
        Path | None,
        typer.Option(help="Also write the network that was sampled (.json, .xdsl, .bif, .uai)."),
    ] = None,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Sample records from a network, with the diseases thrown away.

    Example: noisyor sample clinic --records 10000 --seed 1 -o records.parquet
    """
    from noisyor.exchange.formats import NETWORK_ENDINGS
    from noisyor.findings.blocks import Block, pack
    from noisyor.findings.writing import RecordWriter
    from noisyor.io.tables import table_kind

    outputs = [output, diseases, save_network]
    check_files(outputs, tables=[output, diseases], endings={save_network: NETWORK_ENDINGS})
    source = read_network(network, seed, may_draw=True)
    bar = partial(progress_bar, total=records, quiet=quiet or as_json)
    with replaced_together():
        with bar("sampling records") as advance:
            blocks = (each.block for each in source.iter_sample(records, seed))
            writer = RecordWriter(source.structure.symptoms, layout=layout.value)
            writer.write(output, table_kind(output), _advancing(blocks, advance))
        if diseases is not None:
            # The same records are sampled once more: cheaper than holding two files open.
            with bar("writing diseases") as advance:
                sampled = source.iter_sample(records, seed, keep_diseases=True)
                blocks = (Block(len(each.diseases), pack(each.diseases)) for each in sampled)
                writer = RecordWriter(source.structure.diseases)
                writer.write(diseases, table_kind(diseases), _advancing(blocks, advance))
        if save_network is not None:
            noisyor.write_model(source, save_network)
    facts = {
        "records": records,
        "seed": seed,
        "layout": layout.value,
        "output": str(output),
        "diseases": str(diseases) if diseases else None,
        "network": str(save_network) if save_network else None,
    }
    tell(f"Sampled {records:,} records into {output}", facts, quiet=quiet, as_json=as_json)


def _advancing(blocks: "Iterable[Block]", advance: Advance) -> "Iterator[Block]":
    """Give block after block, so that memory stays bounded whatever the number of records."""
    for block in blocks:
        yield block
        advance(block.n_records)
