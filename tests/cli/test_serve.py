"""`noisyor app`: it says where it is, answers, and ends when it is told to."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("uvicorn", reason="the page needs noisyor[app]")


@pytest.fixture
def start():
    running = []

    def begin(*arguments):
        command = [sys.executable, "-m", "noisyor", "app", *map(str, arguments), "--no-browser"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        running.append(subprocess.Popen([*command, "--port", "0"], **pipes))
        return running[-1]

    yield begin
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_it_answers_and_ends(start, clinic):
    process = start(clinic / "clinic.json", "clinic", "--json")
    said = json.loads(process.stdout.readline())
    assert said["models"] == ["clinic", "clinic (2)"]
    assert said["token"] is None
    assert said["address"].startswith("http://127.0.0.1:")
    with urllib.request.urlopen(said["address"], timeout=20) as page:
        assert b"<title>noisyor</title>" in page.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "", "noisyor: interrupted\n")


def test_what_is_wrong_is_told_before_anything_is_served(run, clinic):
    for arguments, says in (
        (["nothing.json"], "nothing.json does not exist"),
        (["clinic", "--errors", "a.csv", "--errors", "b.csv"], "--errors is given 2 times"),
        (["clinic", "--errors", clinic / "edges.csv"], "edges.csv"),
        (["clinic", "--misfits", clinic / "edges.csv"], "edges.csv"),
        (["clinic", "--suggestions", clinic / "edges.csv"], "edges.csv"),
        (["clinic", "--host", "no.such.host.invalid"], "cannot be listened on"),
    ):
        code, out, err = run("app", *arguments, "--no-browser", "--port", 0)
        assert (code, out) == (2, "")
        assert says in err


def test_without_the_packages_it_says_how_to_get_them(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "noisyor.app.serving", raising=False)
    code, _, err = run("app", "clinic")
    assert code == 2
    assert "pip install 'noisyor[app]'" in err


def test_others_need_the_token(monkeypatch, run):
    from noisyor.app import serving

    opened = []

    def served(app, listening, when_ready):
        when_ready()

    monkeypatch.setattr(serving, "serve", served)
    monkeypatch.setattr(serving, "warm_up", lambda models: None)
    monkeypatch.setattr(serving, "open_browser", opened.append)
    code, out, err = run("app", "clinic", "--host", "0.0.0.0", "--port", 0)
    assert code == 0
    token = out.partition("#token=")[2].split()[0]
    assert len(token) >= 32
    assert token in err
    assert opened == [out.split()[1]]
    _, out, _ = run("app", "clinic", "--api-only", "--port", 0)
    assert "#token" not in out
    assert len(opened) == 1


def test_a_service_says_where_it_is_when_it_can_answer(monkeypatch, run):
    from noisyor.app import serving

    done = []

    def served(app, listening, when_ready):
        when_ready()
        done.append("serve")

    monkeypatch.setattr(serving, "serve", served)
    monkeypatch.setattr(serving, "warm_up", lambda models: done.append("warm up"))
    code, out, _ = run("app", "clinic", "--api-only", "--port", 0, "--json")
    assert (code, done) == (0, ["warm up", "serve"])
    assert json.loads(out)["models"] == ["clinic"]
