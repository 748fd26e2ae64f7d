"""A tiny version of the experiment of the card, as tests/experiments has of all others."""

import warnings

import numpy as np
import pytest

from noisyor.experiments import ExperimentSettings, card_kernels, gpu, reproduce
from noisyor.experiments.results import Cell
from noisyor.gpu.arrays import from_card, zeros_on_card

METHODS = [
    ("peak, copying", 0), ("peak, bringing here", 0), ("peak, counting bits", 0),
    ("kept, all coupled pairs", 100), ("count, all coupled pairs", 100),
    ("file, all coupled pairs", 40), ("rounds, sampled", 10), ("fit, refined", 60),
    ("fit, refined", 90), ("diagnose, 1 present", 2),
]  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    cells = [Cell("figure1", size, 0, method) for method, size in METHODS]
    monkeypatch.setattr(gpu, "cells", lambda settings: cells)
    monkeypatch.setattr(gpu, "REPEATS", 1)
    monkeypatch.setattr(gpu, "WARM_UP", 50)
    monkeypatch.setattr(gpu, "CHUNK", 80)


@pytest.mark.slow
def test_a_tiny_version(tiny, tmp_path):
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        page = reproduce("gpu", tmp_path, ExperimentSettings(quick=True), progress=done.append)
    text = page.read_text(encoding="utf-8")
    assert "nan" not in text
    assert "{" not in text
    assert len(done) == len(METHODS)
    assert text.count("| kept, all coupled pairs | 100 |") == 1


def test_a_card_that_counts_otherwise_is_not_timed(monkeypatch):
    monkeypatch.setattr(
        gpu, "count_moments", lambda *_, device="cpu", **__: {"cpu": 1, "gpu": 2}[device]
    )
    with pytest.raises(AssertionError, match="something else than the processor"):
        gpu.measure(Cell("figure1", 50, 0, "count, all coupled pairs"), ExperimentSettings())


def test_the_peak_counts_the_bits_that_it_says():
    found = zeros_on_card(3, np.uint32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        card_kernels.count_bits[1, 3](10, found)
    expected = [
        sum((word ^ other).bit_count() for word in range(at, at + 10) for other in (0, 5, 77, 1234))
        for at in range(3)
    ]
    assert from_card(found).tolist() == expected
    assert card_kernels.CHAINS == 4
