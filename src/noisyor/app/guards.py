"""Guards: what stands between the network and the answers.

Who may ask (this machine alone, or whoever has the token), from which page, how much at a time;
and what browsers are told not to do with what they get.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 4 * 2**20
LARGEST_FILE = 32 * 2**20
"""Bytes of a question, and of one that brings a file."""
COOKIE = "noisyor_token"
LOOPBACK = "127.0.0.1", "localhost", "::1"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Nothing from elsewhere, and nothing that stands in the page itself: no name can become a script
or a style."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Guards:
    """An application around another, which refuses what must not come in.

    Where there is a token, all needs it but the open paths.
    """

    def __init__(self, app: ASGIApp, token: str | None, open_paths: Sequence[str] = ()) -> None:
        self._app, self._token, self._open = app, token, frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(sender, *refusal)
            return
        await self._app(scope, _limited(receive, _most_bytes(scope)), sender)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return the status and the sentence with which a request is refused, if it is."""
        headers = Headers(scope=scope)
        if self._token is None and _host_of(headers.get("host", "")) not in LOOPBACK:
            return 403, "this page answers to the names of this machine only, such as localhost."
        if not _is_own_page(headers):
            return 403, "another page asked for this; open it by its own address."
        needs_token = self._token is not None and scope["path"] not in self._open
        if needs_token and not self._has_token(headers):
            return 401, (
                "a token is needed: open the address that `noisyor app` printed, or send the token "
                "that it printed as `Authorization: Bearer TOKEN`."
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _most_bytes(scope):
            return 413, f"the request is too large: at most {_most_bytes(scope):,} bytes are taken."
        return None

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        known = [given] if scheme.lower() == "bearer" else []
        try:
            cookies: Mapping[str, Any] = SimpleCookie(headers.get("cookie", ""))
            known += [cookies[COOKIE].value] if COOKIE in cookies else []
        except CookieError:
            pass
        return any(is_token(each, self._token) for each in known)


def is_token(given: str, token: str | None) -> bool:
    """Return True if a text is the token; how long it takes does not say how near it is."""
    return token is not None and hmac.compare_digest(given.encode(), token.encode())


def _host_of(host: str) -> str:
    """Return the name in a Host header, without its port.

    >>> _host_of("[::1]:8080"), _host_of("localhost:80"), _host_of("evil.example")
    ('::1', 'localhost', 'evil.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _is_own_page(headers: Headers) -> bool:
    """Return False where a browser says that another site's page sends the request."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return False
    return headers.get("sec-fetch-site", "none") in ("same-origin", "none")


def _most_bytes(scope: Scope) -> int:
    return LARGEST_FILE if scope["path"] == "/api/records" else LARGEST_BODY


class TooLargeError(Exception):
    """A body that is longer than it said, or than is taken."""


def _limited(receive: Receive, most: int) -> Receive:
    """Stop reading a body that becomes too large, whatever it said of its length."""
    n_bytes = 0

    async def limited() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > most:
            raise TooLargeError
        return message

    return limited


def _with_headers(send: Send) -> Send:
    """Add what browsers are told; what an answer says itself stays."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sender


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"refused": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
