"""Baselines: the packages that are there are measured, and two ways reach one maximum."""

from noisyor.experiments import ExperimentSettings, baselines
from noisyor.experiments.results import Cell

QUICK = ExperimentSettings(quick=True)


def test_packages_that_are_not_installed_are_not_measured(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    without = baselines.cells(QUICK)
    assert {cell.method for cell in without} == {"agreement", *baselines.METHODS}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    added = [cell for cell in baselines.cells(QUICK) if cell not in without]
    assert {cell.method for cell in added if cell.network == "figure1"} == set(baselines.EM)
    parents = [cell.network for cell in added if cell.network != "figure1"]
    assert parents == [f"{n} parents" for n in baselines.PARENTS[:2]]


def test_em_and_the_gradient_reach_the_same_likelihood():
    found = baselines.measure(Cell("figure1", 1000, 0, "agreement"), QUICK)
    assert found["difference"] < 1e-5
    assert all(found[method] > 0 for method in baselines.AGREEMENT)


def test_steps_of_em_are_counted_where_there_are_any(monkeypatch):
    monkeypatch.setattr(baselines, "SHAPE", (4, 15))
    climbed, counted = (
        baselines.measure(Cell(baselines.LARGE, 300, 0, method), QUICK)
        for method in ("variational_em", "observed")
    )
    assert climbed["steps"] > 1
    assert "steps" not in counted
    assert counted["error"] < climbed["error"]
