"""`noisyor count` and `noisyor merge`: moments of records, file after file, and their sum."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyor.cli.info import facts_of_moments
from noisyor.cli.inputs import expand_files, expand_sources, local_files, read_structure
from noisyor.cli.options import (
    AsJson,
    Groups,
    IdsPerFile,
    IgnoreUnknown,
    Jobs,
    MomentFiles,
    OnCluster,
    Quiet,
    ReadLayout,
    SkipBroken,
    StructureFile,
    output_option,
    read_options,
)
from noisyor.cli.output import note, progress_bar, tell
from noisyor.cluster import connected
from noisyor.errors import NoisyOrError, ParameterError, StructureError
from noisyor.io.paths import check_writable

if TYPE_CHECKING:
    from noisyor.cli.inputs import Source
    from noisyor.moments import MomentPlan, Moments


def count(
    structure: StructureFile,
    records: Annotated[
        list[str], typer.Argument(help="Files of records, or patterns such as 'data/*.parquet'.")
    ],
    output: Annotated[Path, output_option("Where to write the moments.")],
    plan: Annotated[
        Path | None, typer.Option(help="Count what this plan lists, not all coupled pairs.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after the files an interrupted run finished.")
    ] = False,
    min_count: Annotated[
        int, typer.Option(min=1, help="Hide cells that describe fewer records than this.")
    ] = 1,
    layout: ReadLayout = None,
    ignore_unknown: IgnoreUnknown = False,
    ids_per_file: IdsPerFile = False,
    groups: Groups = 50,
    jobs: Jobs = 0,
    cluster: OnCluster = None,
    skip_broken: SkipBroken = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Count symptoms and all pairs that share a disease, or what a plan lists, over records.

    Example: noisyor count clinic.json 'records/*.parquet' -o site.moments

    On a cluster: noisyor count clinic.json 's3://...' -o all.moments --cluster tcp://10.0.0.1:8786
    """
    from noisyor.findings.reading import RecordFormat, total_records
    from noisyor.moments.counting import CountRequest, count_on_cluster
    from noisyor.moments.resuming import ResumableCount, save_somewhere

    files = expand_sources(records)
    check_writable([output], inputs=[structure, *local_files(files), *([plan] if plan else [])])
    _check_place(files, on_cluster=cluster is not None, resume=resume, skip_broken=skip_broken)
    wanted = _read_plan(plan, structure)
    form = RecordFormat(**read_options(layout, ignore_unknown, ids_per_file))
    request = CountRequest(wanted, form, groups)
    checkpoint = output.with_name(output.name + ".partial")
    skipped: list[str] = []
    if cluster is None:
        counting = ResumableCount(request, checkpoint, jobs or None)
        left = counting.open(local_files(files), resume=resume)
        with progress_bar("counting", total_records(left), quiet or as_json) as advance:
            moments = counting.run(left, advance)
    else:
        with (
            connected(cluster) as client,
            progress_bar("counting", None, quiet or as_json) as advance,
        ):
            moments, left_out = count_on_cluster(
                client, files, request, progress=advance, skip_broken=skip_broken
            )
        skipped = [each.source for each in left_out]
    moments = moments.suppressed(min_count) if min_count > 1 else moments
    save_somewhere(moments, output)
    checkpoint.unlink(missing_ok=True)
    n_hidden = sum(int(hidden.sum()) for hidden in moments.hidden or ())
    hidden = f", {n_hidden:,} sets hidden" if n_hidden else ""
    counted = {"files": len(files) - len(skipped), "skipped": skipped, "output": str(output)}
    facts = {**counted, **facts_of_moments(moments)}
    tell(f"Counted into {output}: {moments}{hidden}", facts, quiet=quiet, as_json=as_json)


def _check_place(
    files: "list[Source]", *, on_cluster: bool, resume: bool, skip_broken: bool
) -> None:
    """Refuse options and files that do not go with the machine, or with the cluster."""
    if on_cluster and resume:
        raise ParameterError("--resume is for one machine; a cluster repeats what is lost itself.")
    if not on_cluster and skip_broken:
        raise ParameterError("--skip-broken is for work on a cluster: give --cluster.")
    elsewhere = [source for source in files if isinstance(source, str)]
    if not on_cluster and elsewhere:
        raise ParameterError(f"{elsewhere[0]} is not on this machine: give --cluster.")


def _read_plan(plan: Path | None, structure: str) -> "MomentPlan":
    from noisyor.moments import MomentPlan

    read = read_structure(structure)
    wanted = MomentPlan.load(plan) if plan is not None else MomentPlan.coupled(read)
    if wanted.structure != read:
        raise StructureError(f"the plan {plan} was made for another structure than the one given.")
    return wanted


def merge(
    moments: MomentFiles,
    output: Annotated[Path, output_option("Where to write the sum.")],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Merge counts of the same structure and plan: exact, in any order.

    Example: noisyor merge north.moments south.moments -o all.moments
    """
    files = expand_files(moments)
    check_writable([output], inputs=files)
    total = merged_moments(files)
    total.save(output)
    facts = {"files": len(files), "output": str(output), **facts_of_moments(total)}
    sentence = f"Merged {len(files)} files into {output}: {total}"
    tell(sentence, facts, quiet=quiet, as_json=as_json)


def merged_moments(files: list[Path]) -> "Moments":
    """Return the sum of the counts in some files."""
    from noisyor.moments import Moments

    first, *others = files
    total = Moments.load(first)
    seen = {_content(total): first}
    for path in others:
        more = Moments.load(path)
        before = seen.setdefault(_content(more), path)
        if before != path:
            note(f"{path} holds the same counts as {before}: were records counted twice?")
        try:
            total += more
        except NoisyOrError as error:
            raise type(error)(f"{path} cannot be merged with {first}: {error}") from None
    return total


def _content(moments: "Moments") -> str:
    return str(moments.to_columns()["digest"][0])
