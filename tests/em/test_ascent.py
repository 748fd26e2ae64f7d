"""Climbing the exact likelihood: by EM and leaps, and by its derivatives."""

import numpy as np
import pytest

from noisyor import Findings, Structure, datasets
from noisyor.errors import ParameterError
from noisyor.learning import EMSettings, Flag, learn_exact_em, learn_maximum_likelihood


def test_a_raised_budget_does_not_make_the_impossible_possible():
    structure = Structure.from_matrix(np.ones((25, 30)))
    findings = Findings.from_numpy(np.ones((2, 30)), structure)
    with pytest.raises(ParameterError, match="30 present findings far more"):
        learn_exact_em(findings, structure, settings=EMSettings(max_operations=2.0**40))
    with pytest.raises(ParameterError, match="max_operations must be a number from 1 on"):
        learn_exact_em(findings, structure, settings=EMSettings(max_operations=0))


def test_values_at_a_bound_are_flagged_and_have_no_interval():
    network = datasets.figure1(0)
    n_found = 0
    for seed in range(6):
        estimate = learn_exact_em(
            network.sample(200, rng=seed), network.structure, settings=EMSettings(n_init=2)
        )
        for part in estimate.parts.values():
            at_bound = (part.values < 1e-5) | (part.values > 1 - 1e-5)
            n_found += at_bound.sum()
            assert ((part.flags & Flag.CLIPPED) != 0)[at_bound].all()
            assert np.isnan(part.standard_errors[at_bound]).all()
    assert n_found


def test_exact_em_and_maximum_likelihood_agree_and_never_fall():
    for seed in range(4):
        network = datasets.figure1(seed)
        findings = network.sample(10_000, rng=seed)
        ends = []
        for learn in learn_exact_em, learn_maximum_likelihood:
            estimate = learn(findings, network.structure, settings=EMSettings(rng=seed))
            trace = estimate.trace
            assert (np.diff(trace.values) >= 0.0).all()
            assert len(trace.ends) == 4
            assert trace.values[-1] == trace.ends.max()
            ends.append(trace.values[-1])
        assert ends[0] == pytest.approx(ends[1], rel=1e-6)


def test_exact_em_refuses_what_is_out_of_reach():
    structure = Structure.from_matrix(np.ones((30, 40)))
    findings = Findings.from_numpy(np.ones((3, 40)), structure)
    for learn in learn_exact_em, learn_maximum_likelihood:
        with pytest.raises(ParameterError, match="exact inference is out of reach: 1 of 1"):
            learn(findings, structure)
