"""The grammar of BIF: what a file says, before anything is made of it.

Blocks `network`, `variable` and `probability`, comments as in C, commas or none between numbers.
Names may be words of any characters but the grammar's own, or stand in quotes.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from noisyor.errors import FileError
from noisyor.io.paths import PathLike, existing_file, unreadable

TOKENS = re.compile(
    r"""(?P<skip>\s+|,|//[^\n]*|/\*.*?\*/)
    |(?P<property>property\b(?:"(?:\\.|[^"\\])*"|[^;"])*;)
    |(?P<mark>[{}()\[\]|;])
    |(?P<quoted>"(?:\\.|[^"\\])*")
    |(?P<word>[^\s,{}()\[\]|;"]+)
    |(?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A word, mark or property, and its line."""

    kind: str
    text: str
    line: int


@dataclass
class Variable:
    """A variable block: states and properties."""

    name: str
    line: int
    states: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)


@dataclass
class Probability:
    """A probability block: a table, rows, or a default."""

    child: str
    line: int
    parents: tuple[str, ...] = ()
    table: list[float] | None = None
    default: list[float] | None = None
    rows: list[tuple[tuple[str, ...], list[float], int]] = field(default_factory=list)
    """States of the parents, numbers, line."""


class BifParser:
    """Reads the blocks of a file, with errors that name the line."""

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self.tokens = _tokens(path)
        self.position = 0
        self.variables: list[Variable] = []
        self.probabilities: list[Probability] = []

    def parse(self) -> None:
        """Read all blocks."""
        blocks: dict[str, Callable[[Token], None]] = {
            "network": self._network,
            "variable": self._variable,
            "probability": self._probability,
        }
        while self.position < len(self.tokens):
            token = self._next("a block")
            if token.text not in blocks:
                raise self._error(token, f"found {token.text!r} where a block should begin")
            blocks[token.text](token)
        if not self.variables:
            raise FileError(f"{self.path} has no variables: it is no BIF file.")

    def _network(self, _: Token) -> None:
        while self._next("'{'").text != "{":
            pass
        self._until_closed(lambda token: None)

    def _variable(self, start: Token) -> None:
        variable = Variable(self._word("a variable's name"), start.line)
        self._expect("{")

        def statement(token: Token) -> None:
            if token.kind == "property":
                key, _, value = token.text[len("property") : -1].partition("=")
                variable.properties[key.strip().strip('"')] = value.strip()
            elif token.text == "type":
                variable.states = self._states(token)
            else:
                raise self._error(token, f"found {token.text!r} in variable {variable.name!r}")

        self._until_closed(statement)
        self.variables.append(variable)

    def _states(self, token: Token) -> tuple[str, ...]:
        kind = self._word("a type")
        if kind != "discrete":
            raise self._error(token, f"the type {kind!r} is not discrete")
        self._expect("[")
        count = self._word("a number of states")
        self._expect("]")
        self._expect("{")
        states = tuple(self._words_until("}"))
        self._expect(";")
        if count != str(len(states)):
            raise self._error(token, f"{count} states are announced, but {len(states)} are named")
        return states

    def _probability(self, start: Token) -> None:
        self._expect("(")
        block = Probability(self._word("a variable's name"), start.line)
        token = self._next("')'")
        if token.text == "|":
            block.parents = tuple(self._words_until(")"))
        elif token.text != ")":
            raise self._error(token, f"found {token.text!r} where '|' or ')' should stand")
        self._expect("{")

        def statement(token: Token) -> None:
            if token.kind == "property":
                return
            if token.text == "(":
                states = tuple(self._words_until(")"))
                block.rows.append((states, self._numbers(), token.line))
            elif token.text in ("table", "default"):
                setattr(block, token.text, self._numbers())
            else:
                raise self._error(token, f"found {token.text!r} in the table of {block.child!r}")

        self._until_closed(statement)
        self.probabilities.append(block)

    def _until_closed(self, statement: Callable[[Token], None]) -> None:
        while (token := self._next("'}'")).text != "}":
            statement(token)

    def _numbers(self) -> list[float]:
        numbers = []
        while (token := self._next("';'")).text != ";":
            try:
                numbers.append(float(token.text))
            except ValueError:
                raise self._error(token, f"{token.text!r} is no number") from None
        return numbers

    def _words_until(self, mark: str) -> list[str]:
        words = []
        while (token := self._next(f"'{mark}'")).text != mark:
            words.append(self._as_word(token, "a name"))
        return words

    def _word(self, wanted: str) -> str:
        return self._as_word(self._next(wanted), wanted)

    def _as_word(self, token: Token, wanted: str) -> str:
        if token.kind == "quoted":
            return token.text[1:-1]
        if token.kind != "word":
            raise self._error(token, f"found {token.text!r} where {wanted} should stand")
        return token.text

    def _expect(self, mark: str) -> None:
        token = self._next(f"'{mark}'")
        if token.text != mark:
            raise self._error(token, f"found {token.text!r} where '{mark}' should stand")

    def _next(self, wanted: str) -> Token:
        if self.position == len(self.tokens):
            raise FileError(
                f"{self.path} ends where {wanted} should stand; the file may be truncated."
            )
        self.position += 1
        return self.tokens[self.position - 1]

    def _error(self, token: Token, problem: str) -> FileError:
        return FileError(f"{self.path}, line {token.line}: {problem}.")


def name_property(variable: Variable) -> str:
    """Return the name that noisyor wrote beside the identifier, or nothing."""
    text = variable.properties.get("name", "")
    try:
        name = json.loads(text) if text.startswith('"') else ""
    except ValueError:
        return ""
    return name if isinstance(name, str) else ""


def _tokens(path: PathLike) -> list[Token]:
    file = existing_file(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{file} is not UTF-8 text: byte {error.start} is invalid.") from None
    except OSError as error:
        raise unreadable(file, error) from None
    tokens, line = [], 1
    for found in TOKENS.finditer(text):
        kind = str(found.lastgroup)
        if kind == "wrong":
            raise FileError(f"{file}, line {line}: a quoted text or comment does not end.")
        if kind != "skip":
            tokens.append(Token(kind, found[0], line))
        line += found[0].count("\n")
    return tokens
