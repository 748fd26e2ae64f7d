"""Quartets of symptoms that one cause couples alone."""

import numpy as np
import pytest

from discovery.test_suggestions import CLINIC
from noisyor import MomentPlan, NoisyOrNetwork, Structure, count_moments
from noisyor.discovery.quartets import certify, check_quartets, pure_quartets
from noisyor.errors import ParameterError

ONE = NoisyOrNetwork(
    Structure.from_matrix(np.ones((1, 4))), [0.3], [0.2, 0.3, 0.4, 0.5], [0.05] * 4
)
TWO = NoisyOrNetwork(
    Structure.from_matrix([[1, 1, 1, 1], [1, 1, 0, 0]]), [0.3, 0.3],
    [0.2, 0.3, 0.4, 0.5, 0.3, 0.3], [0.05] * 4,
)  # fmt: skip


def count_quartets(findings, sets):
    return count_moments(findings, MomentPlan(findings.structure, quartets=sets)).quartet_tables()


def test_error_rates_are_held():
    tables = [count_quartets(ONE.sample(3000, rng=seed), [[0, 1, 2, 3]])[0] for seed in range(400)]
    tests = check_quartets(np.array(tables))
    assert 0.025 < np.mean(tests.p_values < 0.05) < 0.085
    assert tests.is_coupled.all()


def test_a_second_cause_is_noticed():
    tables = [count_quartets(TWO.sample(3000, rng=seed), [[0, 1, 2, 3]])[0] for seed in range(20)]
    assert (check_quartets(np.array(tables)).p_values < 0.001).mean() > 0.9


def test_what_is_not_coupled_tells_nothing():
    array = np.random.default_rng(0).random((2000, 4)) < 0.3
    from noisyor import Findings

    tables = count_quartets(Findings.from_numpy(array, ONE.structure), [[0, 1, 2, 3]])
    assert not check_quartets(tables).is_coupled[0]


def test_causes_are_certified():
    records = CLINIC.sample(8000, rng=0)
    found = certify(CLINIC, records)
    assert [each.disease for each in found] == list(CLINIC.structure.diseases)
    assert all(each.is_certified is not False for each in found)
    # Two causes that are taken for one: their symptoms are not coupled by it alone.
    matrix = CLINIC.structure.sparse_matrix().toarray().T > 0
    both = Structure.from_matrix((matrix[0] | matrix[2])[np.newaxis])
    wrong = NoisyOrNetwork(both, [0.2], [0.5] * both.n_edges, CLINIC.leaks)
    [certificate] = certify(wrong, records)
    assert certificate.is_certified in (False, None)


def test_pure_quartets_share_no_other_cause():
    for i in range(5):
        for members in pure_quartets(CLINIC, i):
            parents = [set(CLINIC.structure.parents(j).tolist()) - {i} for j in members]
            total = sum(len(each) for each in parents)
            assert len(set().union(*parents)) == total


def test_misuse_is_refused():
    with pytest.raises(ParameterError, match="level"):
        certify(CLINIC, CLINIC.sample(10, rng=0), level=1.5)
