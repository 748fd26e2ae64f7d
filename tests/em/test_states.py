"""All states of few diseases, against what is summed up piece by piece."""

import numpy as np
import pytest

from em.test_mixed import KINDS, random_case
from noisyor.em import states
from noisyor.em.mixed import MixedExpectation


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_to_sum_up_give_the_same_information(kind, monkeypatch):
    findings, design, network, model = random_case(5, kind, labelled=0.5)
    expectation = MixedExpectation(findings, design)
    assert expectation.has_few_states(model)
    one = expectation.score(network, model)
    monkeypatch.setattr(states, "MOST_DISEASES", 0)
    assert not expectation.has_few_states(model)
    other = expectation.score(network, model)
    np.testing.assert_allclose(one.derivatives, other.derivatives, atol=1e-9)
    np.testing.assert_allclose(one.information, other.information, atol=1e-8)


def test_too_many_states_are_not_summed_up_at_once():
    assert states.can_sum_states(9, 160, 511, 5000, 1)
    assert not states.can_sum_states(13, 160, 511, 5, 1)
    assert not states.can_sum_states(9, 160, 511, 10**7, 1)
    assert not states.can_sum_states(9, 160, 511, 50, 10**4)
