"""NoisyOrLearner among scikit-learn's own tools: its checks, pipelines, searches, frames."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from noisyor import NoisyOrLearner, datasets, learning
from noisyor.errors import NoisyOrError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore::noisyor.NoisyOrWarning")


class OfNumbers(NoisyOrLearner):
    """The checks bring real numbers, of which the learner takes 0 and 1 only: above 0 is 1 here.

    They bring a target to every `fit`, too, which methods that see no diseases refuse (see
    test_labels_are_refused_by_methods_that_do_not_use_them): it is left out here.
    """

    def fit(self, records, y=None, **options):
        return super().fit(zeros_and_ones(records), **options)

    def partial_fit(self, records, y=None, **options):
        return super().partial_fit(zeros_and_ones(records), **options)

    def posteriors(self, records, **options):
        return super().posteriors(zeros_and_ones(records), **options)


def zeros_and_ones(records):
    if scipy.sparse.issparse(records):
        return records > 0
    is_array = hasattr(records, "__array__") and not hasattr(records, "columns")
    array = np.asarray(records) if is_array or isinstance(records, list) else None
    if array is None or array.dtype.kind not in "fiu":
        return records
    return np.where(np.isnan(array), np.nan, array > 0)


EXPECTED_TO_FAIL = {
    "check_fit_score_takes_y": "partial_fit after fit is refused: fit in two passes keeps no "
    "counts that more records could be added to",
    "check_dtype_object": "a value that is no finding is named with its record and symptom, in "
    "other words than those of float()",
    "check_estimator_sparse_array": "predict_proba has a column for each disease, not for each "
    "class (test_sparse_records_are_taken tests the rest)",
    "check_estimator_sparse_matrix": "as check_estimator_sparse_array",
}


def expected_to_fail(estimator):
    failing = dict(EXPECTED_TO_FAIL)
    if estimator.method == "sequential":  # counts the same in fit and partial_fit
        del failing["check_fit_score_takes_y"]
    return failing


@parametrize_with_checks(
    [OfNumbers(method=method) for method in ("refined", "pooled", "sequential")],
    expected_failed_checks=expected_to_fail,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def frame(clinic):
    return pd.DataFrame(
        clinic.sample(1500, rng=3).to_numpy().astype(int), columns=clinic.structure.symptoms
    )


def test_a_step_of_a_pipeline(clinic, frame):
    target = frame["fever"]
    learner = NoisyOrLearner(clinic.structure, method="pooled")
    pipeline = make_pipeline(learner, LogisticRegression())
    assert pipeline.fit(frame, target).score(frame, target) > target.mean()
    assert list(pipeline[:-1].get_feature_names_out()) == list(clinic.structure.diseases)
    # A step before it: measurements become findings.
    measured = np.random.default_rng(0).normal(size=(300, 5))
    both = make_pipeline(Binarizer(threshold=0.5), NoisyOrLearner(method="pooled"))
    assert both.fit(measured).predict_proba(measured).shape == (300, 1)


@pytest.mark.parametrize("method", ["sequential", "uniform"])
def test_labels_are_refused_by_methods_that_do_not_use_them(method):
    network = datasets.figure1(0)
    findings, diseases = network.sample(300, rng=0, return_diseases=True)
    learner = NoisyOrLearner(network.structure, method=method)
    message = f"method '{method}' does not use labels .y, --labels.*learn with refined, pooled"
    for labels in diseases, pd.DataFrame(diseases, columns=["A", "B"]), diseases.tolist():
        for learn in learner.fit, learner.fit_transform:
            with pytest.raises(ParameterError, match=message):
                learn(findings, labels)
        with pytest.raises(ParameterError, match=message):
            learning.fit(findings, network.structure, method, labels=labels)
    with pytest.raises(ParameterError, match=message):
        learner.fit(findings, diseases[:, 0])
    if method in ("pooled", "sequential"):
        with pytest.raises(ParameterError, match=message):
            learner.partial_fit(findings, diseases)
    assert not hasattr(learner, "moments_")
    # Of a later step in a pipeline.
    assert learner.fit_transform(findings, diseases[:, 0]).shape == (300, 2)


def test_methods_that_see_the_diseases_use_them_in_a_pipeline_too():
    network = datasets.figure1(0)
    findings, diseases = network.sample(300, rng=0, return_diseases=True)
    learner = NoisyOrLearner(network.structure, method="observed")
    learner.fit_transform(findings, diseases)
    assert learner.network_.priors == pytest.approx(diseases.mean(axis=0))


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "lil_matrix"])
def test_sparse_records_are_taken(kind, clinic, frame):
    sparse = getattr(scipy.sparse, kind)(frame.to_numpy())
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(sparse)
    assert learner.network_ == clone(learner).fit(frame.to_numpy()).network_
    assert np.array_equal(learner.predict_proba(sparse), learner.predict_proba(frame))


def test_a_search_over_methods():
    network = datasets.figure1(0)
    records = network.sample(2000, rng=1).to_numpy()
    search = GridSearchCV(
        NoisyOrLearner(network.structure), {"method": ["refined", "uniform"]}, cv=3
    ).fit(records)
    assert search.best_params_ == {"method": "refined"}
    learned, guessed = search.cv_results_["mean_test_score"]
    assert learned > guessed + 0.1
    assert search.best_estimator_.predict(records).shape == (2000, 2)


def test_frames_come_back_as_frames(clinic, frame):
    learner = NoisyOrLearner(clinic.structure, method="pooled").set_output(transform="pandas")
    few = frame.iloc[:20].set_index(np.arange(100, 120))
    found = learner.fit(frame).transform(few)
    assert list(found.columns) == list(clinic.structure.diseases)
    assert list(found.index) == list(range(100, 120))
    assert learner.n_features_in_ == 60
    assert list(learner.feature_names_in_) == list(clinic.structure.symptoms)
    # Columns are matched by name, not by place.
    again = learner.transform(few[few.columns[::-1]])
    assert np.array_equal(again, found)
    learner.fit(frame.to_numpy())
    assert not hasattr(learner, "feature_names_in_")


def test_parameters_are_set_cloned_and_checked(clinic):
    learner = NoisyOrLearner(clinic.structure, method="pooled", random_state=3)
    copied = clone(learner).set_params(method="sequential", n_groups=7)
    assert copied.get_params() == {**learner.get_params(), "method": "sequential", "n_groups": 7}
    assert learner.get_params()["method"] == "pooled"
    records = clinic.sample(10, rng=0)
    for wrong in (
        {"n_groups": 0}, {"random_state": -1}, {"n_init": 1.5}, {"pairs": "yes"}, {"n_jobs": 0},
        {"choice": "last"}, {"method": "magic"}, {"structure": 3},
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            clone(learner).set_params(**wrong).fit(records)


def test_without_a_structure_it_is_a_mixture(tmp_path):
    rng = np.random.default_rng(1)
    is_ill = rng.random(20_000) < 0.3
    records = np.where(is_ill[:, None], rng.random((20_000, 6)) < 0.7, False)
    records |= rng.random((20_000, 6)) < 0.05
    learner = NoisyOrLearner(method="pooled").fit(records)
    assert learner.structure_.diseases == ("hidden",)
    assert learner.structure_.symptoms == ("x0", "x1", "x2", "x3", "x4", "x5")
    assert learner.network_.priors == pytest.approx(0.3, abs=0.02)
    assert learner.network_.failures == pytest.approx(0.3, abs=0.03)
    assert (learner.predict(records)[:, 0] == is_ill).mean() > 0.95
    frame = pd.DataFrame(records.astype(int), columns=[f"item {j}" for j in range(6)])
    frame.insert(0, "record", range(len(frame)))
    frame.to_csv(tmp_path / "r.csv", index=False)
    for source in frame, tmp_path / "r.csv":
        named = NoisyOrLearner(method="pooled").fit(source)
        assert named.structure_.symptoms == tuple(frame.columns[1:])
        assert named.network_.priors == pytest.approx(learner.network_.priors)
    by_parts = NoisyOrLearner(method="pooled").partial_fit(records[:9000])
    by_parts.partial_fit(records[9000:])
    assert by_parts.network_.priors == pytest.approx(0.3, abs=0.02)
    long = pd.DataFrame({"record": [1, 1, 2], "symptom": ["a", "b", "a"]})
    with pytest.raises(ParameterError, match="give a structure"):
        NoisyOrLearner().fit(long)
    with pytest.raises(ParameterError, match="a plan needs a structure"):
        NoisyOrLearner().find_plan()


def test_shapes_are_refused_in_words(clinic):
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(300, rng=0))
    with pytest.raises(NoisyOrError, match="X has 5 features, but NoisyOrLearner is expecting 60"):
        learner.predict(np.zeros((3, 5)))
    with pytest.raises(NoisyOrError, match="Reshape your data"):
        learner.predict(np.zeros(60))
