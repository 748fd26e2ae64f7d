"""Posteriors of one record and of many against sums over all states of the diseases."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import naive
from conftest import as_lists
from inference.patients import random_patient
from noisyor import (
    Findings,
    NoisyOrError,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    best_questions,
    datasets,
    explain,
    most_probable,
    posterior,
    posteriors,
)


def test_exact_posteriors_agree_with_sums_over_all_states(rng):
    for _ in range(300):
        network, row, present, absent = random_patient(rng)
        total, expected, _, _ = naive.expectations(*as_lists(network), row)
        found = posterior(network, present, absent)
        assert found.method == "exact"
        assert found.log_evidence == pytest.approx(np.log(total), rel=1e-9, abs=1e-9)
        assert found.probabilities == pytest.approx(expected, rel=1e-9, abs=1e-11)
        assert found.error < 1e-9
        assert (found.bound_lower <= found.probabilities).all()


def test_the_rounding_error_is_bounded(rng):
    # Against sums in exact fractions: the bound must hold, and not be absurd.
    for number in range(30):
        network, row, present, absent = random_patient(rng, 4, 6)
        if number % 2:  # 1 - (1 - leak) would lose all digits
            tiny = np.where(network.leaks < 1.0, 1e-12 * network.leaks, 1.0)
            network = NoisyOrNetwork(network.structure, network.priors, network.failures, tiny)
        numbers = as_lists(network)
        exact = (
            [Fraction(p) for p in numbers[0]],
            [[Fraction(f) for f in fs] for fs in numbers[1]],
            [Fraction(leak) for leak in numbers[2]],
        )
        _, expected, _, _ = naive.expectations(*exact, row)
        found = posterior(network, present, absent)
        for p, truth in zip(found.probabilities.tolist(), expected, strict=True):
            assert abs(Fraction(p) - truth) <= Fraction(found.error)
        assert found.error < 1e-10


def test_weak_causes_keep_their_digits():
    structure = Structure.from_edges([("a", "x"), ("b", "x")])
    for leak in (1e-4, 1e-6, 1e-9):
        network = NoisyOrNetwork(structure, [0.3, 0.3], [1.0 - leak] * 2, [leak])
        p, f, q = (Fraction(value) for value in (0.3, float(network.failures[0]), leak))
        both, one, none = (1 - (1 - q) * f**2, 1 - (1 - q) * f, q)
        within = p * (p * both + (1 - p) * one)
        truth = within / (within + (1 - p) * (p * one + (1 - p) * none))
        found = posterior(network, ["x"])
        assert abs(Fraction(float(found.probabilities[0])) - truth) <= Fraction(found.error)
        assert found.error < 1e-12


def test_batches_are_the_same_as_single_patients(rng):
    network = datasets.clinic()
    rows = network.sample(70, rng=3).to_numpy().astype(float)
    for share in (0.0, 0.2, 0.8):  # mostly known, mostly unknown: listed in different ways
        rows[rng.random(rows.shape) < share] = np.nan
        found = posteriors(network, rows)
        assert len(found) == 70
        for record in range(0, 70, 7):
            present, absent = np.flatnonzero(rows[record] == 1), np.flatnonzero(rows[record] == 0)
            single = posterior(network, present.tolist(), absent.tolist())
            assert found.probabilities[record] == pytest.approx(single.probabilities, abs=1e-11)
            assert found.log_evidences[record] == pytest.approx(single.log_evidence, abs=1e-9)


def test_posteriors_are_calibrated():
    # Of the diseases given 20% to 30%, 20% to 30% must be there.
    network = datasets.clinic()
    findings, diseases = network.sample(40_000, rng=8, return_diseases=True)
    found = posteriors(network, findings).probabilities
    for low in np.arange(0.0, 1.0, 0.1):
        chosen = (found >= low) & (found < low + 0.1)
        expected, n = found[chosen].mean(), chosen.sum()
        margin = 5.0 * np.sqrt(expected * (1.0 - expected) / n)
        assert diseases[chosen].mean() == pytest.approx(expected, abs=margin)
        # A negative control: the posteriors of the next record are not calibrated for this one.
    shifted = np.roll(found, 1, axis=0)
    chosen = shifted > 0.9
    assert diseases[chosen].mean() < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"present": "fever"}, "not the single text 'fever'"),
        ({"present": ["fevr"]}, "did you mean 'fever'"),
        ({"present": ["fever"], "absent": ["fever"]}, "'fever' is given twice"),
        ({"method": "magic"}, "there is no method 'magic'"),
        ({"budget": 0.0}, "budget must be a number of seconds above 0"),
        ({"budget": float("inf")}, "budget must be a number of seconds"),
        ({"budget": "1"}, "budget must be a number of seconds"),
        ({"rng": -1}, "rng must be a whole number"),
        ({"rng": 2**64}, "rng must be a whole number"),
        ({"draws": 1.5}, "draws must be a whole number"),
        ({"present": None}, "give a list of symptoms, not None"),
        ({"network": 3}, "expected a NoisyOrNetwork or an Estimate, not int"),
    ],
)
def test_wrong_questions(arguments, message):
    with pytest.raises(NoisyOrError, match=message):
        posterior(**({"network": datasets.clinic()} | arguments))


def test_exact_refuses_what_takes_too_long():
    structure = Structure.from_matrix(np.ones((40, 40)))
    network = NoisyOrNetwork(structure, np.full(40, 0.1), np.full(1600, 0.5), np.full(40, 0.01))
    with pytest.raises(NoisyOrError, match="40 present findings are too many for exact"):
        posterior(network, list(range(40)), method="exact")
    found = posterior(network, list(range(40)), budget=0.1)
    assert found.method in ("variational", "gibbs")
    assert 0.0 < found.error < 1.0


def test_no_records_have_no_posteriors():
    clinic = datasets.clinic()
    found = posteriors(clinic, Findings.from_numpy(np.empty((0, 60)), clinic.structure))
    assert found.probabilities.shape == (0, 20)


def test_a_network_without_diseases_has_evidence_only():
    structure = Structure(["a"], ["x", "y"], np.empty((0, 2), dtype=int)).subset(diseases=[])
    network = NoisyOrNetwork(structure, [], [], [0.2, 0.5])
    found = posterior(network, ["x"], ["y"])
    assert found.log_evidence == pytest.approx(np.log(0.1))
    assert len(found.probabilities) == 0


def test_an_estimate_can_be_asked_for_many_records():
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, rng=0))
    records = clinic.sample(10, rng=1)
    by_estimate, by_network = (
        posteriors(each, records) for each in (learner.estimate_, learner.network_)
    )
    assert np.array_equal(by_estimate.probabilities, by_network.probabilities)
    with pytest.raises(NoisyOrError, match="another structure"):
        posteriors(clinic, datasets.figure1(0).sample(3, rng=0))


def test_what_is_impossible_is_explained():
    structure = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])
    network = NoisyOrNetwork(structure, [0.1, 1.0], [0.0, 0.5, 0.0], [0.0, 0.1])
    with pytest.raises(NoisyOrError, match="'cough' is absent, but 'cold' is certain"):
        posterior(network, ["fever"], ["cough"])
    network = NoisyOrNetwork(structure, [0.0, 0.2], [0.0, 0.5, 0.0], [0.0, 1.0])
    with pytest.raises(NoisyOrError, match="'fever' is present, but nothing can have caused it"):
        posterior(network, ["fever"])
    with pytest.raises(NoisyOrError, match="'cough' is absent, but its leak is 1"):
        posterior(network, [], ["cough"])
    found = posteriors(network, [[1, 1], [0, 1]])
    assert found.method_names == ["impossible", "exact"]
    assert np.isnan(found.probabilities[0]).all()
    assert found.log_evidences[0] == -np.inf
    for question in best_questions, most_probable, explain:
        with pytest.raises(NoisyOrError, match="impossible"):
            question(network, ["fever"])
    for method in "gibbs", "mean_field", "variational":
        with pytest.raises(NoisyOrError, match="'fever' is present, but nothing"):
            posterior(network, ["fever"], method=method)
        assert posteriors(network, [[1, 1]], method=method).method_names == ["impossible"]


def test_a_cause_is_not_left_out_because_it_is_improbable():
    """Without y, the disease has a probability of 1e-308: it was taken for 0."""
    structure = Structure.from_edges([("a", "x"), ("a", "y")])
    network = NoisyOrNetwork(structure, [1e-300], [0.0, 1e-8], [1e-307, 0.0])
    found = posterior(network, ["x"], ["y"], method="exact")
    assert found.probabilities == pytest.approx([1 / 11], rel=1e-9)


def test_what_is_too_improbable_for_numbers_is_refused():
    """Numbers below 2.2e-308 have few digits: answers were NaN."""
    structure = Structure.from_edges([("a", "x"), ("a", "y")])
    network = NoisyOrNetwork(structure, [1e-300], [0.5, 1e-11], [0.0, 0.0])
    for method in "exact", "gibbs", "auto":
        with pytest.raises(NoisyOrError, match="less probable than the smallest number"):
            posterior(network, ["x"], ["y"], method=method)


def test_posteriors_keep_the_ids_of_their_records():
    clinic = datasets.clinic()
    names = clinic.structure.symptoms
    findings = Findings.from_numpy(np.eye(2, 60), clinic.structure, record_ids=["m0", "m1"])
    found = posteriors(clinic, findings)
    assert found.record_ids == ("m0", "m1")
    assert found.table().to_pandas()["record"].tolist() == ["m0", "m1"]
    rows = {"record": ["x", "y"]} | {name: [1, 0] for name in names}
    assert posteriors(clinic, pa.table(rows)).record_ids == ("x", "y")
    assert posteriors(clinic, np.eye(2, 60)).table().to_pandas()["record"].tolist() == [0, 1]


def test_options_that_an_array_does_not_heed_are_refused():
    clinic = datasets.clinic()
    rows = clinic.sample(5, rng=0).to_numpy()
    with pytest.raises(NoisyOrError, match="no options to read: 'invert'"):
        posteriors(clinic, rows, invert=True)
