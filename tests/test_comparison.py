"""Several models of the same records."""

import numpy as np
import pandas as pd
import pytest

from noisyor import NoisyOrError, NoisyOrLearner, NoisyOrNetwork, Structure, compare_models
from noisyor.comparison import ModelComparison
from noisyor.network import Joint

STRUCTURE = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(2) for x in range(4)])


def models(*kinds):
    return {kind: NoisyOrLearner(STRUCTURE, causes=kind) for kind in kinds}


def sample(shares, n=2000):
    network = NoisyOrNetwork(STRUCTURE, None, [0.3] * 8, [0.02] * 8, causes=Joint(shares))
    return network.sample(n, rng=1)


def test_dependent_diseases_are_told_from_independent_ones():
    findings = sample([0.6, 0.05, 0.05, 0.3])
    found = compare_models(models("independent", "joint"), findings)
    assert found.best == "joint"
    rows = {row["model"]: row for row in found.rows}
    joint, alone = rows["joint"], rows["independent"]
    assert (joint["parameters"], alone["parameters"]) == (19, 18)
    assert joint["log_likelihood"] > alone["log_likelihood"] + 50
    assert joint["held_out"] > alone["held_out"]
    assert joint["srmsr"] < 0.5 * alone["srmsr"]
    assert joint["largest_residual"] < alone["largest_residual"]
    n, size = 2000, 19
    assert joint["aic"] == pytest.approx(2 * size - 2 * joint["log_likelihood"])
    assert joint["bic"] == pytest.approx(size * np.log(n) - 2 * joint["log_likelihood"])
    assert found.table().num_rows == 2
    assert "joint" in repr(found)


def test_held_out_differences_are_those_of_the_same_records():
    findings = sample([0.6, 0.05, 0.05, 0.3])
    first, second = compare_models(models("independent", "joint"), findings, rng=3).rows
    order = np.random.default_rng(3).permutation(2000)
    array = findings.to_numpy()
    scores = []
    for learner in models("joint", "independent").values():
        learner.fit(array[order[400:]])
        scores.append(learner.posteriors(array[order[:400]]).log_evidences)
    assert (first["model"], first["held_out_error"]) == ("joint", 0.0)
    assert [first["held_out"], second["held_out"]] == pytest.approx([x.mean() for x in scores])
    assert second["held_out_error"] == pytest.approx((scores[1] - scores[0]).std() / 20.0)


@pytest.mark.parametrize(
    ("held_out", "error", "said"),
    [
        (-1.10, 0.01, "describes the records that were held out best, too"),
        (-0.99, 0.01, "by 0.01 ± 0.02 a record, which is no more than chance"),
        (-0.90, 0.01, "But the records that were held out are described better by joint, by 0.1"),
        (None, None, "The smallest BIC has: independent."),
    ],
)
def test_the_recommendation_says_when_held_out_records_disagree(held_out, error, said):
    rows = (
        {"model": "independent", "held_out": held_out and -1.0, "held_out_error": 0.0},
        {"model": "joint", "held_out": held_out, "held_out_error": error},
    )
    found = ModelComparison(rows).recommendation
    assert found.startswith("The smallest BIC has: independent.")
    assert said in found


def test_correlations_are_those_of_the_records():
    findings = sample([0.4, 0.1, 0.2, 0.3], 500)
    found = compare_models(models("joint"), findings, held_out=0.0).rows[0]
    assert found["held_out"] is None
    network = NoisyOrLearner(STRUCTURE, causes="joint").fit(findings).network_
    seen = np.corrcoef(findings.to_numpy().astype(float).T)
    expected = np.empty((8, 8))
    for i in range(8):
        for j in range(8):
            if i != j:
                table = network.joint([i, j])
                p, q = table[1].sum(), table[:, 1].sum()
                expected[i, j] = (table[1, 1] - p * q) / np.sqrt(p * (1 - p) * q * (1 - q))
    upper = np.triu_indices(8, 1)
    residuals = seen[upper] - expected[upper]
    assert found["srmsr"] == pytest.approx(np.sqrt((residuals**2).mean()), rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, None), "a mapping of names to learners"),
        (({"a": NoisyOrLearner()}, None), "no NoisyOrLearner with a structure"),
    ],
)
def test_what_cannot_be_compared_is_said(arguments, message):
    with pytest.raises(NoisyOrError, match=message):
        compare_models(*arguments)


def test_models_of_other_symptoms_are_refused():
    other = NoisyOrLearner(Structure.from_edges([("d0", "z")]))
    with pytest.raises(NoisyOrError, match="'b' has other symptoms"):
        compare_models({"a": NoisyOrLearner(STRUCTURE), "b": other}, np.zeros((3, 8)))
    with pytest.raises(NoisyOrError, match="held_out must be a share"):
        compare_models(models("joint"), np.zeros((3, 8)), held_out=1.5)


def people_and_records(n=1200):
    """Diseases of which one is more frequent in the old, the other at a site."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.choice([30.0, 60.0], n), "site": rng.choice([1, 2, 3], n)})
    effects = np.column_stack([(people.age - 45.0) / 10.0, np.where(people.site == 2, 1.5, -1.0)])
    has = rng.random((n, 2)) < 1.0 / (1.0 + np.exp(-effects))
    shown = np.repeat(has, 4, axis=1) & (rng.random((n, 8)) < 0.7)
    frame = pd.DataFrame(shown.astype(int), columns=STRUCTURE.symptoms)
    return people, frame


def test_models_are_compared_with_and_without_covariates():
    people, frame = people_and_records()
    found = compare_models(
        models("independent", "joint"), frame.join(people),
        covariates=["age", "site:category"],
    )  # fmt: skip
    rows = {row["model"]: row for row in found.rows}
    assert set(rows) == {"independent", "independent, with covariates", "joint"}
    assert found.best == "independent, with covariates"
    more = rows["independent, with covariates"]
    assert more["parameters"] == 18 + 2 * (1 + 3)
    assert more["log_likelihood"] > rows["independent"]["log_likelihood"] + 100
    assert more["held_out"] > rows["independent"]["held_out"] + 0.05
    learner = NoisyOrLearner(STRUCTURE)
    learner.fit(frame.join(people), covariates=["age", "site:category"])
    expected = 1200 * learner.score(frame, covariates=people)
    assert more["log_likelihood"] == pytest.approx(expected)


def test_covariates_are_joined_by_ids():
    people, frame = people_and_records(400)
    records = frame.assign(record=[f"p{i}" for i in range(400)])
    table = people[["age"]].assign(record=records.record).sample(frac=1.0, random_state=0)
    found = compare_models(models("independent"), records, covariates=table, held_out=0.0)
    same = compare_models(models("independent"), frame, covariates=people[["age"]], held_out=0.0)
    assert found == same
    assert found.best == "independent, with covariates"


def test_covariates_that_cannot_be_used_are_told():
    people, frame = people_and_records(60)
    with pytest.raises(NoisyOrError, match="no columns of covariates"):
        compare_models(models("independent"), frame.to_numpy(), covariates=["age"])
    wrong = people[["age"]].rename(columns={"age": "s00"})
    with pytest.raises(NoisyOrError, match="'s00' has the name of a column of the records"):
        compare_models(models("independent"), frame, covariates=wrong)
    with pytest.raises(NoisyOrError, match="'refuse' or 'keep'"):
        compare_models(
            models("independent"), frame, covariates=people[["age"]], unknown_covariates="x"
        )


def test_records_are_read_as_asked():
    _, frame = people_and_records(200)
    right = compare_models(models("independent"), 1 - frame, held_out=0.0, invert=True)
    assert right == compare_models(models("independent"), frame, held_out=0.0)


def test_options_that_an_array_does_not_heed_are_refused():
    array = sample([0.6, 0.05, 0.05, 0.3], 50).to_numpy()
    with pytest.raises(NoisyOrError, match="no options to read: 'invert'"):
        compare_models(models("independent"), array, invert=True)
