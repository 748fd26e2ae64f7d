"""evaluate_diagnoses: against loops over sums over all states, with labels of every kind."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import naive
from conftest import as_lists, random_network
from noisyor import (
    Findings,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    datasets,
    evaluate_diagnoses,
)
from noisyor.evaluation.diagnoses import evaluate_posteriors
from noisyor.evaluation.scores import LEAST
from noisyor.inference import posteriors


def sampled(network, n, rng):
    """Records, and labels of which every fifth is missing."""
    findings, diseases = network.sample(n, rng=rng, return_diseases=True)
    labels = np.where(rng.random(diseases.shape) < 0.2, np.nan, diseases.astype(float))
    return findings, labels


def check_scores(found, p, y, ranks):
    """Compare scores with loops over the known labels."""
    assert (found.n_labels, found.n_present) == (len(y), sum(y))
    assert found.brier == pytest.approx(naive.brier(p, y))
    assert found.log_score == pytest.approx(naive.log_score(p, y, LEAST))
    assert found.mean_probability == pytest.approx(np.mean(p))
    assert found.calibration_error == pytest.approx(naive.calibration(p, y, 10)[1])
    assert found.net_benefits[24] == pytest.approx(naive.net_benefit(p, y, 0.25))
    of_cases = [rank for rank, label in zip(ranks, y, strict=True) if label]
    assert found.n_in_top.tolist() == [sum(rank <= k for rank in of_cases) for k in (1, 3, 5)]
    if 0 < sum(y) < len(y):
        assert found.auc.value == pytest.approx(naive.auc(p, y))
        assert not found.why_no_auc
    else:
        assert np.isnan(found.auc).all()


def test_scores_are_those_of_sums_over_all_states(rng):
    for _ in range(25):
        network = random_network(rng, 4, 5)
        findings, labels = sampled(network, 30, rng)
        found = evaluate_diagnoses(network, findings, labels)
        rows = findings.to_numpy().astype(float)
        right = np.array([naive.expectations(*as_lists(network), row)[1] for row in rows])
        right = np.reshape(naive.without_rounding_errors(right.ravel(), 1e-12), right.shape)
        cells = []
        for k, scores in enumerate(found.diseases):
            known = np.flatnonzero(~np.isnan(labels[:, k]))
            p, y = right[known, k].tolist(), [int(label) for label in labels[known, k]]
            ranks = [naive.rank_in_record(right[i].tolist(), k) for i in known]
            check_scores(scores, p, y, ranks)
            assert scores.disease == network.structure.diseases[k]
            cells += zip(p, y, ranks, strict=True)
        check_scores(found.overall, *(list(each) for each in zip(*cells, strict=True)))
        n_labelled = int((~np.isnan(labels)).any(axis=1).sum())
        assert found.methods == {"exact": n_labelled}
        assert (found.n_records, found.n_unlabelled) == (n_labelled, 30 - n_labelled)
        aucs = [each.auc.value for each in found.diseases if not each.why_no_auc]
        if aucs:
            assert found.mean_auc.value == pytest.approx(np.mean(aucs))


CLINIC = datasets.clinic()


@pytest.fixture(scope="module")
def clinic_records():
    findings, diseases = CLINIC.sample(300, rng=0, return_diseases=True)
    ids = [f"p{number}" for number in range(300)]
    return Findings.from_numpy(findings.to_numpy(), CLINIC.structure, record_ids=ids), diseases


def frame_of(findings, diseases):
    frame = pd.DataFrame(diseases.astype(float), columns=list(CLINIC.structure.diseases))
    return frame.assign(record=findings.record_ids.to_pylist())


def test_labels_are_joined_by_id_and_only_their_records_are_asked(clinic_records, tmp_path):
    findings, diseases = clinic_records
    frame = frame_of(findings, diseases)
    shuffled = frame.sample(80, random_state=0).loc[:, ["record", "influenza", "asthma"]]
    shuffled.to_csv(tmp_path / "labels.csv", index=False)
    found = evaluate_diagnoses(CLINIC, findings, tmp_path / "labels.csv")
    array = np.full(diseases.shape, np.nan)
    for name in "influenza", "asthma":
        k = CLINIC.structure.diseases.index(name)
        array[shuffled.index, k] = diseases[shuffled.index, k]
    assert found == evaluate_diagnoses(CLINIC, findings, array)
    assert found == evaluate_diagnoses(CLINIC, findings, shuffled)
    assert (found.n_records, found.n_unlabelled) == (80, 220)
    assert found.methods == {"exact": 80}
    assert found.of("influenza").n_labels == 80
    assert found.of("anaemia").why_no_auc == "no labels"
    assert len(found.without_auc) >= 18
    assert "220 records are without a label" in " ".join(found.sentences())


def test_ids_that_do_not_match_are_counted_and_told(clinic_records):
    findings, diseases = clinic_records
    frame = frame_of(findings, diseases)
    right = evaluate_diagnoses(CLINIC, findings, frame[:50])
    more = pd.concat([frame[:50], frame[50:53].assign(record=["x", "y", "z"])])
    with pytest.warns(NoisyOrWarning, match="3 of 53 labels belong to no record .'x', 'y', 'z'."):
        found = evaluate_diagnoses(CLINIC, findings, more)
    assert found == right
    with pytest.raises(NoisyOrError, match="has other ids than the records"):
        evaluate_diagnoses(CLINIC, findings, frame.assign(record=[f"q{i}" for i in range(300)]))


def test_diseases_without_both_kinds_of_labels_say_so(clinic_records):
    findings, diseases = clinic_records
    labels = diseases.astype(float)
    labels[:, 0], labels[:, 1], labels[:, 2] = 0.0, 1.0, np.nan
    found = evaluate_diagnoses(CLINIC, findings, labels)
    reasons = {scores.disease: scores.why_no_auc for scores in found.diseases[:3]}
    assert list(reasons.values()) == ["no label says present", "no label says absent", "no labels"]
    assert reasons.items() <= found.without_auc.items()
    assert np.isnan(found.diseases[0].top_shares).all()
    assert found.diseases[0].brier > 0.0
    assert np.isnan([found.diseases[2].brier, found.diseases[2].log_score]).all()
    rows = found.table().to_pylist()
    assert [row["note"] for row in rows[1:4]] == [f"no AUC: {why}" for why in reasons.values()]
    assert rows[1]["auc"] is None
    told = " ".join(found.sentences())
    assert "no AUC (no label says present): 'influenza'" in told
    assert "1 disease has no AUC (no label says absent): 'common cold'." in told
    labels[:] = 0.0
    nothing = evaluate_diagnoses(CLINIC, findings, labels)
    assert nothing.overall.why_no_auc == "no label says present"
    assert np.isnan(nothing.mean_auc).all()
    assert "no AUC" in repr(nothing)


@pytest.mark.slow
def test_posteriors_that_are_not_exact_are_counted_and_told(clinic_records):
    findings, diseases = clinic_records
    for method, words in (("gibbs", "are sampled"), ("mean_field", "of unknown error")):
        found = evaluate_diagnoses(CLINIC, findings, diseases, method=method, budget=0.001, rng=0)
        assert found.methods == {method: 300}
        assert any(
            f"Of 300 records the posteriors {words}" in s or words in s for s in found.sentences()
        )
        assert "All posteriors are exact." not in found.sentences()
    bounded = evaluate_diagnoses(CLINIC, findings, diseases, method="variational")
    assert bounded.methods == {"variational": 300}
    assert any("between bounds" in text for text in bounded.sentences())


STRUCTURE = Structure.from_edges([("flu", "fever"), ("cold", "cough"), ("cold", "fever")])
STRICT = NoisyOrNetwork(STRUCTURE, [0.3, 0.0], [0.5, 0.5, 0.5], [0.1, 0.0])


def test_impossible_records_are_left_out_and_told():
    """A cough has no cause in this network."""
    records = [[0, 0], [1, 0], [1, 1], [0, 1]]
    labels = [[0, 0], [1, 0], [1, 1], [0, 1]]
    found = evaluate_diagnoses(STRICT, records, labels)
    assert found.methods == {"exact": 2, "impossible": 2}
    assert (found.n_records, found.n_without_posterior, found.overall.n_labels) == (2, 2, 4)
    assert "2 labelled records are impossible under the network, and left out." in found.sentences()
    with pytest.raises(NoisyOrError, match="none of the 2 labelled records has a posterior"):
        evaluate_diagnoses(STRICT, records[2:], labels[2:])


def test_labels_against_certainty_are_told():
    found = evaluate_diagnoses(STRICT, [[1, 0], [0, 0]], [[1, 1], [0, 0]])
    assert found.of("cold").n_contradicted == found.overall.n_contradicted == 1
    assert found.of("cold").log_score == pytest.approx(np.log(LEAST) / 2)
    assert any("1 label had a probability of 0" in text for text in found.sentences())


def test_an_estimate_and_covariates_are_taken():
    rng = np.random.default_rng(0)
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(2) for x in range(3)])
    age = rng.choice([-1.0, 1.0], 400)
    has = rng.random((400, 2)) < 1.0 / (1.0 + np.exp(-np.outer(age, [2.0, -2.0])))
    shown = np.repeat(has, 3, axis=1) & (rng.random((400, 6)) < 0.5)
    people = pd.DataFrame({"age": age})
    estimate = NoisyOrLearner(structure).fit(shown, covariates=people).estimate_
    labels = np.where(np.arange(400)[:, np.newaxis] < 300, has, np.nan)
    found = evaluate_diagnoses(estimate, shown, labels, covariates=people)
    right = posteriors(estimate, shown[:300], covariates=people[:300])
    assert found == evaluate_posteriors(right, np.ones((300, 2), bool), has[:300], n_unlabelled=100)
    without = evaluate_diagnoses(estimate, shown, labels)
    assert without.overall.log_score < found.overall.log_score
    with pytest.raises(NoisyOrError, match="has no covariates"):
        evaluate_diagnoses(CLINIC, CLINIC.sample(400, rng=0), np.ones((400, 20)), covariates=people)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "give the labels"),
        ([[1, 0]], "there are labels of 1 record, but findings of 2"),
        ([[1], [0]], r"of the shape records x 2 diseases, not \(2, 1\)"),
        ([[1, 2], [0, 0]], "labels must be 1"),
        ([["a", "b"], ["c", "d"]], "labels must be 1"),
        ([[np.nan, None], [None, None]], "none of the 2 records has a label"),
        (pa.table({"flue": [1, 0]}), "'flue' holds labels, but the structure has no such disease"),
        (pa.table({"ward": ["x", "y"]}), "no column that is named after a disease"),
        (pa.table({"flu": [1, 0], "clod": [1, 0]}), "no such disease; did you mean 'cold'"),
        (pa.table({"flu": [1, 0], "FLU": [1, 0]}), "'flu' and 'FLU' are the same disease"),
        (pa.table({"flu": [1]}), "has 1 row for 2 records"),
        (pa.table({"flu": [1, 0], "record": [1, 2]}), "but the records have none"),
        (pa.table({"flu": ["perhaps", "no"]}), "'perhaps' is not"),
        ("nowhere.csv", "nowhere.csv does not exist"),
    ],
)
def test_what_is_wrong_with_labels_is_named(labels, message):
    with pytest.raises(NoisyOrError, match=message):
        evaluate_diagnoses(STRICT, [[0, 0], [1, 0]], labels)


def test_other_misuse_is_named(clinic_records):
    findings, diseases = clinic_records
    with pytest.raises(NoisyOrError, match="another structure"):
        evaluate_diagnoses(STRICT, findings, diseases)
    with pytest.raises(NoisyOrError, match="method"):
        evaluate_diagnoses(CLINIC, findings, diseases, method="magic")
    with pytest.raises(NoisyOrError, match="budget"):
        evaluate_diagnoses(CLINIC, findings, diseases, budget=-1.0)
    with pytest.raises(NoisyOrError, match="there is no disease 'gout'"):
        evaluate_diagnoses(CLINIC, findings, diseases).of("gout")


def test_a_better_network_scores_better(clinic_records):
    """The control: with its priors shuffled and failures drawn anew the network knows less."""
    findings, diseases = clinic_records
    rng = np.random.default_rng(0)
    other = NoisyOrNetwork(
        CLINIC.structure, rng.permutation(CLINIC.priors), rng.uniform(0.1, 0.9, 120), CLINIC.leaks
    )
    right, wrong = (evaluate_diagnoses(each, findings, diseases) for each in (CLINIC, other))
    assert right.overall.auc.value > wrong.overall.auc.value
    assert right.overall.log_score > wrong.overall.log_score
    assert right.overall.brier < wrong.overall.brier
    treat_all, never = right.overall.treat_all(), 0.0
    assert (right.overall.net_benefits >= np.maximum(treat_all, never) - 1e-9).all()


def test_wrong_priors_show_in_the_calibration():
    findings, diseases = CLINIC.sample(2000, rng=1, return_diseases=True)
    for factor in 1.0, 4.0:
        priors = np.minimum(CLINIC.priors * factor, 0.5)
        network = NoisyOrNetwork(CLINIC.structure, priors, CLINIC.failures, CLINIC.leaks)
        found = evaluate_diagnoses(network, findings, diseases).overall
        is_chance = found.calibration_error < 2.5 * found.calibration_by_chance
        assert is_chance == (factor == 1.0)


def test_options_that_an_array_does_not_heed_are_refused():
    clinic = datasets.clinic()
    findings, diseases = clinic.sample(50, rng=0, return_diseases=True)
    with pytest.raises(NoisyOrError, match="no options to read: 'invert'"):
        evaluate_diagnoses(clinic, findings.to_numpy(), diseases, invert=True)
