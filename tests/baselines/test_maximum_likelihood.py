"""Maximum likelihood by its derivatives, against exact EM."""

import numpy as np
import pytest

from noisyor import Findings, Structure, datasets, learn_exact_em, learn_maximum_likelihood
from noisyor.errors import ParameterError


def test_exact_em_and_maximum_likelihood_agree_and_never_fall():
    for seed in range(4):
        network = datasets.figure1(seed)
        findings = network.sample(10_000, seed=seed)
        ends = []
        for learn in learn_exact_em, learn_maximum_likelihood:
            estimate = learn(findings, network.structure, seed=seed)
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
