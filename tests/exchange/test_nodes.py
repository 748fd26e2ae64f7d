"""Nodes: which state is present, identifiers, and layers."""

import time

import pytest

from noisyor.errors import ExchangeError
from noisyor.exchange.nodes import identifiers, present_state


@pytest.mark.parametrize(
    ("states", "present"),
    [(["present", "absent"], 0), (["False", "True"], 1), (["YES", " no"], 0), (["0", "1"], 1)],
)
def test_states_are_told_by_their_names(states, present):
    assert present_state(states, "here", "cough") == present


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (["low", "high"], "'low' and 'high'; which of them means present?"),
        (["yes", "absent"], "which of them means present?"),
        (["no", "mild", "severe"], "node 'cough' has 3 states"),
    ],
)
def test_states_that_do_not_tell(states, message):
    with pytest.raises(ExchangeError, match=message):
        present_state(states, "here", "cough")


def test_identifiers_differ_and_are_plain():
    names = ["a b", "a-b", "a_b", "A_B", "ä", "ö", "", "1", "_x", "a_b_2"]
    found = identifiers(names)
    assert len({each.casefold() for each in found}) == len(names)
    assert all(each.isidentifier() and each.isascii() and each[0].isalpha() for each in found)


def test_thousands_of_names_that_have_no_plain_letter_take_no_time():
    names = [chr(0x4E00 + i) + chr(0x4E00 + i // 90) for i in range(20_000)]
    start = time.monotonic()
    assert len(set(identifiers(names))) == len(names)
    assert time.monotonic() - start < 2.0
