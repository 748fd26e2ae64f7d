"""Tables of results in Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from noisyor.experiments.results import Results, Run

SAMPLES = "samples"
"""In place of a format: how many samples a quantity was measured on."""

Label = str | tuple[str, str]
"""What of a run stands in a column: network, records, method, or of a method "kind, what" kind or
what; before it the title where that is another, which is left out of the texts below it."""
Column = str | tuple[str, str]
"""A format; before it the quantity where the title does not name it."""


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
    results: Results, labels: Iterable[Label], columns: Mapping[str, Column], runs: Iterable[Run]
) -> str:
    """Return a table of means over samples, a row for each run of which anything was measured."""
    named = [(label, label) if isinstance(label, str) else label for label in labels]
    rows = [[*(title for title, _ in named), *columns]]
    for run in runs:
        network, n_records, method = run
        kind, _, what = method.partition(", ")
        words = {
            "network": network, "records": f"{n_records:,}", "method": method,
            "kind": kind, "what": what or method,
        }  # fmt: skip
        cells = []
        for title, column in columns.items():
            quantity, form = (title, column) if isinstance(column, str) else column
            n = len(results.all(*run, quantity))
            is_count = form == SAMPLES and n
            cells.append(str(n) if is_count else shown(results.mean(*run, quantity), form))
        if any(cells):
            known = [words[field].replace(title, "").strip() for title, field in named]
            rows.append([*known, *cells])
    return markdown_table(rows)


def network_tables(results: Results, columns: Mapping[str, Column], methods: Sequence[str]) -> str:
    """Return for each network a heading, and a table of all numbers of records and methods."""
    parts = []
    for name in results.networks():
        runs = results.runs(*methods, network=name)
        parts += [f"## {name}", table(results, ["records", "method"], columns, runs)]
    return "\n\n".join(parts)


def by_records(
    results: Results, network: str, methods: Iterable[str], text: Callable[[Run], str]
) -> str:
    """Return what a text says of runs, a row for each method, a column for each size of it."""
    texts = {m: {n: text((network, n, m)) for n in results.sizes(network)} for m in methods}
    sizes = [n for n in results.sizes(network) if any(each[n] for each in texts.values())]
    rows = [[m, *(each[n] for n in sizes)] for m, each in texts.items()]
    return markdown_table([["method", *(f"{n:,}" for n in sizes)], *rows] if sizes else [])


def span(values: Iterable[float], form: str = "{:.2f}") -> str:
    """Return the smallest and the largest number as text: "0.87 to 0.95"."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return "?"
    low, high = form.format(min(known)), form.format(max(known))
    return low if low == high else f"{low} to {high}"
