"""A start from quartets: causes whose strengths follow from pairs that they couple alone."""

import numpy as np
import pytest

from noisyor import Findings, MomentPlan, NoisyOrNetwork, Structure, count_moments
from noisyor.discovery import DiscoverySettings, discover, match_causes
from noisyor.discovery.pair_factors import PairRatios
from noisyor.discovery.quartet_start import QuartetStart, _strengths

MATRIX = np.zeros((3, 14))
MATRIX[0, :6] = MATRIX[1, 4:10] = MATRIX[2, 8:14] = 1
NETWORK = NoisyOrNetwork(
    Structure.from_matrix(MATRIX), [0.2, 0.15, 0.1], [0.3] * 18, [0.02] * 14
)  # fmt: skip


def start_of(findings):
    bare = Structure((), findings.structure.symptoms, np.empty((0, 2), int))
    plain = Findings(bare, findings.blocks)
    moments = count_moments(plain, MomentPlan.all_pairs(bare))
    return QuartetStart(plain, PairRatios.of(moments), 1)


def test_strengths_of_one_cause_are_exact():
    v = np.array([0.9, 0.5, 0.7, 0.3, 0.6, 0.0])
    found = _strengths(np.outer(v, v), np.array([0, 1, 2, 3]))
    np.testing.assert_allclose(found, v, atol=1e-9)


def test_causes_are_those_that_couple_the_symptoms():
    strengths = start_of(NETWORK.sample(20_000, rng=0)).strengths(6, np.random.default_rng(0))
    cosines = strengths @ MATRIX.T
    cosines /= np.linalg.norm(strengths, axis=1)[:, np.newaxis] * np.linalg.norm(MATRIX, axis=1)
    assert (cosines.max(axis=0) > 0.9).all()


def test_independent_symptoms_have_no_quartet():
    array = (np.random.default_rng(0).random((2000, 8)) < 0.3).astype(np.int8)
    findings = Findings.from_numpy(array, Structure.from_matrix(np.ones((1, 8))))
    assert len(start_of(findings).strengths(4, np.random.default_rng(0))) == 0


@pytest.mark.parametrize("start", ["quartets", "random"])
def test_starts_lead_to_the_same_causes(start):
    settings = DiscoverySettings(n_init=2, start=start, standard_errors=False)
    found = discover(NETWORK.sample(4000, rng=1).to_numpy(), 6, rng=0, settings=settings)
    matching = match_causes(NETWORK, found.network)
    assert (matching.n_found, matching.n_false) == (3, 0)


def test_threads_change_nothing():
    records = NETWORK.sample(2000, rng=2).to_numpy()
    found = [
        discover(records, 6, rng=0, settings=DiscoverySettings(
            n_init=3, start="quartets", standard_errors=False, n_jobs=n_jobs))
        for n_jobs in (1, 3)
    ]  # fmt: skip
    assert found[0].network == found[1].network
