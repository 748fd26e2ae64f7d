"""NoisyOrLearner: what it accepts, and that it is an estimator in scikit-learn's manner."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from noisyor import (
    Fixed,
    MomentPlan,
    NoisyOrLearner,
    count_moments,
    datasets,
    find_schedule,
    posteriors,
)
from noisyor.errors import FindingsError, NoisyOrError, NoisyOrWarning, ParameterError
from noisyor.learning import Flag, learn_sequential
from noisyor.learning.methods import METHODS


def sequential(structure, **options):
    return NoisyOrLearner(structure, method="sequential", **options)


@pytest.fixture
def network():
    return datasets.figure1(0)


def test_every_kind_of_records_gives_the_same_network(network, tmp_path):
    findings = network.sample(2000, rng=1)
    array = findings.to_numpy()
    schedule = find_schedule(network.structure)
    expected = learn_sequential(count_moments(findings, schedule.plan()), schedule).network
    findings.to_parquet(tmp_path / "r.parquet")
    frame = pd.DataFrame(array.astype(int), columns=network.structure.symptoms)
    for records in (
        findings,
        array,
        array.astype(int).tolist(),
        scipy.sparse.csr_array(array.astype(int)),
        frame,
        pl.from_pandas(frame),
    ):
        assert sequential(network.structure).fit(records).network_ == expected
    # Files are put into groups by their names, which changes standard errors but no value.
    assert sequential(network.structure).fit(tmp_path / "r.parquet").network_ == expected
    moments = count_moments(findings, sequential(network.structure).find_plan())
    assert sequential(network.structure).fit(moments).network_ == expected


def test_partial_fit_adds_up_to_fit(network):
    parts = [network.sample(1000, rng=seed) for seed in range(3)]
    learner = sequential(network.structure, n_groups=10)
    for part in parts:
        assert learner.partial_fit(part) is learner
    everything = np.concatenate([part.to_numpy() for part in parts])
    whole = sequential(network.structure, n_groups=10).fit(everything)
    assert learner.moments_.n_records == 3000
    assert learner.network_ == whole.network_
    assert learner.moments_.n_groups == 10
    with pytest.raises(ParameterError, match="counted for something else"):
        learner.set_params(choice="rarest").partial_fit(parts[0])
    again = learner.fit(parts[0])
    assert again.moments_.n_records == 1000


def test_it_is_an_estimator(network):
    learner = sequential(network.structure, pairs=False)
    with pytest.raises(NotFittedError, match="call fit first"):
        _ = learner.network_
    assert not hasattr(learner, "estimate_")
    with pytest.raises(NotFittedError):
        check_is_fitted(learner)
    twin = clone(learner).set_params(choice="rarest")
    assert twin.get_params() == {
        "structure": network.structure, "method": "sequential", "pairs": False,
        "choice": "rarest", "shrink": True, "robust": False, "causes": "independent",
        "n_traits": 1, "blocks": None, "device": "cpu",
        "max_iter": None, "tol": None, "n_init": 4, "n_groups": 50, "random_state": 0,
        "n_jobs": None, "verbose": 0, "n_chains": 4, "pseudo_counts": None,
    }  # fmt: skip
    check_is_fitted(learner.fit(network.sample(100, rng=0)))
    assert learner.estimate_ is learner.estimate_
    assert "NoisyOrLearner(" in repr(learner)


def test_wrong_arguments_are_told(network):
    records = network.sample(10, rng=0)
    with pytest.raises(ParameterError, match="no method 'em'; known: refined, pooled, sequential"):
        NoisyOrLearner(network.structure, method="em").fit(records)
    with pytest.raises(ParameterError, match="must be a Structure, not list"):
        NoisyOrLearner([("a", "b")]).fit(records)
    pairs = count_moments(records, MomentPlan.coupled(network.structure))
    with pytest.raises(ParameterError, match="lack 3 of the 3 triplets"):
        sequential(network.structure).fit(pairs)
    with pytest.raises(FindingsError, match="expected records x 5 symptoms"):
        sequential(network.structure).fit(np.zeros((3, 4)))


def test_diagnosing_with_what_was_learned():
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(20_000, rng=1))
    findings, diseases = clinic.sample(500, rng=2, return_diseases=True)
    probabilities = learner.predict_proba(findings)
    assert probabilities.shape == (500, 20)
    assert np.array_equal(learner.predict(findings), probabilities > 0.5)
    assert (learner.predict(findings) == diseases).mean() > 0.98
    truth = posteriors(clinic, findings)
    assert np.abs(probabilities - truth.probabilities).mean() < 0.01
    # No network explains records of the clinic better than the clinic, on average.
    assert learner.score(findings) == pytest.approx(truth.log_evidences.mean(), abs=0.3)
    assert learner.score(findings.to_numpy().astype(float)) == learner.score(findings)


def test_a_score_that_is_a_bound_says_so(monkeypatch):
    from noisyor.inference import answers

    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(5000, rng=1))
    findings = clinic.sample(60, rng=2)
    exact = learner.score(findings)
    monkeypatch.setattr(answers, "OPERATIONS_PER_SECOND", 1.0)
    monkeypatch.setattr(answers, "ENTRIES_PER_SECOND", 1.0)
    monkeypatch.setattr(answers, "LEAF_OPERATIONS", -1.0)
    with pytest.warns(NoisyOrWarning, match="the score is a lower bound"):
        bound = learner.score(findings)
    assert bound < exact
    with pytest.raises(NoisyOrError, match="nothing to score"):
        learner.score(clinic.sample(0, rng=0))


# --- baselines ---

BASELINES = [
    "exact_em", "variational_em", "maximum_likelihood",
    "observed", "observed_likelihood", "uniform",
]  # fmt: skip


@pytest.mark.parametrize("method", BASELINES)
def test_the_learner_reaches_each(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(300, rng=0, return_diseases=True)
    learner = NoisyOrLearner(network.structure, method=method, n_init=2)
    labels = diseases if METHODS[method].needs_labels else None
    estimate = learner.fit(findings.to_numpy(), labels).estimate_
    assert estimate.method == method
    assert estimate.summary().num_rows == 14
    assert estimate.misfits().moments.n_records == 300
    moments = count_moments(
        findings, NoisyOrLearner(network.structure, method="pooled").find_plan()
    )
    with pytest.raises(ParameterError, match="learns from records, not from moments"):
        learner.fit(moments)
    with pytest.raises(ParameterError, match="there is no plan"):
        learner.find_plan()


@pytest.mark.parametrize("method", BASELINES)
def test_all_parameters_can_be_held(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(100, rng=0, return_diseases=True)
    learner = NoisyOrLearner(network.structure, method=method)
    fixed = Fixed.of(network, "priors", "failures", "leaks")
    labels = diseases if METHODS[method].needs_labels else None
    estimate = learner.fit(findings, labels, fixed=fixed).estimate_
    assert estimate.network.failures == pytest.approx(network.failures)
    assert (estimate.leaks.flags == Flag.FIXED).all()


def test_a_table_of_diseases_is_matched_by_name():
    network = datasets.figure1(0)
    findings, diseases = network.sample(5000, rng=0, return_diseases=True)
    table = pd.DataFrame(diseases.astype(int), columns=list(network.structure.diseases))
    learner = NoisyOrLearner(network.structure, method="observed")
    expected = learner.fit(findings, diseases).network_
    turned = table[table.columns[::-1]]
    for given in turned, pl.from_pandas(turned), pa.Table.from_pandas(turned):
        assert learner.fit(findings, given).network_ == expected
    with pytest.raises(NoisyOrError, match="no column for 'B'"):
        learner.fit(findings, table[["A"]])


def test_baselines_do_not_learn_bit_by_bit():
    network = datasets.figure1(0)
    with pytest.raises(ParameterError, match="cannot learn bit by bit"):
        NoisyOrLearner(network.structure, method="exact_em").partial_fit(network.sample(5, rng=0))


def test_partial_fit_keeps_what_is_held():
    network = datasets.figure1(0)
    learner = NoisyOrLearner(network.structure, method="pooled")
    records = network.sample(300, rng=0)
    learner.partial_fit(records, fixed={"priors": {"A": 0.123}}).partial_fit(records)
    assert learner.network_.priors[0] == 0.123
    with pytest.raises(ParameterError, match="other fixed values"):
        learner.partial_fit(records, fixed={"priors": {"A": 0.2}})
