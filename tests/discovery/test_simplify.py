"""Causes that go, or become one."""

import numpy as np
import pytest

from discovery.test_suggestions import CLINIC
from noisyor.discovery import match_causes
from noisyor.discovery.dense_em import CauseMatrix, DenseEM, DenseRecords
from noisyor.discovery.simplify import bic_of, merge, n_parameters, simplified

EM = DenseEM(DenseRecords(CLINIC.sample(4000, rng=0)))
TRUTH = CauseMatrix.of(CLINIC)


def with_more(priors, failures):
    more = np.concatenate([TRUTH.priors, priors]), np.concatenate([TRUTH.failures, failures])
    return CauseMatrix(*more, TRUTH.leaks)


def test_a_dead_cause_goes_and_true_ones_stay():
    rng = np.random.default_rng(0)
    causes = with_more([0.01], rng.uniform(0.8, 0.95, (1, 20)))
    given = np.zeros(6, dtype=bool)
    found, kept = simplified(EM, EM.climb(causes, 3), given)
    assert len(found.causes.priors) == len(kept) == 5
    assert match_causes(TRUTH, found.causes).n_found == 5


def test_a_cause_that_was_split_is_made_one():
    failures = TRUTH.failures[:1]
    split = with_more([TRUTH.priors[0] / 2], failures)
    split = CauseMatrix(np.r_[TRUTH.priors[0] / 2, split.priors[1:]], split.failures, split.leaks)
    found, _ = simplified(EM, EM.climb(split, 3), np.zeros(6, dtype=bool))
    assert match_causes(TRUTH, found.causes).n_found == len(found.causes.priors) == 5


def test_what_was_given_stays():
    causes = with_more([0.001], np.full((1, 20), 0.9))
    given = np.arange(6) == 5
    found, kept = simplified(EM, EM.climb(causes, 2), given)
    assert kept.sum() == 1
    assert len(found.causes.priors) == 6


def test_merging_keeps_how_often_any_of_both_occurs():
    merged = merge(TRUTH, 0, 1)
    expected = 1 - (1 - TRUTH.priors[0]) * (1 - TRUTH.priors[1])
    assert merged.priors[0] == pytest.approx(expected)
    assert len(merged.priors) == 4


def test_bic_counts_edges_that_count():
    assert n_parameters(TRUTH).tolist() == [7.0] * 5
    assert bic_of(TRUTH, -100.0, np.e) == pytest.approx(35 + 20 + 200)
