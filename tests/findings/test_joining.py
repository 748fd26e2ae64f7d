"""Tables with a row per record, joined to the records."""

import numpy as np
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure
from noisyor.findings.joining import rows_of_records
from noisyor.io.tables import open_table

STRUCTURE = Structure.from_edges([("flu", "fever")])


def findings_of(ids, n=3):
    return Findings.from_numpy(np.zeros((n, 1)), STRUCTURE, record_ids=ids)


def rows(columns, ids, n=3):
    table = open_table(pa.table(columns))
    wanted = [name for name in columns if name not in ("record", "patient")]
    return rows_of_records(table, len(columns[wanted[0]]), findings_of(ids, n), wanted, "ages")


def test_by_ids_whatever_their_column_is_called():
    assert rows({"record": ["c", "a", "b"], "age": [1.5, 2, 3]}, ["a", "b", "c"]).tolist() == [
        1,
        2,
        0,
    ]
    assert rows({"patient": [7, 9, 8], "age": [1.5, 2, 3]}, [9, 8, 7]).tolist() == [1, 2, 0]


def test_by_their_order_where_there_are_no_ids():
    assert rows({"age": [1.5, 2, 3]}, None).tolist() == [0, 1, 2]
    with pytest.warns(NoisyOrWarning, match="taken in the order of the records"):
        assert rows({"age": [1.5, 2, 3]}, ["a", "b", "c"]).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("columns", "ids", "message"),
    [
        ({"age": [1.5, 2]}, None, "has 2 rows for 3 records"),
        ({"record": ["a", "a", "b"], "age": [1, 2, 3]}, ["a", "b", "c"], "more than one row"),
        ({"record": ["a", "b", "x"], "age": [1, 2, 3]}, ["a", "b", "c"], "no ages of some records"),
        ({"record": ["a", "b", "x"], "age": [1, 2, 3]}, None, "but the records have none"),
    ],
)
def test_what_cannot_be_joined_is_said(columns, ids, message):
    with pytest.raises(NoisyOrError, match=message):
        rows(columns, ids)
