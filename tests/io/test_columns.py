"""Columns of any Arrow type, brought to the kinds that readers work with."""

import numpy as np
import pyarrow as pa
import pytest

from noisyor.errors import FileError, FindingsError
from noisyor.io.columns import ColumnKind, convert_batch, converted, hash_ids, ids_array
from noisyor.io.tables import ArrowTable


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False, None]),
        pa.array([1, 0, None], pa.int8()),
        pa.array([1.0, 0.0, float("nan")]),
        pa.array(["1", "false", ""]),
        pa.array(["TRUE", "0.0", None]).dictionary_encode(),
        pa.array([1, 0, None], pa.int64()).dictionary_encode(),
    ],
)
def test_flags_of_any_type(column):
    assert converted(column, ColumnKind.FLAG).to_pylist() == [True, False, None]


def test_states_take_words_and_flags():
    words = pa.array(["present", "absent", "unknown", "1", "", None])
    assert converted(words, ColumnKind.STATE).to_pylist() == [1, 0, 2, 1, 2, 2]
    assert converted(pa.array([1.0, 0.0, None]), ColumnKind.STATE).to_pylist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("column", "kind", "message"),
    [
        (pa.array([0, 2]), ColumnKind.FLAG, "row 7, column 'x': 2 is not 0 or 1"),
        (pa.array(["1", "nein"]), ColumnKind.FLAG, "row 7, column 'x': 'nein' is not 0 or 1"),
        (pa.array(["maybe"]), ColumnKind.STATE, "row 6, column 'x': 'maybe' is not present"),
        (
            pa.array([1.5]),
            ColumnKind.ID,
            "type double with numbers that are not whole",
        ),
        (pa.array(["a"]), ColumnKind.NUMBER, "row 6, column 'x': 'a' is not a number"),
        (pa.array([[1]]), ColumnKind.TEXT, "has the type list.*; expected a text"),
    ],
)
def test_what_is_not_of_a_kind_is_named_with_its_row(column, kind, message):
    batch = pa.record_batch({"x": column})
    with pytest.raises(FileError, match=message):
        convert_batch(batch, {"x": kind}, 5, ArrowTable(pa.table({"x": column})))


def test_hashes_stay_as_they_are():
    """Groups of records go by them, and moments counted years apart must merge."""
    numbers = hash_ids(pa.array([0, 1, -1]))
    assert numbers.tolist() == [16294208416658607535, 10451216379200822465, 16490336266968443936]
    texts = hash_ids(pa.array(["", "a", "patient 7"]))
    assert texts.tolist() == [17665956581633026203, 198367012849983736, 10757385656645212116]
    assert np.array_equal(hash_ids(pa.array(["x", "a"])[1:]), texts[1:2])
    assert hash_ids(pa.array([None, 0]))[0] == numbers[0]


def test_ids_are_numbers_or_texts():
    assert ids_array(np.array([3, 1]), "ids").to_pylist() == [3, 1]
    assert ids_array(["b", "a"], "ids").to_pylist() == ["b", "a"]
    with pytest.raises(FindingsError, match="ids are not ids"):
        ids_array([[1]], "ids")


@pytest.mark.parametrize("word", [".", "9", "0.9", "nope"])
def test_no_state_is_proposed_for_a_word_that_nobody_has_explained(word):
    table = ArrowTable(pa.table({"fever": ["1", word]}))
    with pytest.raises(FileError) as error:
        list(table.batches({"fever": ColumnKind.FLAG}))
    said = str(error.value)
    assert f"values={{'{word}': STATE}} (--values \"{word}=STATE\"), where STATE is" in said
    assert "'present', 'absent' or 'unknown'" in said
