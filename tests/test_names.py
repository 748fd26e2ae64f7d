"""Names: indices of columns, and what a short or misspelt name means."""

import pyarrow as pa
import pytest

from noisyor.errors import NoisyOrWarning, UnknownNameError
from noisyor.names import NameList, NameMatcher, match_name


def test_names_get_indices_in_the_order_of_the_rows():
    for exact in True, False:
        known = NameList("disease", exact)
        for column, expected in (
            (["flu"], [0]),
            (["rash", "flu", "cold", "rash"], [1, 0, 2, 1]),
            (["cold", "gout"], [2, 3]),
        ):
            for encoded in pa.array(column), pa.array(column).dictionary_encode():
                indices, empty = known.indices_of(encoded)
                assert indices.tolist() == expected
                assert empty is None
        assert known.names == ["flu", "rash", "cold", "gout"]
        known.tell("edges.csv")  # nothing


def test_second_spellings_of_a_name_are_the_same_and_told():
    words = ["Grippe", "Grippe ", "GRIPPE", "Gru\u0308n", "Gr\xfcn", "grippe virale", "x"]
    known = NameList("disease")
    indices, _ = known.indices_of(pa.array(words))
    assert indices.tolist() == [0, 0, 0, 1, 1, 2, 3]
    with pytest.warns(NoisyOrWarning, match="edges.csv: 3 diseases under a second spelling: 'Grip"):
        known.tell("edges.csv")
    exact = NameList("disease", exact=True)
    assert exact.indices_of(pa.array(words))[0].tolist() == list(range(7))


@pytest.mark.parametrize(("column", "row"), [(["a", "", None], 1), (["a", "b", None, " "], 2)])
def test_the_first_empty_name_is_found(column, row):
    assert NameList("disease").indices_of(pa.array(column))[1] == row


def test_a_name_is_found_in_other_letters_where_that_is_clear():
    matcher = NameMatcher(["fever", "runny nose", "Rash", "rash"], {"temp": "Fever", "age": None})
    expected = {
        "fever": 0, "FEVER": 0, " fever\xa0": 0, "runny_nose": 1, "Runny  Nose": 1, "runny.nose": 1,
        "Rash": 2, "rash": 3, "RASH": -1, "temp": 0, "age": NameMatcher.PASSED_OVER, "": -1,
    }  # fmt: skip
    assert {name: matcher.find(name) for name in expected} == expected
    assert matcher.hint("RASH") == "; it can be 'Rash', 'rash'."
    assert matcher.hint("fevre") == "; did you mean 'fever'?"
    swapped = NameMatcher(["fever", "cough"], {"fever": "cough", "cough": "fever", "x": None})
    assert [swapped.find(name) for name in ("fever", "cough", "x", " X ")] == [1, 0, -2, -2]
    assert not swapped.has_numbers
    swapped.find("2020")
    assert not swapped.has_numbers
    with pytest.raises(UnknownNameError, match="'temp' is to mean 'heat', which is unknown"):
        NameMatcher(["fever"], {"temp": "heat"})


@pytest.mark.parametrize(
    ("given", "expected"),
    [("fever", "fever"), ("FEVER", "fever"), (" fev", "fever"), ("rash", "rash")],
)
def test_a_name_is_matched(given, expected):
    assert match_name(given, ["fever", "rash", "rash on the arm"], "symptom") == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ras", "can be more than one symptom: 'rash', 'rash on the arm'"),
        ("fevre", "no symptom named 'fevre'; did you mean 'fever'"),
        (" ", "no symptom named ' '"),
    ],
)
def test_a_name_that_could_be_several_or_none_is_refused(given, message):
    with pytest.raises(UnknownNameError, match=message):
        match_name(given, ["fever", "rash", "rash on the arm"], "symptom")
