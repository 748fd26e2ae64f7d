"""Documents with a format and a version, as JSON and as Arrow."""

import json

import numpy as np
import pytest

from noisyor.errors import FileError
from noisyor.io.documents import (
    field_of,
    names_of,
    numbers_of,
    read_arrow_document,
    read_document,
    write_arrow_document,
    write_document,
)

KINDS = {"test.thing": 2}


def test_json_there_and_back(tmp_path):
    path = tmp_path / "thing.json"
    write_document(path, "test.thing", 2, {"names": ["é", "b"], "values": [0.1, 1]})
    assert path.read_text(encoding="utf-8").count("\n") == 6  # a line for each key
    document = read_document(path, KINDS)
    assert document == {
        "format": "test.thing", "version": 2, "names": ["é", "b"], "values": [0.1, 1],
    }  # fmt: skip
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_document(path, "test.thing", 2, {"values": [float("nan")]})
    assert read_document(path, KINDS) == document


def test_arrow_there_and_back(tmp_path):
    path = tmp_path / "thing.arrow"
    columns = {"names": ["é", "b"], "values": np.array([0.5, np.inf]), "none": np.empty(0, int)}
    write_arrow_document(path, "test.thing", 1, columns)
    read = read_arrow_document(path, KINDS)
    assert (read["format"], read["version"]) == ("test.thing", 1)
    assert read["names"].tolist() == ["é", "b"]
    assert np.array_equal(read["values"], columns["values"])
    assert len(read["none"]) == 0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([1], "it is not an object"),
        ({}, "its 'format' is None"),
        ({"format": "test.other", "version": 1}, "its 'format' is 'test.other'"),
        ({"format": "test.thing", "version": "1"}, "'version' must be a whole number"),
        ({"format": "test.thing", "version": True}, "'version' must be a whole number"),
        ({"format": "test.thing", "version": 3}, "reads up to version 2. Install a newer"),
    ],
)
def test_documents_of_another_kind_or_version(tmp_path, document, message):
    path = tmp_path / "thing.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match=message):
        read_document(path, KINDS)


def test_what_is_not_a_document(tmp_path):
    path = tmp_path / "thing.json"
    path.write_text('{"format": "test.thing",\n')
    with pytest.raises(FileError, match=r"thing.json, line 2, column 1: not valid JSON"):
        read_document(path, KINDS)
    path.write_bytes(b"\xff{}")
    with pytest.raises(FileError, match="not UTF-8 text: byte 0 is invalid"):
        read_document(path, KINDS)
    with pytest.raises(FileError, match="not a readable test.thing file"):
        read_arrow_document(path, KINDS)


def test_fields_are_checked():
    document = {"a": [1, 2.5], "b": ["x", 1], "c": 3, "d": [float("inf")], "e": [10**400]}
    assert numbers_of(document, "a", "f") == [1, 2.5]
    for key in "bde":
        with pytest.raises(FileError, match=f"f: '{key}' entry [01] is .*, not a number"):
            numbers_of(document, key, "f")
    with pytest.raises(FileError, match="'b' entry 1 is 1, not a name"):
        names_of(document, "b", "f")
    with pytest.raises(FileError, match="'c' must be a list"):
        field_of(document, "c", "f")
    with pytest.raises(FileError, match="'z' is missing"):
        field_of(document, "z", "f")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('"values": [1], "values": [2]', "values"),
        ('"version": 1, "format": "test.other"', "format"),
        ('"inner": [{"a": 1, "b": 2, "a": 1}]', "a"),
    ],
)
def test_a_key_that_is_given_twice_is_named(tmp_path, text, key):
    path = tmp_path / "thing.json"
    path.write_text(f'{{"format": "test.thing", "version": 2, {text}}}')
    with pytest.raises(FileError, match=f"thing.json: the key '.*{key}' is given more than once"):
        read_document(path, KINDS)
