"""Scores of probabilities against labels: against loops, scikit-learn, and their own promises."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import naive
from noisyor.evaluation import scores
from noisyor.evaluation.scores import calibration_of

mpl.use("Agg")


def random_labels(rng, n_least=2):
    """Probabilities with ties, some of them 0 or 1, and labels that follow them more or less."""
    n = int(rng.integers(n_least, 40))
    p = rng.beta(0.5, rng.choice([0.7, 3.0]), n)
    if rng.random() < 0.5:
        p = np.round(p, 1)
    y = rng.random(n) < np.clip(p + rng.normal(0.0, rng.choice([0.0, 0.3])), 0.0, 1.0)
    return p, y


def with_both(rng, least=1):
    while True:
        p, y = random_labels(rng)
        if min(y.sum(), (~y).sum()) >= least:
            return p, y


def test_auc_is_the_mean_over_all_pairs(rng):
    for _ in range(200):
        p, y = with_both(rng)
        auc, _ = scores.auc_of(p, y)
        assert auc.value == pytest.approx(naive.auc(p, y), abs=1e-12)
        assert auc.value == pytest.approx(roc_auc_score(y, p), abs=1e-12)
        assert 0.0 <= auc.lower <= auc.value <= auc.upper <= 1.0
        assert auc.upper - auc.lower > 0.0


def test_shares_add_up_to_delongs_variance(rng):
    for _ in range(300):
        p, y = with_both(rng, least=2)
        shares = scores.auc_shares(p, y).shares
        assert (shares**2).sum() == pytest.approx(naive.delong_variance(p, y), abs=1e-14)


def test_newcombes_interval_ends_where_the_distance_does(rng):
    for _ in range(30):
        value = float(rng.choice([0.0, 1.0, 0.5, rng.random()]))
        m, n = (int(each) for each in rng.integers(1, 60, 2))
        ends = scores.newcombe_interval(value, m, n)
        assert ends == pytest.approx(naive.newcombe_interval(value, m, n), abs=1e-4)


def test_an_auc_of_one_is_not_certain():
    """DeLong's variance is 0 there, whatever the number of cases."""
    p, y = np.array([0.9, 0.8, 0.1, 0.2, 0.3]), np.array([1, 1, 0, 0, 0], dtype=bool)
    assert not scores.auc_shares(p, y).shares.any()
    auc, _ = scores.auc_of(p, y)
    assert (auc.value, auc.upper) == (1.0, 1.0)
    assert auc.lower < 0.5
    one_case, _ = scores.auc_of(p[1:], y[1:])
    assert one_case.lower < auc.lower < 1.0


def test_labels_of_one_kind_have_no_auc():
    for y in np.zeros(3, dtype=bool), np.ones(3, dtype=bool), np.zeros(0, dtype=bool):
        auc, shares = scores.auc_of(np.linspace(0.1, 0.9, len(y)), y)
        assert np.isnan(auc).all()
        assert len(shares) == len(y)


def drawn(rng, true, m, n):
    """Probabilities of m cases and n others whose AUC is known."""
    x = np.concatenate([rng.normal(np.sqrt(2.0) * norm.ppf(true), 1.0, m), rng.normal(size=n)])
    return norm.cdf(x - 2.0), np.arange(m + n) < m


@pytest.mark.parametrize(("true", "m", "n"), [(0.7, 30, 100), (0.95, 8, 150), (0.99, 20, 400)])
def test_intervals_hold_the_true_auc_where_delongs_do_not(true, m, n):
    rng, held, delong = np.random.default_rng(0), 0, 0
    for _ in range(400):
        p, y = drawn(rng, true, m, n)
        auc, shares = scores.auc_of(p, y)
        held += auc.lower <= true <= auc.upper
        delong += abs(auc.value - true) <= 1.96 * np.sqrt((shares**2).sum())
    assert held >= 0.93 * 400
    if true > 0.9:  # the control: with few cases plain DeLong is far too sure
        assert delong < 0.88 * 400


def columns_of_records(rng):
    """Several diseases of the same records, partly labelled; each with both kinds twice."""
    while True:
        n, d = int(rng.integers(8, 30)), int(rng.integers(1, 5))
        p = np.round(rng.random((n, d)), 1)
        y = np.where(rng.random((n, d)) < 0.2, np.nan, rng.random((n, d)) < p)
        if all(min((y[:, k] == 1).sum(), (y[:, k] == 0).sum()) >= 2 for k in range(d)):
            return p, y


def listed(p, y):
    known = [np.flatnonzero(~np.isnan(column)) for column in y.T]
    columns = [p[rows, k] for k, rows in enumerate(known)]
    labels = [y[rows, k] == 1 for k, rows in enumerate(known)]
    return columns, labels, known


def joined(*columns):
    return [np.concatenate(each) for each in columns]


def test_the_spread_of_the_mean_is_delongs_covariance(rng):
    for _ in range(150):
        p, y = columns_of_records(rng)
        columns, labels, rows = listed(p, y)
        found = [scores.auc_shares(*each) for each in zip(columns, labels, strict=True)]
        # Intervals just as wide as DeLong's standard errors: nothing is scaled.
        errors = [scores.REACH * np.sqrt((each.shares**2).sum()) for each in found]
        aucs = [
            scores.Auc(f.value, f.value - e, f.value + e)
            for f, e in zip(found, errors, strict=True)
        ]
        mean = scores.mean_auc(aucs, [each.shares for each in found], rows, len(p))
        none = [[None if np.isnan(v) else v for v in column] for column in y.T]
        variance = naive.delong_variance_of_mean(list(zip(p.T.tolist(), none, strict=True)))
        assert mean.value == pytest.approx(
            np.mean([naive.auc(*each) for each in zip(columns, labels, strict=True)])
        )
        for reach in mean.value - mean.lower, mean.upper - mean.value:
            if 0.0 < mean.lower < mean.upper < 1.0:
                assert (reach / scores.REACH) ** 2 == pytest.approx(variance, rel=1e-6, abs=1e-12)


def test_the_mean_of_certain_aucs_has_an_interval():
    p, y = np.array([0.9, 0.8, 0.1, 0.2]), np.array([True, True, False, False])
    auc, shares = scores.auc_of(p, y)
    found = scores.mean_auc([auc, scores.NO_AUC], [shares, shares], [np.arange(4)] * 2, 4)
    assert (found.value, found.upper) == (1.0, 1.0)
    assert found.lower < 0.9
    assert np.isnan(scores.mean_auc([scores.NO_AUC], [shares], [np.arange(4)], 4).value)


def test_pooled_is_the_auc_of_all_cells_with_records_as_units(rng):
    for _ in range(100):
        p, y = columns_of_records(rng)
        columns, labels, rows = listed(p, y)
        found = scores.pooled_auc(*joined(columns, labels, rows), len(p))
        everything = np.concatenate(columns), np.concatenate(labels)
        assert found.value == pytest.approx(naive.auc(*everything), abs=1e-12)
        # Each record twice says no more than once: the interval by cells does not know that.
    p, y = np.round(rng.random((60, 1)), 2), (rng.random((60, 1)) < 0.5).astype(float)
    once = scores.pooled_auc(*joined(*listed(p, y)), 60)
    twice = scores.pooled_auc(*joined(*listed(np.hstack([p, p]), np.hstack([y, y]))), 60)
    assert twice.value == pytest.approx(once.value)
    assert twice.upper - twice.lower > 0.9 * (once.upper - once.lower)
    assert np.isnan(scores.pooled_auc(p[:, 0], y[:, 0] > 2, np.arange(60), 60).value)


@pytest.mark.slow
def test_the_intervals_of_overall_aucs_hold_the_truth():
    """Four diseases of the same records, whose scores go together."""
    rng, held, true = np.random.default_rng(1), np.zeros(2), 0.8
    for _ in range(600):
        shared = rng.normal(size=(200, 1))
        is_case = rng.random((200, 4)) < 0.15
        x = 0.7 * shared + np.sqrt(1 - 0.49) * rng.normal(size=(200, 4))
        x += np.sqrt(2.0) * norm.ppf(true) * is_case
        columns, labels, rows = listed(norm.cdf(x), is_case.astype(float))
        pairs = [scores.auc_of(*each) for each in zip(columns, labels, strict=True)]
        aucs, shares = zip(*pairs, strict=True)
        for k, found in enumerate(
            (
                scores.mean_auc(aucs, shares, rows, 200),
                scores.pooled_auc(*joined(columns, labels, rows), 200),
            )
        ):
            held[k] += found.lower <= true <= found.upper
    assert (held >= 0.93 * 600).all()
    assert (held <= 0.99 * 600).all()


def test_brier_and_log_scores_are_those_of_loops_and_of_scikit_learn(rng):
    for _ in range(300):
        p, y = random_labels(rng, 1)
        assert scores.brier_score(p, y) == pytest.approx(naive.brier(p, y), abs=1e-12)
        log_score = scores.log_scores(p, y).mean()
        assert log_score == pytest.approx(naive.log_score(p, y, scores.LEAST))
        assert scores.brier_score(p, y) == pytest.approx(
            brier_score_loss(y, p, labels=[False, True]) if len(set(y)) > 1 else naive.brier(p, y)
        )
        if len(set(y)) > 1:
            assert log_score == pytest.approx(-log_loss(y, p))


def test_calibration_is_that_of_loops(rng):
    for _ in range(300):
        p, y = random_labels(rng, 1)
        found = scores.calibration_of(p, y)
        rows, error = naive.calibration(p, y, scores.N_BINS)
        assert [n for n, _, _ in rows] == found.n_labels.tolist()
        assert [n for _, n, _ in rows] == found.n_present.tolist()
        means = [np.nan if mean is None else mean for _, _, mean in rows]
        assert found.mean_probabilities == pytest.approx(means, nan_ok=True)
        assert found.error == pytest.approx(error, abs=1e-12)


def test_intervals_of_shares_are_wilsons(rng):
    for n, seen in ((1, 0), (1, 1), (7, 3), (40, 39), (500, 20)):
        found = scores.Calibration(np.array([n]), np.array([seen]), np.array([0.5]))
        lower, upper = found.intervals()
        assert (lower[0], upper[0]) == pytest.approx(naive.wilson_interval(seen, n), abs=1e-4)


def test_the_error_by_chance_is_that_of_all_outcomes(rng):
    for _ in range(200):
        n = int(rng.integers(1, 60))
        p = np.round(rng.beta(0.5, 2.0, n), 3) if rng.random() < 0.7 else rng.uniform(0, 0.01, n)
        bins = [p[scores._bins(p) == k].tolist() for k in range(scores.N_BINS)]
        right = sum(naive.mean_distance(each) for each in bins) / n
        is_exact = all(min(sum(each), len(each) - sum(each)) < 1.0 for each in bins)
        found = scores.error_by_chance(p)
        assert found == pytest.approx(right, rel=1e-9 if is_exact else 0.12, abs=1e-12)


def test_the_error_of_right_probabilities_is_that_by_chance_and_not_of_wrong_ones():
    rng = np.random.default_rng(0)
    p = rng.beta(0.4, 2.0, 500)
    of_right, of_wrong = (
        np.mean([scores.calibration_of(p, rng.random(500) < true).error for _ in range(300)])
        for true in (p, np.clip(p + 0.05, 0.0, 1.0))
    )
    assert of_right == pytest.approx(scores.error_by_chance(p), rel=0.05)
    assert of_wrong > 1.3 * scores.error_by_chance(p)


def test_net_benefits_are_those_of_loops(rng):
    for _ in range(100):
        p, y = random_labels(rng, 1)
        found = scores.net_benefits(p, y)
        right = [naive.net_benefit(p, y, threshold) for threshold in scores.THRESHOLDS.tolist()]
        assert found == pytest.approx(right, abs=1e-12)


def test_ranks_are_those_of_loops(rng):
    for _ in range(100):
        p = np.round(rng.random((int(rng.integers(1, 6)), int(rng.integers(1, 8)))), 1)
        right = [[naive.rank_in_record(row.tolist(), k) for k in range(len(row))] for row in p]
        assert scores.ranks_in_records(p).tolist() == right


def test_nothing_has_no_scores():
    p, y = np.zeros(0), np.zeros(0, dtype=bool)
    assert np.isnan(
        [scores.brier_score(p, y), scores.error_by_chance(p), scores.calibration_of(p, y).error]
    ).all()
    assert np.isnan(scores.net_benefits(p, y)).all()


def test_rounding_errors_sort_nothing(rng):
    for _ in range(100):
        p = np.round(rng.beta(0.3, 1.0, (int(rng.integers(1, 8)), 6)), 2)
        near = p * (1.0 + rng.uniform(-1e-15, 1e-15, p.shape))
        found = scores.without_rounding_errors(near)
        assert found.ravel().tolist() == naive.without_rounding_errors(near.ravel().tolist(), 1e-12)
        equal, joined = (np.equal.outer(each.ravel(), each.ravel()) for each in (p, found))
        assert np.array_equal(equal, joined)
    assert scores.without_rounding_errors(np.zeros((0, 3))).shape == (0, 3)


def test_a_calibration_is_drawn_as_it_stands():
    found = calibration_of(np.array([0.05, 0.05, 0.95]), np.array([True, False, True]))
    ax = found.plot()
    points = ax.get_lines()[1].get_xydata()
    np.testing.assert_allclose(points, [[0.05, 0.5], [0.95, 1.0]])
    assert found == calibration_of(np.array([0.05, 0.05, 0.95]), np.array([True, False, True]))
