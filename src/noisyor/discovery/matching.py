"""Which causes of two networks are the same (Buhai et al. 2020)."""

from typing import NamedTuple

import numpy as np

from noisyor.discovery.checking import check_network
from noisyor.discovery.dense_em import CauseMatrix
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats

LEAST_PRIOR, MOST_FAILURE = 0.02, 0.8
"""Rarer causes, and those without a failure below, are not counted."""
LARGEST_DIFFERENCE = 1.0
"""Of log failures, for two causes to be the same."""
CERTAIN = 1e-9


class Matching(NamedTuple):
    """Causes of one network that are found in another."""

    pairs: Indices
    """The cause of the one, the cause of the other."""
    n_counted: int
    """Causes of the one..."""
    n_false: int
    """... and of the other that match none."""

    @property
    def n_found(self) -> int:
        """How many of the one are found in the other."""
        return len(self.pairs)


def match_causes(
    truth: NoisyOrNetwork | CauseMatrix, found: NoisyOrNetwork | CauseMatrix
) -> Matching:
    """Match causes one to one; two are the same if no log failure differs by more than 1.

    Symptoms are in the same order in both. Causes with a prior of at most 0.02, or without a
    failure below 0.8, are not counted.

    >>> from noisyor import datasets
    >>> network = datasets.figure1(rng=0)
    >>> match_causes(network, network).n_found
    2
    """
    from scipy.optimize import linear_sum_assignment

    for each in truth, found:
        if not isinstance(each, CauseMatrix):
            check_network(each)
    one, other = (
        each if isinstance(each, CauseMatrix) else CauseMatrix.of(each) for each in (truth, found)
    )
    first, second = np.flatnonzero(_counts(one)), np.flatnonzero(_counts(other))
    costs = differences(one.failures[first], other.failures[second])
    # What cannot be the same costs all alike, so that nothing that can is given up for it.
    rows, columns = linear_sum_assignment(np.where(costs > LARGEST_DIFFERENCE, 1e6, costs))
    is_same = costs[rows, columns] <= LARGEST_DIFFERENCE
    pairs = np.column_stack([first[rows[is_same]], second[columns[is_same]]])
    return Matching(pairs.astype(np.int64), len(first), len(second) - len(pairs))


def differences(one: Floats, other: Floats) -> Floats:
    """Return the largest differences of log failures, of each cause of the one to each other."""
    logs = np.log(np.maximum(one, CERTAIN)), np.log(np.maximum(other, CERTAIN))
    return np.asarray(np.abs(logs[0][:, np.newaxis] - logs[1][np.newaxis]).max(axis=2, initial=0.0))


def _counts(causes: CauseMatrix) -> Booleans:
    strongest = causes.failures.min(axis=1, initial=1.0)
    return np.asarray((causes.priors > LEAST_PRIOR) & (strongest < MOST_FAILURE))
