"""Text files of other software: read whole, word by word, and written line by line."""

from collections.abc import Iterable
from typing import NamedTuple

from noisyor.errors import FileError, quoted
from noisyor.io.paths import PathLike
from noisyor.io.replacing import replaced_when_done


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines as UTF-8; the file appears when all are written."""
    with replaced_when_done(path) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


class Token(NamedTuple):
    """A word, mark or property, and its line."""

    kind: str
    text: str
    line: int


class Tokens:
    """The tokens of a file, one after the other, with errors that name the line."""

    def __init__(self, path: PathLike, tokens: list[Token]) -> None:
        self.path, self.tokens = path, tokens
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        """True when all tokens were read."""
        return self._position == len(self.tokens)

    @property
    def location(self) -> str:
        """The location of the token that was read last."""
        return f"{self.path}, line {self.tokens[max(self._position - 1, 0)].line}"

    def next(self, expected: str) -> Token:
        """Return the next token; the file must not end here."""
        if self.is_at_end:
            raise FileError(
                f"{self.path} ends where {expected} should stand; the file may be truncated."
            )
        self._position += 1
        return self.tokens[self._position - 1]

    def error(self, token: Token, problem: str) -> FileError:
        """Return an error that names the line of a token."""
        return FileError(f"{self.path}, line {token.line}: {problem}.")

    def as_number(self, token: Token, expected: str = "a number") -> float:
        """Return the number that a token is."""
        try:
            return float(token.text)
        except ValueError:
            raise self.error(token, f"{quoted(token.text)} is not {expected}") from None
