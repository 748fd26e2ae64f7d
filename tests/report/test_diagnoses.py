"""The section on diagnoses: the numbers of the evaluation, and only where there is one."""

import numpy as np
import pytest

from noisyor import NoisyOrNetwork, Structure, evaluate_diagnoses
from noisyor.report.diagnoses import MOST_DRAWN
from report.pages import HOSTILE


@pytest.fixture(scope="module")
def evaluation(clinic):
    findings, diseases = clinic.sample(400, rng=0, return_diseases=True)
    labels = diseases.astype(float)
    labels[:, 0], labels[:, 1] = 0.0, np.nan
    return evaluate_diagnoses(clinic, findings, labels)


def test_scores_are_those_of_the_evaluation(page_of, clinic, evaluation):
    page = page_of(clinic, evaluation=evaluation)
    assert "#diagnoses" in page.links
    for sentence in evaluation.sentences():
        assert sentence in page.text
    asthma = evaluation.of("asthma")
    values = f"{asthma.auc.value:.3f} {asthma.auc.lower:.3f} {asthma.auc.upper:.3f}"
    assert f"asthma 400 {asthma.n_present} {values} {asthma.brier:.4f}" in page.text
    assert "influenza 400 0 no label says present" in page.text
    assert "common cold 0 0 no labels" in page.text
    assert page.tags.count("figure") == 1 + 2 * (1 + MOST_DRAWN)


def test_a_page_without_labels_has_no_such_section(page_of, clinic):
    page = page_of(clinic)
    assert "#diagnoses" not in page.links
    assert "Diagnoses against labels" not in page.text


def test_labels_without_a_case_have_no_curves(page_of, clinic):
    findings = clinic.sample(50, rng=0)
    found = evaluate_diagnoses(clinic, findings, np.zeros((50, 20)))
    page = page_of(clinic, evaluation=found)
    assert page.tags.count("figure") == 1
    assert "all diseases 1,000 0 no label says present" in page.text


def test_names_do_nothing_but_show(page_of):
    structure = Structure.from_edges([(name, f"s{k}") for k, name in enumerate(HOSTILE[:4])])
    network = NoisyOrNetwork(structure, [0.3] * 4, [0.3] * 4, [0.1] * 4)
    findings, diseases = network.sample(200, rng=0, return_diseases=True)
    page = page_of(network, evaluation=evaluate_diagnoses(network, findings, diseases))
    assert HOSTILE[0] in page.text
    assert page.tags.count("script") == 2
