"""The addresses: what they give, what they refuse, and that nothing is kept or logged."""

import json
import logging
import re
import socket
import threading

import numpy as np
import pytest
import uvicorn

from app.conftest import client_of
from noisyor import NoisyOrNetwork, Structure
from noisyor.app import Model, make_app, schemas, server
from noisyor.app.guards import POLICY
from noisyor.app.server import SHARED_NAMES, assets, shared_script
from noisyor.app.serving import listen


def test_models_are_listed_and_shown(client, clinic):
    listed = client.get("/api/models").json()
    assert [each["name"] for each in listed["models"]] == ["clinic", "learned", "aged"]
    assert listed["models"][0]["diseases"] == clinic.structure.n_diseases
    shown = client.get("/api/model", params={"model": "learned"}).json()
    assert shown["name"] == "learned"
    missing = client.get("/api/model", params={"model": "nothing"})
    assert missing.status_code == 404
    assert "no model named 'nothing'" in missing.json()["refused"]


def test_the_page_asks_nothing_of_another_host(client):
    page = client.get("/")
    assert page.headers["content-security-policy"] == POLICY
    targets = re.findall(r'(?:href|src)="([^"]*)"', page.text)
    names = [name for name, _ in assets()]
    assert {each for each in targets if not each.startswith(("#", "data:,"))} <= set(names)
    for name, content in assets():
        answer = client.get(f"/{name}")
        assert answer.status_code == 200
        assert answer.content == content
        assert not re.search(rb"https?://(?!www\.w3\.org/2000/svg)", content), name
        if name.endswith(".js"):
            assert b"innerHTML" not in content
            assert not re.search(rb"\beval\(|insertAdjacentHTML|document\.write", content), name


def test_every_module_that_is_imported_is_served():
    names = dict(assets())
    for name, content in names.items():
        for target in re.findall(r'from "\./([^"]+)"', content.decode()):
            assert target in names, f"{name} imports {target}"


def test_the_shared_script_has_what_the_page_uses():
    script = shared_script()
    for name in SHARED_NAMES:
        assert re.search(rf"^const {name} = ", script, re.MULTILINE), name


def test_the_report_has_its_own_policy(client):
    report = client.get("/report", params={"model": "learned"})
    policy = report.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+'", policy)
    assert policy.endswith("frame-ancestors 'self'")
    assert "learned" in report.text
    assert client.get("/report", params={"model": "no"}).status_code == 404


def test_an_interface_alone_has_no_page(clinic):
    client = client_of(Model("clinic", clinic), api_only=True)
    assert client.get("/").status_code == client.get("/report").status_code == 404
    assert client.post("/api/posterior", json={}).status_code == 200


def test_what_is_read_only_takes_no_files(clinic):
    client = client_of(Model("clinic", clinic), read_only=True)
    assert client.post("/api/records", json={}).status_code == 404
    assert client.get("/api/models").json()["read_only"] is True
    assert "/api/records" not in client.get("/api/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("content", "kind", "says"),
    [
        (b"{", "application/json", "not JSON"),
        (b"\xff", "application/json", "not JSON"),
        (b"[" * 100_000, "application/json", "nested too deeply"),
        (b'{"budget": NaN}', "application/json", "NaN is not a number"),
        (b"{}", "text/plain", "send JSON"),
        (b"{}", "application/x-www-form-urlencoded", "send JSON"),
        (b"", "application/json", "not JSON"),
        (b'{"top": 1, "top": 2}', "application/json", "has 'top' twice"),
        (b'{"top": ' + b"9" * 5000 + b"}", "application/json", "a number of 5,000 digits"),
        (b'{"present": ["\\ud800"]}', "application/json", "no symptom named"),
    ],
)
def test_what_is_not_a_question_is_refused(client, content, kind, says):
    found = client.post("/api/posterior", content=content, headers={"content-type": kind})
    assert found.status_code == 400
    assert says in found.json()["refused"]


def test_other_addresses_and_methods_are_refused_in_the_same_form(client):
    for answer, status in (
        (client.get("/api/nothing"), 404),
        (client.get("/api/posterior"), 405),
        (client.post("/api/models"), 405),
        (client.get("/../../etc/passwd"), 404),
    ):
        assert answer.status_code == status
        assert set(answer.json()) == {"refused"}


def test_other_addresses_and_methods_are_refused_in_sentences(client):
    assert client.get("/api/nothing").json()["refused"] == (
        "there is nothing at '/api/nothing'; /api/openapi.json says what there is."
    )
    for found, sentence in (
        (client.get("/api/posterior"), "'/api/posterior' is asked by POST, not by GET."),
        (client.post("/api/models"), "'/api/models' is asked by GET, not by POST."),
    ):
        assert found.json()["refused"] == sentence


def test_a_defect_says_nothing_of_the_case(client, monkeypatch):
    monkeypatch.setattr(Structure, "match_symptom", lambda *_: 1 / 0)
    found = client.post("/api/posterior", json={"present": ["a secret"]})
    assert found.status_code == 500
    assert "ZeroDivisionError" in found.json()["refused"]
    assert "secret" not in found.text


def test_nothing_of_a_case_is_logged_or_printed(client, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    client.post("/api/posterior", json={"present": ["fever"], "absent": ["hiccups of a king"]})
    client.post("/api/posterior", json={"present": ["fever"]})
    written = caplog.text + "".join(capfd.readouterr())
    assert "hiccups" not in written
    assert "fever" not in written


def test_hostile_names_come_back_as_they_are():
    names = [
        "</script><script>x</script>",
        "${title}",
        '"',
        "\u202e",
        "=1+1",
        "__proto__",
        "x" * 300,
    ]
    structure = Structure(
        names, [f"{name}!" for name in names], [(i, i) for i in range(len(names))]
    )
    rng = np.random.default_rng(0)
    network = NoisyOrNetwork(structure, *(rng.random(len(names)) for _ in range(3)))
    client = client_of(Model("<b>", network))
    document = client.get("/api/model")
    assert document.headers["content-type"] == "application/json"
    assert document.json()["diseases"] == names
    answer = client.post("/api/posterior", json={"present": [f"{names[0]}!"]}).json()
    assert set(answer["probabilities"]) == set(names)
    refusal = client.post("/api/posterior", json={"present": ["<img src=x>\x1b[2J"]})
    assert refusal.status_code == 400
    assert refusal.headers["content-type"] == "application/json"
    assert "\x1b" not in refusal.json()["refused"]


def test_answers_are_not_to_be_kept_by_anyone(client):
    for answer in client.post("/api/posterior", json={}), client.get("/api/model"):
        assert answer.headers["cache-control"] == "no-store"


def test_the_document_of_the_interface_is_json(client):
    document = client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert json.dumps(document)


def test_a_question_that_nobody_waits_for_is_stopped(clinic, monkeypatch):
    """Over a real connection, through all that stands before the answer."""
    begun, stopped = threading.Event(), threading.Event()

    def slow(model, body, stop):
        begun.set()
        if stop.wait(20):
            stopped.set()
        return {}

    monkeypatch.setitem(server.REPLIES, "posterior", (slow, schemas.POSTERIOR))
    with listen("127.0.0.1", 0) as listening:
        app = make_app([Model("clinic", clinic)])
        config = uvicorn.Config(app, lifespan="off", log_level="error")
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
        thread.start()
        head = "POST /api/posterior HTTP/1.1\r\nHost: localhost\r\ncontent-length: 2\r\n"
        with socket.create_connection(listening.getsockname()) as asking:
            asking.sendall(f"{head}content-type: application/json\r\n\r\n{{}}".encode())
            assert begun.wait(20)
        assert stopped.wait(10)
        running.should_exit = True
        thread.join(20)
