"""Rows of long records that do not stand together are grouped."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import random_records
from findings.long_rows import STRUCTURE, check_against_naive, long_table, random_long_rows
from noisyor import Findings, NoisyOrWarning
from noisyor.findings import grouping

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(2, 100), st.integers(1, 50))
def test_scattered_rows_are_grouped_with_a_notice(seed, n_records, sort_rows):
    rng = np.random.default_rng(seed)
    rows = random_long_rows(rng, n_records, ["present", "absent", "unknown"])
    scattered = [rows[number] for number in rng.permutation(len(rows))]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        patch.setattr(grouping, "SORT_ROWS", sort_rows)
        patch.setattr(grouping, "SAMPLE_STRIDE", 3)
        table = long_table(scattered)
        findings = Findings.read(table, STRUCTURE, block_records=64)
    ids = [row[0] for row in scattered]
    runs = [number for number in range(len(ids)) if number == 0 or ids[number] != ids[number - 1]]
    is_scattered = len(runs) > len(set(ids))
    notices = [notice for notice in notices if "do not stand together" in str(notice.message)]
    assert [notice.category for notice in notices] == [NoisyOrWarning] * is_scattered
    check_against_naive(findings, scattered, in_order=not is_scattered)


def test_texts_that_are_growing_numbers_need_no_grouping(tmp_path):
    """They are what our own CSV files hold."""
    records = random_records(np.random.default_rng(0), 200, 5)
    findings = Findings.from_numpy(records, STRUCTURE)
    findings.to_csv(tmp_path / "records.csv", layout="long")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouping, "_find_repeated", None)
        assert Findings.read(tmp_path / "records.csv", STRUCTURE) == findings
