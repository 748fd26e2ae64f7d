"""Records with a column per symptom."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure

STRUCTURE = Structure.from_edges([("A", letter) for letter in "abcde"])


def test_wide_csv_by_hand(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text("record,b,a,c,d,e\np1,1,0,true,False,\np2,0,1,NA,TRUE,nan\n\n")
    findings = Findings.read(path, STRUCTURE)
    nan = np.nan
    expected = [[0, 1, 1, 0, nan], [1, 0, nan, 1, nan]]
    assert np.array_equal(findings.to_numpy(), expected, equal_nan=True)
    assert findings.record_ids.to_pylist() == ["p1", "p2"]


def test_wide_files_have_ids_all_or_none():
    with_ids = pa.table({"record": [1], **{letter: [1] for letter in "abcde"}})
    with_texts = pa.table({"record": ["1"], **{letter: [1] for letter in "abcde"}})
    without = with_ids.drop_columns("record")
    for tables in [without, with_ids], [with_ids, without]:
        with pytest.raises(NoisyOrError, match="has a column of record ids and the Table has none"):
            Findings.read(tables, STRUCTURE)
    with pytest.warns(NoisyOrWarning, match="1 id in more than one file"):
        findings = Findings.read([with_ids, with_texts], STRUCTURE)
    assert findings.record_ids.to_pylist() == ["1", "1"]


def test_columns_of_states_do_not_matter_in_wide_tables():
    table = pa.table({**{letter: [1, 0] for letter in "abcde"}, "status": [7, 8], "score": [9, 9]})
    with pytest.warns(NoisyOrWarning, match="passed over 2 columns: 'status', 'score'"):
        assert Findings.read(table, STRUCTURE, ignore_unknown=True).n_records == 2


def test_a_structure_without_symptoms_has_no_records_to_read():
    with pytest.raises(NoisyOrError, match="no symptoms to read"):
        Findings.read(pa.table({"x": [1]}), Structure(["d"], [], []))
