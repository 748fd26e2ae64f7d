"""What the machine itself can do."""

import numpy as np
import pytest

from noisyor.experiments import machine


@pytest.mark.parametrize("made", [machine.arithmetic, machine.copying])
def test_as_many_threads_as_asked_share_the_same_work(made, monkeypatch):
    monkeypatch.setattr(machine, "N_PAIRS", 100)
    monkeypatch.setattr(machine, "PIECE", 1000)
    asked, done = [], []

    def in_threads(work, parts, n_jobs):
        asked.append(n_jobs)
        done.extend(parts)
        for part in parts:
            work(part)

    monkeypatch.setattr(machine, "in_threads", in_threads)
    for n_jobs in 1, 3:
        made(n_jobs)()
    assert asked == [1, 3]
    assert len(done) == 2 * machine.N_PARTS
    if made is machine.arithmetic:  # every second bit of two columns, or each of one
        means = [part.mean() / machine.N_WORDS for part in done]
        assert np.mean(means) == pytest.approx(64 * (0.25 * 7 + 0.5) / 8, rel=0.1)
    else:
        assert all((part == 1).all() for part in done)
