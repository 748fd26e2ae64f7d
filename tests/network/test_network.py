import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from conftest import as_lists, random_network
from noisyor import NoisyOrError, NoisyOrNetwork, Parameters, Structure, datasets
from noisyor.flags import Flag

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.booleans())
def test_moments_agree_with_the_sum_over_all_disease_states(seed, extremes):
    rng = np.random.default_rng(seed)
    network = random_network(rng, extremes=extremes)
    priors, failures, leaks = as_lists(network)
    n_symptoms = network.structure.n_symptoms
    for order in range(min(n_symptoms, 3) + 1):
        for symptoms in itertools.combinations(range(n_symptoms), order):
            exact = naive.negative_moment(priors, failures, leaks, symptoms)
            assert network.negative_moment(symptoms) == pytest.approx(exact, abs=1e-12)
    for order, moments in (2, network.pair_moments), (3, network.triplet_moments):
        sets = list(itertools.permutations(range(n_symptoms), order))
        exact = [naive.negative_moment(priors, failures, leaks, each) for each in sets]
        np.testing.assert_allclose(moments(sets), exact, atol=1e-12, rtol=0)
    exact = [1 - naive.negative_moment(priors, failures, leaks, [j]) for j in range(n_symptoms)]
    np.testing.assert_allclose(network.marginals(), exact, atol=1e-12, rtol=0)


@given(SEEDS)
def test_influences_multiply_to_the_negative_moment(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    priors, failures, leaks = as_lists(network)
    symptoms = np.flatnonzero(rng.random(network.structure.n_symptoms) < 0.5).tolist()
    product = np.prod([1 - leaks[j] for j in symptoms])
    for disease in range(network.structure.n_diseases):
        exact = naive.influence(priors, failures, disease, symptoms)
        assert network.influence(disease, symptoms) == pytest.approx(exact, abs=1e-14)
        product *= exact
    assert network.negative_moment(symptoms) == pytest.approx(product, abs=1e-12)


def test_a_rare_symptom_keeps_its_digits():
    structure = Structure.from_matrix([[1]])
    network = NoisyOrNetwork(structure, priors=[1e-12], failures=[0.5], leaks=[1e-15])
    assert network.marginals()[0] == pytest.approx(0.5e-12 + 1e-15, rel=1e-9)


def test_names_and_indices_mean_the_same():
    network = datasets.clinic()
    by_name = network.negative_moment(["fever", "cough"])
    indices = network.structure.symptom_indices(["fever", "cough"])
    assert by_name == network.negative_moment(indices) == network.pair_moments([indices])[0]


def test_parameters_are_copied_and_cannot_be_changed():
    priors = np.array([0.1])
    network = NoisyOrNetwork(Structure.from_matrix([[1]]), priors, [0.5], [0.01])
    priors[0] = 0.9
    assert network.priors[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        network.priors[0] = 0.9


def test_nothing_can_be_changed():
    import copy
    import pickle

    network = datasets.figure1(0)
    with pytest.raises(AttributeError, match="a NoisyOrNetwork cannot be changed"):
        network.priors = np.array([7.0, 7.0])
    assert copy.deepcopy(network) is network
    assert pickle.loads(pickle.dumps(network)) == network  # noqa: S301 - as worker processes get it
    findings = network.sample(100, rng=0)
    with pytest.raises(AttributeError, match="a Findings cannot be changed"):
        findings.n_records = 3
    assert pickle.loads(pickle.dumps(findings)) == findings  # noqa: S301


def test_equality_and_hash():
    one, same, other = (datasets.figure1(seed) for seed in (1, 1, 2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != one.structure


def test_json_keeps_every_digit(tmp_path):
    for seed in range(20):
        network = random_network(np.random.default_rng(seed), extremes=True)
        network.save(tmp_path / "network.json")
        assert NoisyOrNetwork.load(tmp_path / "network.json") == network
        assert Structure.load(tmp_path / "network.json") == network.structure


def test_a_file_of_version_1_stays_readable(tmp_path):
    """The format as docs/formats.md tells it, written by hand, edges in another order."""
    (tmp_path / "network.json").write_text(
        '{"format": "noisyor.network", "version": 1, "diseases": ["flu", "cold"],'
        '"priors": [0.1, 0.2], "symptoms": ["fever", "cough"], "leaks": [0.01, 0.02],'
        '"edges": [[1, 1], [0, 1], [0, 0]], "failures": [0.5, 0.4, 0.3]}'
    )
    network = NoisyOrNetwork.load(tmp_path / "network.json")
    assert network.structure.edges.tolist() == [[0, 0], [0, 1], [1, 1]]
    assert network.failures.tolist() == [0.3, 0.4, 0.5]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "its 'format' is 'other'"),
        ({"version": 5}, "has version 5 of noisyor.network; this noisyor reads up to version 4"),
        ({"version": "1"}, "'version' must be a whole number"),
        ({"priors": [0.1, 1.2]}, "network.json: priors: 1.2 of disease 'B'"),
        ({"priors": [0.1, None]}, "'priors' entry 1 is None, not a number"),
        ({"priors": [0.1, 10**400]}, "'priors' entry 1 is 1000.*, not a number"),
        ({"priors": [0.1]}, "needs 2 values"),
        ({"failures": [0.5]}, "needs 7 values"),
        ({"leaks": "none"}, "'leaks' must be a list"),
        ({"diseases": ["A", 7]}, "'diseases' entry 1 is 7, not a name"),
        ({"diseases": ["A", "A"]}, "network.json: disease name 'A' is given twice"),
        ({"edges": [[0, 9]]}, "network.json: edge 0 names symptom 9"),
        ({"edges": [[0, 1.5]]}, "'edges' entry 0 is .*, not two indices"),
        ({"edges": [[0]]}, "'edges' entry 0 is .*, not two indices"),
        ({"edges": None}, "'edges' must be a list"),
    ],
)
def test_what_is_wrong_in_a_json_file_is_named(tmp_path, change, message):
    path = tmp_path / "network.json"
    datasets.figure1(0).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrNetwork.load(path)


def test_flags_there_and_back(tmp_path):
    path, network = tmp_path / "network.json", datasets.figure1(0)
    network.save(path)
    assert json.loads(path.read_text())["version"] == 1  # nothing in it is new
    assert NoisyOrNetwork.load(path).flags is None
    sizes = 2, 7, 5
    flags = Parameters(*(np.arange(size) % 3 * Flag.WEAK | Flag.FIXED for size in sizes))
    flagged = network.with_flags(flags)
    flagged.save(path)
    assert NoisyOrNetwork.load(path).flags == flags
    assert NoisyOrNetwork.load(path) == flagged == network
    assert pickle.loads(pickle.dumps(flagged)).flags == flags  # noqa: S301
    assert Structure.load(path) == network.structure
    document = json.loads(path.read_text())
    assert document["version"] == 2
    document["edges"].reverse()
    document["failures"].reverse()
    document["flags"]["failures"].reverse()
    path.write_text(json.dumps(document))
    assert NoisyOrNetwork.load(path).flags == flags


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "'flags' must be an object with the keys priors, failures, leaks"),
        ({}, "'flags': 'priors' is missing"),
        ({"priors": [""]}, "'flags': 'priors' has 1 entries, not 2"),
        ({"priors": ["", 3]}, "'flags': 'priors' entry 1 is 3, not a name"),
        ({"priors": ["", "sad"]}, "'flags': 'priors': there is no flag 'sad'; known: clipped"),
    ],
)
def test_what_is_wrong_with_flags_is_named(tmp_path, flags, message):
    path = tmp_path / "network.json"
    datasets.figure1(0).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 2, "flags": flags}))
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrNetwork.load(path)
    with pytest.raises(NoisyOrError, match=r"the flags are \(1, 1, 1\) in number"):
        datasets.figure1(0).with_flags(Parameters([0], [0], [0]))


def test_a_disease_may_rest_on_its_prior_its_failures_and_leaks():
    network = datasets.figure1(0)
    assert network.disease_flags() is None
    none = Parameters.full(network.structure, 0, np.uint16)
    failures = none.failures.copy()
    failures[network.structure.edge_index("B", "d")] = Flag.WEAK | Flag.FIXED
    flagged = network.with_flags(Parameters([Flag.FIXED, Flag.NO_ERROR], failures, none.leaks))
    assert flagged.disease_flags().tolist() == [0, Flag.NO_ERROR | Flag.WEAK]
    leaks = none.leaks.copy()
    leaks[network.structure.symptom_index("a")] = Flag.CLIPPED
    more = flagged.with_flags(Parameters(none.priors, none.failures, leaks))
    assert more.disease_flags().tolist() == [Flag.CLIPPED, Flag.NO_ERROR | Flag.WEAK]


def test_a_missing_key_is_named(tmp_path):
    path = tmp_path / "network.json"
    datasets.figure1(0).save(path)
    document = json.loads(path.read_text())
    for key in "priors", "leaks", "failures", "edges", "diseases", "symptoms":
        path.write_text(json.dumps({name: document[name] for name in document if name != key}))
        with pytest.raises(NoisyOrError, match=f"'{key}' is missing"):
            NoisyOrNetwork.load(path)
