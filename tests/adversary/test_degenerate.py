"""Inference on networks with parameters of 0, 1 and almost so, against sums of exact fractions.

NOISYOR_NETWORKS says on how many networks `make test-all` compares.
"""

import os
from collections import Counter

import pytest

from adversary.degenerate import CHECKS, FAR, OUTSIDE, SAMPLED, WITHIN, cases

N_NETWORKS = int(os.environ.get("NOISYOR_NETWORKS", "2000"))
MANY = pytest.param(N_NETWORKS, marks=pytest.mark.slow)


@pytest.mark.parametrize("n_networks", [20, MANY], ids=["some", "many"])
@pytest.mark.parametrize("name", CHECKS)
def test_inference_with_degenerate_parameters(rng, name, n_networks):
    for check in cases(name, rng, n_networks):
        check()


@pytest.mark.parametrize("n_networks", [30, MANY], ids=["some", "many"])
@pytest.mark.parametrize("name", SAMPLED)
def test_sampling_is_as_near_as_it_says(rng, name, n_networks):
    seen = Counter()
    for check in cases(name, rng, n_networks):
        seen.update(check())
    covered = seen[WITHIN] / (seen[WITHIN] + seen[OUTSIDE] + seen[FAR])
    if n_networks == N_NETWORKS:  # a thousand diseases and more
        assert 0.93 < covered < 0.975, seen
    assert covered > 0.8, seen
