import gzip
import subprocess
import sys
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from conftest import random_records
from noisyor import Findings, NoisyOrError, NoisyOrWarning, Structure
from noisyor.findings import long

SEEDS = st.integers(0, 2**32)
STRUCTURE = Structure.from_edges([("A", letter) for letter in "abcde"])


@pytest.mark.parametrize("layout", ["wide", "long"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("unknown", [0.0, 0.2])
@pytest.mark.parametrize("n_records", [0, 1, 100, 20_000])
def test_files_there_and_back(tmp_path, layout, kind, unknown, n_records):
    records = random_records(np.random.default_rng(n_records), n_records, 5, unknown)
    findings = Findings.from_numpy(records, STRUCTURE)
    path = tmp_path / f"records.{kind}"
    write = findings.to_csv if kind == "csv" else findings.to_parquet
    write(path, layout=layout)
    assert Findings.read(path, STRUCTURE) == findings
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    blocks = list(Findings.iter_blocks(path, STRUCTURE))
    assert sum(len(block) for block in blocks) == n_records
    assert all(len(block.blocks) == 1 for block in blocks)


def test_wide_csv_by_hand(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text("record,b,a,c,d,e\np1,1,0,true,False,\np2,0,1,NA,TRUE,nan\n\n")
    findings = Findings.read(path, STRUCTURE)
    nan = np.nan
    expected = [[0, 1, 1, 0, nan], [1, 0, nan, 1, nan]]
    assert np.array_equal(findings.to_numpy(), expected, equal_nan=True)
    assert findings.record_ids.to_pylist() == ["p1", "p2"]


def test_quotes_bom_crlf_and_gzip(tmp_path):
    structure = Structure.from_edges([("A", "pain, left"), ("A", 'the "big" one'), ("A", "ä\nb")])
    text = '\ufeff"pain, left","the ""big"" one","ä\nb"\r\n1,0,1\r\n'
    path = tmp_path / "records.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert Findings.read(path, structure).to_numpy().tolist() == [[True, False, True]]


# --- long rows ---


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


@given(SEEDS, st.integers(1, 150), st.integers(1, 50), st.booleans())
def test_grouped_rows_agree_with_naive(seed, n_records, piece, with_states):
    rng = np.random.default_rng(seed)
    states = ["present", "absent", "unknown"] if with_states else ["present"]
    rows = random_long_rows(rng, n_records, states)
    reader = long_table(rows).to_reader(max_chunksize=piece)
    findings = Findings.read(reader, STRUCTURE, block_records=64)
    check_against_naive(findings, rows)


@given(SEEDS, st.integers(2, 100), st.integers(1, 50))
def test_scattered_rows_are_grouped_with_a_notice(seed, n_records, sort_rows):
    rng = np.random.default_rng(seed)
    rows = random_long_rows(rng, n_records, ["present", "absent", "unknown"])
    scattered = [rows[number] for number in rng.permutation(len(rows))]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as notices:
        warnings.simplefilter("always")
        patch.setattr(long, "SORT_ROWS", sort_rows)
        patch.setattr(long, "SAMPLE_STRIDE", 3)
        table = long_table(scattered)
        findings = Findings.read(table, STRUCTURE, block_records=64)
    ids = [row[0] for row in scattered]
    runs = [number for number in range(len(ids)) if number == 0 or ids[number] != ids[number - 1]]
    is_scattered = len(runs) > len(set(ids))
    assert [notice.category for notice in notices] == [NoisyOrWarning] * is_scattered
    check_against_naive(findings, scattered, in_order=not is_scattered)


def test_integer_ids_and_symptom_indices(tmp_path):
    table = pa.table({"record": [5, 5, -3, 9], "symptom": [0, 4, 1, None]})
    pq.write_table(table, tmp_path / "records.parquet")
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
        ({"record": [1.5], "symptom": ["a"]}, {}, "type double; expected a text or a whole"),
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
        ({"record": [1], "symptom": ["a"]}, {"all_records": ["1"]}, "write them alike"),
        ({"record": [1], "symptom": ["a"]}, {"all_records": [1, 1]}, "lists a record twice"),
        ({"record": [1], "symptom": ["a"]}, {"all_records": [1, None]}, "an empty id"),
        ({"record": [1], "symptom": ["a"]}, {"n_records": 1, "all_records": [1]}, "not both"),
        ({"record": [1], "finding": ["a"]}, {"layout": "long"}, "no column 'symptom'"),
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
    findings = Findings.read(table, STRUCTURE, ignore_unknown=True)
    assert findings.to_numpy().sum(axis=1).tolist() == [0, 1]


def test_numbers_and_texts_as_ids_do_not_mix(tmp_path):
    (tmp_path / "a.csv").write_text("record,symptom\n1,a\n")
    pq.write_table(pa.table({"record": [2], "symptom": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(NoisyOrError, match=r"record ids are string .* and int64"):
        Findings.read([tmp_path / "a.csv", tmp_path / "b.parquet"], STRUCTURE)


def test_wide_and_long_files_do_not_mix(tmp_path):
    (tmp_path / "long.csv").write_text("record,symptom\n1,a\n")
    (tmp_path / "wide.csv").write_text("a,b,c,d,e\n1,0,0,0,0\n")
    with pytest.raises(NoisyOrError, match=r"long.csv is long .*wide.csv is wide"):
        Findings.read([tmp_path / "long.csv", tmp_path / "wide.csv"], STRUCTURE)


@pytest.mark.slow
def test_streaming_takes_less_memory_than_the_findings(tmp_path):
    """A process of its own reads 4 million records, unsorted, whose findings take 1 GB."""
    n_records = 4_000_000
    rng = np.random.default_rng(0)
    structure = Structure.from_matrix(np.ones((1, 2000)))
    structure.save(tmp_path / "structure.json")
    ids = np.repeat(rng.permutation(n_records), 2)
    table = pa.table({"record": ids, "symptom": rng.integers(0, 2000, len(ids))})
    pq.write_table(table, tmp_path / "records.parquet", row_group_size=1 << 20)
    script = (
        "import sys, resource\n"
        "from noisyor import Findings, Structure\n"
        "structure = Structure.load(sys.argv[1])\n"
        "n = sum(len(block) for block in Findings.iter_blocks(sys.argv[2], structure))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    paths = [str(tmp_path / "structure.json"), str(tmp_path / "records.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=True
    )
    counted, kilobytes = map(int, done.stdout.split())
    assert counted == n_records
    assert kilobytes < 700_000


def test_one_column_of_a_csv_file_keeps_its_unknown_records(tmp_path):
    structure = Structure(["d"], ["s"], [(0, 0)])
    findings = Findings.from_numpy([[1], [np.nan], [0], [np.nan]], structure)
    findings.to_csv(tmp_path / "records.csv")
    assert Findings.read(tmp_path / "records.csv", structure) == findings
    (tmp_path / "bad.csv").write_text("s\n1\n\n7\n")
    with pytest.raises(NoisyOrError, match="line 4, column 's': '7'"):
        Findings.read(tmp_path / "bad.csv", structure)


def test_wide_files_have_ids_all_or_none_and_of_one_type():
    with_ids = pa.table({"record": [1], **{letter: [1] for letter in "abcde"}})
    with_texts = pa.table({"record": ["1"], **{letter: [1] for letter in "abcde"}})
    without = with_ids.drop_columns("record")
    for tables in [without, with_ids], [with_ids, without], [with_ids, with_texts]:
        with pytest.raises(NoisyOrError, match="record ids of the Table are of another kind"):
            Findings.read(tables, STRUCTURE)


def test_records_without_ids_are_not_written_long():
    table = pa.table({"record": [1], "symptom": ["a"]})
    findings = Findings.read(table, STRUCTURE, n_records=3)
    with pytest.raises(NoisyOrError, match="some records have no id"):
        findings.to_arrow(layout="long")


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


class Once:
    """A stream of Arrow batches that can be read only once."""

    def __init__(self, table):
        self._reader = table.to_reader()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._reader.__arrow_c_stream__(requested_schema)


def test_streams_that_come_only_once_or_in_another_order():
    table = pa.table({"record": [3, 1, 2], "symptom": ["a", "b", "c"]})
    assert Findings.read(Once(table), STRUCTURE).record_ids.to_pylist() == [3, 1, 2]
    with duckdb.connect() as connection:
        big = pa.table({"record": np.repeat(np.arange(300), 3), "symptom": ["a", "b", "c"] * 300})
        connection.register("big", big)
        for _ in range(5):
            relation = connection.sql(
                "select * from (select * from big using sample 40 rows) order by random()"
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoisyOrWarning)
                ids = Findings.read(relation, STRUCTURE).record_ids.to_pylist()
            assert len(set(ids)) == len(ids)


def test_ids_in_the_index_of_a_pandas_frame_are_ids():
    for ids in [1, 2, 3], [7, 8, 10]:
        frame = pd.DataFrame({"record": ids, **{letter: [1, 0, 1] for letter in "abcde"}})
        findings = Findings.read(frame.set_index("record"), STRUCTURE)
        assert findings.record_ids.to_pylist() == ids
        long_frame = pd.DataFrame({"record": ids, "symptom": ["a", "b", "c"]}).set_index("record")
        assert Findings.read(long_frame, STRUCTURE).record_ids.to_pylist() == ids


def test_an_unnamed_index_of_pandas_in_parquet_is_no_column(tmp_path):
    frame = pd.DataFrame(np.eye(5, dtype=int), columns=list("abcde")).sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "records.parquet")
    findings = Findings.read(tmp_path / "records.parquet", STRUCTURE)
    assert np.array_equal(findings.to_numpy(), frame.to_numpy())


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
    findings = Findings.read(frame, STRUCTURE)
    assert findings.record_ids.to_pylist() == [10, 9]
    assert findings.count_present().tolist() == [1, 0, 0, 0, 0]


def test_texts_that_are_growing_numbers_need_no_grouping(tmp_path):
    """They are what our own CSV files hold."""
    records = random_records(np.random.default_rng(0), 200, 5)
    findings = Findings.from_numpy(records, STRUCTURE)
    findings.to_csv(tmp_path / "records.csv", layout="long")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long, "_find_repeated", None)
        assert Findings.read(tmp_path / "records.csv", STRUCTURE) == findings


def test_many_blocks_become_one_row_group(tmp_path, monkeypatch):
    from noisyor.findings import writing

    monkeypatch.setattr(writing, "ROW_GROUP_BLOCKS", 2)
    records = random_records(np.random.default_rng(0), 5 * 8192 + 1, 5, 0.1)
    findings = Findings.from_numpy(records, STRUCTURE)
    for layout in "wide", "long":
        findings.to_parquet(tmp_path / "records.parquet", layout=layout)
        assert pq.ParquetFile(tmp_path / "records.parquet").num_row_groups == 3
        assert Findings.read(tmp_path / "records.parquet", STRUCTURE) == findings


def test_a_structure_without_symptoms_has_no_records_to_read():
    with pytest.raises(NoisyOrError, match="no symptoms to read"):
        Findings.read(pa.table({"x": [1]}), Structure(["d"], [], []))


def test_a_gzipped_file_with_a_capital_ending(tmp_path):
    path = tmp_path / "RECORDS.CSV.GZ"
    path.write_bytes(gzip.compress(b"a,b,c,d,e\n1,0,0,0,0\n"))
    assert Findings.read(path, STRUCTURE).n_records == 1
