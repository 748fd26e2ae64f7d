"""`noisyor count --resume`, killed again and again: nothing lost, nothing counted twice.

A server process has counted once, so that all is loaded, and forks a process for each run: most
kills then hit the counting, not the start.
"""

import random
import subprocess
import sys
import time

from noisyor import Moments, datasets

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


def write_records(folder):
    """Write many small files of records."""
    for number in range(N_FILES):
        records = datasets.clinic().sample(2000 + number, rng=number)
        records.to_parquet(folder / f"{number:02}.parquet")


class Killing:
    """Counts the files of a folder, is killed at any time, and goes on."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.files = sorted(folder.glob("*.parquet"))
        self.output = folder / "all.moments"
        self.checkpoint = folder / "all.moments.partial"
        self.n_killed = 0
        assert self._count(0.0) == 0  # in the server itself, which is not killed
        self.expected = Moments.load(self.output)
        assert self.expected.n_records == sum(2000 + number for number in range(N_FILES))
        self.output.unlink()
        start = time.monotonic()
        assert self._count(60.0) == 0
        self.usual = time.monotonic() - start

    def _count(self, seconds):
        options = ["-o", self.output, "--resume", "--quiet", "--jobs", 1]
        return self.server.run(seconds, "count", "clinic", *self.files, *options)

    def kill(self):
        """Count until it is killed; say what was hit, or nothing where the count was quicker."""
        is_resumed = self.checkpoint.exists()
        if self._goes_on(random.uniform(0.0, self.usual)):
            return []
        self.n_killed += 1
        return ["resumed and killed" if is_resumed else "killed"]

    def end(self):
        """Let the last count come to its end."""
        assert self._goes_on(60.0)
        return []

    def _goes_on(self, seconds):
        """Return True if counting came to its end in so many seconds: it has counted right."""
        self.output.unlink(missing_ok=True)
        code = self._count(seconds)
        assert code in (0, -9), code
        if code == 0:
            assert Moments.load(self.output) == self.expected
            assert {*self.folder.iterdir()} == {*self.files, self.output}
        return code == 0
