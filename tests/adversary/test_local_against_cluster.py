"""Odd files, read on one machine and in parts on a cluster: equal counts, or the same refusal."""

from collections import Counter

import numpy as np
import pytest

from adversary.local_against_cluster import compare, tiny_parts
from noisyor.io import parts


def compare_many(folder, rng, n):
    seen = Counter()
    with tiny_parts(rng):
        for number in range(n):
            seen.update(compare(folder, rng, number))
    return seen


@pytest.mark.parametrize(
    "n_files", [200, pytest.param(2000, marks=pytest.mark.slow)], ids=["some", "many"]
)
def test_odd_files_are_counted_alike_or_refused_alike(tmp_path, rng, n_files):
    seen = compare_many(tmp_path, rng, n_files)
    assert min(seen["counted"], seen["refused"]) > n_files / 10, seen
    assert seen["refused in other words"] < n_files / 20, seen


def test_lines_that_are_taken_for_rows_would_be_noticed(tmp_path, monkeypatch):
    """The comparison can fail: so it does, when files are cut wherever a line ends."""
    monkeypatch.setattr(parts, "are_lines_rows", lambda *_: True)
    with pytest.raises(AssertionError):
        compare_many(tmp_path, np.random.default_rng(0), 300)
