"""Tables of results in Markdown."""

import pytest

from noisyor.experiments.results import Cell, Results
from noisyor.experiments.tables import by_records, filled, shown, span, table


def test_tables():
    results = Results()
    results.add(Cell("a", 10, 0, "m, 3 parts"), {"error": 1.0})
    results.add(Cell("a", 10, 1, "m, 3 parts"), {"error": 3.0, "time: all": 2.0})
    header = "| of | parts | error | s | samples | none |", "|---|---|---|---|---|---|"
    row = "| {records} | {what} | {error:.1f} | {time: all:.0f} s | {error:n} | {other:.1f} |"
    template, runs = "\n".join([*header, row]), [("a", 10, "m, 3 parts"), ("a", 11, "m, 3 parts")]
    rows = ["| of | parts | error | s | samples |", "|---|---|---|---|---|",
            "| 10 | 3 | 2.0 | 2 s | 2 |"]  # fmt: skip
    assert table(results, template, runs).splitlines() == rows
    assert table(results, template, runs[1:]) == ""
    text = f"# {{title}}\n\n{template} each one\n\n{template} each all\n"
    parts = filled(text, results, {"title": "T", "one": runs, "all": {"a": runs}})
    assert parts == ["# T", "\n".join(rows), "## a", "\n".join(rows)]


def test_spans():
    assert span([0.871, float("nan"), 0.95]) == "0.87 to 0.95"
    assert span([0.871, 0.872]) == "0.87"


def test_quantities_by_records():
    results = Results()
    for n in 10, 20, 30:
        results.add(Cell("a", n, 0, "m"), {"over": n * 6.0, "under": 2.0 * (n > 10)})

    def ratio(run):
        return shown(results.mean(*run, "over / under"), "{:.0f}")

    text = by_records(results, "a", ["m"], ratio)
    assert text.splitlines() == ["| method | 20 | 30 |", "|---|---|---|", "| m | 60 | 90 |"]
    assert by_records(results, "b", ["m"], ratio) == ""


def test_a_text_names_cells_and_is_left_out_where_they_were_not_measured():
    results = Results(None)
    for seed, error in enumerate((0.2, 0.4)):
        results.add(Cell("clinic", 100, seed, "exact, 5 present"), {"median, s": error})
    named = "{clinic; 100; exact, 5 present; median, s:.2f} of {n}"
    text = f"# Title\n\n{named}\n\n{named.replace('100', '200')}\n\nThe end"
    assert filled(text, results, {"n": 3}) == ["# Title", "0.30 of 3", "The end"]
    with pytest.raises(KeyError, match="unknown"):
        filled("{unknown}", results, {})
