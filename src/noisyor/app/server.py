"""The application: the addresses of the interface, the page and its files, and the reports."""

import json
import re
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from noisyor._version import __version__
from noisyor.app import schemas
from noisyor.app.guards import COOKIE, Guards, TooLargeError, is_token
from noisyor.app.models import Model, Models
from noisyor.app.openapi import examples_of, openapi_document
from noisyor.app.records import records_reply
from noisyor.app.replies import REPLIES, Body, Facts, StoppedError, takes_long
from noisyor.app.workers import BusyError, GoneError, Workers
from noisyor.errors import NoisyOrError, ParameterError, collected_notices, printable, quoted
from noisyor.io.json_text import json_text

Reply = Callable[[Model, Body, threading.Event], Facts]

SESSION = schemas.of_object({"token": schemas.NAME}, required=("token",))
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
SHARED = "parameters.js", "drawing.js", "neighbourhood.js"
"""Parts of the report's script that draw the picture of a disease here too..."""
SHARED_NAMES = (
    "element", "drawn", "byId", "shown", "counted", "neighbourhood", "zoomable", "litUp", "PICTURE",
    "byStrength", "strengthOf", "edgesOfSymptom", "ownerOf", "flagSets", "firstEdge", "intervalBar",
    "framed",
)  # fmt: skip
"""... and what of them the page uses."""


def make_app(
    models: Sequence[Model],
    *,
    token: str | None = None,
    api_only: bool = False,
    read_only: bool = False,
) -> Starlette:
    """Return the application, for any ASGI server.

    Parameters
    ----------
    models
        What is asked; the first where a question names none.
    token
        What whoever asks must know. None: it answers to this machine alone.
    api_only
        Without the page.
    read_only
        Take no files.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.app import Model, make_app
    >>> app = make_app([Model("clinic", datasets.clinic())])
    >>> sorted(route.path for route in app.routes if "/api/" in route.path)[:2]
    ['/api/explain', '/api/model']
    """
    asked = Asked(Models(models), token, read_only)
    routes = asked.routes() + ([] if api_only else asked.page_routes())
    pages = [] if api_only else [f"/{name}" for name, _ in assets()]
    around = [
        Middleware(Guards, token=token, open_paths=["/", "/api/session", *pages]),
        Middleware(GZipMiddleware, minimum_size=2000, compresslevel=5),
    ]
    handlers = {HTTPException: _http_error, Exception: _defect}
    return Starlette(routes=routes, middleware=around, exception_handlers=handlers)


class Asked:
    """Models, and what is answered about them."""

    def __init__(self, models: Models, token: str | None, read_only: bool) -> None:
        self._models, self._token, self._read_only = models, token, read_only
        self.workers = Workers()

    def routes(self) -> list[Route]:
        """Return the addresses of the interface."""
        replies: dict[str, tuple[Reply, schemas.Schema]] = dict(REPLIES)
        if not self._read_only:
            replies["records"] = records_reply, schemas.RECORDS
        posts = [
            Route(f"/api/{name}", partial(self._answer, reply, schema), methods=["POST"])
            for name, (reply, schema) in replies.items()
        ]
        document = openapi_document(replies, examples_of(next(iter(self._models))))
        return [
            *posts,
            Route("/api/session", self._open_session, methods=["POST"]),
            Route("/api/models", self._list_models),
            Route("/api/model", self._show_model),
            Route("/api/openapi.json", partial(_always, json_text(document).encode())),
        ]

    def page_routes(self) -> list[Route]:
        """Return the addresses of the page, its files and the reports."""
        kept = dict(assets())
        return [
            Route("/", partial(_file, kept["index.html"], "text/html")),
            Route("/report", self._show_report),
            *(
                Route(f"/{name}", partial(_file, content, KINDS[f".{name.rpartition('.')[2]}"]))
                for name, content in kept.items()
            ),
        ]

    async def _answer(self, reply: Reply, schema: schemas.Schema, request: Request) -> Response:
        """Answer a question, in its turn."""
        try:
            body = await _body_of(request)
            schemas.check(body, schema)
            model = self._models.named(body.get("model"))
            work = partial(_answered, reply, model, body)
            is_long = takes_long(reply, model, body)
            return _json(await self.workers.run(work, partial(_gone, request), is_long))
        except NoisyOrError as error:
            return _refused(400, error)
        except TooLargeError:
            return _refused(413, "the request is too large.")
        except BusyError:
            busy = "too many questions are waiting; ask again in a moment."
            return _refused(503, busy, {"retry-after": "2"})
        except (GoneError, StoppedError, ClientDisconnect):
            return Response(status_code=499)  # nobody reads it

    async def _open_session(self, request: Request) -> Response:
        """Let a page that knows the token keep it where no script can read it."""
        try:
            body = await _body_of(request)
            schemas.check(body, SESSION)
        except NoisyOrError as error:
            return _refused(400, error)
        except TooLargeError:
            return _refused(413, "the request is too large.")
        if self._token is not None and not is_token(body["token"], self._token):
            return _refused(401, "this is not the token that `noisyor app` printed.")
        answer = _json({"accepted": True})
        if self._token is not None:
            answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return answer

    async def _list_models(self, _: Request) -> Response:
        models = [model.summary for model in self._models]
        return _json({"version": __version__, "read_only": self._read_only, "models": models})

    async def _show_model(self, request: Request) -> Response:
        return await self._kept(request, "document", "application/json", {})

    async def _show_report(self, request: Request) -> Response:
        """Show the report of a model, with the policy that it has as a file."""
        answer = await self._kept(request, "report", "text/html", {})
        found = re.search(rb'Content-Security-Policy" content="([^"]*)"', bytes(answer.body))
        if found:
            policy = found[1].decode().replace("&#x27;", "'")
            answer.headers["content-security-policy"] = f"{policy}; frame-ancestors 'self'"
        return answer

    async def _kept(self, request: Request, what: str, kind: str, headers: Any) -> Response:
        """Return a part of a model that is made once."""
        try:
            model = self._models.named(request.query_params.get("model"))
            content = await self.workers.run(
                lambda _: getattr(model, what), partial(_gone, request), what == "report"
            )
        except NoisyOrError as error:
            return _refused(404, error)
        except BusyError:
            return _refused(503, "too many questions are waiting; ask again in a moment.")
        except GoneError:
            return Response(status_code=499)
        return Response(content, media_type=kind, headers=headers)


def _answered(reply: Reply, model: Model, body: Body, stop: threading.Event) -> bytes:
    """Find an answer and write it, both in a worker's thread."""
    if stop.is_set():
        raise StoppedError
    with collected_notices() as notices:
        facts = reply(model, body, stop)
    return json_text({"notices": list(dict.fromkeys(notices)), **facts}).encode()


async def _gone(request: Request) -> None:
    """Return when whoever asked is no longer there."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body_of(request: Request) -> Any:
    """Return the body, which must be JSON and say so: no other page's form can send that."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ParameterError("send JSON, with the header content-type: application/json.")
    text = await request.body()
    try:
        return json.loads(
            text, parse_constant=_no_number, parse_int=_whole, object_pairs_hook=_without_doubles
        )
    except RecursionError:
        raise ParameterError("the request is nested too deeply.") from None
    except ValueError as error:
        if isinstance(error, NoisyOrError):
            raise
        raise ParameterError(f"the request is not JSON: {error}.") from None


def _no_number(name: str) -> Any:
    raise ParameterError(f"{name} is not a number of JSON.")


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python reads a few thousand digits
        raise ParameterError(f"the request has a number of {len(digits):,} digits.") from None


def _without_doubles(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; of two members of the same name JSON would drop one in silence."""
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        twice = next(name for name in names if names.count(name) > 1)
        raise ParameterError(f"the request has {quoted(twice)} twice.")
    return found


def _json(content: bytes | Facts) -> Response:
    body = content if isinstance(content, bytes) else json_text(content).encode()
    return Response(body, media_type="application/json")


def _refused(
    status: int, error: NoisyOrError | str, headers: dict[str, str] | None = None
) -> Response:
    facts = {"refused": printable(str(error))}
    body = json_text(facts).encode()
    return Response(body, status, headers, media_type="application/json")


def _http_error(request: Request, error: Exception) -> Response:
    """Say in the same form what the server itself refuses: another method, another address."""
    assert isinstance(error, HTTPException)
    headers, path = dict(error.headers or {}), quoted(request.url.path)
    sentence = f"{error.detail}."
    if error.status_code == 404:
        sentence = f"there is nothing at {path}; /api/openapi.json says what there is."
    if error.status_code == 405:
        allowed = headers.get("Allow", "another method").replace("HEAD, ", "").replace(", HEAD", "")
        sentence = f"{path} is asked by {allowed}, not by {request.method}."
    return _refused(error.status_code, sentence, headers)


def _defect(_: Request, error: Exception) -> Response:
    """Say that something went wrong here, without a word of the case."""
    kind = type(error).__name__
    return _refused(500, f"this could not be answered ({kind}): it may be a defect of noisyor.")


async def _always(content: bytes, _: Request) -> Response:
    return Response(content, media_type="application/json")


async def _file(content: bytes, kind: str, _: Request) -> Response:
    return Response(content, media_type=kind, headers={"cache-control": "no-cache"})


# --- the files of the page ---


def assets() -> list[tuple[str, bytes]]:
    """Return the names and contents of the page's files, with what it shares with the report."""
    own = files("noisyor.app").joinpath("assets")
    found = [
        (each.name, each.read_bytes()) for each in own.iterdir() if each.name.endswith(tuple(KINDS))
    ]
    report = files("noisyor.report").joinpath("assets")
    picture, style = (report.joinpath(name).read_bytes() for name in ("picture.html", "report.css"))
    return [
        *sorted((name, content.replace(b"${picture}", picture)) for name, content in found),
        ("report.css", style),
        ("report.js", shared_script().encode()),
    ]


def shared_script() -> str:
    """Return parts of the report's script as a module, to be called with a model's data."""
    report = files("noisyor.report").joinpath("assets")
    parts = [report.joinpath(name).read_text(encoding="utf-8") for name in SHARED]
    names = ", ".join(SHARED_NAMES)
    return "export default (data) => {\n" + "\n".join(parts) + f"\nreturn {{ {names} }};\n}};\n"
