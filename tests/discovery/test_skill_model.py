"""The likelihood of a whole test."""

import numpy as np
import pytest

import naive
from noisyor import NoisyOrNetwork, Structure
from noisyor.discovery.skill_model import SkillFit, SkillModel
from noisyor.network import Joint

NEEDS = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1, 1]])
NEEDED = NEEDS.sparse_matrix().toarray() != 0
TEST = NoisyOrNetwork(NEEDS, None, [0.4] * 9, [0.1] * 8, causes=Joint([0.5, 0.1, 0.1, 0.3]))


@pytest.mark.parametrize("seed", range(10))
def test_a_fit_says_what_the_network_says(seed):
    rng = np.random.default_rng(seed)
    network = NoisyOrNetwork(
        NEEDS, rng.uniform(0.2, 0.6, 2), rng.uniform(0.1, 0.9, 9), rng.uniform(0.05, 0.3, 8)
    )
    rows = network.sample(40, rng=seed).to_numpy()
    full = np.ones((2, 8))
    full[tuple(NEEDS.edges.T)] = network.failures
    fit = SkillFit.of(network)
    wanted = naive.log_likelihood(network.priors, full, network.leaks, rows.tolist())
    assert SkillModel(rows).log_likelihood(fit) == pytest.approx(wanted)


def test_derivatives_are_those_of_the_likelihood():
    """A fit climbs to where no small step in any direction is higher."""
    rows = TEST.sample(800, rng=1).to_numpy().astype(float)
    rows[:100, 2] = np.nan
    model = SkillModel(rows)
    found = model.fit(NEEDED, SkillFit.of(TEST))
    assert found.log_likelihood >= model.log_likelihood(SkillFit.of(TEST))
    assert found.log_likelihood == pytest.approx(model.log_likelihood(found), abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):
        strengths = np.maximum(found.strengths * np.exp(rng.normal(0, 0.02, (8, 3))), 1e-6)
        chances = found.chances * np.exp(rng.normal(0, 0.02, 4))
        other = SkillFit(0.0, chances / chances.sum(), strengths * (found.strengths > 0))
        assert model.log_likelihood(other) < found.log_likelihood + 0.02


def test_parameters_come_back_where_there_are_many_answers():
    rows = TEST.sample(20_000, rng=2).to_numpy()
    start = SkillFit(0.0, np.full(4, 0.25), np.column_stack([np.full(8, 0.3), 0.5 * NEEDED]))
    found = SkillModel(rows).fit(NEEDED, start)
    assert found.chances == pytest.approx([0.5, 0.1, 0.1, 0.3], abs=0.02)
    assert found.effects[NEEDED] == pytest.approx(0.6, abs=0.05)
    assert not found.effects[~NEEDED].any()
