import gzip
import warnings

import numpy as np
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
    read = Findings.from_csv if kind == "csv" else Findings.from_parquet
    write(path, layout=layout)
    assert read(path, STRUCTURE) == findings
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    blocks = list(Findings.iter_blocks(path, STRUCTURE))
    assert sum(len(block) for block in blocks) == n_records
    assert all(len(block.blocks) == 1 for block in blocks)


def test_wide_csv_by_hand(tmp_path):
    path = tmp_path / "records.csv"
    path.write_text("record,b,a,c,d,e\np1,1,0,true,False,\np2,0,1,NA,TRUE,nan\n\n")
    findings = Findings.from_csv(path, STRUCTURE)
    nan = np.nan
    expected = [[0, 1, 1, 0, nan], [1, 0, nan, 1, nan]]
    assert np.array_equal(findings.to_numpy(), expected, equal_nan=True)
    assert findings.record_ids.to_pylist() == ["p1", "p2"]


def test_quotes_bom_crlf_and_gzip(tmp_path):
    structure = Structure.from_edges([("A", "pain, left"), ("A", 'the "big" one'), ("A", "ä\nb")])
    text = '\ufeff"pain, left","the ""big"" one","ä\nb"\r\n1,0,1\r\n'
    path = tmp_path / "records.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert Findings.from_csv(path, structure).to_numpy().tolist() == [[True, False, True]]


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
    findings = Findings.from_arrow(reader, STRUCTURE, block_records=64)
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
        findings = Findings.from_arrow(table, STRUCTURE, block_records=64)
    ids = [row[0] for row in scattered]
    runs = [number for number in range(len(ids)) if number == 0 or ids[number] != ids[number - 1]]
    is_scattered = len(runs) > len(set(ids))
    assert [notice.category for notice in notices] == [NoisyOrWarning] * is_scattered
    check_against_naive(findings, scattered, in_order=not is_scattered)


def test_integer_ids_and_symptom_indices(tmp_path):
    table = pa.table({"record": [5, 5, -3, 9], "symptom": [0, 4, 1, None]})
    pq.write_table(table, tmp_path / "records.parquet")
    findings = Findings.from_parquet(tmp_path / "records.parquet", STRUCTURE)
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
        findings = Findings.from_parquet(paths, STRUCTURE)
    assert findings.record_ids.to_pylist() == [1, 2, 3]
    assert findings.to_numpy().sum(axis=1).tolist() == [1, 3, 1]


def test_files_that_number_their_records_anew(tmp_path):
    paths = write_parts(tmp_path, [(1, "a"), (2, "b")], [(1, "c"), (2, "d")])
    findings = Findings.from_parquet(paths, STRUCTURE, ids_per_file=True)
    assert findings.record_ids.to_pylist() == [1, 2, 1, 2]
    with pytest.warns(NoisyOrWarning, match="do not stand together.*ask for ids per file"):
        findings = Findings.from_parquet(paths, STRUCTURE)
    assert findings.record_ids.to_pylist() == [1, 2]
    assert findings.to_numpy().sum(axis=1).tolist() == [2, 2]


def test_the_last_record_of_a_full_block_still_gets_its_rows():
    ids = [number for number in range(64) for _ in range(2)]
    table = pa.table({"record": ids, "symptom": ["a", "b"] * 64})
    reader = table.to_reader(max_chunksize=127)
    findings = Findings.from_arrow(reader, STRUCTURE, block_records=64)
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
    findings = Findings.from_arrow(table, STRUCTURE, **options)
    assert findings.record_ids.to_pylist() == ids
    assert findings.to_numpy().sum(axis=1).tolist() == [1, 2] + [0] * (len(ids) - 2)


def test_very_many_records_without_a_finding():
    table = pa.table({"record": [1], "symptom": ["a"]})
    findings = Findings.from_arrow(table, STRUCTURE, n_records=20_000)
    assert findings.n_records == 20_000
    assert findings.count_present().sum() == 1


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"record": [1], "symptom": ["z"]}, {}, "row 1, column 'symptom': .* no symptom 'z'"),
        ({"record": [1, 1], "symptom": [0, 5]}, {}, "row 2, column 'symptom': .* no symptom 5"),
        ({"record": [1, None], "symptom": ["a", "b"]}, {}, "row 2, column 'record': .* missing"),
        ({"record": ["p", ""], "symptom": ["a", "b"]}, {}, "row 2, column 'record': .* missing"),
        ({"record": [1.5], "symptom": ["a"]}, {}, "column 'record' has the type double"),
        ({"record": [1], "symptom": ["a"], "state": ["maybe"]}, {}, "'maybe' is not present"),
        ({"record": [1], "symptom": ["a"], "state": [2]}, {}, "column 'state': 2 is not present"),
        (
            {"record": [7, 7], "symptom": ["a", "a"], "state": ["present", "absent"]},
            {},
            "record 7: the finding 'a' is given as present and as absent",
        ),
        (
            {"record": [7, 7], "symptom": ["b", "b"], "state": ["unknown", "present"]},
            {},
            "record 7: the finding 'b' is given as present and as unknown",
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
        Findings.from_arrow(pa.table(columns), STRUCTURE, **options)


def test_the_same_finding_told_twice_alike_is_fine():
    table = pa.table({"record": [1, 1], "symptom": ["a", "a"], "state": [True, True]})
    assert Findings.from_arrow(table, STRUCTURE).count_present().tolist() == [1, 0, 0, 0, 0]


def test_unknown_symptoms_can_be_ignored():
    table = pa.table({"record": [1, 2], "symptom": ["z", "a"]})
    findings = Findings.from_arrow(table, STRUCTURE, ignore_unknown=True)
    assert findings.to_numpy().sum(axis=1).tolist() == [0, 1]


def test_numbers_and_texts_as_ids_do_not_mix(tmp_path):
    (tmp_path / "a.csv").write_text("record,symptom\n1,a\n")
    pq.write_table(pa.table({"record": [2], "symptom": ["a"]}), tmp_path / "b.parquet")
    with pytest.raises(NoisyOrError, match=r"record ids are string .* and int64"):
        Findings.from_arrow([tmp_path / "a.csv", tmp_path / "b.parquet"], STRUCTURE)


def test_wide_and_long_files_do_not_mix(tmp_path):
    (tmp_path / "long.csv").write_text("record,symptom\n1,a\n")
    (tmp_path / "wide.csv").write_text("a,b,c,d,e\n1,0,0,0,0\n")
    with pytest.raises(NoisyOrError, match=r"long.csv is long .*wide.csv is wide"):
        Findings.from_csv([tmp_path / "long.csv", tmp_path / "wide.csv"], STRUCTURE)


@pytest.mark.slow
def test_reading_a_large_file_holds_one_block_in_memory(tmp_path):
    """Blocks are let go as they come: half a million records in less memory than they take."""
    import tracemalloc

    rng = np.random.default_rng(0)
    structure = Structure.from_matrix(np.ones((1, 500)))
    ids = np.repeat(np.arange(500_000), 4)
    table = pa.table({"record": ids, "symptom": rng.integers(0, 500, len(ids))})
    pq.write_table(table, tmp_path / "records.parquet", row_group_size=100_000)
    del table, ids
    tracemalloc.start()
    n_records = sum(
        len(block) for block in Findings.iter_blocks(tmp_path / "records.parquet", structure)
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_records == 500_000
    assert peak < 500_000 * 500 / 8
