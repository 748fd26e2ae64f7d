"""The section of a page on diagnoses: what the network says of records against labels."""

from typing import Any

from noisyor.evaluation import LabelScores
from noisyor.report.content import Content
from noisyor.report.markup import number, paragraph, section, table
from noisyor.report.pictures import calibration_curve, decision_curve

MOST_ROWS = 400
"""Diseases that a page lists, those with the most cases."""
MOST_DRAWN = 5
"""Diseases whose curves are drawn beside those of all together."""
ALL = "all diseases"


def diagnoses(content: Content) -> str:
    """Return the scores with their curves; nothing without labels."""
    found = content.evaluation
    if found is None:
        return ""
    overall, *rows = found.table().to_pylist()
    order = sorted(range(len(rows)), key=lambda k: -found.diseases[k].n_present)
    listed = [overall, *(rows[k] for k in order[:MOST_ROWS])]
    more = len(rows) + 1 - len(listed)
    caption = "Scores of each disease, those with the most cases first" + (
        f"; {more:,} more are not shown" if more else ""
    )
    drawn = [found.diseases[k] for k in order[:MOST_DRAWN] if not found.diseases[k].why_no_auc]
    curves = "".join(map(_curves, (found.overall, *drawn))) if found.overall.n_present else ""
    return section(
        "diagnoses",
        "Diagnoses against labels",
        paragraph(" ".join(found.sentences())),
        f'<div class="curves">{curves}</div>' if curves else "",
        table(TITLES, map(_row, listed), caption=caption),
    )


def _curves(scores: LabelScores) -> str:
    name = scores.disease or ALL
    return (
        f'<div class="pair">{calibration_curve(scores, name)}{decision_curve(scores, name)}</div>'
    )


TITLES = (
    "disease", "labels", "present", "AUC", "from", "to", "Brier", "log score", "calibration error",
    "by chance", "top 1", "top 3", "top 5",
)  # fmt: skip
PROBABILITIES = "brier", "calibration_error", "calibration_by_chance"


def _row(row: dict[str, Any]) -> list[str]:
    auc = [row[key] for key in ("auc", "auc_lower", "auc_upper")]
    aucs = ["" if each is None else f"{each:.3f}" for each in auc]
    if auc[0] is None:
        aucs[0] = row["note"].removeprefix("no AUC: ")
    brier, error, chance = ("" if row[key] is None else number(row[key]) for key in PROBABILITIES)
    log_score = "" if row["log_score"] is None else f"{row['log_score']:.4f}"
    tops = ("" if row[f"top_{k}"] is None else f"{row[f'top_{k}']:.0%}" for k in (1, 3, 5))
    counts = (f"{row[key]:,}" for key in ("labels", "present"))
    return [row["disease"] or ALL, *counts, *aucs, brier, log_score, error, chance, *tops]
