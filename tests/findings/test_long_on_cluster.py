"""Long records on a cluster: dealt by their ids, and read as one machine reads them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusters import HereCluster
from noisyor import MomentPlan, Structure, count_moments
from noisyor.errors import FileError, FindingsError, NoisyOrWarning
from noisyor.findings.cluster_reading import split_records
from noisyor.findings.long_on_cluster import deal_rows, shared_record
from noisyor.findings.reading import RecordFormat
from noisyor.io import parts
from noisyor.moments import counting
from noisyor.moments.counting import CountRequest, count_on_cluster

STRUCTURE = Structure.from_edges(
    [("flu", "fever"), ("flu", "cough"), ("cold", "cough"), ("cold", "ache")]
)
PLAN = MomentPlan.all_pairs(STRUCTURE)
pytestmark = [
    pytest.mark.filterwarnings("ignore:the rows of record .* do not stand together"),
]


@pytest.fixture(autouse=True)
def many_parts(monkeypatch):
    monkeypatch.setattr(parts, "LARGEST_SPAN", 60)
    monkeypatch.setattr(counting, "ROWS_OF_BUCKET", 10)
    monkeypatch.setattr("noisyor.findings.cluster_reading.FEWEST_ROWS", 8)
    monkeypatch.setattr("noisyor.findings.cluster_reading.GUESSED_ROWS", 20)


def count(files, skip_broken=False, **options):
    form = RecordFormat(**options)
    records = split_records(HereCluster(), files, STRUCTURE, form, skip_broken)
    return count_on_cluster(records, CountRequest(PLAN, form, 5))


def lines(n, first=0):
    """Two rows for each of some records; every other one has a cough that is absent."""
    return [
        line
        for number in range(first, first + n)
        for line in (f"{number},fever,1", f"{number},cough,{number % 2}")
    ]


def write(path, rows, names="record,symptom,state"):
    path.write_text("\n".join([names, *rows, ""]))
    return path


def test_every_row_is_in_one_bucket_and_those_of_a_record_in_the_same(tmp_path):
    path = write(tmp_path / "a.csv", lines(40))
    records = split_records(HereCluster(), path, STRUCTURE, RecordFormat())
    assert len(records.jobs) > 3
    dealt = [deal_rows(records.reading, *job.arguments, 7) for job in records.jobs]
    buckets = [pa.concat_tables([each[number] for each in dealt]) for number in range(7)]
    rows = np.concatenate([bucket["row"].to_numpy() for bucket in buckets])
    assert sorted(rows) == list(range(80))
    ids = [set(bucket["id"].to_pylist()) for bucket in buckets]
    assert sum(map(len, ids)) == len(set.union(*ids)) == 40
    assert sum(each[-1].n_rows for each in dealt) == 80  # the notes of them


@pytest.mark.parametrize(
    ("line", "row", "reason"),
    [
        (60, "29,fevre,1", r"line 62, column 'symptom': the structure has no symptom 'fevre'"),
        (60, "29,fever,perhaps", r"line 62, column 'state': 'perhaps' is not"),
        (60, ",fever,1", r"line 62, column 'record': the record's id is missing"),
        (60, "29,fever", r"line 62: 2 values where the header has 3 columns"),
        (60, "5,cough,0", r"line 13.*line 62: record '5' has .* 'cough' as (absent|present)"),
    ],
)
def test_what_is_wrong_is_located_in_its_file(tmp_path, line, row, reason):
    rows = lines(40)
    rows.insert(line, row)
    files = [write(tmp_path / "a.csv", lines(40, 100)), write(tmp_path / "b.csv", rows)]
    with pytest.raises((FileError, FindingsError), match=rf"b\.csv, {reason}") as there:
        count(files)
    with pytest.raises(type(there.value)) as here:
        count_moments(files, PLAN)
    assert str(here.value) == str(there.value)


def test_a_ragged_file_is_left_out_if_asked(tmp_path):
    good = write(tmp_path / "a.csv", lines(40))
    ragged = write(tmp_path / "b.csv", [*lines(40, 100), "500,fever"])
    with pytest.warns(NoisyOrWarning, match=r"1 file that could not.*b\.csv, line 82: 2 val"):
        found = count([good, ragged], skip_broken=True)
    assert found == count_moments(good, PLAN, n_groups=5)


def test_columns_of_other_types_in_other_files_are_taken_as_on_one_machine(tmp_path):
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c.csv"]
    numbers = {"record": range(40), "symptom": ["fever"] * 40, "state": [True] * 40}
    pq.write_table(pa.table(numbers), files[0])
    texts = pa.array([f"p{number}" for number in range(40)], pa.large_string())
    words = pa.array(["absent", "present"] * 20).dictionary_encode()
    pq.write_table(pa.table({"record": texts, "symptom": [1] * 40, "state": words}), files[1])
    write(files[2], [f"{number},ache" for number in range(200, 240)], "record,symptom")
    with pytest.warns(NoisyOrWarning, match="'symptom' are positions in the structure"):
        expected = count_moments(files, PLAN, n_groups=5)
    assert expected.n_records == 120
    with pytest.warns(NoisyOrWarning, match="'symptom' are positions in the structure"):
        assert count(files) == expected


@pytest.mark.parametrize("large", [7, 2**63 + 5])
def test_ids_without_a_sign_are_taken_as_on_one_machine(tmp_path, large):
    path = tmp_path / "a.parquet"
    ids = pa.array([large, 8, large], pa.uint64())
    pq.write_table(pa.table({"record": ids, "symptom": ["fever", "cough", "cough"]}), path)
    assert count(path).n_records == 2
    assert count(path) == count_moments(path, PLAN, n_groups=5)


def test_a_record_in_two_files_is_told_once(tmp_path):
    files = [write(tmp_path / "a.csv", lines(40)), write(tmp_path / "b.csv", [
        f"{number},ache,1" for number in range(40)])]  # fmt: skip
    with pytest.warns(NoisyOrWarning, match="has rows in two files.*ids_per_file=True") as told:
        found = count(files)
    assert found.n_records == 40
    assert len([each for each in told if "in two files" in str(each.message)]) == 1
    assert count(files, ids_per_file=True).n_records == 80
    table = pa.table({"id": ["a", "a", "b"], "file": [0, 1, 1]})
    assert shared_record(table) == "a"
    assert shared_record(table.slice(1)) is None


def test_notes_are_of_all_files(tmp_path):
    files = [
        write(tmp_path / "a.csv", [*lines(40), "500,Rash,1", "501,Fever,1"]),
        write(tmp_path / "b.csv", [*lines(40, 100), "502,Rash,1"]),
    ]
    with pytest.warns(NoisyOrWarning) as there:
        count(files, ignore_unknown=True)
    with pytest.warns(NoisyOrWarning) as here:
        count_moments(files, PLAN, ignore_unknown=True)
    sentences = sorted(str(each.message) for each in there)
    assert any("passed over 2 of 163 rows" in each for each in sentences)
    assert sentences == sorted(str(each.message) for each in here)
