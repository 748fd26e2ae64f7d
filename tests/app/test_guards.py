"""Who may ask, from where, and how much."""

import pytest

from app.conftest import client_of
from noisyor.app import Model
from noisyor.app.guards import COOKIE, LARGEST_BODY, is_token

TOKEN = "a-token-of-some-length"


@pytest.fixture(scope="module")
def guarded(clinic):
    return client_of(Model("clinic", clinic), token=TOKEN)


def test_another_name_of_the_machine_is_refused(client):
    """A page elsewhere whose name is made to mean this machine gets no answer."""
    for host, status in (
        ("evil.example", 403), ("127.0.0.1.evil.example:80", 403), ("", 403),
        ("127.0.0.1:8765", 200), ("[::1]:8765", 200), ("LOCALHOST", 200),
    ):  # fmt: skip
        found = client.get("/api/models", headers={"host": host})
        assert found.status_code == status, host


def test_pages_of_others_are_refused(client):
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"origin": "http://localhost", "sec-fetch-site": "same-origin"}, 200),
    ):
        found = client.post("/api/posterior", json={}, headers=headers)
        assert found.status_code == status, headers
        assert "access-control-allow-origin" not in found.headers


def test_without_the_token_nothing_is_said(guarded):
    paths = "/api/models", "/api/model", "/report", "/api/posterior", "/api/openapi.json", "/x"
    for path in paths:
        for headers in {}, {"authorization": "Bearer wrong"}, {"cookie": f"{COOKIE}=wrong"}:
            found = guarded.get(path, headers=headers)
            assert found.status_code == 401
            assert found.headers["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer" in found.json()["refused"]
            assert "influenza" not in found.text


def test_the_token_opens_it(guarded):
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/api/models", headers=headers).status_code == 200
    assert guarded.get("/api/models", headers={**headers, "host": "box.example"}).status_code == 200
    for path in "/", "/main.js", "/report.css", "/report.js":  # the page without any model
        assert guarded.get(path).status_code == 200


def test_a_session_keeps_the_token_from_scripts(clinic):
    client = client_of(Model("clinic", clinic), token=TOKEN)
    assert client.post("/api/session", json={"token": "wrong"}).status_code == 401
    assert client.get("/api/models").status_code == 401
    opened = client.post("/api/session", json={"token": TOKEN})
    assert opened.status_code == 200
    kept = opened.headers["set-cookie"].lower()
    assert "httponly" in kept
    assert "samesite=strict" in kept
    assert client.get("/api/models").status_code == 200
    assert client.get("/report").status_code == 200


def test_tokens_are_compared_whole():
    assert is_token(TOKEN, TOKEN)
    assert not is_token(TOKEN[:-1], TOKEN)
    assert not is_token("", None)
    assert not is_token("grüße", TOKEN)


def test_what_is_too_large_is_refused_before_it_is_read(client):
    text = b'{"model": "' + b"x" * LARGEST_BODY + b'"}'
    headers = {"content-type": "application/json"}
    found = client.post("/api/posterior", content=text, headers=headers)
    assert found.status_code == 413
    assert "at most 4,194,304 bytes" in found.json()["refused"]


def test_what_does_not_say_how_large_it_is_is_stopped(client):
    def chunks():
        for _ in range(80):
            yield b" " * 65536

    headers = {"content-type": "application/json"}
    for path in "posterior", "session":
        found = client.post(f"/api/{path}", content=chunks(), headers=headers)
        assert found.status_code == 413


def test_browsers_are_told_what_not_to_do(client):
    for answer in client.get("/"), client.get("/api/models"), client.get("/nothing"):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
