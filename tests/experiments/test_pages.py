"""What single experiments measure, and how much of it."""

import numpy as np

from noisyor import datasets
from noisyor.experiments import Settings, figure3, figure4, reproduce
from noisyor.experiments.diagnosis import records_with
from noisyor.experiments.identifiability import matching_edges
from noisyor.experiments.robustness import sample_correlated
from noisyor.experiments.sequential import enlarged


def test_table_1_is_that_of_the_paper(tmp_path):
    text = reproduce("table1", tmp_path, Settings(quick=True)).read_text(encoding="utf-8")
    assert "49 of its 49 entries are the same" in text
    assert "**Where they differ:** Nowhere." in text


def test_the_full_run_is_as_large_as_the_papers():
    cells = figure3.cells(Settings())
    assert {cell.n_records for cell in cells} >= {100, 1000, 10_000, 100_000}
    for method, n in (("sequential", 64), ("variational_em", 64), ("exact_em", 16)):
        assert len({cell.seed for cell in cells if cell.method == method}) == n
    assert figure3.RESTARTS["variational_em"] == 64
    assert figure3.RESTARTS["exact_em"] == 4
    sizes = {cell.n_records for cell in figure4.cells(Settings())}
    assert sizes >= {10_000, 100_000, 1_000_000, 10_000_000}


def test_dependent_diseases_come_together():
    network = datasets.clinic()
    truth = network.sample(50_000, seed=2).to_numpy()
    records = sample_correlated(network, 50_000, 0.0, seed=1)
    assert np.abs(records.mean(axis=0) - truth.mean(axis=0)).max() < 0.02
    # More often none, and more often many.
    dependent = sample_correlated(network, 50_000, 0.6, seed=1)
    assert dependent.sum(axis=1).std() > 1.1 * records.sum(axis=1).std()


def test_records_have_as_many_present_findings_as_asked_for():
    records = records_with(datasets.clinic(), 6, 20, seed=0)
    assert records.shape == (20, 60)
    assert (records.sum(axis=1) == 6).all()


def test_swapped_diseases_are_matched():
    network = datasets.figure2(0)
    structure = network.structure
    swapped = network.failures.copy()
    first, second = structure.edges_of(0), structure.edges_of(1)
    swapped[first], swapped[second] = network.failures[second], network.failures[first]
    edges = matching_edges(network, [(0, 1)], swapped)
    assert np.array_equal(swapped[edges], network.failures)


def test_an_enlarged_structure_has_as_many_edges():
    structure = enlarged(datasets.clinic().structure, 100, 300, 600)
    assert structure.n_diseases == 100
    assert abs(structure.n_edges - 600) < 60
