"""Intervals of posteriors from the standard errors of the parameters."""

import numpy as np
import pytest

from noisyor import datasets, posterior
from noisyor.inference.intervals import NetworkWithErrors


def test_intervals_grow_with_the_standard_errors():
    clinic = datasets.clinic()
    sizes = clinic.structure.n_diseases, clinic.structure.n_edges, clinic.structure.n_symptoms
    widths = []
    for scale in (0.0, 0.01, 0.05):
        errors = tuple(np.full(size, scale) for size in sizes)
        found = posterior(NetworkWithErrors(clinic, errors), ["fever", "cough"], draws=60)
        assert found.n_without_error == 0
        widths.append((found.interval_upper - found.interval_lower).max())
    assert widths[0] == pytest.approx(0.0, abs=1e-12)
    assert 0.0 < widths[1] < widths[2]


def test_parameters_without_an_error_are_counted():
    clinic = datasets.clinic()
    errors = [np.zeros(20), np.zeros(120), np.full(60, np.nan)]
    found = posterior(NetworkWithErrors(clinic, errors), ["fever", "cough"], draws=10)
    assert found.n_without_error == 2  # only the leaks of what is known matter
