"""The ways to count a plane, and counters that widen."""

import numpy as np

from conftest import random_records
from noisyor import Findings, MomentPlan, Structure, count_moments, datasets
from noisyor.moments import tally


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
