"""Work on a cluster: the same integers as on one machine, whatever happens to workers and files."""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusters import (
    CLUSTER_MARKS,
    commands_do_without_dask,
    distributed,
    local_client,
    local_cluster,
    write_groups,
)
from noisyor import MomentPlan, Moments, NoisyOrLearner, count_moments, datasets
from noisyor import cluster as noisyor_cluster
from noisyor.errors import (
    ClusterError,
    FileAccessError,
    FileError,
    FindingsError,
    NoisyOrError,
    NoisyOrWarning,
    ParameterError,
)
from noisyor.io.paths import unreadable
from noisyor.io.tables import ParquetFile
from noisyor.moments import counting

pytestmark = [
    *CLUSTER_MARKS,
]


@pytest.fixture(scope="module")
def processes():
    with local_client(processes=True) as client:
        yield client


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def plan(clinic):
    quartets = [[0, 1, 2, 3], [2, 5, 7, 11]]
    pairs = MomentPlan.all_pairs(clinic.structure)
    return pairs | MomentPlan(clinic.structure, quartets=quartets)


# --- the same integers ---


def test_processes_count_the_same_integers(processes, clinic, plan, tmp_path, small_jobs):
    files = [
        write_groups(clinic.sample(7001, rng=1), tmp_path / "a.parquet", 777),
        write_groups(clinic.sample(5000, rng=2), tmp_path / "b.parquet", 2048),
    ]
    seen = []
    found = count_moments(files, plan, client=processes, progress=seen.append)
    assert found == count_moments(files, plan)
    assert sum(seen) == 12_001
    assert len(seen) > 5


@pytest.mark.parametrize("unknown", [0.0, 0.1])
def test_parts_of_any_size_count_the_same(
    threads, clinic, plan, rng, tmp_path, small_jobs, unknown
):
    for number in range(12):
        n_records = int(rng.integers(1, 4000))
        table = clinic.sample(n_records, rng=number).to_arrow()
        frame = table.to_pandas().astype(object)
        frame = frame.mask(rng.random(frame.shape) < unknown)
        path = tmp_path / f"{number}.parquet"
        table = pa.table({name: pa.array(frame[name], pa.bool_()) for name in frame})
        if number % 2:
            ids = rng.permutation(10**6)[:n_records]
            table = table.append_column("record", pa.array(ids))
        pq.write_table(table, path, row_group_size=int(rng.integers(50, 900)))
        assert count_moments(path, plan, client=threads) == count_moments(path, plan)


@pytest.mark.parametrize("ids_per_file", [False, True])
def test_long_records_count_the_same(threads, clinic, plan, tmp_path, monkeypatch, ids_per_file):
    monkeypatch.setattr(counting, "ROWS_OF_BUCKET", 2000)
    files = [tmp_path / "a.parquet", tmp_path / "b.csv"]
    table = clinic.sample(2000, rng=1).to_arrow(layout="long")
    frame = table.to_pandas().sample(frac=1.0, random_state=0)  # rows of a record stand apart
    frame["record"] = frame["record"].astype(str)
    frame.iloc[:6000].to_parquet(files[0], index=False)
    frame.iloc[6000:].to_csv(files[1], index=False)
    options = {"ids_per_file": ids_per_file}
    with pytest.warns(NoisyOrWarning):  # that they had to be sorted
        alone = count_moments(files, plan, **options)
    with pytest.warns(NoisyOrWarning) as told:
        together = count_moments(files, plan, client=threads, **options)
    assert together == alone
    sentences = [str(each.message) for each in told]
    assert len(set(sentences)) == len(sentences)
    word = "do not stand together" if ids_per_file else "has rows in two files"
    assert any(word in each for each in sentences)


def test_frames_of_dask_count_the_same(threads, clinic, plan):
    frames = pytest.importorskip("dask.dataframe", reason="dask has no frames here")
    frame = clinic.sample(3001, rng=4).to_arrow().to_pandas()
    parts = frames.from_pandas(frame, npartitions=7)
    assert count_moments(parts, plan, client=threads) == count_moments(frame, plan)


def test_addresses_are_read(threads, clinic, plan, tmp_path):
    path = write_groups(clinic.sample(2000, rng=1), tmp_path / "a.parquet", 300)
    expected = count_moments(path, plan)
    assert count_moments(path.as_uri(), plan) == expected
    assert count_moments(path.as_uri(), plan, client=threads) == expected
    with pytest.raises(FileError, match=r"nosuch://x/a\.parquet cannot be opened"):
        count_moments("nosuch://x/a.parquet", plan)


# --- faults ---


def test_a_worker_that_is_killed_loses_nothing(processes, clinic, plan, tmp_path, small_jobs):
    path = write_groups(clinic.sample(40_000, rng=1), tmp_path / "a.parquet", 500)
    pids = list(processes.run(os.getpid).values())
    n_done = []

    def kill_one(amount):
        n_done.append(amount)
        if len(n_done) == 3:
            os.kill(pids[0], signal.SIGKILL)

    found = count_moments(path, plan, client=processes, progress=kill_one)
    assert found == count_moments(path, plan)
    assert len(n_done) > 10
    processes.wait_for_workers(2)


def test_workers_that_always_die_are_told_of(clinic, plan, tmp_path, monkeypatch):
    import dask

    path = write_groups(clinic.sample(100, rng=1), tmp_path / "a.parquet", 50)
    # What a worker runs travels by value here, since it cannot import this file.
    monkeypatch.setattr(counting, "_count_job", eval("lambda *_: __import__('os').abort()"))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        local_cluster(processes=True) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ClusterError, match="workers died again and again"),
    ):
        count_moments(path, plan, client=client)


def test_a_read_that_fails_for_a_moment_is_repeated(
    threads, clinic, plan, tmp_path, monkeypatch, small_jobs
):
    path = write_groups(clinic.sample(4000, rng=1), tmp_path / "a.parquet", 300)
    expected = count_moments(path, plan)
    read, lock, n_failures = ParquetFile.batches, threading.Lock(), [0]

    def flaky(self, *arguments):
        for batch in read(self, *arguments):
            with lock:
                n_failures[0] += 1
                if n_failures[0] % 5 == 0 and n_failures[0] < 20:
                    raise unreadable(self.name, ConnectionResetError(104, "connection reset"))
            yield batch

    monkeypatch.setattr(ParquetFile, "batches", flaky)
    assert count_moments(path, plan, client=threads) == expected
    assert n_failures[0] > 5


def damage(path):
    """Damage the pages of a file near its end; its footer stays."""
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    start = len(content) - footer - 3000
    content[start : start + 2000] = bytes(2000)
    path.write_bytes(content)


def test_broken_files_are_named_or_left_out_as_a_whole(threads, clinic, plan, tmp_path, small_jobs):
    good = [
        write_groups(clinic.sample(3000, rng=n), tmp_path / f"{n}.parquet", 400) for n in (1, 2)
    ]
    torn = write_groups(clinic.sample(20_000, rng=3), tmp_path / "torn.parquet", 400)
    damage(torn)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(good[0].read_bytes()[:1000])
    for broken in torn, cut:
        with pytest.raises(FileError, match=broken.name):
            count_moments([good[0], broken, good[1]], plan, client=threads)
    with pytest.warns(NoisyOrWarning, match=r"2 files that could not be read.*(torn|cut)") as told:
        found = count_moments([torn, good[0], cut, good[1]], plan, client=threads, skip_broken=True)
    assert "torn.parquet" in str(told[0].message)
    assert "cut.parquet" in str(told[0].message)
    assert found == count_moments(good, plan)


@pytest.mark.slow
def test_broken_files_are_left_out_of_refined_learning(threads, clinic, tmp_path, small_jobs):
    good = write_groups(clinic.sample(3000, rng=1), tmp_path / "good.parquet", 400)
    torn = write_groups(clinic.sample(20_000, rng=3), tmp_path / "torn.parquet", 400)
    damage(torn)
    learner = NoisyOrLearner(clinic.structure, method="refined")
    with pytest.warns(NoisyOrWarning, match="could not be read"):
        learner.fit([torn, good], client=threads, skip_broken=True)
    assert learner.estimate_.n_records == 3000


def test_what_cannot_be_done_is_said(threads, clinic, plan, tmp_path):
    path = write_groups(clinic.sample(100, rng=1), tmp_path / "a.parquet", 50)
    with pytest.raises(ClusterError, match="client must be a distributed.Client, not str"):
        count_moments(path, plan, client="tcp://nowhere")
    with pytest.raises(ParameterError, match="skip_broken is for files on a cluster"):
        count_moments(path, plan, skip_broken=True)
    other = tmp_path / "b.parquet"
    table = pq.read_table(path)
    pq.write_table(table.append_column("record", pa.array(range(100))), other)
    assert count_moments([path, other], plan, client=threads) == count_moments([path, other], plan)
    with pytest.raises(FindingsError, match=r"b\.parquet has a column of record ids and .*a\.parq"):
        NoisyOrLearner(clinic.structure).fit([path, other], client=threads)
    with pytest.raises(FindingsError, match="no column for the symptoms"):
        count_moments(path, MomentPlan.coupled(datasets.figure1(0).structure), client=threads)
    with pytest.raises(ParameterError, match="learns from records on one machine"):
        NoisyOrLearner(clinic.structure, method="exact_em").fit(path, client=threads)


# --- learning, diagnosis, commands ---


@pytest.mark.parametrize("method", ["sequential", "pooled", "refined"])
def test_learning_on_a_cluster(threads, tmp_path, method, small_jobs):
    network = datasets.figure1(0)
    path = write_groups(network.sample(6000, rng=1), tmp_path / "a.parquet", 700)
    learner = NoisyOrLearner(network.structure, method=method)
    alone = learner.fit(path).estimate_
    together = learner.fit(path, client=threads).estimate_
    assert together.n_records == 6000
    # On one machine records of so small a network are summed up exactly, on a cluster sampled.
    close = 0.25 * alone.failures.standard_errors if method == "refined" else 0.0
    assert (np.abs(together.failures.values - alone.failures.values) <= close).all()
    rel = 0.05 if method == "refined" else 1e-4
    assert together.priors.standard_errors == pytest.approx(alone.priors.standard_errors, rel=rel)


def test_learning_from_a_frame_of_dask(threads):
    frames = pytest.importorskip("dask.dataframe", reason="dask has no frames here")
    network = datasets.figure1(0)
    frame = network.sample(4000, rng=1).to_arrow().to_pandas()
    learner = NoisyOrLearner(network.structure)
    alone = learner.fit(frame).estimate_.failures
    together = learner.fit(frames.from_pandas(frame, npartitions=3), client=threads).network_
    # Here the records are summed up exactly, on a cluster sampled.
    assert (np.abs(together.failures - alone.values) <= 0.25 * alone.standard_errors).all()


def test_the_commands(clinic, tmp_path, monkeypatch, capsys):
    from noisyor.cli import main

    monkeypatch.chdir(tmp_path)
    clinic.save("clinic.json")
    write_groups(clinic.sample(3000, rng=1), tmp_path / "a.parquet", 700)

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main(list(arguments))
        return exit_.value.code or 0, *capsys.readouterr()

    here = "--cluster", "local:1"
    code, out, _ = run("count", "clinic.json", "a.parquet", "-o", "a.moments", *here, "--json")
    assert (code, json.loads(out)["records"]) == (0, 3000)
    assert run("count", "clinic.json", "a.parquet", "-o", "b.moments", "-q")[0] == 0
    assert Moments.load("a.moments") == Moments.load("b.moments")
    code, out, _ = run("diagnose", "clinic.json", "a.parquet", "-o", "folder", *here, "--json")
    assert (code, json.loads(out)["methods"]) == (0, {"exact": 3000})
    assert run("diagnose", "clinic.json", "a.parquet", "-o", "one.parquet", "-q")[0] == 0
    assert pq.read_table("folder").equals(pq.read_table("one.parquet"))
    for arguments, message in (
        (("count", "clinic.json", "a.parquet", "-o", "c.moments", "--skip-broken"), "--cluster"),
        (("count", "clinic.json", "file:///a.parquet", "-o", "c.moments"), "give --cluster"),
        (("diagnose", "clinic.json", "a.parquet", "-o", "x.csv", *here), "give a folder"),
        (("diagnose", "clinic.json", "a.parquet", "-o", "folder", *here), "new or empty folder"),
        (("fit", "clinic.json", "a.parquet", "-o", "l.json", "--cluster", "local:x"), "local:4"),
        (("fit", "clinic.json", "a.parquet", "-o", "l.json", "--cluster", "tcp://127.0.0.1:9"),
         "there is no cluster at"),
    ):  # fmt: skip
        code, _, err = run(*arguments)
        assert (code, message in err) == (2, True), err


@pytest.fixture
def here_cluster(monkeypatch):
    """Have commands work on a cluster without Dask."""
    commands_do_without_dask(monkeypatch)
    monkeypatch.setattr(noisyor_cluster, "PAUSES", ())


def test_commands_list_the_files_that_were_left_out(
    here_cluster, clinic, tmp_path, monkeypatch, run
):
    monkeypatch.chdir(tmp_path)
    clinic.save("clinic.json")
    clinic.sample(500, rng=1).to_parquet("a.parquet")
    (tmp_path / "b.parquet").write_text("PAR1")
    broken = str(tmp_path / "b.parquet")
    arguments = "clinic.json", "a.parquet", "b.parquet", "--cluster", "x", "--skip-broken"
    code, out, err = run("count", *arguments, "-o", "a.moments", "--json")
    assert (code, json.loads(out)["skipped"], err.count("could not be read")) == (0, [broken], 1)
    code, out, err = run("fit", *arguments, "-o", "l.json", "--max-iter", "1", "--json")
    assert (code, json.loads(out)["skipped"], err.count("could not be read")) == (0, [broken], 1)
    code, out, err = run("fit", *arguments, "-o", "l.json", "--method", "pooled")
    assert code == 0
    assert f"Left out, of all passes, since they cannot be read:\n  {broken}\n" in out
    code, out, _ = run("fit", "clinic.json", "a.parquet", "-o", "l.json", "--json")
    assert json.loads(out)["skipped"] == []


def test_a_number_of_cores_is_not_for_a_cluster(here_cluster, clinic, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    clinic.save("clinic.json")
    clinic.sample(50, rng=1).to_parquet("a.parquet")
    where = "clinic.json", "a.parquet", "--cluster", "x"
    for command, output in (("count", "a.moments"), ("diagnose", "folder")):
        code, _, err = run(command, *where, "-o", output, "--jobs", "2")
        assert (code, "--jobs 2 is for one machine" in err) == (2, True), err
        assert run(command, *where, "-o", output)[0] == 0


def test_without_dask_a_sentence_says_how_to_get_it(monkeypatch):
    import sys

    from noisyor.cluster import connected

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'noisyor\[cluster\]'"), connected("local"):
        pass


# --- jobs ---


def test_only_so_many_jobs_are_given_out(threads, monkeypatch):
    """A reader never outruns a counter."""
    cluster = noisyor_cluster.Cluster(threads)
    most, running = [], set()
    keep = cluster.keep

    def counted(work, *arguments):
        future = keep(work, *arguments)
        running.add(future)
        most.append(sum(not each.done() for each in running))
        return future

    monkeypatch.setattr(cluster, "keep", counted)
    all_jobs = [noisyor_cluster.Job((number,), 1, str(number % 3)) for number in range(100)]
    total, skipped = cluster.merged(slow_square, all_jobs, sum)
    assert (total, skipped) == (sum(n * n for n in range(100)), [])
    assert max(most) <= noisyor_cluster.AHEAD * 2
    assert cluster.merged(slow_square, [], sum) == (None, [])
    found = [value for _, value in cluster.in_order(slow_square, all_jobs)]
    assert found == [n * n for n in range(100)]


# What other processes do travels by value, since they cannot import this file.
give_notices = eval(
    "lambda *notices: [__import__('noisyor.errors').errors.give_notice(each) for each in notices]"
)


def give_notice_and_fail(notice):
    give_notices(notice)
    raise FindingsError("and then it failed.")


TRIED = []


def read_in_vain(error):
    TRIED.append(error)
    raise error("no")


def slow_square(number):
    time.sleep(0.001)
    return number * number


# --- waiting ---


def test_without_workers_the_wait_is_told_and_ends(monkeypatch):
    monkeypatch.setattr(noisyor_cluster, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(noisyor_cluster, "WORRY_AFTER", 0.1)
    monkeypatch.setattr(noisyor_cluster, "GIVE_UP_AFTER", 0.5)
    with local_cluster(processes=False) as local, distributed.Client(local) as client:
        cluster = noisyor_cluster.Cluster(client)
        assert cluster.map(slow_square, [(3,)]) == [9]
        local.scale(0)
        while client.nthreads():
            time.sleep(0.01)
        kept = cluster.keep(slow_square, 4)
        with (
            pytest.warns(NoisyOrWarning, match="no workers any more: waiting for new ones"),
            pytest.raises(ClusterError, match="no workers for 0 seconds: start some"),
        ):
            cluster.map(slow_square, [(5,)])
        local.scale(1)  # one that comes in time goes on with the work
        monkeypatch.setattr(noisyor_cluster, "GIVE_UP_AFTER", 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoisyOrWarning)
            assert cluster.fetch([kept]) == [16]


def test_a_scheduler_that_is_killed_is_told_of_without_a_traceback(tmp_path, capfd):
    file = tmp_path / "scheduler.json"
    command = "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"
    with subprocess.Popen(
        [sys.executable, *command, "--no-dashboard", "--scheduler-file", str(file)],
        stderr=subprocess.DEVNULL,
    ) as scheduler:
        while not file.exists() or not file.read_text():
            time.sleep(0.05)
        with noisyor_cluster.connected(json.loads(file.read_text())["address"]) as client:
            cluster = noisyor_cluster.Cluster(client)
            kept = cluster.keep(slow_square, 4)  # waits for a worker
            scheduler.kill()
            with pytest.raises(ClusterError, match=r"is its scheduler running|did not answer"):
                cluster.fetch([kept])
    assert capfd.readouterr().err == ""


def test_a_cluster_on_this_machine_listens_to_it_alone():
    import psutil

    def listening():
        processes = psutil.Process(), *psutil.Process().children(recursive=True)
        found = [each for process in processes for each in process.net_connections()]
        return {each.laddr for each in found if each.status == "LISTEN"}

    before = listening()
    with noisyor_cluster.connected("local:1"):
        new = listening() - before
    assert len(new) > 1
    assert {address.ip for address in new} == {"127.0.0.1"}


# --- repeating, and notices ---


def test_what_is_wrong_in_a_file_is_read_once_and_what_may_pass_three_times(threads, monkeypatch):
    monkeypatch.setattr(noisyor_cluster, "PAUSES", (0.0, 0.0))
    cluster = noisyor_cluster.Cluster(threads)
    for error, times in ((FileError, 1), (FindingsError, 1), (FileAccessError, 3), (OSError, 3)):
        TRIED.clear()
        with pytest.raises((NoisyOrError, OSError)):
            cluster.map(read_in_vain, [(error,)])
        assert len(TRIED) == times


def test_notices_of_workers_are_given_here_each_once(processes):
    cluster = noisyor_cluster.Cluster(processes)
    with pytest.warns(NoisyOrWarning) as told:
        cluster.map(give_notices, [("again", f"file {number % 2}") for number in range(8)])
    assert sorted(str(each.message) for each in told) == ["again", "file 0", "file 1"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cluster.map(give_notices, [("again",)])  # that has been told


def test_notices_are_given_also_where_the_work_fails(threads):
    cluster = noisyor_cluster.Cluster(threads)
    with (
        pytest.warns(NoisyOrWarning, match="file 2"),
        pytest.raises(FindingsError, match="and then it failed"),
    ):
        cluster.map(give_notice_and_fail, [("file 2",)])


# --- edges ---


def test_broken_long_files_are_left_out_alone(threads, clinic, plan, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "ROWS_OF_BUCKET", 2000)
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(files):
        table = clinic.sample(1000, rng=number).to_arrow(layout="long")
        ids = pa.array([f"{number} {each}" for each in table.column("record").to_pylist()])
        pq.write_table(table.set_column(0, "record", ids), path)
    expected = count_moments([files[0], files[2]], plan)
    content = bytearray(files[1].read_bytes())
    content[200:2000] = bytes(1800)
    files[1].write_bytes(content)
    with pytest.warns(NoisyOrWarning, match=r"1 file that could not be read.*1\.parquet"):
        found = count_moments(files, plan, client=threads, skip_broken=True)
    assert found == expected


def test_nothing_is_not_a_result(threads, clinic, plan, tmp_path, small_jobs):
    torn = write_groups(clinic.sample(20_000, rng=3), tmp_path / "torn.parquet", 400)
    damage(torn)
    gone, empty = tmp_path / "gone.parquet", tmp_path / "empty.parquet"
    empty.touch()
    with (
        pytest.warns(NoisyOrWarning, match="3 files that could not be read"),
        pytest.raises(FileError, match="no file can be read"),
    ):
        count_moments([torn, gone, empty], plan, client=threads, skip_broken=True)
    good = write_groups(clinic.sample(100, rng=1), tmp_path / "good.parquet", 50)
    with pytest.warns(NoisyOrWarning, match="2 files that could not be read"):
        found = count_moments([gone, good, empty], plan, client=threads, skip_broken=True)
    assert found == count_moments(good, plan)


def held_on(client):
    """Return what a cluster holds, once all that nobody needs is released."""
    held, deadline = None, time.monotonic() + 10
    while held != [] and time.monotonic() < deadline:
        gc.collect()  # an exception and its frames hold each other
        time.sleep(0.1)  # releasing takes a message
        held = client.run_on_scheduler(lambda dask_scheduler: sorted(dask_scheduler.tasks))
    return held


def test_a_failed_count_leaves_nothing_on_the_cluster(threads, clinic, plan, tmp_path, small_jobs):
    torn = write_groups(clinic.sample(20_000, rng=3), tmp_path / "torn.parquet", 400)
    damage(torn)
    for _ in range(2):
        with pytest.raises(FileError):
            count_moments(torn, plan, client=threads)
    count_moments(write_groups(clinic.sample(100, rng=1), tmp_path / "a.parquet", 50), plan,
                  client=threads)  # fmt: skip
    assert held_on(threads) == []


def test_small_jobs_that_fail_leave_nothing_on_the_cluster(threads):
    cluster = noisyor_cluster.Cluster(threads)
    with pytest.raises(FileError):
        cluster.map(read_in_vain, [(FileError,), (FileError,)])
    assert held_on(threads) == []
