"""Tables of results in Markdown."""

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from noisyor.experiments.results import Results, Run


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


def table(results: Results, template: str, runs: Iterable[Run]) -> str:
    """Return a table: header and row of a template, the row for each run of which it says anything.

    Fields of the row are `{network}`, `{records}`, `{method}`, of a method "kind, what" `{kind}` or
    `{what}`; `{quantity:format}` is a mean over samples, `{quantity:n}` the number of samples.
    Words of a title are left out below it, and so are columns without any text.
    """
    header, _, row = template.splitlines()
    titles, fields = (line.strip("| ").split(" | ") for line in (header, row))
    matches = [re.fullmatch(r"\{(.+?)(?::([^:{} ]+))?\}(.*)", field) for field in fields]
    rows = []
    for run in runs:
        kind, _, what = run[2].partition(", ")
        words = {"network": run[0], "records": f"{run[1]:,}", "method": run[2], "kind": kind,
                 "what": what or kind}  # fmt: skip
        cells, is_measured = [], False
        for title, match in zip(titles, matches, strict=True):
            assert match is not None
            name, form, unit = match.groups()
            if form is None:
                cells.append(words[name].replace(title, "").strip() + unit)
                continue
            n = len(results.all(*run, name))
            text = shown(results.mean(*run, name), f"{{:{form}}}{unit}") if form != "n" else n or ""
            cells.append(str(text))
            is_measured |= bool(text)
        rows += [cells] if is_measured else []
    columns = [column for column in zip(titles, *rows, strict=True) if any(column[1:])]
    return markdown_table(list(zip(*columns, strict=True)))


class NotMeasuredError(Exception):
    """A text names a cell that was not measured."""


class TextValues(dict[str, Any]):
    """The values of a text; `network; records; method; quantity` is a mean over samples."""

    def __init__(self, results: Results, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._results = results

    def __missing__(self, name: str) -> float:
        network, _, rest = name.partition("; ")
        n_records, *names = rest.split("; ")
        if len(names) != 2:
            raise KeyError(name)
        mean = self._results.mean(network, int(n_records), *names)
        if not np.isfinite(mean):
            raise NotMeasuredError(name)
        return mean


def filled(text: str, results: Results, values: Mapping[str, Any]) -> list[str]:
    """Return the paragraphs of a page with their values.

    A paragraph whose last line ends with `each NAME` is the template of a table, and the value of
    that name the runs in it; or runs by network, for a table under a heading for each of them. A
    paragraph that names a cell (see `TextValues`) is left out where that cell was not measured.
    """
    parts, known = [], TextValues(results, values)
    for part in text.strip().split("\n\n"):
        template, _, name = part.rpartition(" each ")
        if not template.endswith("|"):
            with contextlib.suppress(NotMeasuredError):
                parts.append(part.format_map(known))
        elif isinstance(values[name], dict):
            for title, runs in values[name].items():
                parts += [f"## {title}", table(results, template, runs)]
        else:
            parts.append(table(results, template, values[name]))
    return parts


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
