"""Speed: plans of the size that is timed, and times for a record."""

import pytest

from noisyor import MomentPlan, datasets, find_schedule
from noisyor.experiments import ExperimentSettings, speed
from noisyor.experiments.results import Cell


def test_the_papers_plan_has_the_papers_size():
    structure = datasets.qmr_shaped(0).structure
    plan = speed.plan_named("as the paper", structure)
    assert len(plan.triplets) == 36_506
    assert len(plan.pairs) >= 7682  # and those of the triplets
    assert len(plan.symptoms) >= 4013
    for triplet in plan.triplets[::5000].tolist():
        parents = [set(structure.parents(j).tolist()) for j in triplet]
        assert set.intersection(*parents)  # children of one disease
    small = datasets.figure1(0).structure
    assert speed.plan_named("of a schedule", small) == find_schedule(small).plan()
    assert speed.plan_named("all coupled pairs", small) == MomentPlan.coupled(small)


def test_times_are_told_for_a_record(monkeypatch):
    seen = []

    def work(network, n_records, what, folder):
        seen.append((n_records, what, folder.is_dir()))
        return {"seconds": 2.0}

    monkeypatch.setitem(speed.WORK, "count", work)
    found = speed.measure(Cell("clinic", 500_000, 0, "count, in some way"), ExperimentSettings())
    assert seen == [(500_000, "in some way", True)]
    assert found["us a record"] == pytest.approx(4.0)
    none = speed.measure(Cell("clinic", 0, 0, "count, nothing"), ExperimentSettings())
    assert none == {"seconds": 2.0}


def test_every_cell_has_its_work():
    for quick in False, True:
        for cell in speed.cells(ExperimentSettings(quick)):
            work = cell.method.partition(", ")[0]
            assert cell.method in speed.STARTS or work in speed.WORK
