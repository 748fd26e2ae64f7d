"""`noisyor count --resume`, killed again and again: nothing lost, nothing counted twice.

A server process has counted once, so that all is loaded, and forks a process for each run: most
kills then hit the counting, not the start. NOISYOR_KILLS says how many `make test-all` does.
"""

import os
import random
import subprocess
import sys
import time
from typing import NamedTuple

import pytest

from noisyor import Moments, datasets

N_KILLS = int(os.environ.get("NOISYOR_KILLS", "1000"))
N_FILES = 24

SERVER = """
import os, signal, sys, time
import noisyor.moments.resuming as resuming
from noisyor.cli import main
resuming.SHORTEST_PAUSE = 0.0
def count(arguments):
    sys.argv = ["noisyor", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0
print(count(sys.stdin.readline().rstrip("\\n").split("\\t")[1:]), flush=True)
for line in sys.stdin:
    delay, *arguments = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        os._exit(count(arguments))
    end = time.monotonic() + float(delay)
    ended = 0
    while not ended and time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0.0005)
    if not ended:
        os.kill(child, signal.SIGKILL)
        ended, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@pytest.fixture
def records(tmp_path):
    """A folder with many small files of records."""
    clinic = datasets.clinic()
    for number in range(N_FILES):
        clinic.sample(2000 + number, rng=number).to_parquet(tmp_path / f"{number:02}.parquet")
    return tmp_path


class Server:
    """Runs `noisyor` and kills it after some seconds."""

    def __enter__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, "-c", SERVER], text=True, **pipes)
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=30)

    def run(self, seconds, *arguments):
        """Return the exit code, or minus the signal that ended it."""
        self.process.stdin.write("\t".join([f"{seconds}", *map(str, arguments)]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


class Tally(NamedTuple):
    """What has happened."""

    n_ended: int
    n_resumed: int
    """Runs that began with a checkpoint of one that was killed."""


def kill_again_and_again(folder, n_kills):
    """Count, kill and resume until so many runs were killed and the last one came to its end."""
    files = sorted(folder.glob("*.parquet"))
    output, checkpoint = folder / "all.moments", folder / "all.moments.partial"
    arguments = ["count", "clinic", *files, "-o", output, "--resume", "--quiet", "--jobs", 1]
    n_killed = n_ended = n_resumed = 0
    with Server() as server:
        assert server.run(0.0, *arguments) == 0  # in the server itself, which is not killed
        expected = Moments.load(output)
        assert expected.n_records == sum(2000 + number for number in range(N_FILES))
        output.unlink()
        start = time.monotonic()
        assert server.run(60.0, *arguments) == 0
        usual = time.monotonic() - start
        while True:
            output.unlink(missing_ok=True)
            n_resumed += checkpoint.exists()
            is_last = n_killed >= n_kills
            code = server.run(60.0 if is_last else random.uniform(0.0, usual), *arguments)
            assert code in (0, -9)
            n_killed += code == -9
            if code == 0:
                assert Moments.load(output) == expected
                assert [file for file in folder.iterdir() if file not in files] == [output]
                n_ended += 1
                if is_last:
                    break
    return Tally(n_ended, n_resumed)


def test_a_few_kills(records):
    tally = kill_again_and_again(records, 25)
    assert tally.n_resumed, "no kill hit the counting"


@pytest.mark.slow
def test_many_kills(records):
    tally = kill_again_and_again(records, N_KILLS)
    print(f"{N_KILLS} kills: {tally}")
    assert tally.n_resumed > N_KILLS / 5
