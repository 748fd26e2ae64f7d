"""Serving: a socket to listen on, the server that answers, and the address that is opened."""

import ipaddress
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn

from noisyor.app.models import Model
from noisyor.errors import ParameterError
from noisyor.inference import best_questions, explain, most_probable, posterior
from noisyor.network import NoisyOrNetwork

USUAL_PORT = 8765


def is_loopback(host: str) -> bool:
    """Return True for addresses that only this machine can reach.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(24)


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; where no port is asked for, the usual one or any that is free.

    >>> with listen("127.0.0.1", 0) as found:
    ...     found.getsockname()[1] > 0
    True
    """
    error: OSError | None = None
    for each in (USUAL_PORT, 0) if port is None else (port,):
        try:
            return _bound(host, each)
        except OSError as reason:
            error = reason
    where = f"{host}, port {port}" if port is not None else host
    raise ParameterError(
        f"--host, --port: {where} cannot be listened on ({error}); another --port may be free."
    )


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    It says that it is TCP: otherwise Python's event loop does not switch Nagle's algorithm off, and
    every answer waits 40 ms for the client to acknowledge its head.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(100)
    except OSError:
        listening.close()
        raise
    return listening


def address_of(listening: socket.socket, host: str, token: str | None) -> str:
    """Return what to open in a browser; the token stands where no server and no log sees it."""
    port = listening.getsockname()[1]
    name = host if host not in ("0.0.0.0", "::") else socket.gethostname()
    shown = f"[{name}]" if ":" in name else name
    return f"http://{shown}:{port}/" + (f"#token={token}" if token else "")


def serve(app: Any, listening: socket.socket, when_ready: Callable[[], None]) -> None:
    """Answer until Ctrl-C; requests are not logged."""
    config = uvicorn.Config(
        app, log_level="error", access_log=False, server_header=False, date_header=False,
        lifespan="off", timeout_keep_alive=30, timeout_graceful_shutdown=2, limit_concurrency=500,
    )  # fmt: skip
    server = uvicorn.Server(config)
    threading.Thread(target=_say_when_started, args=(server, when_ready), daemon=True).start()
    server.run(sockets=[listening])


def _say_when_started(server: uvicorn.Server, when_ready: Callable[[], None]) -> None:
    pause = threading.Event()
    while not server.started and not server.should_exit:
        pause.wait(0.02)
    if server.started:
        when_ready()


def warm_up(models: Sequence[Model]) -> None:
    """Load compiled kernels before they are needed: a few questions to a model of each kind."""
    asked = [
        model.network
        for model in models
        if model.network.structure.n_symptoms and model.network.structure.n_diseases
    ]
    for network in {each.is_plain: each for each in reversed(asked)}.values():
        _ask_a_little(network)


def _ask_a_little(network: NoisyOrNetwork) -> None:
    marginals = network.marginals()
    case = [int(marginals.argmax())] if marginals.max() > 0.0 else []
    posterior(network, case)
    explain(network, case, diseases=1)
    most_probable(network, case, budget=0.01)
    best_questions(network, case, draws=10)
    best_questions(network, case, about=0, draws=10)
    posterior(network, case, method="variational", budget=0.01)  # as for cases of many findings
    if network.is_plain:
        posterior(network, case, method="gibbs", budget=0.01)


def open_browser(address: str) -> None:
    """Open the page in the user's browser, where there is one."""
    webbrowser.open(address)
