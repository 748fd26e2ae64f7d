"""Tables of results in Markdown."""

from noisyor.experiments.results import Cell, Results
from noisyor.experiments.tables import SAMPLES, by_records, shown, span, table


def test_tables():
    results = Results()
    results.add(Cell("a", 10, 0, "m"), {"error": 1.0})
    results.add(Cell("a", 10, 1, "m"), {"error": 3.0, "time": 2.0})
    columns = {"error": "{:.1f}", "s": ("time", "{:.0f}"), "samples": ("error", SAMPLES)}
    runs = [("a", 10, "m"), ("a", 11, "m")]
    text = table(results, ["records", ("of", "method")], columns, runs)
    assert text.splitlines() == ["| records | of | error | s | samples |", "|---|---|---|---|---|",
                                 "| 10 | m | 2.0 | 2 | 2 |"]  # fmt: skip
    assert table(results, ["network"], columns, runs[1:]) == ""
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
