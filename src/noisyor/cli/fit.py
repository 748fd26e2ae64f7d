"""`noisyor fit`: from records or moments to a network."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.check import understood
from noisyor.cli.count import merged_moments
from noisyor.cli.inputs import (
    Source,
    check_files,
    errors_naming,
    expand_sources,
    is_built_in,
    local_files,
    read_beliefs,
    read_network,
    read_structure,
)
from noisyor.cli.learned import (
    facts_of,
    show_causes,
    show_codes,
    show_estimate,
    show_misfits,
)
from noisyor.cli.output import in_words_of, note, progress_bar, say, show, show_json
from noisyor.cluster import connected_if
from noisyor.errors import FileError, ParameterError, count_of
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.findings import ReadOptions
    from noisyor.learning.codes import Codes
    from noisyor.learning.misfits import Misfits


@options.reads_records
def fit(
    structure: options.StructureFile,
    records: Annotated[
        list[str],
        typer.Argument(help="Files of records, or of moments (.moments); patterns are fine."),
    ],
    output: Annotated[
        Path, options.output_option("Where to write the network (.json, .xdsl, .bif, .uai).")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="The method: refined, pooled, the paper's sequential, or bayesian (draws from "
            "the posterior, where records tell little); for comparison "
            "exact_em, variational_em, maximum_likelihood, observed, observed_likelihood, uniform."
        ),
    ] = "refined",
    causes: Annotated[
        str,
        typer.Option(
            help="How diseases occur together: independent, joint (any distribution of up to 12) "
            "or trait (hidden traits of a person)."
        ),
    ] = "independent",
    traits: Annotated[
        int, typer.Option(min=1, max=3, help="How many traits, with --causes trait.")
    ] = 1,
    block: Annotated[
        list[str] | None,
        typer.Option(
            help="With --causes joint: diseases that occur together, separated by commas; once "
            "for each block. None: all."
        ),
    ] = None,
    covariates: options.Covariates = None,
    unknown_covariates: options.UnknownCovariates = "refuse",
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
    draws: Annotated[
        Path | None,
        typer.Option(
            help="Also write 1,000 of the draws of bayesian (.parquet, .csv): a row per draw and "
            "parameter."
        ),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            help="Fix parameters at these values: a table with the columns parameter, disease, "
            "symptom, value, and name for loadings, effects and shares (.csv, .parquet), or a "
            "network with --relearn."
        ),
    ] = None,
    beliefs: Annotated[
        Path | None,
        typer.Option(
            help="What is believed of parameters: the same table with a column weight, how many "
            "cases each value is worth, and for loadings and effects a column error."
        ),
    ] = None,
    codes: Annotated[
        Path | None,
        typer.Option(
            help="Columns of the records that say of one disease whether a record has it, and can "
            "be wrong: a table with the columns code, disease and, where they are known, "
            "sensitivity, specificity, weight (.csv, .parquet)."
        ),
    ] = None,
    sampling_fractions: Annotated[
        list[str] | None,
        typer.Option(
            help="Records were chosen by a disease (case-control): DISEASE=WITH,WITHOUT, the "
            "fractions of those with the disease and of those without that became records; can "
            "be repeated. The prior is then that of the population."
        ),
    ] = None,
    relearn: Annotated[
        list[str] | None,
        typer.Option(
            help="priors, failures or leaks: what of the network --fixed is learned anew."
        ),
    ] = None,
    labels: options.Labels = None,
    pairs: options.Pairs = True,
    choice: options.Choice = options.TripletChoice.first,
    jobs: options.Jobs = 0,
    device: options.Device = "cpu",
    cluster: options.OnCluster = None,
    skip_broken: options.SkipBroken = False,
    groups: options.Groups = 50,
    seed: options.Seed = 0,
    n_init: Annotated[
        int, typer.Option(min=1, max=10_000, help="Random starts of exact_em, variational_em, ...")
    ] = 4,
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10**9,
            help="Steps of refined and of the other methods that climb, at most; rounds of "
            "bayesian.",
        ),
    ] = None,
    n_chains: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Chains of draws of bayesian, which must agree; 4 by default."
        ),
    ] = None,
    pseudo_counts: Annotated[
        list[str] | None,
        typer.Option(
            help="Beta priors of bayesian: priors=1,4 or failures=2,2 or leaks=1,20 (these are "
            "the default ones); can be repeated."
        ),
    ] = None,
    tol: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Methods that climb: stop when the likelihood rises by less than this share.",
        ),
    ] = None,
    shrink: Annotated[
        bool,
        typer.Option(help="Shrink weakly identified parameters towards the others of their kind."),
    ] = True,
    robust: Annotated[
        bool,
        typer.Option(
            "--robust",
            help="Standard errors that hold even if the network does not describe the records.",
        ),
    ] = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Learn a network from records in which the diseases were never seen.

    Example: noisyor fit clinic.json 'records/*.parquet' -o learned.json

    For another hospital or year: noisyor fit clinic.json new.parquet -o new.json --fixed
    learned.json --relearn priors
    """
    _check_seen(method, labels)
    _check_bayesian(
        method, {"--draws": draws, "--pseudo-counts": pseudo_counts, "--n-chains": n_chains}
    )
    known = options.covariates_of(covariates)
    files = expand_sources(records)
    outputs = Outputs(output, summary, misfits, report, draws)
    options.check_spreadsheet_safe(spreadsheet_safe, [summary, misfits])
    people = known if isinstance(known, Path) else None
    outputs.check([*local_files(files), structure, fixed, beliefs, codes, labels, people])
    graph, known_codes = _with_codes(read_structure(structure), codes)
    learner = noisyor.NoisyOrLearner(
        graph, method=method, causes=causes, n_traits=traits,
        blocks=[options.listed(names) for names in block] if block else None, pairs=pairs,
        choice=choice.value, n_groups=groups, shrink=shrink, robust=robust,
        max_iter=max_iter, tol=tol, n_init=n_init,
        pseudo_counts=_read_pseudo_counts(pseudo_counts or []),
        random_state=seed, n_jobs=jobs or None, device=device,
    )  # fmt: skip
    if n_chains is not None:
        learner.set_params(n_chains=n_chains)
    fixed_values = _read_fixed(fixed, relearn or [], graph)
    believed = _read_beliefs(structure, beliefs, graph)
    if _are_moments(files):
        _refuse_cluster(cluster)
        moments = merged_moments(local_files(files))
        with errors_naming(files):
            estimate = learner.fit(
                moments, labels, fixed=fixed_values, beliefs=believed, codes=known_codes
            ).estimate_
    else:
        bar = progress_bar("learning", None, quiet or as_json)
        with connected_if(cluster) as client, bar as advance:
            estimate = learner.fit(
                files, labels, covariates=known, unknown_covariates=unknown_covariates,
                fixed=fixed_values, beliefs=believed, codes=known_codes, progress=advance,
                client=client, skip_broken=skip_broken, **reading,
            ).estimate_  # fmt: skip
    found = estimate.misfits()
    if sampling_fractions:
        estimate = noisyor.learning.of_population(estimate, _read_fractions(sampling_fractions))
    outputs.write(estimate, found, spreadsheet_safe)
    if as_json:
        found_codes = {"codes": list(learner.codes_)} if learner.codes_ is not None else {}
        show_json({**facts_of(estimate, found), **found_codes, "skipped": learner.skipped_})
    elif not quiet:
        show(*understood(reading.get("notes")))
        with in_words_of(estimate.structure):
            _tell(learner, estimate, found, outputs)


def _tell(
    learner: "noisyor.NoisyOrLearner",
    estimate: "noisyor.Estimate",
    misfits: "Misfits",
    outputs: "Outputs",
) -> None:
    """Say what was learned, and where it was written."""
    show_estimate(estimate)
    show_causes(estimate)
    show_codes(learner.codes_)
    show_misfits(estimate, misfits, outputs.misfits)
    if learner.skipped_:
        listed = "\n".join(f"  {source}" for source in learner.skipped_)
        say(f"Left out, of all passes, since they cannot be read:\n{listed}")
    say(f"Written: {', '.join(str(path) for path in outputs if path)}")


class Outputs(NamedTuple):
    """What is to be written."""

    network: Path
    summary: Path | None
    misfits: Path | None
    report: Path | None
    draws: Path | None

    def check(self, inputs: list[Path | str | None]) -> None:
        """Raise an error where something cannot be written, before the work is done."""
        from noisyor.exchange.formats import NETWORK_ENDINGS
        from noisyor.report.page import check_ending

        endings = {self.network: NETWORK_ENDINGS}
        tables = [self.summary, self.misfits, self.draws]
        check_files(self, inputs, tables=tables, endings=endings)
        if self.report is not None:
            check_ending(self.report)

    def write(
        self,
        estimate: "noisyor.Estimate",
        misfits: "Misfits",
        spreadsheet_safe: bool = False,
    ) -> None:
        """Write all of it, or nothing."""
        if not estimate.priors.is_learned.any():
            note("no prior was learned: the network holds neutral values only.")
        with replaced_together():
            if self.network.suffix.lower() == ".json":
                estimate.save(self.network, misfits=misfits)
            else:
                noisyor.write_model(estimate.network, self.network)
            if self.summary is not None:
                estimate.save_summary(self.summary, spreadsheet_safe=spreadsheet_safe)
            if self.misfits is not None:
                misfits.save(self.misfits, spreadsheet_safe=spreadsheet_safe)
            if self.report is not None:
                noisyor.write_report(estimate, self.report, misfits=misfits)
            if self.draws is not None and estimate.draws is not None:
                estimate.draws.save(self.draws)


def _read_fixed(
    source: str | None, relearn: list[str], structure: "noisyor.Structure"
) -> "noisyor.Beliefs | None":
    """Read the values to be fixed, from a table or a network."""
    from noisyor.parameters import KINDS

    is_network = source is not None and (
        is_built_in(source)
        or Path(source).is_dir()
        or source.lower().endswith((".json", ".xdsl", ".bif", ".uai"))
    )
    unknown = [kind for kind in relearn if kind not in KINDS]
    if unknown:
        raise ParameterError(f"--relearn {unknown[0]}: known are {', '.join(KINDS)}.")
    if relearn and not is_network:
        raise ParameterError("--relearn needs --fixed with a network.")
    if source is None or not is_network:
        found = read_beliefs(source, structure)
        if found is not None and found.has_weighted:
            note(f"{source}: values with a weight or an error are believed, and not fixed.")
        return found
    kept = [kind for kind in KINDS if kind not in relearn]
    if not relearn or not kept:
        every = "every parameter" if kept else "nothing"
        raise ParameterError(
            f"--fixed {source} would fix {every}; say what to learn anew, for example "
            "--relearn priors."
        )
    network = read_network(source)
    if network.structure != structure:
        raise FileError(f"{source} has another structure than the one to be learned.")
    return noisyor.Fixed.of(network, *kept)


def _read_beliefs(
    source: str, table: Path | None, structure: "noisyor.Structure"
) -> "noisyor.Beliefs | None":
    """Read what is believed: a table, and the columns probability and weight of the structure's."""
    from noisyor.exchange.formats import format_of
    from noisyor.io.tables import open_table

    found = read_beliefs(table, structure)
    if found is not None and not found.has_weighted:
        raise FileError(
            f"{table} has no belief: no row has a weight (loadings and effects: an error), so that "
            "all values would be fixed. Give weights, or the table as --fixed."
        )
    if is_built_in(source) or format_of(source) != "edges":
        return found
    if not {"probability", "weight"} <= set(open_table(source).column_names):
        return found
    of_edges = noisyor.Beliefs.of_edges(source, structure)
    note(
        f"{source}: its columns probability and weight are beliefs about "
        f"{count_of(int((of_edges.weights.failures > 0).sum()), 'edge')}; rows without a weight "
        "say nothing but that there is an edge (inf fixes a value)."
    )
    return of_edges if found is None else found.and_also(of_edges)


def _read_fractions(texts: list[str]) -> dict[Any, tuple[float, float]]:
    """Read DISEASE=WITH,WITHOUT."""
    found: dict[Any, tuple[float, float]] = {}
    for text in texts:
        name, _, pair = text.rpartition("=")
        try:
            with_disease, without = map(float, pair.split(","))
        except ValueError:
            raise ParameterError(
                f"--sampling-fractions {text}: expected DISEASE=WITH,WITHOUT, such as flu=1,0.01."
            ) from None
        found[name] = with_disease, without
    return found


def _with_codes(
    structure: "noisyor.Structure", table: Path | None
) -> "tuple[noisyor.Structure, Codes | None]":
    """Return a structure with the codes of a table, and these."""
    from noisyor.learning.codes import Codes

    if table is None:
        return structure, None
    codes = Codes.load(table, structure)
    return codes.structure, codes


def _check_seen(method: str, labels: Path | None) -> None:
    """Refuse labels for a method that does not use them, and the other way round."""
    from noisyor.learning.methods import METHODS, check_labels

    if method in METHODS:
        check_labels(METHODS[method], labels)
        if METHODS[method].needs_labels and labels is None:
            raise ParameterError(
                f"the method {method} learns from records in which all diseases were seen: "
                "--labels FILE, a column a disease, a row a record."
            )


def _refuse_cluster(cluster: str | None) -> None:
    if cluster is not None:
        raise ParameterError(
            f"--cluster {cluster} is for records: these are counted already, and what is left to "
            "do takes this machine seconds. Leave it out."
        )


def _check_bayesian(method: str, options: dict[str, Any]) -> None:
    """Refuse what only draws need for a method that draws nothing."""
    given = [name for name, value in options.items() if value]
    if given and method != "bayesian":
        raise ParameterError(f"{given[0]} needs --method bayesian: {method} draws nothing.")


def _read_pseudo_counts(texts: list[str]) -> dict[str, tuple[float, float]] | None:
    """Return the pseudo-counts in texts like priors=1,4."""
    found = {}
    for text in texts:
        kind, _, numbers = text.partition("=")
        try:
            a, b = map(float, numbers.split(","))
        except ValueError:
            raise ParameterError(
                f"--pseudo-counts {text}: expected a kind and two numbers, for example priors=1,4."
            ) from None
        found[kind.strip()] = (a, b)
    return found or None


def _are_moments(files: list[Source]) -> bool:
    """Return True if files hold moments, not records: all or none of them."""
    are_moments = [str(file).lower().endswith(".moments") for file in files]
    if any(are_moments) and not all(are_moments):
        raise FileError(
            f"{files[are_moments.index(True)]} holds moments and "
            f"{files[are_moments.index(False)]} records; count the records first (noisyor count)."
        )
    return all(are_moments)
