import numpy as np
import pytest

from noisyor import Findings, MomentPlan, NoisyOrWarning, Structure, count_moments, memory
from noisyor.errors import ParameterError


def test_little_is_not_told_much_is_and_too_much_is_refused(monkeypatch, recwarn):
    monkeypatch.setattr(memory, "machine_memory", lambda: 16_000_000_000)
    memory.announce(1e9, "counting", "take fewer groups")
    assert not len(recwarn)
    with pytest.warns(NoisyOrWarning, match="counting takes about 8.0 GB of memory; to need less"):
        memory.announce(8e9, "counting", "take fewer groups")
    with pytest.raises(ParameterError, match=r"about 32.0 GB of memory, and this machine has 16.0"):
        memory.announce(32e9, "counting", "take fewer groups")


def test_where_the_machine_does_not_say_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    with pytest.warns(NoisyOrWarning):
        memory.announce(1e15, "counting", "take fewer groups")


def test_a_machine_has_memory():
    assert memory.machine_memory() is None or memory.machine_memory() > 1e8


def star(n_symptoms):
    """One disease that causes all symptoms: every pair of them is coupled."""
    return Structure.from_matrix(np.ones((1, n_symptoms)))


def test_pairs_that_would_not_fit_are_refused_before_they_are_listed(monkeypatch):
    """A structure of 200,000 symptoms of one disease has 20 billion coupled pairs."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 16_000_000_000)
    with pytest.raises(ParameterError, match="pairs of symptoms .* GB of memory"):
        MomentPlan.coupled(star(200_000))


def test_counts_that_would_not_fit_are_refused_before_they_are_made(monkeypatch):
    structure = star(100)
    findings = Findings.from_numpy(np.zeros((3, 100)), structure)
    monkeypatch.setattr(memory, "LARGE", 1e6)
    monkeypatch.setattr(memory, "machine_memory", lambda: 2_000_000)
    plan = MomentPlan.coupled(star(50))
    assert plan.sizes[1] == 1225
    with pytest.raises(
        ParameterError, match=r"4,950 pairs, 0 triplets in 1,000 groups takes about 0.0 GB"
    ):
        count_moments(findings, MomentPlan.coupled(structure), n_groups=1000, n_jobs=1)
