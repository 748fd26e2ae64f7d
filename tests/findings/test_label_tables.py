"""Labels that are looked up by id, while records come block after block."""

import numpy as np
import pyarrow as pa
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure
from noisyor.findings.label_tables import LabelledBlocks, LabelTable
from noisyor.findings.reading import RecordFormat

STRUCTURE = Structure.from_edges([("flu", "fever"), ("cold", "fever")])
TABLE = pa.table({"record": ["3", "1", "9"], "cold": [1, 0, None]})


def findings_of(ids):
    return Findings.from_numpy(np.ones((len(ids), 1)), STRUCTURE, record_ids=ids)


def test_labels_go_to_their_records_whatever_the_type_of_ids():
    for ids in ([1, 2, 3], ["1", "2", "3"]):
        table = LabelTable.read(TABLE, STRUCTURE)
        labels = table.put_to(findings_of(ids)).labels
        assert labels.is_known.tolist() == [[False, True], [False, False], [False, True]]
        assert labels.is_present.tolist() == [[False, False], [False, False], [False, True]]
        assert table.rows_of(pa.array(ids)).tolist() == [1, -1, 0]


def test_leading_zeros_are_part_of_an_id(tmp_path):
    (tmp_path / "labels.csv").write_text("record,flu\n007,1\n7,0\n")
    labels = LabelTable.read(tmp_path / "labels.csv", STRUCTURE)
    assert labels.rows_of(pa.array(["7", "007", "07"])).tolist() == [1, 0, -1]


def test_uses_are_counted_until_they_are_taken():
    blocks = LabelledBlocks(LabelTable.read(TABLE, STRUCTURE))
    for block in (*findings_of([1, 2]).blocks, *findings_of([3, 3]).blocks):
        blocks.labels_of(block)
    uses = blocks.take_uses()
    assert uses.tolist() == [2, 1, 0]
    assert blocks.take_uses().tolist() == [0, 0, 0]
    with pytest.raises(NoisyOrError, match="labels cannot be joined to records that share an id"):
        blocks.table.check_uses(uses)
    with pytest.warns(NoisyOrWarning, match=r"1 of 3 labels belong to no record \('9'\)"):
        blocks.table.check_uses(np.array([1, 1, 0]))
    with pytest.raises(NoisyOrError, match="none of its 3 labels"):
        blocks.table.check_uses(np.zeros(3, dtype=np.int64))


def test_a_fingerprint_changes_with_any_label():
    one = LabelTable.read(TABLE, STRUCTURE)
    others = [
        pa.table({"record": ["3", "1", "9"], "cold": [1, 1, None]}),
        pa.table({"record": ["3", "1", "8"], "cold": [1, 0, None]}),
        pa.table({"record": ["3", "1", "9"], "cold": [1, 0, 0]}),
    ]
    found = {LabelTable.read(each, STRUCTURE).fingerprint for each in others}
    assert len({one.fingerprint, *found}) == 4
    assert one.fingerprint == LabelTable.read(TABLE, STRUCTURE).fingerprint


def test_the_column_of_ids_and_the_words_are_those_of_the_records():
    table = pa.table({"nr": ["a"], "flu": ["da"]})
    form = RecordFormat(record="nr", values={"da": "present"})
    assert LabelTable.read(table, STRUCTURE, form).labels.counts().seen.tolist() == [1, 0]
    with pytest.raises(NoisyOrError, match="has no column of ids"):
        LabelTable.read(pa.table({"x": ["a"], "flu": [1]}), STRUCTURE)
