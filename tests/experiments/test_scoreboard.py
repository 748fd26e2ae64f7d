"""The scoreboard: which methods run where, and what is measured of them."""

import pytest

from noisyor.experiments import ExperimentSettings, scoreboard
from noisyor.experiments.results import Cell

FULL, QUICK = ExperimentSettings(), ExperimentSettings(quick=True)


def test_methods_that_take_too_long_are_left_out():
    assert scoreboard.methods("figure1", 10_000, FULL) == list(scoreboard.METHODS)
    assert "maximum_likelihood" not in scoreboard.methods("qmr_shaped", 1000, FULL)
    assert "maximum_likelihood" in scoreboard.methods("plants", 1000, FULL)
    assert "maximum_likelihood" not in scoreboard.methods("plants", 10_000, FULL)
    assert "variational_em" not in scoreboard.methods("orphanet570", 1000, FULL)
    assert "variational_em" in scoreboard.methods("tcc4e", 10_000, FULL)
    assert "variational_em" not in scoreboard.methods("tcc4e", 100_000, FULL)
    assert "refined" not in scoreboard.methods("qmr_shaped", 500, QUICK)


def test_small_networks_are_sampled_more_often():
    sizes = {cell.n_records for cell in scoreboard.cells(FULL)}
    assert sizes == {1000, 10_000, 100_000}
    for name, n_records, expected in (
        ("figure1", 1000, 5), ("figure1", 100_000, 3), ("tcc4e", 1000, 3), ("qmr_shaped", 1000, 1)
    ):  # fmt: skip
        assert scoreboard.n_samples(name, n_records, FULL) == expected
        assert scoreboard.n_samples(name, n_records, QUICK) == 1
    seeds = {c.seed for c in scoreboard.cells(FULL) if c[:2] == ("figure1", 1000)}
    assert seeds == set(range(5))


def test_a_guess_is_worse_than_learning():
    learned, guessed = (
        scoreboard.measure(Cell("figure1", 5000, 0, method), QUICK)
        for method in ("pooled", "uniform")
    )
    assert set(guessed) <= set(scoreboard.QUANTITIES)
    for quantity in "failures", "posterior":
        assert learned[quantity] < guessed[quantity]
    assert 0.0 <= learned["same_top"] <= 1.0
    assert learned["covered"] == pytest.approx(0.95, abs=0.35)
