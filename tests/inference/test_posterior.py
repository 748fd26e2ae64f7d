"""Posteriors by every method against sums over all states of the diseases."""

import math
from fractions import Fraction

import numpy as np
import pytest

import naive
from conftest import as_lists
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
from noisyor.inference import answers
from noisyor.inference.bounds import Settings, bound_record
from noisyor.inference.intervals import NetworkWithErrors
from noisyor.inference.flat import block_records, flat_network


def random_patient(rng, most_diseases=6, most_symptoms=8, extremes=True):
    """Return a network, a record as the naive twin wants it, and its present and absent findings.

    Only records that are possible are given.
    """
    while True:
        n, m = int(rng.integers(1, most_diseases + 1)), int(rng.integers(1, most_symptoms + 1))
        structure = Structure.from_matrix(rng.random((n, m)) < rng.uniform(0.2, 0.9))
        failures = rng.uniform(0.0, 1.0, structure.n_edges)
        leaks = rng.uniform(0.05, 0.6, m) ** 3
        priors = rng.uniform(0.0, 1.0, n) ** 2
        if extremes:
            for values in failures, leaks, priors:
                chosen = rng.random(len(values)) < 0.1
                values[chosen] = rng.integers(0, 2, int(chosen.sum()))
        network = NoisyOrNetwork(structure, priors, failures, leaks)
        row = [[0, 1, None][k] for k in rng.choice(3, m, p=[0.25, 0.5, 0.25])]
        if sum(weight for _, weight in naive.weighted_states(*as_lists(network), row)) > 1e-12:
            present = [j for j, value in enumerate(row) if value == 1]
            absent = [j for j, value in enumerate(row) if value == 0]
            return network, row, present, absent


def test_exact_posteriors_agree_with_sums_over_all_states(rng):
    for _ in range(300):
        network, row, present, absent = random_patient(rng)
        total, expected, _, _ = naive.expectations(*as_lists(network), row)
        found = posterior(network, present, absent)
        assert found.method == "exact"
        assert found.log_evidence == pytest.approx(np.log(total), rel=1e-9, abs=1e-9)
        assert found.probabilities == pytest.approx(expected, rel=1e-9, abs=1e-11)
        assert found.error < 1e-9
        assert (found.lower <= found.probabilities).all()


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


def test_bounds_contain_the_exact_value(rng):
    for number in range(150):
        network, row, present, absent = random_patient(rng)
        total, expected, _, _ = naive.expectations(*as_lists(network), row)
        net = flat_network(network)
        symptoms = np.array(present + absent, dtype=np.int32)
        is_present = np.arange(len(symptoms)) < len(present)
        # From nothing exact in one leaf to a few of both.
        settings = Settings([1, 1, 3, 8][number % 4], [-1.0, 30.0, 0.0, 100.0][number % 4], 0.0)
        found = bound_record(net, symptoms, is_present, True, settings)
        assert found.log_lower <= np.log(total) + 1e-9
        assert found.log_upper >= np.log(total) - 1e-9
        assert (found.lower <= np.array(expected) + 1e-12).all()
        assert (found.upper >= np.array(expected) - 1e-12).all()
        assert (found.lower <= found.probabilities).all()
        assert (found.probabilities <= found.upper).all()


def test_more_leaves_make_tighter_bounds():
    clinic = datasets.clinic()
    records = block_records(clinic.sample(64, seed=5).blocks[0])
    net = flat_network(clinic)
    widths = []
    for n_leaves in (1, 4, 16, 64):
        errors = []
        for record in range(64):
            here = slice(records.offsets[record], records.offsets[record + 1])
            symptoms, is_present = records.symptoms[here], records.is_present[here]
            settings = Settings(n_leaves, -1.0, 0.0)
            errors.append(bound_record(net, symptoms, is_present, True, settings).error)
        widths.append(np.mean(errors))
    assert all(np.diff(widths) < 0.0)
    assert widths[-1] < widths[0] / 5.0


def test_the_bounds_of_a_large_network_contain_what_is_exact():
    network = datasets.qmr_shaped(0)
    sampled = network.sample(400, seed=2).to_numpy()
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


def test_gibbs_agrees_with_sums_over_all_states(rng):
    errors, scaled = [], []
    for number in range(120):
        network, row, present, absent = random_patient(rng, extremes=number % 2 == 0)
        _, expected, _, _ = naive.expectations(*as_lists(network), row)
        found = posterior(network, present, absent, method="gibbs", seed=number)
        wrong = np.abs(found.probabilities - expected)
        in_doubt = (np.array(expected) > 0.05) & (np.array(expected) < 0.95)
        errors += wrong[in_doubt].tolist()
        scaled.append((wrong <= 1.5 * found.error + 1e-9).all())
    assert np.mean(errors) < 0.01
    assert np.mean(scaled) > 0.9  # 95% confidence, of the worst disease each


def test_effective_sample_sizes_tell_the_spread_over_seeds():
    clinic = datasets.clinic()
    patient = ["fever", "cough", "headache", "nausea"]
    runs = [posterior(clinic, patient, method="gibbs", seed=seed) for seed in range(40)]
    truth = posterior(clinic, patient).probabilities
    worst = np.argmax(truth * (1 - truth))
    spread = np.std([run.probabilities[worst] for run in runs])
    n_effective = np.median([run.effective_sample_size for run in runs])
    told = np.sqrt(truth[worst] * (1 - truth[worst]) / n_effective)
    assert spread < 2.0 * told  # of the disease that is told least, so it may be less
    assert np.isnan(posterior(clinic, patient).effective_sample_size)


def test_gibbs_sees_what_it_has_not_settled():
    # Two diseases nearly exclude each other: single ones would hardly ever change.
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [1e-3, 1e-3], np.full(6, 0.01), np.full(3, 1e-9))
    found = posterior(network, [0, 1, 2], method="gibbs")
    assert found.probabilities == pytest.approx([0.5, 0.5], abs=max(2 * found.error, 0.02))


def grid(n, prior=0.05, failure=0.05, leak=0.01):
    """n x n findings, each caused by its row or its column: all rows explain them, or all columns.

    Returns the network and the posterior of each disease if all are present, by its symmetry.
    """
    matrix = np.zeros((2 * n, n * n))
    for row, column in np.ndindex(n, n):
        matrix[row, row * n + column] = matrix[n + column, row * n + column] = 1
    structure = Structure.from_matrix(matrix)
    network = NoisyOrNetwork(
        structure, np.full(2 * n, prior), np.full(2 * n * n, failure), np.full(n * n, leak)
    )
    total = within = 0.0
    for rows, columns in np.ndindex(n + 1, n + 1):
        weight = math.comb(n, rows) * math.comb(n, columns)
        weight *= prior ** (rows + columns) * (1 - prior) ** (2 * n - rows - columns)
        for on, count in (
            (2, rows * columns),
            (1, rows * (n - columns) + columns * (n - rows)),
            (0, (n - rows) * (n - columns)),
        ):
            weight *= (1 - (1 - leak) * failure**on) ** count
        total += weight
        within += weight * rows / n
    return network, within / total


def test_sampling_is_honest_where_explanations_exclude_each_other():
    network, truth = grid(7)
    exact = posterior(network, list(range(49)), method="exact", budget=20.0)
    assert exact.probabilities == pytest.approx(np.full(14, truth))
    n_dishonest = 0
    for seed in range(8):
        found = posterior(network, list(range(49)), method="gibbs", seed=seed)
        n_dishonest += np.abs(found.probabilities - truth).max() > 1.5 * found.error
    assert n_dishonest <= 2  # all eight chains fall into one of both now and then


def test_auto_keeps_the_better_of_bounds_and_samples():
    network, truth = grid(12)
    everything = list(range(144))
    bounded = posterior(network, everything, method="variational", budget=0.05)
    found = posterior(network, everything, budget=0.05)
    assert found.error <= bounded.error
    assert (bounded.lower <= truth).all()
    assert (bounded.upper >= truth).all()


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
        assert (found.lower <= found.probabilities).all()
        assert (found.probabilities <= found.upper).all()
        assert (found.upper <= 1.0).all()
        assert found.log_evidence <= found.log_evidence_upper
        assert found.upper[24] == 1.0


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


def test_questions_about_a_rare_disease():
    structure = Structure.from_edges(
        [("rare", "x"), ("rare", "y"), ("common", "y"), ("common", "z")]
    )
    network = NoisyOrNetwork(structure, [1e-3, 0.1], [0.01, 0.01, 0.3, 0.3], [1e-4, 0.01, 0.01])
    truth = naive.information(*as_lists(network), [None] * 3, 0, about=0)
    for seed in range(3):
        asked = best_questions(network, about="rare", seed=seed)
        assert asked.symptoms[0] == 0
        assert asked.gains[0] == pytest.approx(truth, rel=0.1)


def test_causes_and_contributions(rng):
    for _ in range(40):
        network, row, present, absent = random_patient(rng)
        _, expected, caused, leaked = naive.expectations(*as_lists(network), row)
        names = network.structure
        told = explain(network, present, absent, diseases=list(range(names.n_diseases)))
        for cause in told.causes.to_pylist():
            j = names.symptom_index(cause["finding"])
            if cause["cause"] is None:
                truth = leaked[j]
            else:
                truth = caused[names.disease_index(cause["cause"]), j]
            assert cause["probability"] == pytest.approx(truth, rel=1e-8, abs=1e-10)
        for each in told.contributions.to_pylist():
            i, j = names.disease_index(each["disease"]), names.symptom_index(each["finding"])
            without = [None if x == j else value for x, value in enumerate(row)]
            _, other, _, _ = naive.expectations(*as_lists(network), without)
            assert each["without"] == pytest.approx(other[i], rel=1e-8, abs=1e-10)
            if 1e-9 < expected[i] < 1 - 1e-9 and 1e-9 < other[i] < 1 - 1e-9:
                change = np.log(expected[i] / (1 - expected[i])) - np.log(other[i] / (1 - other[i]))
                assert each["log_odds"] == pytest.approx(change, rel=1e-6, abs=1e-6)


def test_the_best_explanations_are_the_best(rng):
    for number in range(150):
        network, row, present, absent = random_patient(rng)
        k = number % 6 + 1
        truth = naive.best_states(*as_lists(network), row, k)
        found = most_probable(network, present, absent, k=k)
        joints = np.exp(found.log_joints)
        assert found.is_proven
        n = len(joints)
        assert joints == pytest.approx(truth[:n], rel=1e-9, abs=1e-15)
        assert all(weight < 1e-15 for weight in truth[n:])  # what is left out is impossible
        total = sum(weight for _, weight in naive.weighted_states(*as_lists(network), row))
        assert found.probabilities == pytest.approx(joints / total, rel=1e-6, abs=1e-12)


def test_a_search_that_ends_early_says_so():
    network = datasets.qmr_shaped(0)
    present = np.flatnonzero(network.sample(3, seed=9).to_numpy()[0])[:25].tolist()
    found = most_probable(network, present, k=8, budget=0.01)
    assert not found.is_proven
    assert found.log_bound > found.log_joints[-1]
    assert (np.diff(found.log_joints) <= 0.0).all()


def test_questions_tell_what_sums_over_all_states_say(rng):
    for number in range(25):
        network, row, present, absent = random_patient(rng)
        about = number % network.structure.n_diseases if number % 2 else None
        asked = best_questions(network, present, absent, about=about, draws=20_000)
        for j, gain in zip(asked.symptoms.tolist(), asked.gains.tolist(), strict=True):
            truth = naive.information(*as_lists(network), row, j, about)
            assert gain == pytest.approx(truth, abs=0.02)
        assert (np.diff(asked.gains) <= 0.0).all()
        assert set(asked.symptoms.tolist()) == {j for j, v in enumerate(row) if v is None}


# --- many records ---


def test_batches_are_the_same_as_single_patients(rng):
    network = datasets.clinic()
    rows = network.sample(70, seed=3).to_numpy().astype(float)
    for share in (0.0, 0.2, 0.8):  # mostly known, mostly unknown: listed in different ways
        rows[rng.random(rows.shape) < share] = np.nan
        found = posteriors(network, rows)
        assert len(found) == 70
        for record in range(0, 70, 7):
            present, absent = np.flatnonzero(rows[record] == 1), np.flatnonzero(rows[record] == 0)
            single = posterior(network, present.tolist(), absent.tolist())
            assert found.probabilities[record] == pytest.approx(single.probabilities, abs=1e-11)
            assert found.log_evidences[record] == pytest.approx(single.log_evidence, abs=1e-9)


@pytest.mark.parametrize("method", ["auto", "gibbs"])
def test_answers_do_not_depend_on_threads(method):
    network = datasets.clinic()
    findings = network.sample(150, seed=4)
    one, two = (posteriors(network, findings, method=method, threads=threads) for threads in (1, 2))
    assert np.array_equal(one.probabilities, two.probabilities)
    assert np.array_equal(one.errors, two.errors)


def test_auto_takes_the_next_best_and_says_so(monkeypatch):
    network = datasets.clinic()
    rows = network.sample(400, seed=6).to_numpy()
    rows = rows[rows.sum(axis=1) >= 10][:6]
    exact = posteriors(network, rows)
    assert set(exact.method_names) == {"exact"}
    monkeypatch.setattr(answers, "OPERATIONS_PER_SECOND", 1.0)
    bounded = posteriors(network, rows)
    assert set(bounded.method_names) == {"variational"}
    assert (bounded.errors >= np.abs(bounded.probabilities - exact.probabilities).max(axis=1)).all()
    monkeypatch.setattr(answers, "ENTRIES_PER_SECOND", 1.0)
    monkeypatch.setattr(answers, "LEAF_OPERATIONS", -1.0)
    sampled = posteriors(network, rows)
    assert "gibbs" in sampled.method_names
    assert np.abs(sampled.probabilities - exact.probabilities).max() < 0.05


def test_posteriors_are_calibrated():
    # Of the diseases given 20% to 30%, 20% to 30% must be there.
    network = datasets.clinic()
    findings, diseases = network.sample(40_000, seed=8, return_diseases=True)
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


# --- intervals ---


def test_intervals_grow_with_the_standard_errors():
    clinic = datasets.clinic()
    sizes = clinic.structure.n_diseases, clinic.structure.n_edges, clinic.structure.n_symptoms
    widths = []
    for scale in (0.0, 0.01, 0.05):
        errors = tuple(np.full(size, scale) for size in sizes)
        found = posterior(NetworkWithErrors(clinic, errors), ["fever", "cough"], draws=60)
        assert found.n_without_error == 0
        widths.append((found.interval_upper - found.interval_lower).max())
    assert widths[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.0 < widths[1] < widths[2]


def test_parameters_without_an_error_are_counted():
    clinic = datasets.clinic()
    errors = [np.zeros(20), np.zeros(120), np.full(60, np.nan)]
    found = posterior(NetworkWithErrors(clinic, errors), ["fever", "cough"], draws=10)
    assert found.n_without_error == 2  # only the leaks of what is known matter


# --- what is wrong is said ---


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
        ({"seed": -1}, "seed must be a whole number"),
        ({"seed": 2**64}, "seed must be a whole number"),
        ({"draws": 1.5}, "draws must be a whole number"),
        ({"present": None}, "give a list of symptoms, not None"),
        ({"network": 3}, "a NoisyOrNetwork or an Estimate is wanted, not int"),
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
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, seed=0))
    records = clinic.sample(10, seed=1)
    by_estimate, by_network = (
        posteriors(each, records) for each in (learner.estimate_, learner.network_)
    )
    assert np.array_equal(by_estimate.probabilities, by_network.probabilities)
    with pytest.raises(NoisyOrError, match="another structure"):
        posteriors(clinic, datasets.figure1(0).sample(3, seed=0))
