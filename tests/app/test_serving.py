import socket
import threading
import urllib.request

import pytest

from noisyor import NoisyOrError, NoisyOrNetwork, Structure
from noisyor.app import Model
from noisyor.app.serving import address_of, is_loopback, listen, new_token, warm_up


def test_who_is_this_machine():
    assert all(is_loopback(host) for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""))


def test_a_port_that_is_taken_is_told_or_replaced():
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(NoisyOrError, match=f"port {port} cannot be listened on"):
            listen("127.0.0.1", port)
    with pytest.raises(NoisyOrError, match="cannot be listened on"):
        listen("no.such.host.invalid", 0)


def test_the_usual_port_is_taken_by_one_only():
    with listen("127.0.0.1", None) as first, listen("127.0.0.1", None) as second:
        assert first.getsockname() != second.getsockname()


def test_answers_do_not_wait_for_acknowledgements():
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on


def test_the_token_is_in_the_part_of_the_address_that_is_not_sent():
    with listen("127.0.0.1", 0) as listening:
        address = address_of(listening, "127.0.0.1", "secret")
        assert address.endswith("/#token=secret")
        everywhere = address_of(listening, "0.0.0.0", None)
        assert everywhere.startswith(f"http://{socket.gethostname()}:")
        assert address_of(listening, "::1", None).startswith("http://[::1]:")


def test_tokens_differ():
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 32


def test_warming_up_asks_whatever_the_network(clinic):
    warm_up([Model("clinic", clinic)])
    nothing = NoisyOrNetwork(Structure([], [], []), [], [], [])
    warm_up([Model("nothing", nothing)])
    silent = NoisyOrNetwork(Structure.from_edges([("a", "b")]), [0.0], [1.0], [0.0])
    warm_up([Model("silent", silent)])


def test_it_serves_until_it_is_told_to_stop(clinic, monkeypatch):
    import json

    import uvicorn

    from noisyor.app import make_app
    from noisyor.app.serving import serve

    servers = []
    start = uvicorn.Server.__init__

    def remember(self, config):
        servers.append(self)
        start(self, config)

    monkeypatch.setattr(uvicorn.Server, "__init__", remember)
    ready = threading.Event()
    with listen("127.0.0.1", 0) as listening:
        address = address_of(listening, "127.0.0.1", None)
        app = make_app([Model("clinic", clinic)])
        thread = threading.Thread(target=serve, args=(app, listening, ready.set))
        thread.start()
        assert ready.wait(20)
        with urllib.request.urlopen(f"{address}api/models", timeout=10) as answer:
            assert json.load(answer)["models"][0]["name"] == "clinic"
            assert "server" not in answer.headers
        servers[0].should_exit = True
        thread.join(10)
    assert not thread.is_alive()
