"""`noisyor fit`: from records or moments to a network."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from noisyor.cli.count import merged_moments
from noisyor.cli.estimate_tables import facts_of, show_estimate, show_misfits
from noisyor.cli.inputs import (
    expand_sources,
    is_built_in,
    local_files,
    read_network,
    read_structure,
)
from noisyor.cli.options import (
    AsJson,
    Choice,
    Groups,
    IdsPerFile,
    IgnoreUnknown,
    Jobs,
    OnCluster,
    Pairs,
    Quiet,
    ReadLayout,
    Seed,
    SkipBroken,
    StructureFile,
    TripletChoice,
    output_option,
    read_options,
)
from noisyor.cli.output import note, progress_bar
from noisyor.cluster import connected
from noisyor.errors import FileError, NoisyOrError, ParameterError, some_of
from noisyor.io.paths import check_writable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noisyor.cli.inputs import Source
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
    output: Annotated[Path, output_option("Where to write the network (.json).")],
    method: Annotated[
        str,
        typer.Option(
            help="The method: refined, pooled, or the paper's sequential; for comparison "
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
            help="Fix parameters at these values: a table with the columns parameter, disease, "
            "symptom, value (.csv, .parquet), or a network with --relearn."
        ),
    ] = None,
    relearn: Annotated[
        list[str] | None,
        typer.Option(
            help="priors, failures or leaks: what of the network --fixed is learned anew."
        ),
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
    jobs: Jobs = 0,
    cluster: OnCluster = None,
    skip_broken: SkipBroken = False,
    groups: Groups = 50,
    seed: Seed = 0,
    n_init: Annotated[
        int, typer.Option(min=1, help="Random starts of exact_em, variational_em, ...")
    ] = 4,
    max_iter: Annotated[
        int | None,
        typer.Option(min=1, help="Rounds of refined, or steps of the methods that climb."),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Climb until the likelihood rises by less, in parts."),
    ] = None,
    shrink: Annotated[
        bool,
        typer.Option(help="Shrink weakly identified parameters towards the others of their kind."),
    ] = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a network from records in which the diseases were never seen.

    Example: noisyor fit clinic.json 'records/*.parquet' -o learned.json

    For another hospital or year: noisyor fit clinic.json new.parquet -o new.json --fixed
    learned.json --relearn priors
    """
    from noisyor.learner import NoisyOrLearner

    _check_seen(method, diseases)
    files = expand_sources(records)
    inputs = filter(None, [Path(structure), Path(fixed) if fixed else None, diseases])
    outputs = Outputs(output, summary, misfits, report)
    outputs.check([*local_files(files), *inputs])
    graph = read_structure(structure)
    learner = NoisyOrLearner(
        graph, method=method, pairs=pairs, choice=choice.value, n_groups=groups,
        shrink=shrink, max_iter=max_iter, tol=tol, n_init=n_init, random_state=seed,
        n_jobs=jobs or None,
    )  # fmt: skip
    fixed_values = _read_fixed(fixed, relearn or [], graph)
    if _are_moments(files):
        estimate = _learn_from_moments(learner, local_files(files), fixed_values)
    else:
        labels = None if diseases is None else _read_diseases(diseases, graph)
        options = read_options(layout, ignore_unknown, ids_per_file)
        with (
            connected(cluster) if cluster else nullcontext() as client,
            progress_bar("learning", None, quiet or as_json) as advance,
        ):
            estimate = learner.fit(
                files, labels, fixed=fixed_values, progress=advance, client=client,
                skip_broken=skip_broken, **options,
            ).estimate_  # fmt: skip
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
        from noisyor.io.tables import table_kind
        from noisyor.report.page import check_ending

        check_writable(self.names, inputs=inputs)
        for table in filter(None, [self.summary, self.misfits]):
            table_kind(table)
        if self.report is not None:
            check_ending(self.report)

    def write(self, estimate: "Estimate", misfits: "Misfits") -> None:
        """Write all of it."""
        from noisyor.report import write_report

        if not estimate.priors.is_learned.any():
            note("no prior was learned: the network holds neutral values only.")
        estimate.network.save(self.network)
        if self.summary is not None:
            estimate.save_summary(self.summary)
        if self.misfits is not None:
            misfits.save(self.misfits)
        if self.report is not None:
            write_report(estimate, self.report, misfits=misfits)


def _read_fixed(source: str | None, relearn: list[str], structure: "Structure") -> "Fixed | None":
    """Read the values to be fixed, from a table or a network."""
    from noisyor.parameters import KINDS, Fixed

    is_network = source is not None and (
        is_built_in(source) or Path(source).is_dir() or source.lower().endswith(".json")
    )
    unknown = [kind for kind in relearn if kind not in KINDS]
    if unknown:
        raise ParameterError(f"--relearn {unknown[0]}: known are {', '.join(KINDS)}.")
    if relearn and not is_network:
        raise ParameterError("--relearn needs --fixed with a network.")
    if source is None:
        return None
    if not is_network:
        return Fixed.load(source, structure)
    kept = [kind for kind in KINDS if kind not in relearn]
    if not relearn or not kept:
        every = "every parameter" if kept else "nothing"
        raise ParameterError(
            f"--fixed {source} would fix {every}; say what to learn anew, for example "
            "--relearn priors."
        )
    network = read_network(source, 0)
    if network.structure != structure:
        raise FileError(f"{source} has another structure than the one to be learned.")
    return Fixed.of(network, *kept)


def _check_seen(method: str, diseases: Path | None) -> None:
    """Refuse diseases for a method that does not see them, and the other way round."""
    from noisyor.learning.methods import METHODS

    if method in METHODS and METHODS[method].needs_labels != (diseases is not None):
        raise ParameterError(
            "the methods observed and observed_likelihood, and only they, learn from records in "
            "which the diseases were seen: --diseases FILE, a column a disease, a row a record."
        )


def _read_diseases(file: Path, structure: "Structure") -> "NDArray[np.bool_]":
    """Read which diseases each record had, from a table with a column for each."""
    from noisyor.io.tables import read_flags

    try:
        return read_flags(file, structure.diseases)
    except FileError as error:
        raise FileError(
            f"--diseases {file} needs a column for each disease, in which all are known: {error}"
        ) from None


def _are_moments(files: "list[Source]") -> bool:
    """Return True if files hold moments, not records: all or none of them."""
    are_moments = [str(file).lower().endswith(".moments") for file in files]
    if any(are_moments) and not all(are_moments):
        raise FileError(
            f"{files[are_moments.index(True)]} holds moments and "
            f"{files[are_moments.index(False)]} records; count the records first (noisyor count)."
        )
    return all(are_moments)


def _learn_from_moments(
    learner: "NoisyOrLearner", files: list[Path], fixed: "Fixed | None"
) -> "Estimate":
    moments = merged_moments(files)
    try:
        return learner.fit(moments, fixed=fixed).estimate_
    except NoisyOrError as error:
        raise type(error)(f"{some_of(map(str, files))}: {error}") from None
