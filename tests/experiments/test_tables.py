"""Tables of results in Markdown."""

from noisyor.experiments.results import Cell, Results
from noisyor.experiments.tables import SAMPLES, runs_of, span, table


def test_tables():
    results = Results()
    results.add(Cell("a", 10, 0, "m"), {"error": 1.0})
    results.add(Cell("a", 10, 1, "m"), {"error": 3.0, "time": 2.0})
    columns = {"error": "{:.1f}", "s": ("time", "{:.0f}"), "samples": ("error", SAMPLES)}
    runs = [(["one"], ("a", 10, "m")), (["none"], ("a", 11, "m"))]
    text = table(results, ["run"], columns, runs)
    assert text.splitlines() == ["| run | error | s | samples |", "|---|---|---|---|",
                                 "| one | 2.0 | 2 | 2 |"]  # fmt: skip
    assert table(results, ["run"], columns, runs[1:]) == ""
    assert span([0.871, float("nan"), 0.95]) == "0.87 to 0.95"
    assert span([0.871, 0.872]) == "0.87"


def test_runs_are_listed_in_order():
    results = Results()
    for network, n in (("orphanet570", 5), ("clinic", 20), ("clinic", 10)):
        results.add(Cell(network, n, 0, "m"), {"x": 1.0})
    assert runs_of(results, "m") == [
        ("clinic", 10, "m"),
        ("clinic", 20, "m"),
        ("orphanet570", 5, "m"),
    ]
    assert runs_of(results, "other") == []
