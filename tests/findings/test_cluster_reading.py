"""Records on a cluster: files and frames split into jobs, wherever lines end."""

import numpy as np
import pytest

from clusters import CLUSTER_MARKS, write_groups
from noisyor import Findings, MomentPlan, Structure, count_moments, datasets
from noisyor.cluster import Cluster
from noisyor.errors import FileError, FindingsError, ParameterError
from noisyor.findings.cluster_reading import job_blocks, split_records, with_counted_rows
from noisyor.findings.notes import Notes
from noisyor.findings.reading import RecordFormat
from noisyor.io import parts as table_parts

pytestmark = CLUSTER_MARKS


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def plan(clinic):
    return MomentPlan.all_pairs(clinic.structure)


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_bytes_of_csv_count_the_same(
    threads, clinic, plan, tmp_path, small_jobs, monkeypatch, line
):
    monkeypatch.setattr(table_parts, "LARGEST_SPAN", 20_000)
    path = tmp_path / "r.csv"
    clinic.sample(3001, rng=5).to_csv(path)
    lines = path.read_text().splitlines()
    lines.insert(1000, "")  # a blank line is no record
    path.write_bytes(line.join([*lines, ""]).encode())
    assert len(table_parts.split_file(str(path))[0].parts) > 10
    assert count_moments(path, plan, client=threads) == count_moments(path, plan)
    path.write_bytes(line.join(lines).encode())  # without an end of the last line
    assert count_moments(path, plan, client=threads) == count_moments(path, plan)


def test_values_with_ends_of_lines_are_not_cut(threads, tmp_path, monkeypatch):
    monkeypatch.setattr(table_parts, "LARGEST_SPAN", 200)
    structure = datasets.figure1(0).structure
    rows = "\n".join(f'"patient\n{n}",1,0,1,0,{n % 2}' for n in range(100))
    path = tmp_path / "r.csv"
    path.write_text(f"record,a,b,c,d,e\n{rows}\n")
    plan = MomentPlan.coupled(structure)
    assert count_moments(path, plan, client=threads) == count_moments(path, plan)


def test_carriage_returns_alone_and_marks_at_the_beginning(
    threads, clinic, plan, tmp_path, monkeypatch
):
    monkeypatch.setattr(table_parts, "LARGEST_SPAN", 20_000)
    path = tmp_path / "r.csv"
    clinic.sample(3000, rng=5).to_csv(path)
    content = path.read_bytes()
    lines = content.split(b"\n")
    path.write_bytes(b"\n".join([*lines[:5], lines[5] + b"\r" + lines[6], *lines[7:]]))
    assert count_moments(path, plan, client=threads) == count_moments(path, plan)
    path.write_bytes(b"\xef\xbb\xbf\n" + content)
    assert count_moments(path, plan, client=threads) == count_moments(path, plan)


def test_a_carriage_return_after_the_names_does_not_put_a_row_into_every_span(
    threads, tmp_path, monkeypatch
):
    monkeypatch.setattr(table_parts, "LARGEST_SPAN", 100)
    structure = Structure.from_edges([("flu", name) for name in ("fever", "cough", "ache")])
    path = tmp_path / "r.csv"
    path.write_bytes(b"fever,cough,ache\r1,1,1\n" + b"0,0,0\n" * 500)
    found = count_moments(path, MomentPlan.coupled(structure), client=threads)
    assert found.n_records == 501
    assert found == count_moments(path, MomentPlan.coupled(structure))


def test_workers_are_counted_while_dask_asks_for_none(threads, monkeypatch):
    """Its own question, of every two seconds, may overwrite the answer to another one."""
    monkeypatch.setattr(threads, "scheduler_info", lambda **_: {"workers": {}})
    assert Cluster(threads).n_threads == 2


def test_a_bad_value_is_located_in_the_file_as_on_one_machine(
    threads, clinic, plan, tmp_path, monkeypatch
):
    monkeypatch.setattr(table_parts, "LARGEST_SPAN", 20_000)
    path = tmp_path / "r.csv"
    clinic.sample(3000, rng=5).to_csv(path)
    lines = path.read_text().splitlines()
    lines[2500] = "maybe" + lines[2500][1:]
    lines.insert(1000, "")  # a blank line is a line of the file, too
    path.write_text("\n".join([*lines, ""]))
    with pytest.raises(FileError, match=r"r\.csv, line 2502, column .*'maybe' is not") as there:
        count_moments(path, plan, client=threads)
    with pytest.raises(FileError) as here:
        count_moments(path, plan)
    assert str(there.value) == str(here.value)


def test_long_frames_and_tables_at_hand(threads, clinic, plan):
    frames = pytest.importorskip("dask.dataframe", reason="dask has no frames here")
    findings = clinic.sample(200, rng=1)
    table = findings.to_arrow()
    assert count_moments(table, plan, client=threads) == count_moments(table, plan)
    long = findings.to_arrow(layout="long").to_pandas()
    with pytest.raises(ParameterError, match="a row per finding is not taken"):
        count_moments(frames.from_pandas(long, npartitions=2), plan, client=threads)


def test_jobs_hold_all_records_in_order(threads, clinic, tmp_path, small_jobs):
    structure, form, cluster = clinic.structure, RecordFormat(), Cluster(threads)
    first, second = clinic.sample(2500, rng=1), clinic.sample(300, rng=2)
    files = [
        write_groups(first, tmp_path / "a.parquet", 400),
        write_groups(second, tmp_path / "b.parquet", 100),
    ]
    split = split_records(cluster, files, structure, form, skip_broken=False)
    assert not split.is_long
    assert len(split.jobs) > 3
    rows = [
        Findings(structure, job_blocks(split.reading, Notes(), *job.arguments)).to_numpy()
        for job in split.jobs
    ]
    assert [len(each) for each in rows] == [job.size for job in split.jobs]
    assert [job.size for job in with_counted_rows(cluster, split.jobs)] == [*map(len, rows)]
    assert (np.concatenate(rows) == np.concatenate([first.to_numpy(), second.to_numpy()])).all()


def test_with_broken_files_a_job_reads_one_file(threads, clinic, tmp_path, monkeypatch):
    monkeypatch.setattr("noisyor.cluster.PAUSES", (0.0, 0.0))
    form, cluster = RecordFormat(), Cluster(threads)
    files = [
        write_groups(clinic.sample(100, rng=n), tmp_path / f"{n}.parquet", 50) for n in range(3)
    ]
    (tmp_path / "torn.parquet").write_text("PAR1")
    together = split_records(cluster, files, clinic.structure, form, skip_broken=False)
    assert [job.size for job in together.jobs] == [300]
    files.insert(1, tmp_path / "torn.parquet")
    apart = split_records(cluster, files, clinic.structure, form, skip_broken=True)
    assert [job.size for job in apart.jobs] == [100, 100, 100]
    assert [each.source for each in apart.skipped] == [str(tmp_path / "torn.parquet")]
    with pytest.raises(FileError, match=r"torn\.parquet"):
        split_records(cluster, files, clinic.structure, form, skip_broken=False)
    with pytest.raises(FindingsError, match=r"no file can be read: .*torn\.parquet"):
        split_records(cluster, files[1:2], clinic.structure, form, skip_broken=True)
    with pytest.raises(ParameterError, match="n_records and all_records are for long records"):
        split_records(cluster, files[:1], clinic.structure, RecordFormat(n_records=5), False)
    long = tmp_path / "long.parquet"
    clinic.sample(100, rng=1).to_parquet(long, layout="long")
    with pytest.raises(ParameterError, match="n_records and all_records are not used"):
        split_records(cluster, long, clinic.structure, RecordFormat(n_records=500), False)
