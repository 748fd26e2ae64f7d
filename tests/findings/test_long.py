import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from findings.long_rows import STRUCTURE, check_against_naive, long_table, random_long_rows
from noisyor import Findings, NoisyOrError, NoisyOrWarning, parallel
from noisyor.io import tables

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(1, 150), st.integers(1, 50), st.booleans())
def test_grouped_rows_agree_with_naive(seed, n_records, piece, with_states):
    rng = np.random.default_rng(seed)
    states = ["present", "absent", "unknown"] if with_states else ["present"]
    rows = random_long_rows(rng, n_records, states)
    reader = long_table(rows).to_reader(max_chunksize=piece)
    findings = Findings.read(reader, STRUCTURE, block_records=64)
    check_against_naive(findings, rows)


@pytest.mark.parametrize("group_rows", [7, 64, 300])
@pytest.mark.parametrize("decoded_cells", [1, 4_000, 1 << 24])
def test_row_groups_that_threads_decode(tmp_path, monkeypatch, rng, group_rows, decoded_cells):
    monkeypatch.setattr(tables, "DECODED_CELLS", decoded_cells)
    monkeypatch.setattr(parallel, "n_cores", lambda: 4)
    rows = random_long_rows(rng, 1000, ["present", "absent", "unknown"])
    pq.write_table(long_table(rows), tmp_path / "records.parquet", row_group_size=group_rows)
    findings = Findings.read(tmp_path / "records.parquet", STRUCTURE, block_records=64)
    check_against_naive(findings, rows)
    rows[1500] = (*rows[1500][:1], "z", "present")
    pq.write_table(long_table(rows), tmp_path / "records.parquet", row_group_size=group_rows)
    with pytest.raises(NoisyOrError, match=r"row 1501, .* no symptom 'z'"):
        Findings.read(tmp_path / "records.parquet", STRUCTURE, block_records=64)


def test_integer_ids_and_symptom_indices(tmp_path):
    table = pa.table({"record": [5, 5, -3, 9], "symptom": [0, 4, 1, None]})
    pq.write_table(table, tmp_path / "records.parquet")
    told = "numbers of column 'symptom' are positions in the structure: 0 is 'a', 1 is 'b', 2 is"
    with pytest.warns(NoisyOrWarning, match=told):
        findings = Findings.read(tmp_path / "records.parquet", STRUCTURE)
    assert findings.record_ids.to_pylist() == [5, -3, 9]
    assert findings.to_numpy().astype(int).tolist() == [
        [1, 0, 0, 0, 1],
        [0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0],
    ]


def write_parts(tmp_path, *parts):
    paths = [tmp_path / f"part{number}.parquet" for number in range(len(parts))]
    for path, rows in zip(paths, parts, strict=True):
        table = {"record": [row[0] for row in rows], "symptom": [row[1] for row in rows]}
        pq.write_table(pa.table(table), path, row_group_size=2)
    return paths


def test_a_record_is_not_split_between_files(tmp_path):
    paths = write_parts(tmp_path, [(1, "a"), (2, "a"), (2, "b")], [(2, "c"), (3, "d")])
    with pytest.warns(NoisyOrWarning, match="record 2 has rows in two files"):
        findings = Findings.read(paths, STRUCTURE)
    assert findings.record_ids.to_pylist() == [1, 2, 3]
    assert findings.to_numpy().sum(axis=1).tolist() == [1, 3, 1]


def test_files_that_number_their_records_anew(tmp_path):
    paths = write_parts(tmp_path, [(1, "a"), (2, "b")], [(1, "c"), (2, "d")])
    findings = Findings.read(paths, STRUCTURE, ids_per_file=True)
    assert findings.record_ids.to_pylist() == [1, 2, 1, 2]
    with pytest.warns(NoisyOrWarning, match="do not stand together.*ids_per_file=True"):
        findings = Findings.read(paths, STRUCTURE)
    assert findings.record_ids.to_pylist() == [1, 2]
    assert findings.to_numpy().sum(axis=1).tolist() == [2, 2]


def test_the_last_record_of_a_full_block_still_gets_its_rows():
    ids = [number for number in range(64) for _ in range(2)]
    table = pa.table({"record": ids, "symptom": ["a", "b"] * 64})
    reader = table.to_reader(max_chunksize=127)
    findings = Findings.read(reader, STRUCTURE, block_records=64)
    assert findings.to_numpy()[:, :2].all()


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({"n_records": 5}, [1, 2, None, None, None]),
        ({"all_records": [4, 1, 3, 2]}, [1, 2, 4, 3]),
        ({"all_records": pa.table({"record": [2, 1, 7]})}, [1, 2, 7]),
        ({"n_records": 2}, [1, 2]),
    ],
)
def test_records_without_a_finding(options, ids):
    table = pa.table({"record": [1, 2, 2], "symptom": ["a", "b", "c"]})
    findings = Findings.read(table, STRUCTURE, **options)
    assert findings.record_ids.to_pylist() == ids
    assert findings.to_numpy().sum(axis=1).tolist() == [1, 2] + [0] * (len(ids) - 2)


def test_very_many_records_without_a_finding():
    table = pa.table({"record": [1], "symptom": ["a"]})
    findings = Findings.read(table, STRUCTURE, n_records=20_000)
    assert findings.n_records == 20_000
    assert findings.count_present().sum() == 1


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"record": [1], "symptom": ["z"]}, {}, "row 1, column 'symptom': .* no symptom 'z'"),
        ({"record": [1, 1], "symptom": [0, 5]}, {}, "row 2, column 'symptom': .* no symptom 5"),
        ({"record": [1, None], "symptom": ["a", "b"]}, {}, "row 2, column 'record': .* missing"),
        ({"record": ["p", ""], "symptom": ["a", "b"]}, {}, "row 2, column 'record': .* missing"),
        ({"record": [1.5], "symptom": ["a"]}, {}, "type double with numbers that are not whole"),
        ({"record": [1], "symptom": ["a"], "state": ["maybe"]}, {}, "'maybe' is not present"),
        ({"record": [1], "symptom": ["a"], "state": [2]}, {}, "column 'state': 2 is not present"),
        (
            {"record": [7, 7], "symptom": ["a", "a"], "state": ["present", "absent"]},
            {},
            "row 1.*row 2.*: record 7 has the finding 'a' as present and as absent",
        ),
        (
            {"record": [7, 7], "symptom": ["b", "b"], "state": ["unknown", "present"]},
            {},
            "row 1.*row 2.*: record 7 has the finding 'b' as present and as unknown",
        ),
        ({"record": [1, 2], "symptom": ["a", "a"]}, {"n_records": 1}, "n_records is 1, but .* 2"),
        ({"record": [1, 2], "symptom": ["a", "a"]}, {"all_records": [1]}, "does not list .* 2"),
        ({"record": [1], "symptom": ["a"]}, {"all_records": [1, 1]}, "lists a record twice"),
        ({"record": [1], "symptom": ["a"]}, {"all_records": [1, None]}, "an empty id"),
        ({"record": [1], "symptom": ["a"]}, {"n_records": 1, "all_records": [1]}, "not both"),
        ({"record": [1], "organ": ["a"]}, {"layout": "long"}, "no column 'symptom'"),
        ({"record": [1], "symptom": ["a"]}, {"state": "how"}, "no column 'how' .--state."),
        ({"record": [1], "symptom": ["a"]}, {"invert": True}, "no column of states"),
        (
            {"record": [1, 2], "symptom": ["a", "a"], "found": [1, 0]},
            {},
            "column 'found' holds words .* state='found' .--state 'found'.; if not, state=None",
        ),
    ],
)
def test_what_is_wrong_in_long_rows_is_named(columns, options, message):
    with pytest.raises(NoisyOrError, match=message):
        Findings.read(pa.table(columns), STRUCTURE, **options)


def test_the_same_finding_told_twice_alike_is_fine():
    table = pa.table({"record": [1, 1], "symptom": ["a", "a"], "state": [True, True]})
    assert Findings.read(table, STRUCTURE).count_present().tolist() == [1, 0, 0, 0, 0]


def test_unknown_symptoms_can_be_ignored():
    table = pa.table({"record": [1, 2], "symptom": ["z", "a"]})
    with pytest.warns(NoisyOrWarning, match="passed over 1 of 2 rows, .*: 'z' .1 row."):
        findings = Findings.read(table, STRUCTURE, ignore_unknown=True)
    assert findings.to_numpy().sum(axis=1).tolist() == [0, 1]


def test_numbers_and_texts_as_ids_are_texts(tmp_path):
    (tmp_path / "a.csv").write_text("record,symptom\n1,a\n2,b\n")
    pq.write_table(pa.table({"record": [2, 3], "symptom": ["a", "a"]}), tmp_path / "b.parquet")
    with pytest.warns(NoisyOrWarning, match="record '2' has rows in two files"):
        findings = Findings.read([tmp_path / "a.csv", tmp_path / "b.parquet"], STRUCTURE)
    assert findings.record_ids.to_pylist() == ["1", "2", "3"]
    listed = Findings.read(tmp_path / "a.csv", STRUCTURE, all_records=[1, 2, 3])
    assert listed.record_ids.to_pylist() == ["1", "2", "3"]


@pytest.mark.parametrize(
    "all_records",
    [
        pl.DataFrame({"record": [1, 2, 3]}),
        pd.DataFrame({"record": [1, 2, 3]}),
        pd.Series([1, 2, 3]),
        np.array([1, 2, 3]),
        pa.chunked_array([[1], [2, 3]]),
    ],
)
def test_all_records_in_any_form(all_records):
    table = pa.table({"record": [2], "symptom": ["a"]})
    findings = Findings.read(table, STRUCTURE, all_records=all_records)
    assert findings.record_ids.to_pylist() == [2, 1, 3]


def test_all_records_as_texts_of_pandas():
    table = pa.table({"record": ["x"], "symptom": ["a"]})
    findings = Findings.read(table, STRUCTURE, all_records=pd.Series(["y", "x"]))
    assert findings.record_ids.to_pylist() == ["x", "y"]
    for wrong in [1.5], ["x", 1], [2**70]:
        with pytest.raises(NoisyOrError, match="all_records are not ids"):
            Findings.read(table, STRUCTURE, all_records=wrong)


def test_numbers_that_pandas_made_floating(tmp_path):
    (tmp_path / "wide.csv").write_text("a,b,c,d,e\n1.0,0.0,,1,0\n")
    assert Findings.read(tmp_path / "wide.csv", STRUCTURE).count_present().tolist() == [
        1,
        0,
        0,
        1,
        0,
    ]
    frame = pd.DataFrame({"record": pd.Categorical([10, 9]), "symptom": [0.0, np.nan]})
    with pytest.warns(NoisyOrWarning, match="are positions in the structure"):
        findings = Findings.read(frame, STRUCTURE)
    assert findings.record_ids.to_pylist() == [10, 9]
    assert findings.count_present().tolist() == [1, 0, 0, 0, 0]
    named = pa.table({"record": [1, 2], "symptom": [7, None]})
    with pytest.warns(NoisyOrWarning, match="'7' as 'b'") as told:
        assert Findings.read(named, STRUCTURE, names={"7": "b"}).count_present()[1] == 1
    assert "positions" not in " ".join(str(each.message) for each in told)
    nothing = pa.table({"record": [1], "symptom": pa.nulls(1, pa.int64())})
    assert Findings.read(nothing, STRUCTURE).n_records == 1
