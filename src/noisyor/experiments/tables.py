"""Tables of results in Markdown."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from noisyor.experiments.results import Results

SAMPLES = "samples"
"""In place of a format: how many samples a quantity was measured on."""

Column = str | tuple[str, str]
"""A format; before it the quantity where the title does not name it."""
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
    columns: Mapping[str, Column],
    runs: Iterable[tuple[Sequence[str], Run]],
) -> str:
    """Return a table of means over samples, a row for each run of which anything was measured.

    `labels` name the first columns, which each run brings; `columns` are the others by title.
    """
    rows = [[*labels, *columns]]
    for words, run in runs:
        cells = []
        for title, column in columns.items():
            quantity, form = (title, column) if isinstance(column, str) else column
            n = len(results.all(*run, quantity))
            text = str(n) if form == SAMPLES else shown(results.mean(*run, quantity), form)
            cells.append(text if n else "")
        if any(cells):
            rows.append([*words, *cells])
    return markdown_table(rows)


def network_tables(results: Results, columns: Mapping[str, Column], methods: Sequence[str]) -> str:
    """Return for each network a heading, and a table of all numbers of records and methods."""
    parts = []
    for name in results.networks():
        runs = [([f"{n:,}", m], (name, n, m)) for n in results.sizes() for m in methods]
        parts += [f"## {name}", table(results, ["records", "method"], columns, runs)]
    return "\n\n".join(parts)


def runs_of(results: Results, method: str) -> list[Run]:
    """Return the runs of a method, the small networks first."""
    order = results.networks()
    found = {(cell.network, cell.n_records, cell.method) for cell in results.cells}
    chosen = [run for run in found if run[2] == method]
    return sorted(chosen, key=lambda run: (order.index(run[0]), run[1]))


def span(values: Iterable[float], form: str = "{:.2f}") -> str:
    """Return the smallest and the largest number as text: "0.87 to 0.95"."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return "?"
    low, high = form.format(min(known)), form.format(max(known))
    return low if low == high else f"{low} to {high}"
