"""Causes of two networks that are the same."""

import numpy as np

from discovery.test_suggestions import CLINIC
from noisyor.discovery import match_causes
from noisyor.discovery.dense_em import CauseMatrix


def test_causes_are_matched_whatever_their_order():
    truth = CauseMatrix.of(CLINIC)
    order = np.array([3, 1, 4, 0, 2])
    found = match_causes(CLINIC, truth.at(order))
    assert (found.n_found, found.n_counted, found.n_false) == (5, 5, 0)
    assert [order[b] for _, b in found.pairs.tolist()] == [a for a, _ in found.pairs.tolist()]


def test_a_cause_with_a_wrong_edge_is_false():
    truth = CauseMatrix.of(CLINIC)
    failures = truth.failures.copy()
    j = int(np.argmax(failures[0]))
    failures[0, j] = 0.3  # log f differs by 1.2
    found = match_causes(truth, CauseMatrix(truth.priors, failures, truth.leaks))
    assert (found.n_found, found.n_false) == (4, 1)


def test_rare_and_weak_causes_are_not_counted():
    truth = CauseMatrix.of(CLINIC)
    priors, failures = truth.priors.copy(), truth.failures.copy()
    priors[0], failures[1] = 0.01, np.maximum(failures[1], 0.85)
    found = match_causes(truth, CauseMatrix(priors, failures, truth.leaks))
    assert (found.n_found, found.n_false) == (3, 0)
    assert match_causes(truth, truth.at(np.array([], dtype=int))).n_found == 0
