"""What `noisyor fit` tells of an estimate: tables for people, facts for machines."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisyor.cli.output import show, text_table
from noisyor.flags import REASONS, Flag

if TYPE_CHECKING:
    from noisyor.learning import Estimate
    from noisyor.learning.misfits import Misfits


def facts_of(estimate: "Estimate", misfits: "Misfits") -> dict[str, Any]:
    """Return what was learned, how well, and what was not."""
    return {
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
        "clean_up": [
            {
                "diseases": [estimate.structure.diseases[i] for i in part.diseases.tolist()],
                "moments": part.n_moments,
                "misfit": part.misfit,
                "second_misfit": None if part.second == math.inf else part.second,
            }
            for part in estimate.explained
        ],
        "misfits": {
            "tested": len(misfits.pairs.p_values),
            "found": misfits.n_found,
            "p_value": misfits.p_value,
        },
    }


def show_estimate(estimate: "Estimate") -> None:
    """Say in words what was learned, how well, and what was not."""
    import numpy as np

    from noisyor.report.content import NEUTRAL
    from noisyor.report.overview import fit_in_words

    rows = []
    for name, part in estimate.parts.items():
        errors = part.standard_errors[np.isfinite(part.standard_errors)]
        error = f"{np.median(errors):.4f}" if errors.size else "unknown"
        counts = len(part.values), int(part.is_learned.sum()), int((part.flags != 0).sum())
        rows.append([f"{name}s", *(f"{n:,}" for n in counts), error])
    titles = "parameter", "all", "learned", "flagged", "median standard error"
    table = text_table(titles, rows, left=["parameter"])
    show(f"Learned from {estimate.n_records:,} records ({estimate.method}).", table)
    for flag, reason in REASONS.items():
        counts_by_kind = [
            f"{part.count(flag):,} {name}s"
            for name, part in estimate.parts.items()
            if part.count(flag)
        ]
        if counts_by_kind:
            show(f"- {', '.join(counts_by_kind)}: {reason}.")
    if estimate.trace is not None:
        show(str(estimate.trace))
    for explained in estimate.explained:
        show(fit_in_words(explained, estimate.structure))
    if not estimate.is_complete:
        show(NEUTRAL)


def show_misfits(misfits: "Misfits", file: Path | None, has_fixed: bool) -> None:
    """Show whether the structure can explain which symptoms go together."""
    structure, n_tested = misfits.network.structure, len(misfits.pairs.p_values)
    wrong = misfits.symptoms.found(misfits.level)
    if len(wrong):
        name = structure.symptoms[misfits.symptoms.members[wrong[0], 0]]
        why = "fixed values contradict the records" if has_fixed else "their leaks are not learned"
        show(
            f"{len(wrong):,} symptoms are more, or less, frequent than the network says, {name} "
            f"above all: {why}."
        )
    if not misfits.n_found:
        n_all = structure.n_symptoms * (structure.n_symptoms - 1) // 2
        which = "" if n_tested == n_all else " (others were not counted, or not learned)"
        show(f"The network explains all {n_tested:,} pairs of symptoms that were tested{which}.")
        return
    first = misfits.table().slice(0, 1).to_pylist()[0]
    show(
        f"{misfits.n_found:,} of {n_tested:,} pairs of symptoms are not explained: a disease or an "
        f"edge may be missing. The clearest: {first['first']} and {first['second']}, "
        f"{first['observed']:,} times together, {first['expected']:,.1f} expected."
        + (f" All are in {file}." if file else " --misfits FILE lists them.")
    )
    edges = misfits.edge_table().slice(0, 3).to_pylist()
    if edges:
        listed = ", ".join(f"{edge['disease']} to {edge['symptom']}" for edge in edges)
        show(f"Edges that would explain most: {listed}.")
