"""`noisyor fit`: from records or moments to a network."""

from contextlib import nullcontext
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
    read_fixed,
    read_network,
    read_structure,
)
from noisyor.cli.output import note, progress_bar, say, show, show_json, text_table
from noisyor.cluster import connected
from noisyor.errors import FileError, ParameterError, count_of
from noisyor.flags import REASONS, Flag
from noisyor.io.replacing import replaced_together

if TYPE_CHECKING:
    from noisyor.findings import ReadOptions
    from noisyor.learning.misfits import Misfits


MOST_SHOWN = 40
"""Rows of how diseases occur together."""


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
    pairs: options.Pairs = True,
    choice: options.Choice = options.TripletChoice.first,
    jobs: options.Jobs = 0,
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
        int, typer.Option(min=1, max=1000, help="Chains of draws of bayesian, which must agree.")
    ] = 4,
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
    _check_seen(method, diseases)
    _check_bayesian(method, draws, pseudo_counts)
    known = options.covariates_of(covariates)
    files = expand_sources(records)
    outputs = Outputs(output, summary, misfits, report, draws)
    options.check_spreadsheet_safe(spreadsheet_safe, [summary, misfits])
    people = known if isinstance(known, Path) else None
    outputs.check([*local_files(files), structure, fixed, diseases, people])
    graph = read_structure(structure)
    learner = noisyor.NoisyOrLearner(
        graph, method=method, causes=causes, n_traits=traits,
        blocks=[options.listed(names) for names in block] if block else None, pairs=pairs,
        choice=choice.value, n_groups=groups, shrink=shrink, robust=robust,
        max_iter=max_iter, tol=tol, n_init=n_init,
        n_chains=n_chains, pseudo_counts=_read_pseudo_counts(pseudo_counts or []),
        random_state=seed, n_jobs=jobs or None,
    )  # fmt: skip
    fixed_values = _read_fixed(fixed, relearn or [], graph)
    if _are_moments(files):
        _refuse_cluster(cluster)
        moments = merged_moments(local_files(files))
        with errors_naming(files):
            estimate = learner.fit(moments, fixed=fixed_values).estimate_
    else:
        bar = progress_bar("learning", None, quiet or as_json)
        with connected(cluster) if cluster else nullcontext() as client, bar as advance:
            estimate = learner.fit(
                files, diseases, covariates=known, unknown_covariates=unknown_covariates,
                fixed=fixed_values, progress=advance, client=client, skip_broken=skip_broken,
                **reading,
            ).estimate_  # fmt: skip
    found = estimate.misfits()
    outputs.write(estimate, found, spreadsheet_safe)
    if as_json:
        show_json({**_facts(estimate, found), "skipped": learner.skipped_})
    elif not quiet:
        show(*understood(reading.get("notes")))
        _show_estimate(estimate)
        _show_causes(estimate)
        _show_misfits(estimate, found, misfits)
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
) -> "noisyor.Fixed | None":
    """Read the values to be fixed, from a table or a network."""
    from noisyor.parameters import KINDS

    is_network = source is not None and (
        is_built_in(source) or Path(source).is_dir() or source.lower().endswith(".json")
    )
    unknown = [kind for kind in relearn if kind not in KINDS]
    if unknown:
        raise ParameterError(f"--relearn {unknown[0]}: known are {', '.join(KINDS)}.")
    if relearn and not is_network:
        raise ParameterError("--relearn needs --fixed with a network.")
    if source is None or not is_network:
        return read_fixed(source, structure)
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


def _check_seen(method: str, diseases: Path | None) -> None:
    """Refuse diseases for a method that does not see them, and the other way round."""
    from noisyor.learning.methods import METHODS

    if method in METHODS and METHODS[method].needs_labels != (diseases is not None):
        raise ParameterError(
            "the methods observed and observed_likelihood, and only they, learn from records in "
            "which the diseases were seen: --diseases FILE, a column a disease, a row a record."
        )


def _refuse_cluster(cluster: str | None) -> None:
    if cluster is not None:
        raise ParameterError(
            f"--cluster {cluster} is for records: these are counted already, and what is left to "
            "do takes this machine seconds. Leave it out."
        )


def _check_bayesian(method: str, draws: Path | None, pseudo_counts: list[str] | None) -> None:
    """Refuse what only draws need for a method that draws nothing."""
    given = "--draws" if draws is not None else "--pseudo-counts" if pseudo_counts else ""
    if given and method != "bayesian":
        raise ParameterError(f"{given} needs --method bayesian: {method} draws nothing.")


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


# --- what was learned: facts for machines, tables for people ---


def _facts(estimate: "noisyor.Estimate", misfits: "Misfits") -> dict[str, Any]:
    """Return what was learned, how well, and what was not."""
    return {
        "warning": estimate.doubt or None,
        "method": estimate.method,
        "records": estimate.n_records,
        **{
            f"{name}s": {
                "all": len(part.values),
                "learned": int(part.is_learned.sum()),
                "flags": {flag.code: part.count(flag) for flag in Flag if part.count(flag)},
            }
            for name, part in estimate.parts.items()
        },
        "trace": None if estimate.trace is None else estimate.trace.facts(),
        "draws": None if estimate.draws is None else estimate.draws.facts(),
        "causes": _cause_facts(estimate),
        "clean_up": [
            {
                "diseases": [estimate.structure.diseases[i] for i in part.diseases.tolist()],
                "moments": part.n_moments,
                "misfit": part.misfit,
                "second_misfit": part.second,
            }
            for part in estimate.explained
        ],
        "misfits": {
            "fits": misfits.fits,
            "p_value": misfits.p_value,
            "tests": misfits.tests,
            "tested": misfits.n_tested,
            "found": misfits.n_found,
            "causes": misfits.cause_table().to_pylist(),
        },
    }


def _cause_facts(estimate: "noisyor.Estimate") -> dict[str, Any] | None:
    """Return how diseases occur together, where that was learned."""
    learned = estimate.learned_causes
    if learned is None:
        return None
    facts = {
        "kind": learned.causes.kind,
        "log_likelihood": learned.log_likelihood,
        "parameters": learned.table().to_pylist(),
    }
    if learned.causes.effects is not None:
        facts["prevalence"] = learned.prevalence(estimate.structure).to_pylist()
    return facts


def _show_estimate(estimate: "noisyor.Estimate") -> None:
    """Say in words what was learned, how well, and what was not."""
    import numpy as np

    from noisyor.report.content import NEUTRAL
    from noisyor.report.sections import fit_in_words, widest_in_words

    rows = []
    for name, part in estimate.parts.items():
        errors = part.standard_errors[np.isfinite(part.standard_errors)]
        error = f"{np.median(errors):.4f}" if errors.size else "unknown"
        numbers = len(part.values), int(part.is_learned.sum()), int((part.flags != 0).sum())
        rows.append([f"{name}s", *(f"{n:,}" for n in numbers), error])
    titles = "parameter", "all", "learned", "flagged", "median standard error"
    table = text_table(titles, rows, left=["parameter"])
    if estimate.doubt:
        show(estimate.doubt)
    show(f"Learned from {count_of(estimate.n_records, 'record')} ({estimate.method}).", table)
    for flag, reason in REASONS.items():
        counts = {f"{name}s": part.count(flag) for name, part in estimate.parts.items()}
        listed = ", ".join(f"{n:,} {kind}" for kind, n in counts.items() if n)
        if listed:
            show(f"- {listed}: {reason}.")
    show(*widest_in_words(estimate.parts, estimate.structure))
    for told in (estimate.trace, estimate.draws):
        if told is not None:
            show(str(told))
    for explained in estimate.explained:
        show(fit_in_words(explained, estimate.structure))
    if not estimate.is_complete:
        show(NEUTRAL)


def _show_causes(estimate: "noisyor.Estimate") -> None:
    """Show how diseases occur together, and depend on covariates."""
    learned = estimate.learned_causes
    if learned is None:
        return
    rows = []
    for row in learned.table().to_pylist():
        if row["parameter"] == "intercept":
            continue
        error = row["standard_error"]
        names = row["disease"] or "", row["parameter"], row["name"]
        rows.append([*names, f"{row['value']:.3f}", "unknown" if error is None else f"{error:.3f}"])
    likelihood = ""
    if learned.log_likelihood is not None:
        likelihood = f"; log likelihood {learned.log_likelihood:,.2f}"
    show(
        f"How diseases occur together ({learned.causes.kind}, "
        f"{count_of(learned.n_parameters, 'parameter')}{likelihood}):"
    )
    titles = "disease", "parameter", "name", "value", "standard error"
    show(text_table(titles, rows[:MOST_SHOWN], left=titles[:3]))
    if len(rows) > MOST_SHOWN:
        show(f"... and {len(rows) - MOST_SHOWN:,} more; --json has all.")


def _show_misfits(estimate: "noisyor.Estimate", misfits: "Misfits", file: Path | None) -> None:
    """Show whether the network explains the records, and what is wrong if not."""
    show(*misfits.sentences)
    if misfits.fits and estimate.doubt:
        show("That says little where so much is flagged.")
    if misfits.n_found:
        show(f"All pairs are in {file}." if file else "--misfits FILE lists the pairs.")
