"""Bounds on posteriors: they contain the exact values."""

import numpy as np

import naive
from conftest import as_lists
from inference.patients import grid, random_patient
from noisyor import NoisyOrNetwork, Structure, datasets, posterior, posteriors
from noisyor.inference.bounds import BoundSettings, bound_record
from noisyor.inference.flat import Evidence, block_records, flat_network
from noisyor.inference.record_kernels import listed


def test_bounds_contain_the_exact_value(rng):
    for number in range(150):
        network, row, present, absent = random_patient(rng)
        total, expected, _, _ = naive.expectations(*as_lists(network), row)
        net = flat_network(network)
        symptoms = np.array(present + absent, dtype=np.int32)
        is_present = np.arange(len(symptoms)) < len(present)
        # From nothing exact in one leaf to a few of both.
        operations = [-1.0, 30.0, 0.0, 100.0][number % 4]
        settings = BoundSettings([1, 1, 3, 8][number % 4], operations, 0.0)
        found = bound_record(net, Evidence(symptoms, is_present, True), settings)
        assert found.log_lower <= np.log(total) + 1e-9
        assert found.log_upper >= np.log(total) - 1e-9
        assert (found.lower <= np.array(expected) + 1e-12).all()
        assert (found.upper >= np.array(expected) - 1e-12).all()
        assert (found.lower <= found.probabilities).all()
        assert (found.probabilities <= found.upper).all()


def test_more_leaves_make_tighter_bounds():
    clinic = datasets.clinic()
    records = block_records(clinic.sample(64, rng=5).blocks[0])
    net = flat_network(clinic)
    widths = []
    for n_leaves in (1, 4, 16, 64):
        errors = []
        for record in range(64):
            evidence = listed(records, record)._replace(others_unknown=True)
            settings = BoundSettings(n_leaves, -1.0, 0.0)
            errors.append(bound_record(net, evidence, settings).error)
        widths.append(np.mean(errors))
    assert all(np.diff(widths) < 0.0)
    assert widths[-1] < widths[0] / 5.0


def test_the_bounds_of_a_large_network_contain_what_is_exact():
    network = datasets.qmr_shaped(0)
    sampled = network.sample(400, rng=2).to_numpy()
    sizes = sampled.sum(axis=1)
    rows = sampled[(sizes >= 8) & (sizes <= 16)][:8]
    exact = posteriors(network, rows, method="exact", budget=10.0)
    bounded = posteriors(network, rows, method="variational")
    assert exact.is_exact.all()
    assert (bounded.log_evidences <= exact.log_evidences + 1e-9).all()
    assert (bounded.log_evidence_uppers >= exact.log_evidences - 1e-9).all()
    gaps = np.abs(bounded.probabilities - exact.probabilities).max(axis=1)
    assert (gaps <= bounded.errors).all()
    assert np.median(bounded.errors) < 0.05


def test_mean_field_bounds_the_evidence_and_claims_no_more(rng):
    for _ in range(60):
        network, row, present, absent = random_patient(rng, extremes=False)
        total, _, _, _ = naive.expectations(*as_lists(network), row)
        found = posterior(network, present, absent, method="mean_field")
        assert found.method == "mean_field"
        assert np.isnan(found.error)
        assert found.log_evidence <= np.log(total) + 1e-9


def test_bounds_stay_bounds_however_far_apart():
    small, _ = grid(12)
    matrix = np.ones((25, 144))
    matrix[:24] = 0
    matrix[tuple(small.structure.edges.T)] = 1
    structure = Structure.from_matrix(matrix)
    failures = np.full(structure.n_edges, 0.05)
    failures[structure.edges[:, 0] == 24] = 0.99
    network = NoisyOrNetwork(
        structure, [*small.priors, 1.0], failures, np.full(structure.n_symptoms, 0.001)
    )
    for method in "gibbs", "mean_field", "variational":
        found = posterior(network, list(range(144)), method=method, budget=0.05)
        assert (found.bound_lower <= found.probabilities).all()
        assert (found.probabilities <= found.bound_upper).all()
        assert (found.bound_upper <= 1.0).all()
        assert found.log_evidence <= found.log_evidence_upper
        assert found.bound_upper[24] == 1.0
