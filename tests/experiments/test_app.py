"""The application under load: cases as patients have them, and times that leave nothing out."""

import asyncio
import json

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the page needs noisyor[app]")

from noisyor import datasets
from noisyor.experiments import ExperimentSettings, app
from noisyor.experiments.results import Cell


def test_cases_have_the_findings_of_records():
    clinic = datasets.clinic()
    rows = clinic.sample(30, rng=3).to_numpy()
    for case, row in zip(app.cases_of(clinic, 30, (5, 8), 3), rows, strict=True):
        present = clinic.structure.symptom_indices(case["present"])
        absent = clinic.structure.symptom_indices(case["absent"])
        assert 5 <= len(present) + len(absent) <= 8
        assert row[present].all()
        assert not row[absent].any()


def test_times_of_answers():
    found = app.times_of([(0.001, True)] * 98 + [(0.5, True), (1.0, False)])
    assert found["median, ms"] == pytest.approx(1.0)
    assert found["longest, ms"] == pytest.approx(1000.0)
    assert 400 < found["99%, ms"] < 600
    assert found["refused"] == 1.0


def test_a_question_that_waits_has_been_asked_when_it_was_due():
    async def main():
        async def slow(reader, writer):
            for _ in range(4):
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"POST /api/posterior HTTP/1.1\r\n")
                assert json.loads(await reader.readexactly(2)) == {}
                await asyncio.sleep(0.05)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
            writer.close()

        server = await asyncio.start_server(slow, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        asked = app.QuestionStream(f"http://127.0.0.1:{port}/", "/api/posterior", ["{}"])
        answers = await asked.ask(4, n_connections=1, rate=100)
        server.close()
        return answers

    taken = [seconds for seconds, _ in asyncio.run(main())]
    assert np.all(np.diff(taken) > 0.02)  # each waits for those before it
    assert taken[-1] > 0.15


def test_a_server_is_asked_and_ended():
    found = app.measure(Cell("clinic", 8, 0, "posterior, 12 findings"), ExperimentSettings(True))
    assert found["refused"] == 0.0
    assert 0.0 < found["median, ms"] < 5000.0
    assert found["a second"] > 0.0
    assert 0.0 <= found["work, ms"] < 5000.0


def test_every_cell_is_of_a_kind_that_is_known():
    for cell in app.cells(ExperimentSettings(True)):
        kind = cell.method.partition(", ")[0]
        known = kind in app.KINDS or kind in (app.MEMORY, "as many as can be")
        assert known or kind.endswith("a second")
