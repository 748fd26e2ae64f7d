"""Records that are gathered by their groups before they are counted."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from conftest import random_records
from noisyor import Findings, MomentPlan, Structure, count_moments
from noisyor.moments import gathering


@pytest.mark.parametrize("n_groups", [1, 7])
@pytest.mark.parametrize("has_ids", [False, True])
def test_what_threads_gather_is_all_counted(rng, monkeypatch, n_groups, has_ids):
    structure = Structure.from_matrix(np.ones((1, 40)))
    plan = MomentPlan.coupled(structure)
    rows = random_records(rng, 20_000, 40, 0.05)
    ids = rng.permutation(len(rows)) if has_ids else None
    findings = Findings.from_numpy(rows, structure, record_ids=ids)
    expected = count_moments(findings, plan, n_groups=n_groups, n_jobs=1)
    by_columns = sum(expected.present[0].astype(int))
    assert by_columns.tolist() == (rows == 1).sum(axis=0).tolist()
    monkeypatch.setattr(gathering, "FEW_WORDS", 0)
    submitted = []
    submit = ThreadPoolExecutor.submit
    monkeypatch.setattr(
        gathering.ThreadPoolExecutor,
        "submit",
        lambda *each: submitted.append(each) or submit(*each),
    )
    assert count_moments(findings, plan, n_groups=n_groups, n_jobs=3) == expected
    assert submitted
