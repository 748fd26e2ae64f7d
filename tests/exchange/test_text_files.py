"""Text files of other software: read whole, with errors that name file and line."""

import pytest

from noisyor.errors import FileError
from noisyor.exchange.text_files import Token, Tokens, write_lines
from noisyor.io.documents import read_text


def test_text_is_utf_8_with_or_without_a_mark(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufefffièvre\r\n".encode())
    assert read_text(path) == "fièvre\n"
    path.write_bytes(b"fi\xe8vre")
    with pytest.raises(FileError, match=r"a\.txt is not UTF-8 text: byte 2 is invalid"):
        read_text(path)
    with pytest.raises(FileError, match="does not exist"):
        read_text(tmp_path / "none.txt")


def test_a_file_appears_when_all_lines_are_written(tmp_path):
    path = tmp_path / "a.txt"
    write_lines(path, ["fièvre", "", "b"])
    assert path.read_bytes() == "fièvre\n\nb\n".encode()

    def broken():
        yield "c"
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        write_lines(path, broken())
    assert path.read_bytes() == "fièvre\n\nb\n".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_tokens_come_one_after_the_other():
    tokens = Tokens("a.bif", [Token("word", "0.25", 1), Token("word", "many", 7)])
    first = tokens.next("a number")
    assert tokens.as_number(first) == 0.25
    assert tokens.location == "a.bif, line 1"
    assert not tokens.is_at_end
    second = tokens.next("a number")
    assert tokens.location == "a.bif, line 7"
    with pytest.raises(FileError, match=r"^a\.bif, line 7: 'many' is not a count\.$"):
        tokens.as_number(second, "a count")
    assert tokens.is_at_end
    with pytest.raises(FileError, match="a.bif ends where a name should stand; .* truncated"):
        tokens.next("a name")
