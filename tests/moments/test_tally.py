"""The ways to count a plane, and counters that widen."""

import numpy as np
import pytest

from conftest import random_records
from noisyor import Findings, MomentPlan, Structure, count_moments, datasets
from noisyor.moments import tally
from noisyor.moments.counter import MomentCounter


def structure_with(n_symptoms):
    return Structure.from_matrix(np.ones((1, n_symptoms)))


def test_sparse_and_dense_counting_agree_at_qmr_size(monkeypatch):
    network = datasets.qmr_shaped(0)
    rng = np.random.default_rng(0)
    children = [network.structure.children(i) for i in range(570)]
    triplets = [rng.choice(children[i], 3, replace=False) for i in rng.integers(0, 570, 2000)]
    plan = MomentPlan.coupled(network.structure) | MomentPlan(network.structure, triplets=triplets)
    findings = network.sample(3000, rng=0)
    results = []
    for seconds in 1e-20, 1.0:
        monkeypatch.setattr(tally, "LISTED_PAIR_SECONDS", seconds)
        results.append(count_moments(findings, plan, n_groups=2))
    assert results[0] == results[1]


def test_counters_widen_while_counting(monkeypatch):
    """Counters of 8 bits stand in for 32, so that a few records overflow them."""
    monkeypatch.setattr(tally, "counter_type", lambda n: np.uint8 if n < 256 else np.uint64)
    records = random_records(np.random.default_rng(0), 20_000, 4, 0.1)
    structure = structure_with(4)
    plan = MomentPlan(structure, triplets=[[0, 1, 2]])
    findings = Findings.from_numpy(records, structure)
    moments = count_moments(findings, plan, n_groups=3)
    monkeypatch.undo()
    assert moments == count_moments(findings, plan, n_groups=3)
    assert moments.group_records.min() > 256


@pytest.mark.parametrize("n_jobs", [1, 2, 16])
@pytest.mark.parametrize("n_groups", [1, 3, 50])
def test_short_runs_of_many_sources_are_counted_together(rng, n_jobs, n_groups):
    """Some of them with findings that are unknown, so many that some are counted early."""
    structure = structure_with(4)
    plan = MomentPlan(structure, triplets=[[0, 1, 2], [1, 2, 3]], pairs=[[0, 3]])
    sizes = [int(rng.integers(1, 300)) for _ in range(60)]
    parts = [
        Findings.from_numpy(random_records(rng, n, 4, 0.1 * (k % 2)), structure)
        for k, n in enumerate(sizes)
    ]
    counter = MomentCounter(plan, n_groups, n_jobs=n_jobs)
    submitted = []
    submit = counter._tally._submit
    counter._tally._submit = lambda some: submitted.append(len(some)) or submit(some)
    for part in parts:
        counter.add_blocks(part.blocks)
    taken = counter.take()
    assert max(submitted) > 1
    assert n_groups > 1 or len(submitted) > 1
    for order in (1, 2, 3):
        cells = np.concatenate([as_cells(part) for part in parts])
        chosen = [cells[:, members] for members in plan.sets(order)]
        assert taken.counts(order).tolist() == [(each == 1).all(axis=1).sum() for each in chosen]
    whole = Findings.from_numpy(np.concatenate([as_cells(part) for part in parts]), structure)
    for order in (2, 3):  # ratios count the records in which all are known
        expected = count_moments(whole, plan, n_groups=n_groups).ratios(order)
        assert taken.ratios(order).tolist() == expected.tolist()


def as_cells(findings):
    """Return 1 for present, 0 for absent and NaN for unknown."""
    cells = []
    for block in findings.blocks:
        present, unknown = block.unpacked()
        cells.append(present.astype(float))
        if unknown is not None:
            cells[-1][unknown] = np.nan
    return np.concatenate(cells)


def test_many_groups_have_one_copy_of_their_counts():
    """Sixteen threads had two of fifty groups, and all of them waited while these were added."""
    plan = MomentPlan.all_pairs(structure_with(4))
    assert len(tally.Tally(plan, 50, 16)._complete.records) == 50
    assert len(tally.Tally(plan, 1, 16)._complete.records) == 32
