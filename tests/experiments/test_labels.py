"""The experiment of labels: codes and the truth with them, and what is judged of beliefs."""

import numpy as np
import pytest

from conftest import find_structures
from noisyor import datasets
from noisyor.experiments import labels
from noisyor.experiments.labels import ratios
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import ExperimentSettings


def test_the_truth_with_codes_has_their_rates(rng):
    network = labels.with_codes(datasets.figure1(rng=0))
    findings, diseases = network.sample(40_000, rng=1, return_diseases=True)
    code = findings.to_numpy()[:, -2]
    assert code[diseases[:, 0]].mean() == pytest.approx(labels.SENSITIVITY, abs=0.02)
    assert 1.0 - code[~diseases[:, 0]].mean() == pytest.approx(labels.SPECIFICITY, abs=0.002)
    drawn = labels.coded(diseases, rng)
    assert drawn[diseases].mean() == pytest.approx(labels.SENSITIVITY, abs=0.02)


def test_a_better_score_has_a_larger_area():
    diseases = np.array([[True], [False], [True], [False]])
    assert labels.mean_auc(diseases, np.array([[0.9], [0.1], [0.8], [0.2]])) == 1.0
    assert labels.mean_auc(diseases, np.array([[0.1], [0.9], [0.2], [0.8]])) == 0.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::noisyor.NoisyOrWarning")
def test_wrong_beliefs_that_matter_are_told():
    found = labels.told(datasets.clinic(), Cell("clinic", 3000, 0, "wrong beliefs"))
    assert found["wrong"] == found["right"] == 10.0
    assert 0.0 < found["told of those"] <= found["matter"] <= 10.0
    assert found["told of right"] <= 1.0


def test_all_cells_can_be_listed():
    found = labels.cells(ExperimentSettings())
    assert {cell.network for cell in found} == {"equal", "figure1", "clinic"}
    assert len(labels.cells(ExperimentSettings(quick=True))) < len(found)


def test_ratios_compare_the_same_samples():
    results = Results()
    errors = {"unlabelled": (0.2, 0.4, 0.3), "labels": (0.1, 0.5, 0.3), "labels alone": (1, 1, 1)}
    for method, values in errors.items():
        for seed in (2, 0, 1) if method == "labels" else range(3):  # as they were finished
            found = {"priors": values[seed], "failures": values[seed]}
            results.add(Cell("clinic", 20_000, seed, method), found)
    table = ratios(results)
    assert "| clinic | 20,000 | 300 | priors | 1.000 +- 0.192 (1 of 3 worse) |" in table
    assert table.count("0.300 +- 0.115 (0 of 3 worse)") == 2


def test_other_networks_have_one_label_in_a_hundred():
    cells = labels.cells(ExperimentSettings(structures=find_structures()))
    large = [cell for cell in cells if cell.n_records == 100_000]
    assert len(large) == (5 + 5) * 3
    assert sum(cell.run == ("clinic", 20_000, "labels") for cell in cells) == 20
    assert len(set(cells)) == len(cells)
    network = datasets.figure1(rng=0)
    sample = labels.Sample.drawn(network, Cell("tcc4e", 1000, 0, "labels"))
    assert sample.is_labelled.sum() == 10
