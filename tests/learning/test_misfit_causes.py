"""Causes of misfits: each kind is named where it is what is wrong."""

import pytest

from noisyor.experiments import misfits
from noisyor.experiments.results import Cell
from noisyor.experiments.settings import ExperimentSettings


@pytest.mark.parametrize("wrong", misfits.WRONG)
def test_the_cause_is_named(wrong):
    cells = [Cell("clinic", 5000, seed, wrong) for seed in range(3)]
    found = [misfits.measure(cell, ExperimentSettings()) for cell in cells]
    assert sum(each["noticed"] for each in found) >= 2
    assert sum(each["named"] for each in found) >= 2
