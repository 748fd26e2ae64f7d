"""Settings of runs, and the run that is kept."""

import numpy as np
import pytest

from noisyor import datasets
from noisyor.em.runs import EMSettings, Run, best_run
from noisyor.errors import ParameterError


def test_settings_without_sense_are_refused():
    with pytest.raises(ParameterError, match="n_init must be a whole number from 1 on, not 0"):
        EMSettings(n_init=0)
    for wrong in {"rng": -1}, {"n_init": 2.5}, {"max_iter": 0}, {"n_jobs": 0}, {"n_init": True}:
        with pytest.raises(ParameterError, match="must be a whole number"):
            EMSettings(**wrong)
    for tol in -0.1, 1.0, "small":
        with pytest.raises(ParameterError, match="tol must be a number from 0 on and below 1"):
            EMSettings(tol=tol)


def test_what_is_left_open_suits_the_method():
    assert EMSettings().limits(max_iter=7, tol=0.5) == (7, 0.5)
    assert EMSettings(max_iter=3, tol=0.0).limits(max_iter=7, tol=0.5) == (3, 0.0)


def test_the_highest_run_is_kept_and_traced():
    low, high = datasets.figure1(rng=0), datasets.figure1(rng=1)
    runs = [Run(low, [-9.0, -8.0], True), Run(high, [-7.0, -6.0, -5.0], False)]
    network, trace = best_run(runs, "log likelihood")
    assert network == high
    assert trace.values.tolist() == [-7.0, -6.0, -5.0]
    assert np.array_equal(trace.ends, [-8.0, -5.0])
    assert not trace.is_settled
    assert "has not settled" in str(trace)
