"""Passes over records, here and on a cluster: all see the same ones, or it is an error."""

import os
import shutil
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusters import HereCluster, write_groups
from noisyor import MomentPlan, NoisyOrLearner, count_moments, datasets, find_schedule
from noisyor.errors import ChangedFileError, FileError, NoisyOrWarning, ParameterError
from noisyor.findings import cluster_reading
from noisyor.io import parts
from noisyor.learning import learn_pooled, methods, sources

NETWORK = datasets.figure1(0)
STRUCTURE = NETWORK.structure


class CountingCluster(HereCluster):
    """Counts the jobs by what they do."""

    def __init__(self, n_jobs):
        super().__init__()
        self._n_jobs = n_jobs

    def keep(self, work, *arguments):
        self._n_jobs[work.__name__] += 1
        return super().keep(work, *arguments)


@pytest.fixture
def n_jobs(monkeypatch):
    """What jobs a cluster has done, that takes the place of Dask's."""
    done = Counter()
    monkeypatch.setattr(sources, "Cluster", lambda _: CountingCluster(done))
    monkeypatch.setattr(parts, "LARGEST_SPAN", 5000)
    monkeypatch.setattr(cluster_reading, "FEWEST_ROWS", 200)
    monkeypatch.setattr("noisyor.cluster.PAUSES", (0.0, 0.0))
    return done


def where(client):
    return {"client": object()} if client == "cluster" else {}


@pytest.fixture
def files(tmp_path):
    found = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    write_groups(NETWORK.sample(2000, rng=1), found[0], 300)
    NETWORK.sample(2000, rng=2).to_csv(found[1])
    return found


def between_passes(monkeypatch, change):
    """Have something done when the first pass is over."""
    fit_pairs = methods.fit_pairs

    def changed(*arguments):
        change()
        return fit_pairs(*arguments)

    monkeypatch.setattr(methods, "fit_pairs", changed)


# --- one split ---


def test_files_are_split_and_scanned_once_for_all_passes(files, n_jobs):
    learner = NoisyOrLearner(STRUCTURE, max_iter=1).fit(files, client=object())
    assert learner.estimate_.n_records == 4000
    assert n_jobs["_try_to_examine"] == 2
    assert n_jobs["scan_span"] == len(parts.split_file(str(files[1]))[0].parts) > 2
    assert n_jobs["_count_job"] == 2 * n_jobs["_load"] > 4  # pairs, triplets, then sampling


def test_long_tables_are_refused_by_refined_before_any_row_is_read(tmp_path, n_jobs):
    path = tmp_path / "long.csv"
    NETWORK.sample(3000, rng=1).to_csv(path, layout="long")
    with pytest.raises(ParameterError, match="a row per finding cannot stay on a cluster"):
        NoisyOrLearner(STRUCTURE).fit(path, client=object())
    assert n_jobs == {"_try_to_examine": 1}
    learner = NoisyOrLearner(STRUCTURE, method="pooled").fit(path, client=object())
    assert learner.estimate_.n_records == 3000


# --- one manifest ---


def grow(path):
    path.write_bytes(path.read_bytes() + b"1,1,1,1,1\n")


def repair(path):
    """Another value in as many bytes."""
    content = path.read_bytes()
    path.write_bytes(content[:-10] + content[-10:].replace(b"0", b"1"))
    state = path.stat()
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 10**6))


def replace(path):
    other = path.with_name("other")
    NETWORK.sample(500, rng=3).to_csv(other)
    other.replace(path)


@pytest.mark.parametrize("client", ["here", "cluster"])
@pytest.mark.parametrize("change", [grow, repair, replace, os.unlink])
def test_a_file_that_changes_between_passes_is_an_error(files, n_jobs, monkeypatch, client, change):
    between_passes(monkeypatch, lambda: change(files[1]))
    learner = NoisyOrLearner(STRUCTURE, method="pooled")
    with pytest.raises(ChangedFileError, match=r"b\.csv .*mix different records.* Start again"):
        learner.fit(files, **where(client))


def test_a_file_that_changes_while_it_is_read_is_an_error(files, monkeypatch):
    learner = NoisyOrLearner(STRUCTURE, method="refined")
    read = sources.read_findings

    def read_and_grow(*arguments):
        found = read(*arguments)
        grow(files[1])
        return found

    monkeypatch.setattr(sources, "read_findings", read_and_grow)
    with pytest.raises(ChangedFileError, match=r"b\.csv was changed"):
        learner.fit(files)


def test_a_stream_that_comes_only_once_is_an_error_not_an_empty_second_pass():
    table = NETWORK.sample(2000, rng=1).to_arrow()
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    with pytest.raises((ChangedFileError, FileError)):
        NoisyOrLearner(STRUCTURE, method="pooled").fit(stream)


def test_notices_are_given_in_one_pass_only(tmp_path, n_jobs):
    path = tmp_path / "a.csv"
    NETWORK.sample(500, rng=1).to_csv(path)
    path.write_text(path.read_text().upper())
    for client in "here", "cluster":
        with pytest.warns(NoisyOrWarning) as told:
            NoisyOrLearner(STRUCTURE, method="pooled").fit(path, **where(client))
        sentences = [str(each.message) for each in told]
        assert len([each for each in sentences if "not written as in" in each]) == 1, sentences


# --- files that are left out ---


def test_broken_files_are_left_out_of_all_passes_though_one_is_repaired(
    files, tmp_path, n_jobs, monkeypatch
):
    whole, torn = tmp_path / "whole.parquet", tmp_path / "torn.parquet"
    write_groups(NETWORK.sample(5000, rng=3), whole, 100)
    content = whole.read_bytes()
    torn.write_bytes(content[:2000] + bytes(200) + content[2200:])
    gone = tmp_path / "gone.parquet"
    between_passes(monkeypatch, lambda: shutil.copy(whole, torn))
    learner = NoisyOrLearner(STRUCTURE, max_iter=2)
    with pytest.warns(NoisyOrWarning, match="2 files that could not be read") as told:
        learner.fit([files[0], torn, gone, files[1]], client=object(), skip_broken=True)
    assert len(told) == 1
    assert learner.skipped_ == [str(gone), str(torn)]
    assert learner.estimate_.n_records == 4000
    alone = NoisyOrLearner(STRUCTURE, max_iter=2).fit(files, client=object())
    assert alone.skipped_ == []
    assert learner.network_.failures == pytest.approx(alone.network_.failures, abs=1e-9)


def test_a_file_that_breaks_after_the_first_pass_is_not_left_out_of_the_next(
    files, n_jobs, monkeypatch
):
    state = parts.state_of(files[0])

    def tear():
        content = files[0].read_bytes()
        files[0].write_bytes(content[:200] + bytes(500) + content[700:])
        os.utime(files[0], ns=(0, state.modified))  # as a failing disk does

    between_passes(monkeypatch, tear)
    learner = NoisyOrLearner(STRUCTURE, method="pooled")
    with pytest.raises(ChangedFileError, match=r"a\.parquet .*In an earlier pass it could be read"):
        learner.fit(files, client=object(), skip_broken=True)


# --- moments of other records ---


def test_triplets_of_other_records_than_the_pairs_are_an_error():
    schedule = find_schedule(STRUCTURE)
    plan = MomentPlan.coupled(STRUCTURE) | schedule.plan()
    records = NETWORK.sample(2000, rng=1)
    pairs = count_moments(records, plan)
    assert learn_pooled(pairs, schedule, triplets=count_moments(records, plan)).is_complete
    fewer = count_moments(NETWORK.sample(1999, rng=1), plan)
    with pytest.raises(ParameterError, match="triplets were counted over 1,999 records .* 2,000"):
        learn_pooled(pairs, schedule, triplets=fewer)
    with pytest.raises(ParameterError, match="in other groups"):
        learn_pooled(pairs, schedule, triplets=count_moments(records, plan, n_groups=20))


def test_as_many_records_of_another_table_are_told_by_their_number(tmp_path):
    """A frame of Dask may give other rows each time it is computed."""
    sizes = iter([5, 5, 6])
    table = NETWORK.sample(6, rng=1).to_arrow()
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    reading = cluster_reading.Reading(
        STRUCTURE, cluster_reading.RecordFormat(), cluster_reading.ColumnKind.ID, ()
    )
    blocks = [
        cluster_reading.job_blocks(
            reading, cluster_reading.Notes(), table.slice(0, next(sizes)), 0, 5
        )
        for _ in range(3)
    ]
    assert [sum(block.n_records for block in each) for each in blocks[:2]] == [5, 5]
    with pytest.raises(ChangedFileError, match="has 6 rows where 5 were counted at first"):
        list(blocks[2])
