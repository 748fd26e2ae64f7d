"""What was learned: facts for machines, tables for people."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisyor.cli.output import show, text_table
from noisyor.errors import count_of
from noisyor.flags import REASONS, Flag

if TYPE_CHECKING:
    import noisyor
    from noisyor.learning.misfits import Misfits

MOST_SHOWN = 40
"""Rows of how diseases occur together."""


def facts_of(estimate: "noisyor.Estimate", misfits: "Misfits") -> dict[str, Any]:
    """Return what was learned, how well, and what was not."""
    return {
        "warning": estimate.doubt or None,
        "method": estimate.method,
        "records": estimate.n_records,
        "labelled_records": _settings(estimate).get("labelled_records"),
        "labels": None if estimate.label_check is None else estimate.label_check.to_document(),
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
            "remedy": misfits.remedy,
            "causes": misfits.cause_table().to_pylist(),
        },
    }


def _settings(estimate: "noisyor.Estimate") -> Mapping[str, Any]:
    """Return how it was learned, as far as that is known."""
    return {} if estimate.lineage is None else estimate.lineage.settings


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


def show_estimate(estimate: "noisyor.Estimate") -> None:
    """Say in words what was learned, how well, and what was not."""
    import numpy as np

    from noisyor.report.content import NEUTRAL
    from noisyor.report.opening import widest_in_words
    from noisyor.report.sections import fit_in_words

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
    labelled = _settings(estimate).get("labelled_records")
    of_them = "" if labelled is None else f", {labelled:,} of them with a label"
    records = count_of(estimate.n_records, "record")
    show(f"Learned from {records}{of_them} ({estimate.method}).", table)
    for flag, reason in REASONS.items():
        counts = {name: part.count(flag) for name, part in estimate.parts.items()}
        listed = ", ".join(count_of(n, kind) for kind, n in counts.items() if n)
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


def show_causes(estimate: "noisyor.Estimate") -> None:
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
        text = "unknown" if error is None else f"{error:.3f}"
        if row["flags"] == "fixed":
            text = "fixed"
        rows.append([*names, f"{row['value']:.3f}", text])
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


def show_misfits(estimate: "noisyor.Estimate", misfits: "Misfits", file: Path | None) -> None:
    """Show whether the network explains the records, and what is wrong if not."""
    show(*misfits.sentences)
    if misfits.fits and estimate.doubt:
        show("That says little where so much is flagged.")
    if misfits.n_found:
        show(f"All pairs are in {file}." if file else "--misfits FILE lists the pairs.")


def show_codes(codes: Any) -> None:
    """Show the sensitivity and specificity of each code."""
    if codes is None:
        return
    rows = [
        [
            row["code"], row["disease"],
            *(_shown_rate(row, kind) for kind in ("sensitivity", "specificity")),
        ]
        for row in codes
    ]  # fmt: skip
    titles = "code", "disease", "sensitivity", "specificity"
    show("Codes, with 95% intervals:", text_table(titles, rows, left=["code", "disease"]))


def _shown_rate(row: dict[str, Any], kind: str) -> str:
    error, lower, upper = (row[f"{kind}_{what}"] for what in ("error", "lower", "upper"))
    if error is None:
        return f"{row[kind]:.4f}"
    known = "fixed" if error == 0.0 else f"{lower:.4f} to {upper:.4f}"
    return f"{row[kind]:.4f} ({known})"
