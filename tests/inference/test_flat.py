"""Records as lists of findings."""

import numpy as np

from noisyor import Findings, Structure
from noisyor.inference.flat import distinct_records


def test_same_records_are_merged(rng):
    rows = rng.choice([0, 1, np.nan], (500, 3))
    findings = Findings.from_numpy(rows, Structure.from_matrix(np.ones((1, 3))))
    records = distinct_records(findings)
    assert records.weights.sum() == 500
    assert len(records.weights) == len({tuple(map(str, row)) for row in rows.tolist()})
