"""The application under load: how long answers take, how many a second, what memory grows."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.network import NoisyOrNetwork

LASTS = "ten minutes"
RATES = {"clinic": 200, "orphanet570": 20}
"""Questions a second that are to be answered."""
KINDS = {
    "posterior": {}, "explain": {}, "questions": {"top": 6}, "sets": {"k": 5, "budget": 0.5},
}  # fmt: skip
"""What the page asks of a case."""
FEWEST, MOST = 5, 8
"""Findings of a case under load."""
N_CONNECTIONS = 16
MEMORY = "memory"


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List what is asked: of one at a time, at a rate, and many thousands in a row."""
    networks = settings.available(*RATES)
    n_single, seconds = settings.pick(200, 10), settings.pick(60, 2)
    return [
        *(Cell(name, n_single, 0, f"{kind}, 12 findings") for name in networks for kind in KINDS),
        *(Cell(name, RATES[name] * seconds, 0, f"{RATES[name]} a second") for name in networks),
        *(Cell(name, settings.pick(2000, 50), 0, "as many as can be") for name in networks),
        Cell("clinic", settings.pick(20_000, 300), 0, MEMORY),  # and as many before
    ]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Start the command, ask it, and end it."""
    network = settings.network(cell.network)
    kind, _, rest = cell.method.partition(", ")
    n_findings = (12, 12) if rest else (FEWEST, MOST)
    bodies = [json.dumps(case) for case in cases_of(network, 500, n_findings, cell.seed)]
    if kind in KINDS:
        bodies = [json.dumps(json.loads(body) | KINDS[kind]) for body in bodies]
    path = f"/api/{kind if kind in KINDS else 'posterior'}"
    with served(network) as (address, process):
        asked = QuestionStream(address, path, bodies)
        n_connections = 1 if rest else N_CONNECTIONS
        n_before = cell.n_records if cell.method == MEMORY else 20  # loads the kernels
        asyncio.run(asked.ask(n_before, n_connections))
        before = _megabytes(process.pid)
        rate = int(kind.split()[0]) if kind.endswith("a second") else None
        start, worked = time.perf_counter(), _seconds_of_work(process.pid)
        answers = asyncio.run(asked.ask(cell.n_records, n_connections, rate))
        elapsed = time.perf_counter() - start
        worked = _seconds_of_work(process.pid) - worked
        grown = _megabytes(process.pid) - before
    found = times_of(answers) | {"a second": len(answers) / elapsed}
    found["work, ms"] = 1e3 * worked / len(answers)
    return found | {"memory before, MB": before, "memory grown, MB": grown}


def cases_of(
    network: NoisyOrNetwork, n: int, n_findings: tuple[int, int], seed: int
) -> Iterator[dict[str, Any]]:
    """Give findings as patients have them: present ones of sampled records, absent ones to fill."""
    rng = np.random.default_rng(seed)
    names = network.structure.symptoms
    for row in network.sample(n, rng=seed).to_numpy():
        size = int(rng.integers(n_findings[0], n_findings[1] + 1))
        present = rng.permutation(np.flatnonzero(row))[:size]
        absent = rng.permutation(np.flatnonzero(~row))[: size - len(present)]
        states = {"present": present, "absent": absent}
        yield {state: [names[j] for j in chosen.tolist()] for state, chosen in states.items()}


@contextmanager
def served(network: NoisyOrNetwork) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run `noisyor app` on a network in a process of its own; give its address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.json"
        network.save(path)
        command = [sys.executable, "-m", "noisyor", "app", str(path), "--port", "0", "--api-only"]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        process: subprocess.Popen[str] = subprocess.Popen([*command, "--json"], **options)  # type: ignore[call-overload]
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["address"], process
        finally:
            process.terminate()
            process.communicate(timeout=30)


def _megabytes(process: int) -> float:
    """Return the memory of a process; NaN where the system does not tell."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024.0


def _seconds_of_work(process: int) -> float:
    """Return how long a process was at work on any core; NaN where the system does not tell."""
    try:
        parts = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


Answer = tuple[float, bool]
"""Seconds from when a question was due, and whether it was answered."""


def times_of(answers: Sequence[Answer]) -> Quantities:
    """Return how long answers took, and how many questions were refused."""
    taken = 1e3 * np.array([taken for taken, _ in answers])
    return {
        "median, ms": float(np.median(taken)),
        "99%, ms": float(np.quantile(taken, 0.99)),
        "longest, ms": float(taken.max()),
        "refused": float(sum(not is_answered for _, is_answered in answers)),
    }


class QuestionStream:
    """A server, and questions that are put to it one after the other, again from the first."""

    def __init__(self, address: str, path: str, bodies: Sequence[str]) -> None:
        found = urlsplit(address)
        self._host, self._port = str(found.hostname), int(found.port or 80)
        self._requests = [self._request(path, body.encode()) for body in bodies]

    def _request(self, path: str, body: bytes) -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def ask(self, n: int, n_connections: int, rate: int | None = None) -> list[Answer]:
        """Ask n questions over connections that stay open; at a rate, if one is given.

        A question that has to wait for a connection has been asked when it was due.
        """
        due: asyncio.Queue[tuple[int, float]] = asyncio.Queue()
        answers: list[Answer] = []
        start = time.perf_counter()
        for number in range(n):
            due.put_nowait((number, start + number / rate if rate else 0.0))

        async def work() -> None:
            reader, writer = await asyncio.open_connection(self._host, self._port)
            while not due.empty():
                number, when = due.get_nowait()
                await asyncio.sleep(max(when - time.perf_counter(), 0.0))
                begun = when or time.perf_counter()
                writer.write(self._requests[number % len(self._requests)])
                status = await _read_answer(reader)
                answers.append((time.perf_counter() - begun, status == 200))
            writer.close()
            await writer.wait_closed()

        await asyncio.gather(*(work() for _ in range(n_connections)))
        return answers


async def _read_answer(reader: asyncio.StreamReader) -> int:
    """Read an answer to its end; return its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status, *lines = head.split("\r\n")
    lengths = [line.split(":")[1] for line in lines if line.lower().startswith("content-length:")]
    await reader.readexactly(int(lengths[0]))
    return int(status.split()[1])


def page(results: Results) -> dict[str, object]:
    """Return the tables."""
    single = [f"{kind}, 12 findings" for kind in KINDS]
    rates = [f"{rate} a second" for rate in RATES.values()]
    [memory] = results.runs(MEMORY)
    return {
        "single": results.runs(*single),
        "steady": results.runs(*rates, "as many as can be"),
        "n_connections": N_CONNECTIONS,
        "fewest": FEWEST,
        "most": MOST,
        "n_memory": memory[1],
        "before": results.mean(*memory, "memory before, MB"),
        "grown": results.mean(*memory, "memory grown, MB"),
    }
