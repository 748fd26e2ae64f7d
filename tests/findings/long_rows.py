"""Long records made at random, and what they say by the naive reader."""

import numpy as np
import pyarrow as pa

import naive
from noisyor import Structure

STRUCTURE = Structure.from_edges([("A", letter) for letter in "abcde"])


def random_long_rows(rng, n_records, states):
    """Rows of records in random order, grouped by record, each finding told at most once."""
    rows = []
    for record in rng.permutation(n_records):
        symptoms = [letter for letter in "abcde" if rng.random() < 0.4]
        for symptom in symptoms or [None]:
            rows.append((f"p{record}", symptom, str(rng.choice(states))))
    return rows


def long_table(rows, ids=None):
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    id_column = pa.array(columns[0] if ids is None else ids, None if rows else pa.string())
    return pa.table(
        {"record": id_column, "symptom": pa.array(columns[1], pa.string()), "state": columns[2]}
    )


def check_against_naive(findings, rows, in_order=True):
    ids, records = naive.records_from_long(rows, list("abcde"))
    got_ids = findings.record_ids.to_pylist()
    if not in_order:
        assert got_ids == sorted(ids)
        records = [records[ids.index(record)] for record in got_ids]
    else:
        assert got_ids == ids
    expected = np.array(records, dtype=float)
    assert np.array_equal(findings.to_numpy().astype(float), expected, equal_nan=True)
