"""Tables of results in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from noisyor.experiments.results import Results

SAMPLES = "samples"
"""In place of a format: how many samples a quantity was measured on."""

Run = tuple[str, int, str]
"""A network, a number of records and a method."""


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows, the first of them the header, as a Markdown table; nothing without any other."""
    if len(rows) < 2:
        return ""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def shown(value: float, form: str = "{:.3f}") -> str:
    """Return a number as text; nothing where there is none."""
    return form.format(value) if np.isfinite(value) else ""


def table(
    results: Results,
    labels: Sequence[str],
    columns: Mapping[str, tuple[str, str]],
    runs: Iterable[tuple[Sequence[str], Run]],
) -> str:
    """Return a table of means over samples, a row for each run of which anything was measured.

    `labels` name the first columns, which each run brings; `columns` give title, quantity and
    format of the others.
    """
    rows = [[*labels, *columns]]
    for words, run in runs:
        cells = []
        for quantity, form in columns.values():
            n = len(results.all(*run, quantity))
            text = str(n) if form == SAMPLES else shown(results.mean(*run, quantity), form)
            cells.append(text if n else "")
        if any(cells):
            rows.append([*words, *cells])
    return markdown_table(rows)


def method_runs(
    network: str, sizes: Iterable[int], methods: Iterable[str]
) -> list[tuple[list[str], Run]]:
    """Return rows of a network for `table`: each number of records with each method."""
    methods = list(methods)
    return [([f"{n:,}", method], (network, n, method)) for n in sizes for method in methods]


def span(values: Iterable[float], form: str = "{:.2f}") -> str:
    """Return the smallest and the largest number as text: "0.87 to 0.95"."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return "?"
    low, high = form.format(min(known)), form.format(max(known))
    return low if low == high else f"{low} to {high}"
