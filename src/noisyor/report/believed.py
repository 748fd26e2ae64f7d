"""The section of a page on beliefs: what was believed, what the records say, and both."""

from typing import Any

from noisyor.report.content import Content
from noisyor.report.markup import counted, number, paragraph, section, table

MOST_ROWS = 400
"""Beliefs that a page lists, those that the records contradict first."""
TITLES = (
    "parameter", "disease", "of", "believed", "weight or error", "the records alone", "error",
    "both", "contradicted",
)  # fmt: skip


def has_beliefs(content: Content) -> bool:
    """Return True if something was believed, and not fixed."""
    beliefs = None if content.estimate is None else content.estimate.beliefs
    return beliefs is not None and beliefs.has_weighted


def believed(content: Content) -> str:
    """Return what was believed beside what was learned; nothing where nothing was."""
    if content.estimate is None or not has_beliefs(content):
        return ""
    rows = [row for row in content.estimate.summary() if row["belief"] is not None]
    rows.sort(key=lambda row: not row["is_contradicted"])
    says = (
        f"{counted(len(rows), 'parameter')}: a value, and how many cases it is worth; of loadings "
        "and effects its standard error."
        if any(row.get("belief_error") is not None for row in rows)
        else f"{counted(len(rows), 'parameter')}: a value, and how many cases it is worth."
    )
    told = content.estimate.contradiction or "The records contradict none of it."
    more = len(rows) - MOST_ROWS
    caption = "What was believed" + (f"; {more:,} more are in the summary" if more > 0 else "")
    return section(
        "beliefs",
        "Beliefs",
        paragraph(f"{says} {told}"),
        table(TITLES, map(_row, rows[:MOST_ROWS]), caption=caption, texts=3),
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    of = row["symptom"] or row.get("name")
    names = (str(each or "") for each in (row["parameter"], row["disease"], of))
    weight = row["weight"] if row.get("belief_error") is None else row["belief_error"]
    belief, *others = (
        "" if row[key] is None else number(row[key])
        for key in ("belief", "records_alone", "records_alone_error", "value")
    )
    is_contradicted = "yes" if row["is_contradicted"] else ""
    return *names, belief, f"{weight:g}", *others, is_contradicted
