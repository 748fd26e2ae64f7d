"""Ctrl-C: a word, its exit code, and nothing left behind."""

import subprocess
import sys


def test_ctrl_c_ends_with_a_word_and_code_130(run, monkeypatch, tmp_path):
    from noisyor.network import NoisyOrNetwork as Network

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Network, "iter_sample", interrupt)
    code, out, err = run("sample", "clinic", "-o", tmp_path / "r.parquet")
    assert code == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_in_the_middle_of_real_work(tmp_path):
    import signal
    import time

    script = "from noisyor.cli import main; main()"
    arguments = ["sample", "qmr_shaped", "-n", "100000000", "-o", str(tmp_path / "r.parquet")]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".r.parquet.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []
