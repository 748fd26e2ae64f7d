"""`noisyor app`: a page that diagnoses, in a browser; or its interface alone."""

import threading
from pathlib import Path
from typing import Annotated

import typer

from noisyor.cli import options
from noisyor.cli.inputs import read_with_errors
from noisyor.cli.output import note, say, show_json, working
from noisyor.errors import ParameterError


def app(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Networks (JSON, a folder, or clinic, ...); two can be compared side by side.",
        ),
    ],
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where to listen; 0: any that is free.")
    ] = None,
    host: Annotated[
        str,
        typer.Option(help="Who can ask: 127.0.0.1, this machine; 0.0.0.0, others with the token."),
    ] = "127.0.0.1",
    errors: Annotated[
        list[Path] | None,
        typer.Option(
            help="The summary that fit wrote (.csv, .parquet), for intervals where a model has no "
            "standard errors; once for each model, in their order."
        ),
    ] = None,
    misfits: Annotated[
        list[Path] | None,
        typer.Option(
            help="What fit --misfits wrote, for Explore; once for each model, in their order."
        ),
    ] = None,
    suggestions: Annotated[
        list[Path] | None,
        typer.Option(
            help="Changes of the structure that suggest wrote, for Explore; once for each model, "
            "in their order."
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Take no case files from the page.")
    ] = False,
    api_only: Annotated[
        bool, typer.Option("--api-only", help="Serve the interface alone, without the page.")
    ] = False,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Open a page in a browser that diagnoses: click findings, see diseases, ask what to ask next.

    It answers to this machine alone; with --host to whoever has the token that it prints. Nothing
    that is asked is kept or logged. It needs `pip install 'noisyor[app]'`.

    Example: noisyor app learned.json
    """
    try:
        from noisyor.app import Model, make_app
        from noisyor.app.models import distinct_names
        from noisyor.app.serving import (
            address_of,
            is_loopback,
            listen,
            new_token,
            open_browser,
            serve,
            warm_up,
        )
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"the page needs {error.name}: pip install 'noisyor[app]' brings it."
        ) from None
    asked = [
        Model(name, read_with_errors(source, error, seed), misfit, suggested)
        for name, source, error, misfit, suggested in zip(
            distinct_names(models), models, _one_each("--errors", errors, models),
            _one_each("--misfits", misfits, models),
            _one_each("--suggestions", suggestions, models), strict=True,
        )
    ]  # fmt: skip
    if misfits or suggestions:
        for each in asked:
            _ = each.document  # refuses what is wrong with a file now, not when it is looked at
    token = None if is_loopback(host) else new_token()
    application = make_app(asked, token=token, api_only=api_only, read_only=read_only)
    with listen(host, port) as listening:
        address = address_of(listening, host, None if api_only else token)

        if api_only:  # a service that says where it is answers at once
            with working("loading what answers", quiet or as_json):
                warm_up(asked)

        def tell_ready() -> None:
            if not api_only:
                threading.Thread(target=warm_up, args=(asked,), daemon=True).start()
            if as_json:
                show_json({"address": address, "token": token, "models": [x.name for x in asked]})
            elif not quiet:
                say(f"Open {address} in a browser. Ctrl-C ends it.")
            if token and not as_json:
                note(f"whoever asks needs the token {token}. What is sent is not encrypted.")
            if browser and not api_only:
                open_browser(address)

        serve(application, listening, tell_ready)


def _one_each(option: str, files: list[Path] | None, models: list[str]) -> list[Path | None]:
    """Return the file of each model in their order, None for the last ones without."""
    given: list[Path | None] = [*(files or [])]
    if len(given) > len(models):
        raise ParameterError(f"{option} is given {len(given)} times for {len(models)} models.")
    return given + [None] * (len(models) - len(given))
