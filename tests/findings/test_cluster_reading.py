"""Records on a cluster: files and frames split into jobs, wherever lines end."""

import pytest

from clusters import CLUSTER_MARKS, local_client
from noisyor import MomentPlan, count_moments, datasets
from noisyor.errors import ParameterError
from noisyor.findings import cluster_reading
from noisyor.io import parts as table_parts

pytestmark = CLUSTER_MARKS


@pytest.fixture(scope="module")
def threads():
    """A cluster in this process: what tests change here, its workers see."""
    with local_client(processes=False) as client:
        yield client


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def plan(clinic):
    return MomentPlan.all_pairs(clinic.structure)


@pytest.fixture
def small_jobs(monkeypatch):
    """Have a few thousand rows make many jobs."""
    monkeypatch.setattr(cluster_reading, "FEWEST_ROWS", 500)
    monkeypatch.setattr(cluster_reading, "JOBS_PER_THREAD", 10)


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
    assert len(table_parts.split_file(str(path), "record").parts) > 10
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


def test_long_frames_and_tables_at_hand(threads, clinic, plan):
    frames = pytest.importorskip("dask.dataframe", reason="dask has no frames here")
    findings = clinic.sample(200, rng=1)
    table = findings.to_arrow()
    assert count_moments(table, plan, client=threads) == count_moments(table, plan)
    long = findings.to_arrow(layout="long").to_pandas()
    with pytest.raises(ParameterError, match="a row per finding is not taken"):
        count_moments(frames.from_pandas(long, npartitions=2), plan, client=threads)
