"""Ctrl-C: a word, its exit code, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from noisyor.cli import interrupts
from noisyor.network import NoisyOrNetwork


def test_ctrl_c_ends_with_a_word_and_code_130(run, monkeypatch, tmp_path):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(NoisyOrNetwork, "iter_sample", interrupt)
    code, out, err = run("sample", "clinic", "-o", tmp_path / "r.parquet")
    assert code == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_end_in_the_middle_of_real_work(tmp_path, number, code):
    script = "from noisyor.cli import main; main()"
    arguments = ["sample", "qmr_shaped", "-n", "100000000", "-o", str(tmp_path / "r.parquet")]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".r.parquet.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code
    assert err.strip() == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_code_where_only_compiled_code_runs(number, code):
    """The main thread cannot see the signal: the handler does not run before the end."""
    script = (
        "import hashlib; from noisyor.cli.interrupts import interruptible\n"
        "with interruptible():\n"
        "    print('ready', flush=True); hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == code


def test_signals_are_heeded_inside_and_given_back_after():
    before = [signal.getsignal(each) for each in interrupts.SIGNALS]
    with interrupts.interruptible():
        assert not interrupts.was_interrupted()
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
    assert interrupts.was_interrupted()
    with pytest.raises(KeyboardInterrupt):
        interrupts.check_interrupted()
    assert [signal.getsignal(each) for each in interrupts.SIGNALS] == before
    with interrupts.interruptible():  # a new command begins without a request
        interrupts.check_interrupted()


def test_what_the_shell_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts.interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupts.was_interrupted()
    finally:
        signal.signal(signal.SIGHUP, before)
