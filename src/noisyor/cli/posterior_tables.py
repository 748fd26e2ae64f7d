"""Posteriors, explanations, sets and questions as tables for people."""

import sys
from collections.abc import Container
from typing import TYPE_CHECKING, Any

from noisyor.cli.output import note, show, text_table

if TYPE_CHECKING:
    from noisyor.inference import Posterior

BAR = 24
"""Characters of a bar of probability 1."""


def show_answers(found: "Posterior", facts: dict[str, Any]) -> None:
    """Print all that was asked about one patient."""
    _show_posterior(found, facts)
    for part in _explanations, _best_sets, _questions:
        part(facts)


def _bar(p: float) -> str:
    can_draw = "utf" in (sys.stdout.encoding or "").lower()
    return ("█" if can_draw else "#") * round(BAR * p)


def _percent(p: float) -> str:
    if 0.0 < p < 0.0005 or 0.9995 < p < 1.0:
        return "< 0.1%" if p < 0.5 else "> 99.9%"
    return f"{100 * p:.1f}%"


def posterior_table(found: "Posterior", rows: list[dict[str, Any]]) -> Any:
    """Return the most probable diseases as a table with bars."""
    has_intervals = found.interval_lower is not None
    is_rough = found.method != "exact"
    more = ["95% interval"] * has_intervals + ["within"] * is_rough
    table = []
    for row in rows:
        cells = [row["disease"], _percent(row["probability"]), _percent(row["prior"])]
        if has_intervals:
            ends = row["interval_lower"], row["interval_upper"]
            cells.append(" to ".join(_percent(end) for end in ends))
        if is_rough:
            cells.append(f"{_percent(row['lower'])} to {_percent(row['upper'])}")
        table.append([*cells, _bar(row["probability"])])
    titles = "disease", "probability", "before", *more, ""
    return text_table(titles, table, left=["disease", ""], has_lines=False)


def _show_posterior(found: "Posterior", facts: dict[str, Any]) -> None:
    show(_heading(found), posterior_table(found, facts["diseases"]))
    if found.n_without_error:
        note(
            f"{found.n_without_error:,} parameters that matter here have no standard error: the "
            "intervals are too narrow."
        )


def _heading(found: "Posterior") -> str:
    method = {
        "exact": "exact",
        "variational": f"bounds, no probability is off by more than {found.error:.2g}",
        "mean_field": "mean field, of unknown error",
        "gibbs": f"sampled, within {found.error:.2g} with 95% confidence",
    }[found.method]
    n_known = len(found.present) + len(found.absent)
    n_unknown = found.structure.n_symptoms - n_known
    return (
        f"{len(found.present)} findings present, {len(found.absent)} absent, {n_unknown:,} unknown "
        f"({method})."
    )


def _explanations(facts: dict[str, Any]) -> None:
    if "causes" not in facts:
        return
    for name in dict.fromkeys(row["disease"] for row in facts["contributions"]):
        rows = [
            [
                row["finding"] if row["state"] == "present" else f"no {row['finding']}",
                f"{row['log_odds']:+.2f}",
                _percent(row["without"]),
            ]
            for row in facts["contributions"]
            if row["disease"] == name
        ]
        _show_plain(f"{name}: what each finding adds", ["finding", "log odds", "without it"], rows)
    rows = []
    for finding in facts["present"]:
        causes = [row for row in facts["causes"] if row["finding"] == finding][:4]
        texts = [
            f"{row['cause'] or 'none of the diseases'} {_percent(row['probability'])}"
            for row in causes
            if row["probability"] >= 0.005
        ]
        rows.append([finding, ", ".join(texts)])
    titles = ["finding", "causes (several can act at once)"]
    _show_plain("What has caused each finding", titles, rows, left=titles)


def _show_plain(
    title: str, titles: list[str], rows: list[list[str]], left: Container[str] = ("finding",)
) -> None:
    show("", text_table(titles, rows, title=title, left=left, has_lines=False))


def _best_sets(facts: dict[str, Any]) -> None:
    if "sets" not in facts:
        return
    found = facts["sets"]
    proven = "" if found["is_proven"] else " (the budget did not suffice to exclude better ones)"
    rows = [
        [", ".join(row["diseases"]) or "none", _percent(row["probability"])]
        for row in found["sets"]
    ]
    titles = ["diseases", "probability"]
    _show_plain(f"Most probable sets{proven}", titles, rows, left=["diseases"])


def _questions(facts: dict[str, Any]) -> None:
    if "questions" not in facts:
        return
    rows = [
        [row["symptom"], f"{row['gain']:.3f}", _percent(row["probability"])]
        for row in facts["questions"]
    ]
    _show_plain("What to ask for next", ["finding", "tells (bits)", "present"], rows)
