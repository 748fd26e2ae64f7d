"""Diagnosis on a cluster: the rows that one machine writes, and no half-written files."""

import pyarrow.parquet as pq
import pytest

from clusters import CLUSTER_MARKS
from noisyor import datasets, posteriors
from noisyor.errors import FileError, ParameterError
from noisyor.findings.reading import RecordFormat
from noisyor.inference.posteriors_on_cluster import diagnose_on_cluster

pytestmark = CLUSTER_MARKS
REQUEST = {"method": "auto", "budget": 0.1, "rng": 0}


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


def test_records_are_numbered_as_on_one_machine(threads, clinic, tmp_path):
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for number, path in enumerate(files):
        clinic.sample(300, rng=number).to_csv(path)
    folder = tmp_path / "found"
    folder.mkdir()

    def leave_half(_):
        """Do as a worker that was killed."""
        (beside,) = tmp_path.glob(".found.*.part")
        (beside / ".part-00000.parquet.12345678.part").touch()

    diagnose_on_cluster(
        threads, clinic, files, folder, RecordFormat(), progress=leave_half, **REQUEST
    )
    found = pq.read_table(folder)
    assert found.column("record").to_pylist() == list(range(600))
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["part-00000.parquet", "part-00001.parquet"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv", "found"]


def test_after_an_error_there_is_no_folder_that_looks_complete(threads, clinic, tmp_path):
    files = [tmp_path / f"{number}.csv" for number in range(8)]
    for number, path in enumerate(files):
        clinic.sample(300, rng=number).to_csv(path)
    lines = files[-1].read_text().splitlines()
    files[-1].write_text("\n".join([*lines[:100], lines[100].replace("0", "maybe", 1), ""]))
    seen = []
    with pytest.raises(FileError, match=r"7\.csv, line 101, column .*'maybe' is not"):
        diagnose_on_cluster(
            threads, clinic, files, tmp_path / "found", RecordFormat(), progress=seen.append,
            **REQUEST,
        )  # fmt: skip
    assert seen  # some files had been written
    assert sorted(tmp_path.iterdir()) == files


def test_posteriors_are_those_of_one_machine(threads, clinic, tmp_path):
    findings = clinic.sample(200, rng=1)
    findings.to_parquet(tmp_path / "a.parquet")
    seen, request = [], {"method": "exact", "budget": 1.0, "rng": 0}
    counts = diagnose_on_cluster(
        threads, clinic, tmp_path / "a.parquet", tmp_path / "found", RecordFormat(),
        progress=seen.append, **request,
    )  # fmt: skip
    assert (sum(seen), counts.counts) == (200, {"exact": 200})
    table = pq.read_table(tmp_path / "found")
    expected = posteriors(clinic, findings).probabilities
    for number, name in enumerate(clinic.structure.diseases):
        assert table.column(name).to_pylist() == pytest.approx(expected[:, number])


def test_what_is_refused(threads, clinic, tmp_path):
    request = {"method": "exact", "budget": 1.0, "rng": 0}
    findings = clinic.sample(20, rng=1)
    findings.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(FileError, match="a new or empty folder"):
        diagnose_on_cluster(
            threads, clinic, tmp_path / "a.parquet", tmp_path, RecordFormat(), **request
        )
    findings.to_parquet(tmp_path / "long.parquet", layout="long")
    with pytest.raises(ParameterError, match="a row per finding are not diagnosed"):
        diagnose_on_cluster(
            threads, clinic, tmp_path / "long.parquet", tmp_path / "b", RecordFormat(), **request
        )
    assert not (tmp_path / "b").exists()
