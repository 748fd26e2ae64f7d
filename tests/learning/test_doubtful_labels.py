"""Labels that contradict the findings of their records are told, and right ones are not."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import naive
from noisyor import (
    Estimate,
    Findings,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
    posteriors,
)
from noisyor.errors import FileError
from noisyor.flags import Flag
from noisyor.learning import EMSettings, fit, of_population
from noisyor.learning import doubtful_labels as module
from noisyor.learning.doubtful_labels import (
    ComparedLabels,
    check_labelled,
    compared_labels,
    concordance,
    doubted,
    exchanged,
    surprise,
    tail_bound,
)
from noisyor.parameters import Parameters

CLINIC = datasets.clinic()
QUICK = EMSettings(n_init=1)


@pytest.fixture(scope="module")
def sampled():
    """Findings of the clinic, their diseases, and which 200 records are labelled."""
    findings, diseases = CLINIC.sample(2000, rng=0, return_diseases=True)
    return findings, diseases, np.arange(2000) < 200


def partly(labels, is_labelled):
    return np.where(is_labelled[:, np.newaxis], labels, np.nan)


def random_labels(random):
    p = random.uniform(0.001, 0.999, random.integers(1, 9))
    return p, random.random(len(p)) < 0.5, random.integers(0, 5, len(p)).astype(float)


# --- the sums and their chances ---


def test_sums_and_their_moments_are_the_naive_ones():
    random = np.random.default_rng(0)
    for _ in range(300):
        p, is_on, n_symptoms = random_labels(random)
        compared = ComparedLabels(*(each[:, np.newaxis] for each in (p, is_on, p > 0, n_symptoms)))
        row = module._of_disease(compared, 0, "flu")
        expected = naive.label_sums(p.tolist(), is_on.tolist(), n_symptoms.tolist())
        for found, known in zip(row[1:], expected, strict=True):
            assert found[:3] == pytest.approx(known, abs=1e-7)


def test_a_chance_is_never_above_its_bound():
    random = np.random.default_rng(1)
    for _ in range(300):
        p, is_on, n_symptoms = random_labels(random)
        for on, off in (np.log(p), np.log1p(-p)), (n_symptoms, np.zeros(len(p))):
            total = float(np.where(is_on, on, off).sum())
            exact = naive.chance_of_sum(p.tolist(), on.tolist(), off.tolist(), total)
            assert exact <= tail_bound(p, on, off, total) * (1.0 + 1e-9)
            above = naive.chance_of_sum(p.tolist(), (-on).tolist(), (-off).tolist(), -total)
            both = surprise(p, is_on, on, off).p_value
            assert min(1.0, 2.0 * min(exact, above)) <= both * (1.0 + 1e-9)


def test_the_bound_is_near_where_a_chance_is_small():
    """By more than ten it would hide what is clear."""
    p = np.full(16, 0.2)
    for total in range(8, 16):
        exact = naive.chance_of_sum([0.2] * 16, [-1] * 16, [0] * 16, -total)
        assert exact <= tail_bound(p, -np.ones(16), np.zeros(16), -total) < 10.0 * exact


def test_concordance_is_the_naive_one():
    random = np.random.default_rng(2)
    for _ in range(300):
        p, is_on, n_symptoms = random_labels(random)
        p = p.round(1)  # so that some are equal
        compared = ComparedLabels(*(each[:, np.newaxis] for each in (p, is_on, p >= 0, n_symptoms)))
        expected = naive.concordance(p.tolist(), is_on.tolist())
        assert concordance(compared, [0]) == pytest.approx(expected)


def test_labels_drawn_from_posteriors_are_rarely_doubted():
    """And those of another posterior are: the control."""
    random, told, control = np.random.default_rng(3), 0, 0
    for _ in range(200):
        p = random.beta(0.3, 2.0, (200, 3)).clip(0.001, 0.999)
        others = np.ones(p.shape, dtype=bool), np.ones(p.shape)
        right, wrong = random.random((2, *p.shape)) < np.stack([p, p[::-1]])
        told += bool(doubted(ComparedLabels(p, right, *others), "ABC").doubtful)
        control += bool(doubted(ComparedLabels(p, wrong, *others), "ABC").doubtful)
    assert told <= 1
    assert control == 200


# --- what is compared ---


def test_posteriors_are_those_of_the_findings_alone(sampled):
    findings, diseases, is_labelled = sampled
    y = partly(diseases, is_labelled)
    y[:50, 0] = np.nan
    compared = compared_labels(CLINIC, findings.with_labels(y))
    assert compared.is_known[:50, 0].sum() == 0
    assert compared.is_known[50:].all()
    expected = 0.001 + 0.998 * posteriors(CLINIC, findings[:200]).probabilities
    assert compared.posteriors == pytest.approx(expected, abs=1e-9)
    children = CLINIC.structure.children(4)
    n_symptoms = findings.to_numpy()[:200][:, children].sum(axis=1)
    assert (compared.n_symptoms[:, 4] == n_symptoms).all()


def test_many_labelled_records_are_not_all_looked_at(sampled):
    findings, diseases, _ = sampled
    labelled = findings.with_labels(diseases)
    found = check_labelled(CLINIC, labelled)
    assert (found.n_records, found.n_diseases) == (1000, 20)
    assert check_labelled(CLINIC, labelled) == found


def test_nothing_to_compare_is_nothing(sampled):
    findings, diseases, _ = sampled
    assert check_labelled(CLINIC, findings) is None
    nothing = np.full(diseases.shape, np.nan)
    assert check_labelled(CLINIC, findings.with_labels(nothing)) is None


def test_what_rests_on_parameters_that_were_not_learned_is_left_out(sampled):
    findings, diseases, _ = sampled
    flags = Parameters.full(CLINIC.structure, 0, np.uint16)
    priors = np.where(np.arange(20) == 3, np.uint16(Flag.NO_MOMENT), flags.priors)
    flags = Parameters(priors, flags.failures, flags.leaks)
    network = NoisyOrNetwork(CLINIC.structure, *CLINIC.parameters, flags)
    compared = compared_labels(network, findings.with_labels(diseases))
    assert not compared.is_known[:, 3].any()
    assert compared.is_known.any(axis=0).sum() > 5


def test_records_that_are_too_much_work_are_left_out(sampled, monkeypatch):
    findings, diseases, _ = sampled
    monkeypatch.setattr(module, "BUDGET", 1e-12)
    found = check_labelled(CLINIC, findings.with_labels(diseases))
    assert found is None or found.n_records < 1000


# --- learned with them ---


def test_right_labels_are_not_doubted(sampled):
    findings, diseases, is_labelled = sampled
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoisyOrWarning)
        estimate = fit(findings, CLINIC.structure, labels=partly(diseases, is_labelled))
    assert estimate.label_check.doubtful == ()
    assert (estimate.label_check.n_records, estimate.label_check.n_diseases) == (200, 20)
    assert "contradict" not in str(estimate)


def permuted(labels, random):
    return labels[random.permutation(len(labels))]


def flipped(labels, random):
    return labels ^ (random.random(labels.shape) < 0.05)


def swapped(labels, _):
    labels = labels.copy()
    labels[:, [2, 11]] = labels[:, [11, 2]]
    return labels


WRONG = {
    permuted: "no better than by chance: are they of other records",
    flipped: "Are some of them wrong",
    swapped: "are columns exchanged",
    lambda labels, _: ~labels: "are 0 and 1 exchanged",
}


@pytest.mark.parametrize("change", WRONG, ids=lambda change: change.__name__)
def test_wrong_labels_are_told_with_what_they_look_like(sampled, change):
    findings, diseases, is_labelled = sampled
    y = partly(diseases, is_labelled)
    y[:200] = change(diseases[:200], np.random.default_rng(0))
    with pytest.warns(NoisyOrWarning, match=WRONG[change].replace("?", ".")) as told:
        estimate = fit(findings, CLINIC.structure, settings=QUICK, labels=y)
    sentence = estimate.label_check.sentence
    assert sentence in [str(each.message) for each in told]
    assert sentence in str(estimate)
    rows = estimate.label_check.doubtful
    assert [row.p_value for row in rows] == sorted(row.p_value for row in rows)
    if change is swapped:
        names = [CLINIC.structure.diseases[i] for i in (2, 11)]
        assert {row.disease for row in rows} == set(names)
        assert all(f"{name}" in estimate.label_check.hint for name in names)


def test_labels_against_the_findings_are_told_even_where_all_are_labelled():
    """The network follows them, and takes the symptoms of cases for chance."""
    network = datasets.figure2(rng=0)
    findings, diseases = network.sample(1000, rng=1, return_diseases=True)
    with pytest.warns(NoisyOrWarning, match="symptoms of cases .* are 0 and 1 exchanged"):
        fit(findings, network.structure, settings=QUICK, labels=~diseases)


@pytest.mark.parametrize("share", [0.6, 1.0])
def test_labels_of_other_records_are_told_where_most_are_labelled(share):
    """The network follows them: no disease does anything, as far as it can see."""
    network = datasets.figure2(rng=2)
    findings, diseases = network.sample(1500, rng=1, return_diseases=True)
    y = partly(diseases, np.arange(1500) < share * 1500)
    assert not fit(findings, network.structure, settings=QUICK, labels=y).label_check.sentence
    y = np.roll(y, 1, axis=0)
    with pytest.warns(NoisyOrWarning, match="by chance: are they of other records"):
        estimate = fit(findings, network.structure, settings=QUICK, labels=y)
    assert estimate.label_check.sentence in str(estimate)


def test_labels_that_were_chosen_by_the_findings_are_fine():
    network = datasets.figure2(rng=0)
    findings, diseases = network.sample(3000, rng=1, return_diseases=True)
    is_chosen = findings.to_numpy().sum(axis=1) >= 4
    assert 100 < is_chosen.sum() < 2000
    y = partly(diseases, is_chosen)
    assert not fit(findings, network.structure, labels=y).label_check.doubtful


def test_labels_that_were_chosen_by_the_disease_are_told():
    network = datasets.figure2(rng=0)
    findings, diseases = network.sample(3000, rng=1, return_diseases=True)
    is_chosen = np.arange(3000) < np.where(diseases[:, 0], 600, 60)
    with pytest.warns(NoisyOrWarning, match="labelled because of the disease"):
        fit(findings, network.structure, labels=partly(diseases, is_chosen))


def test_all_records_chosen_by_a_disease_are_fine():
    network = datasets.figure2(rng=0)
    findings, diseases = network.sample(8000, rng=1, return_diseases=True)
    is_chosen = diseases[:, 0] | (np.random.default_rng(0).random(8000) < 0.1)
    findings, diseases = findings.chosen(is_chosen), diseases[is_chosen]
    y = partly(diseases, np.arange(len(diseases)) < 300)
    estimate = fit(findings, network.structure, labels=y)
    assert not estimate.label_check.doubtful
    assert of_population(estimate, {"A": (1.0, 0.1)}).label_check == estimate.label_check


def test_covariates_count():
    """A disease of the old, labelled for them alone, has far more cases than in all people."""
    structure = Structure.from_edges([(i, f"{i} {x}") for i in "AB" for x in range(4)])
    sampled = [
        NoisyOrNetwork(structure, priors, [0.7] * 8, [0.05] * 8).sample(
            1500, rng=1, return_diseases=True
        )
        for priors in ([0.5, 0.3], [0.01, 0.3])
    ]
    findings = Findings.concatenate([each[0] for each in sampled])
    diseases = np.concatenate([each[1] for each in sampled])
    is_old = np.arange(3000) < 1500
    y = partly(diseases, np.arange(3000) < 600)  # of the old alone
    people = pd.DataFrame({"is_old": np.where(is_old, "yes", "no")})
    learner = NoisyOrLearner(structure).fit(findings, y, covariates=people)
    assert learner.estimate_.label_check.n_records == 600
    assert not learner.estimate_.label_check.doubtful
    network = learner.estimate_.network
    assert check_labelled(network, findings.with_labels(y)).doubtful  # the control: of all people


def test_counts_are_not_looked_at(sampled):
    findings, diseases, is_labelled = sampled
    plan = NoisyOrLearner(CLINIC.structure, method="pooled").find_plan()
    counts = count_moments(findings, plan, labels=partly(diseases, is_labelled))
    assert fit(counts, CLINIC.structure, "pooled").label_check is None


# --- kept ---


def test_files_keep_what_was_found(sampled, tmp_path):
    findings, diseases, is_labelled = sampled
    y = partly(diseases, is_labelled)
    y[:200] = ~diseases[:200]
    with pytest.warns(NoisyOrWarning, match="contradict"):
        estimate = fit(findings, CLINIC.structure, settings=QUICK, labels=y)
    estimate.save(tmp_path / "learned.json")
    again = Estimate.load(tmp_path / "learned.json")
    assert again.label_check == estimate.label_check
    document = json.loads((tmp_path / "learned.json").read_text())
    document["learned"]["labels"]["doubtful"][0].pop("cases")
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="'learned' is damaged"):
        Estimate.load(tmp_path / "wrong.json")
    del document["learned"]["labels"]  # as older versions wrote it
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert Estimate.load(tmp_path / "old.json").label_check is None


def test_two_equal_columns_are_not_called_exchanged():
    p = np.tile([[0.9], [0.1]], (100, 2))
    labels = p > 0.5
    both = ComparedLabels(p, labels, np.ones(p.shape, dtype=bool), np.ones(p.shape))
    assert exchanged(both, [0, 1]) == []
    two = np.column_stack([p[:, 0], 1.0 - p[:, 0]])
    crossed = ComparedLabels(two, two[:, ::-1] > 0.5, both.is_known, both.n_symptoms)
    assert exchanged(crossed, [0, 1]) == [(0, 1)]
