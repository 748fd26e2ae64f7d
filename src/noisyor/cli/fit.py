"""`noisyor fit`: from records or moments to a network."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from noisyor.cli.options import (
    AsJson,
    Choice,
    Groups,
    IdsPerFile,
    IgnoreUnknown,
    OnCluster,
    Pairs,
    Quiet,
    ReadLayout,
    SkipBroken,
    StructureFile,
    Threads,
    TripletChoice,
    read_options,
)

if TYPE_CHECKING:
    from noisyor.cli.inputs import Source
    from noisyor.findings.reading import ReadOptions
    from noisyor.learner import NoisyOrLearner
    from noisyor.learning import Estimate
    from noisyor.learning.misfits import Misfits
    from noisyor.parameters import Fixed
    from noisyor.structure import Structure


def fit(
    structure: StructureFile,
    records: Annotated[
        list[str],
        typer.Argument(help="Files of records, or of moments (.moments); patterns are fine."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the network (.json).")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="How to learn: refined, pooled, or the paper's sequential; for comparison "
            "exact_em, variational_em, maximum_likelihood, observed, observed_likelihood, uniform."
        ),
    ] = "refined",
    summary: Annotated[
        Path | None,
        typer.Option(
            help="Also write a row per parameter (.csv, .parquet): value, standard "
            "error, interval, depth, flags."
        ),
    ] = None,
    misfits: Annotated[
        Path | None,
        typer.Option(help="Also write the pairs that the network does not explain (.csv, ...)."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Also write a page that shows all of this (.html), for browsers."),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            help="Hold parameters at known values: a table with the columns parameter, disease, "
            "symptom, value (.csv, .parquet), or a network with --relearn."
        ),
    ] = None,
    relearn: Annotated[
        list[str] | None,
        typer.Option(help="priors, failures or leaks: what is not held of the network --fixed."),
    ] = None,
    diseases: Annotated[
        Path | None,
        typer.Option(
            help="For the methods observed and observed_likelihood: which diseases each record "
            "had, a column each (.csv, .parquet)."
        ),
    ] = None,
    pairs: Pairs = True,
    choice: Choice = TripletChoice.first,
    layout: ReadLayout = None,
    ignore_unknown: IgnoreUnknown = False,
    ids_per_file: IdsPerFile = False,
    groups: Groups = 50,
    threads: Threads = 0,
    cluster: OnCluster = None,
    skip_broken: SkipBroken = False,
    seed: Annotated[
        int, typer.Option(min=0, help="For refined, which samples, and for random starts.")
    ] = 0,
    restarts: Annotated[
        int, typer.Option(min=1, help="Random starts of exact_em, variational_em, ...")
    ] = 4,
    shrink: Annotated[
        bool,
        typer.Option(help="Hold what the records hardly tell near the others of its kind."),
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a network from records in which the diseases were never seen.

    Example: noisyor fit clinic.json 'records/*.parquet' -o learned.json

    For another hospital or year: noisyor fit clinic.json new.parquet -o new.json --fixed
    learned.json --relearn priors
    """
    from noisyor.cli.estimate_tables import facts_of, show_estimate, show_misfits
    from noisyor.cli.inputs import expand_sources, local_files, read_structure
    from noisyor.cli.output import note
    from noisyor.learner import NoisyOrLearner

    _check_seen(method, diseases)
    files = expand_sources(records)
    known = filter(None, [Path(fixed) if fixed else None, diseases])
    inputs = [Path(structure), *local_files(files), *known]
    outputs = Outputs(output, summary, misfits, report)
    outputs.check(inputs)
    graph = read_structure(structure)
    learner = NoisyOrLearner(
        graph,
        method=method,
        pairs=pairs,
        choice=choice.value,
        n_groups=groups,
        threads=threads or None,
        seed=seed,
        shrink=shrink,
        restarts=restarts,
    )
    options = read_options(layout, ignore_unknown, ids_per_file)
    held = _read_fixed(fixed, relearn or [], graph)
    seen = None if diseases is None else _read_diseases(diseases, graph)
    where = Where(cluster, skip_broken, quiet or as_json)
    estimate = _learn(learner, files, seen, held, options, where)
    if not estimate.priors.is_learned.any():
        note("no prior was learned: the network holds neutral values only.")
    found = estimate.misfits()
    outputs.write(estimate, found)
    if as_json:
        typer.echo(json.dumps(facts_of(estimate, found)))
    elif not quiet:
        show_estimate(estimate)
        show_misfits(found, misfits, fixed is not None)
        typer.echo(f"Written: {', '.join(outputs.names)}")


class Outputs(NamedTuple):
    """What is to be written."""

    network: Path
    summary: Path | None
    misfits: Path | None
    report: Path | None

    @property
    def names(self) -> list[str]:
        """The files, those that are wanted."""
        return [str(path) for path in self if path is not None]

    def check(self, inputs: list[Path]) -> None:
        """Raise an error where something cannot be written, before the work is done."""
        from noisyor.io.paths import check_writable
        from noisyor.io.writing import table_kind
        from noisyor.report.page import check_ending

        check_writable(self.names, inputs=inputs)
        for table in filter(None, [self.summary, self.misfits]):
            table_kind(table)
        if self.report is not None:
            check_ending(self.report)

    def write(self, estimate: "Estimate", misfits: "Misfits") -> None:
        """Write all of it."""
        from noisyor.report import write_report

        estimate.network.save(self.network)
        if self.summary is not None:
            estimate.save_summary(self.summary)
        if self.misfits is not None:
            misfits.save(self.misfits)
        if self.report is not None:
            write_report(estimate, self.report, misfits=misfits)


def _read_fixed(source: str | None, relearn: list[str], structure: "Structure") -> "Fixed | None":
    """Read the values to be held, from a table or a network."""
    from noisyor.cli.inputs import is_built_in, read_network
    from noisyor.errors import FileError, ParameterError
    from noisyor.parameters import KINDS, Fixed

    is_network = source is not None and (
        is_built_in(source) or Path(source).is_dir() or source.lower().endswith(".json")
    )
    unknown = [kind for kind in relearn if kind not in KINDS]
    if unknown:
        raise ParameterError(f"--relearn {unknown[0]}: known are {', '.join(KINDS)}.")
    if relearn and not is_network:
        raise ParameterError("--relearn needs --fixed with a network that holds the rest.")
    if source is None:
        return None
    if not is_network:
        return Fixed.load(source, structure)
    held = [kind for kind in KINDS if kind not in relearn]
    if not relearn or not held:
        every = "every parameter" if held else "nothing"
        raise ParameterError(
            f"--fixed {source} would hold {every}; say what to learn anew, for example "
            "--relearn priors."
        )
    network = read_network(source, 0)
    if network.structure != structure:
        raise FileError(f"{source} has another structure than the one to be learned.")
    return Fixed.of(network, *held)


def _check_seen(method: str, diseases: Path | None) -> None:
    """Refuse diseases for a method that does not see them, and the other way round."""
    from noisyor.errors import ParameterError
    from noisyor.learner import ALL_METHODS, SEEN

    if method in ALL_METHODS and (method in SEEN) != (diseases is not None):
        raise ParameterError(
            "the methods observed and observed_likelihood, and only they, learn from records in "
            "which the diseases were seen: --diseases FILE, a column a disease, a row a record."
        )


def _read_diseases(file: Path, structure: "Structure") -> Any:
    """Read which diseases each record had, from a table with a column for each."""
    import numpy as np

    from noisyor.errors import FileError
    from noisyor.findings.sources import read_findings
    from noisyor.structure import Structure

    n_diseases = structure.n_diseases
    columns = Structure.from_matrix(
        np.ones((1, n_diseases)), diseases=["any"], symptoms=structure.diseases
    )
    try:
        found = read_findings([file], columns, {"ignore_unknown": True})
    except FileError as error:
        raise FileError(f"--diseases {file} needs a column for each disease: {error}") from None
    if found.has_unknown:
        raise FileError(f"{file}: which diseases a record had must all be known.")
    return found.to_numpy()


def _learn(
    learner: "NoisyOrLearner",
    files: "list[Source]",
    diseases: Any,
    fixed: "Fixed | None",
    options: "ReadOptions",
    where: "Where",
) -> "Estimate":
    """Learn from files of moments, or from files of records with a progress bar."""
    from noisyor.cli.inputs import local_files
    from noisyor.cli.merge import merged_moments
    from noisyor.cli.progress import progress_bar
    from noisyor.cluster import connected
    from noisyor.errors import FileError, NoisyOrError, some_of

    are_moments = [str(file).lower().endswith(".moments") for file in files]
    if any(are_moments) and not all(are_moments):
        raise FileError(
            f"{files[are_moments.index(True)]} holds moments and "
            f"{files[are_moments.index(False)]} records; count the records first (noisyor count)."
        )
    if all(are_moments):
        moments = merged_moments(local_files(files))
        try:
            return learner.fit(moments, fixed=fixed).estimate_
        except NoisyOrError as error:
            raise type(error)(f"{some_of(map(str, files))}: {error}") from None
    with (
        connected(where.cluster) if where.cluster else nullcontext() as client,
        progress_bar("learning", None, where.quiet) as advance,
    ):
        return learner.fit(
            files, diseases, fixed=fixed, progress=advance, client=client,
            skip_broken=where.skip_broken, **options,
        ).estimate_  # fmt: skip


class Where(NamedTuple):
    """Whether to learn on a cluster, and whether in silence."""

    cluster: str | None
    skip_broken: bool
    quiet: bool
