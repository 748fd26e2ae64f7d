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


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (([1.5, 0.1], [0.5] * 4, [0.1] * 3), r"priors: 1.5 of disease 'flu' \(entry 0\) is not"),
        (([0.1, np.nan], [0.5] * 4, [0.1] * 3), "priors: nan of disease 'cold'"),
        (([0.1], [0.5] * 4, [0.1] * 3), r"priors has the shape \(1,\), but .* needs 2 values"),
        (([0.1, 0.1], [0.5, -0.1, 0, 0], [0.1] * 3), "failures: -0.1 of the edge 'flu' to 'cough'"),
        (([0.1, 0.1], [0.5] * 4, [0.1, 0.1, 2]), "leaks: 2 of symptom 'runny nose'"),
        (([0.1, 0.1], ["high"] * 4, [0.1] * 3), "failures must be numbers"),
    ],
)
def test_what_is_no_probability_is_refused(flu, parameters, message):
    with pytest.raises(NoisyOrError, match=message):
        NoisyOrNetwork(flu, *parameters)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: n.negative_moment(["a", "a"]), "is named twice"),
        (lambda n: n.negative_moment("ab"), "not just 'ab'"),
        (lambda n: n.joint(3), "give a list of symptoms, not just 3"),
        (lambda n: n.negative_moment(["z"]), "no symptom named 'z'"),
        (lambda n: n.pair_moments([[0, 1, 2]]), "rows of 2 symptom indices"),
        (lambda n: n.pair_moments([[0, 9]]), "outside 0 to 4"),
        (lambda n: n.pair_moments([[0, -1]]), "outside 0 to 4"),
        (
            lambda n: n.triplet_moments([[0, 1, 2], [0, 1, 1]]),
            r"\[0, 1, 1\] names a symptom twice \(row 1\)",
        ),
        (lambda n: n.pair_moments([["a", "b"]]), "rows of whole numbers"),
        (lambda n: n.sample(-1), "records must be a whole number"),
        (lambda n: n.sample(1.5), "records must be a whole number"),
        (lambda n: n.sample(1, rng=-1), "rng must be a whole number from 0"),
        (
            lambda n: n.sample(1, rng="x"),
            "or a numpy Generator, not 'x'",
        ),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(NoisyOrError, match=message):
        call(datasets.figure1(0))


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


@given(SEEDS, st.booleans())
def test_the_joint_distribution_agrees_with_the_sum_over_all_disease_states(seed, extremes):
    rng = np.random.default_rng(seed)
    network = random_network(rng, extremes=extremes)
    order = int(rng.integers(0, min(network.structure.n_symptoms, 5) + 1))
    symptoms = rng.permutation(network.structure.n_symptoms)[:order].tolist()
    joint = network.joint(symptoms)
    assert joint.shape == (2,) * order
    for values in itertools.product([0, 1], repeat=order):
        given_values = dict(zip(symptoms, values, strict=True))
        exact = naive.joint_probability(*as_lists(network), given_values)
        assert joint[values] == pytest.approx(exact, abs=1e-12)


def test_the_joint_distribution_keeps_its_digits_at_order_20():
    network = random_network(np.random.default_rng(0), n_diseases=10, n_symptoms=20)
    joint = network.joint(range(20))
    assert (joint >= 0).all()
    assert joint.sum() == pytest.approx(1, abs=1e-12)
    # A tiny cell would be lost by inclusion and exclusion; here it is right to 12 digits.
    tiny = np.unravel_index(joint.argmin(), joint.shape)
    values = dict(enumerate(int(value) for value in tiny))
    exact = naive.joint_probability(*as_lists(network), values)
    assert joint[tiny] == pytest.approx(exact, rel=1e-12)
    assert joint[(0,) * 20] == pytest.approx(network.negative_moment(range(20)), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-5, 1e-10, 1e-15])
def test_the_joint_distribution_keeps_its_digits_where_all_is_rare(scale):
    """Every cell, compared with sums over disease states in exact fractions."""
    from fractions import Fraction

    structure = Structure.from_matrix([[1, 1, 0], [0, 1, 1]])
    network = NoisyOrNetwork(
        structure, [scale, 3 * scale], [0.5, 0.25, 0.5, 0.75], np.array([1, 2, 3]) * scale / 7
    )
    priors, failures, leaks = as_lists(network)
    exact_lists = (
        [Fraction(p) for p in priors],
        [[Fraction(f) for f in row] for row in failures],
        [Fraction(leak) for leak in leaks],
    )
    joint = network.joint(range(3))
    for values in itertools.product([0, 1], repeat=3):
        exact = naive.joint_probability(*exact_lists, dict(enumerate(values)))
        assert joint[values] == pytest.approx(float(exact), rel=1e-12)


def test_a_joint_distribution_of_21_symptoms_is_refused():
    with pytest.raises(NoisyOrError, match="21 symptoms is too large; at most 20"):
        datasets.clinic().joint(range(21))
