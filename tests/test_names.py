"""Names: indices of columns, and what a short or misspelt name means."""

import pyarrow as pa
import pytest

from noisyor.errors import UnknownNameError
from noisyor.names import extend_names, match_name


def test_names_get_indices_in_the_order_of_the_rows():
    known = {"flu": 0}
    for column, expected in (
        (["rash", "flu", "cold", "rash"], [1, 0, 2, 1]),
        (["cold", "gout"], [2, 3]),
    ):
        for encoded in pa.array(column), pa.array(column).dictionary_encode():
            indices, empty = extend_names(known, encoded)
            assert indices.tolist() == expected
            assert empty is None
    assert list(known) == ["flu", "rash", "cold", "gout"]


@pytest.mark.parametrize(("column", "row"), [(["a", "", None], 1), (["a", "b", None, ""], 2)])
def test_the_first_empty_name_is_found(column, row):
    assert extend_names({}, pa.array(column))[1] == row


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
