"""`noisyor count` and `noisyor merge`: moments of records, file after file, and their sum."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.info import facts_of_moments
from noisyor.cli.inputs import (
    Source,
    check_files,
    expand_files,
    expand_sources,
    local_files,
    read_structure,
)
from noisyor.cli.output import note, progress_bar, tell
from noisyor.cluster import Cluster, connected
from noisyor.errors import NoisyOrError, ParameterError, StructureError
from noisyor.gpu import check_device, check_device_name
from noisyor.io.replacing import remove_stale

if TYPE_CHECKING:
    from noisyor.findings import ReadOptions


@options.reads_records
def count(
    structure: options.StructureFile,
    records: Annotated[
        list[str], typer.Argument(help="Files of records, or patterns such as 'data/*.parquet'.")
    ],
    output: Annotated[Path, options.output_option("Where to write the moments.")],
    plan: Annotated[
        Path | None, typer.Option(help="Count what this plan lists, not all coupled pairs.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the files an interrupted run finished.")
    ] = False,
    min_count: Annotated[
        int,
        typer.Option(
            min=1,
            max=options.MOST_RECORDS,
            help="Hide cells that describe fewer records than this.",
        ),
    ] = 1,
    labels: options.Labels = None,
    groups: options.Groups = 50,
    jobs: options.Jobs = 0,
    device: options.Device = "cpu",
    cluster: options.OnCluster = None,
    skip_broken: options.SkipBroken = False,
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Count symptoms and all pairs that share a disease, or what a plan lists, over records.

    Example: noisyor count clinic.json 'records/*.parquet' -o site.moments

    On a cluster: noisyor count clinic.json 's3://...' -o all.moments --cluster tcp://10.0.0.1:8786
    """
    from noisyor.findings.cluster_reading import split_records
    from noisyor.findings.label_tables import LabelTable, read_for_counting
    from noisyor.findings.reading import RecordFormat, total_records
    from noisyor.moments.counting import CountRequest, count_on_cluster
    from noisyor.moments.resuming import ResumableCount, save_somewhere

    files = expand_sources(records)
    inputs = [structure, *local_files(files), plan, labels]
    check_files([output], inputs, endings={output: (".moments",)})
    _check_machine(files, on_cluster=cluster is not None, resume=resume, skip_broken=skip_broken)
    options.check_jobs(jobs, cluster)
    (check_device if cluster is None else check_device_name)(device)
    wanted = _read_plan(plan, structure)
    form = RecordFormat(**reading)
    read = read_for_counting if cluster is None else LabelTable.read
    table = None if labels is None else read(labels, wanted.structure, form)
    request = CountRequest(wanted, form, groups, table, device)
    checkpoint = output.with_name(output.name + ".partial")
    skipped: list[str] = []
    if cluster is None:
        counting = ResumableCount(request, checkpoint, jobs or None)
        left = counting.open(local_files(files), resume=resume)
        with progress_bar("counting", total_records(left), quiet or as_json) as advance:
            moments = counting.run(left, advance)
    else:
        bar = progress_bar("counting", None, quiet or as_json)
        with connected(cluster) as client, bar as advance:
            split = split_records(
                Cluster(client), files, wanted.structure, form, skip_broken=skip_broken
            )
            moments = count_on_cluster(split, request, advance)
        skipped = [each.source for each in split.skipped]
    moments = moments.suppressed(min_count) if min_count > 1 else moments
    save_somewhere(moments, output)
    with suppress(OSError):  # the counts are safe; a checkpoint that stays is announced next time
        checkpoint.unlink(missing_ok=True)
    remove_stale(checkpoint, ".part")
    found = facts_of_moments(moments)
    n_hidden = found["sets hidden as too small"]
    hidden = f", {n_hidden:,} sets hidden" if n_hidden else ""
    counted = {"files": len(files) - len(skipped), "skipped": skipped, "output": str(output)}
    sentence = f"Counted into {output}: {moments}{hidden}"
    tell(sentence, {**counted, **found}, quiet=quiet, as_json=as_json)


def _check_machine(
    files: list[Source], *, on_cluster: bool, resume: bool, skip_broken: bool
) -> None:
    """Refuse options and files that do not go with the machine, or with the cluster."""
    if on_cluster and resume:
        raise ParameterError("--resume is for one machine; a cluster repeats what is lost itself.")
    if not on_cluster and skip_broken:
        raise ParameterError("--skip-broken is for work on a cluster: give --cluster.")
    elsewhere = [source for source in files if isinstance(source, str)]
    if not on_cluster and elsewhere:
        raise ParameterError(f"{elsewhere[0]} is not on this machine: give --cluster.")


def _read_plan(plan: Path | None, structure: str) -> "noisyor.MomentPlan":
    read = read_structure(structure)
    if plan is None:
        return noisyor.MomentPlan.coupled(read)
    wanted = noisyor.MomentPlan.load(plan)
    if wanted.structure != read:
        raise StructureError(f"the plan {plan} was made for another structure than the one given.")
    return wanted


def merge(
    moments: options.MomentFiles,
    output: Annotated[Path, options.output_option("Where to write the sum.")],
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Merge counts of the same structure and plan: exact, in any order.

    Example: noisyor merge north.moments south.moments -o all.moments
    """
    files = expand_files(moments)
    check_files([output], inputs=files, endings={output: (".moments",)})
    total = merged_moments(files)
    total.save(output)
    facts = {"files": len(files), "output": str(output), **facts_of_moments(total)}
    sentence = f"Merged {len(files)} files into {output}: {total}"
    tell(sentence, facts, quiet=quiet, as_json=as_json)


def merged_moments(files: list[Path]) -> "noisyor.Moments":
    """Return the sum of the counts in some files."""
    first, *others = files
    total = noisyor.Moments.load(first)
    seen = {total.to_columns()["digest"][0]: first}
    for path in others:
        more = noisyor.Moments.load(path)
        before = seen.setdefault(more.to_columns()["digest"][0], path)
        if before != path:
            note(f"{path} holds the same counts as {before}: were records counted twice?")
        try:
            total += more
        except NoisyOrError as error:
            raise type(error)(f"{path} cannot be merged with {first}: {error}") from None
    return total
