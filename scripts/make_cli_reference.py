"""Write docs/reference/cli.md from the command line itself, so that it cannot be out of date.

`make reference` writes it; `make lint` calls this with `--check`, which fails if the page and the
commands differ. A command that is added appears by itself.
"""

import argparse
import inspect
import re
import sys
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from noisyor.cli import app as command_line

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
OPENING = """\
# Command line

<!-- Written by `make reference` from the commands themselves: change their help, not this page. -->

"""
KINDS = {int: "whole number", float: "number", Path: "path", str: "text"}
EXAMPLE = re.compile(r"(?P<title>[^:]*): (?P<command>noisyor .*)", re.DOTALL)


def escaped(text: str) -> str:
    """Return text for a cell of a Markdown table.

    >>> escaped("wide | long")
    'wide \\\\| long'
    """
    return " ".join(text.split()).replace("|", "\\|")


def value_kind(parameter: Any) -> str:
    """Say in words what a parameter takes: nothing for a switch, the choices of a choice."""
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is list:
        annotation = get_args(annotation)[0]
    if annotation is bool:
        return ""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return ", ".join(f"`{choice.value}`" for choice in annotation)
    kind = KINDS.get(annotation, getattr(annotation, "__name__", str(annotation)))
    low, high = parameter.min, parameter.max
    if low is not None and high is not None:
        kind += f", {low} to {high}"
    elif low is not None or high is not None:
        kind += f", from {low}" if high is None else f", up to {high}"
    return kind


def default_of(parameter: Any) -> str:
    """Say what holds when the parameter is not given."""
    if parameter.required:
        return "*required*"
    default = parameter.default
    if isinstance(default, bool):
        if parameter.secondary_opts:
            return f"`{parameter.opts[0] if default else parameter.secondary_opts[0]}`"
        return "off" if not default else "on"
    if default is None or callable(default) or default == []:
        return ""
    return f"`{default.value if isinstance(default, Enum) else default}`"


def parameter_row(parameter: Any) -> str:
    """Return the row of a table for an argument or option."""
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    if parameter.param_type_name == "argument":
        names = f"`{parameter.name.upper()}`"
    repeated = parameter.multiple or parameter.nargs == -1
    kind = value_kind(parameter) + (", several" if repeated else "")
    cells = [names, kind, default_of(parameter), parameter.help or ""]
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def help_in_markdown(text: str) -> str:
    """Return a command's help with its examples as code.

    >>> print(help_in_markdown("Do it.\\n\\nExample: noisyor do\\nit").replace("`", "'"))
    Do it.
    <BLANKLINE>
    Example:
    <BLANKLINE>
    '''sh
    noisyor do it
    '''
    """
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text.replace("\b", ""))):
        example = EXAMPLE.fullmatch(paragraph.strip())
        if example:
            command = " ".join(example["command"].split())
            paragraphs += [f"{example['title']}:", f"```sh\n{command}\n```"]
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)


def usage(path: str, command: Any) -> str:
    """Return how a command is called, in one line."""
    words = [path]
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            word = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
            words.append(word if parameter.required else f"[{word}]")
        elif parameter.required:
            words.append(f"{parameter.opts[0]} {parameter.name.upper()}")
    return " ".join([*words, "[OPTIONS]"])


def command_section(path: str, command: Any) -> str:
    """Return the part of the page on one command, and on the commands below it."""
    parts = [
        f"## {path}",
        f"```text\n{usage(path, command)}\n```",
        help_in_markdown(command.help or ""),
    ]
    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    for title, kind in ("argument", "argument"), ("option", "option"):
        rows = [parameter_row(each) for each in shown if each.param_type_name == kind]
        if rows:
            parts.append(
                "\n".join([f"| {title} | takes | default | |", "|---|---|---|---|", *rows])
            )
    for name, below in getattr(command, "commands", {}).items():
        parts.append(command_section(f"{path} {name}", below))
    return "\n\n".join(parts)


def exit_codes() -> str:
    """Return what the module of the command line says of exit codes, as a list."""
    told = re.search(
        r"Exit codes: (.*?)\.?\s*(?:\n\n|$)", inspect.getdoc(command_line) or "", re.DOTALL
    )
    if told is None:
        raise SystemExit("src/noisyor/cli/app.py does not tell the exit codes any more.")
    codes = " ".join(told[1].split()).split("; ")
    return "\n".join(f"- `{code.split()[0]}`: {' '.join(code.split()[1:])}." for code in codes)


def page() -> str:
    """Return the whole page."""
    root = typer.main.get_command(command_line.app)
    commands = root.commands
    first = (help_in_markdown(each.help or "").split("\n\n")[0] for each in commands.values())
    rows = [
        f"| [`noisyor {name}`](#noisyor-{name}) | {escaped(sentence)} |"
        for name, sentence in zip(commands, first, strict=True)
    ]
    parts = [
        root.help or "",
        "\n".join(["| command | |", "|---|---|", *rows]),
        "`noisyor --version` tells the version, `noisyor COMMAND --help` what stands below.",
        "## Exit codes",
        exit_codes(),
        *(command_section(f"noisyor {name}", command) for name, command in commands.items()),
    ]
    return OPENING + "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    arguments = parser.parse_args()
    text = page()
    if not arguments.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE} is out of date: run `make reference`.")


if __name__ == "__main__":
    main()
