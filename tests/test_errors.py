"""Errors: one kind for all, notices that can be collected, and names in messages."""

import inspect
import threading

import pytest

from noisyor import errors
from noisyor.errors import (
    NoisyOrError,
    NoisyOrWarning,
    collected_notices,
    give_notice,
    nearest_name,
    some_of,
)


def test_who_catches_value_errors_catches_ours():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    ours = [kind for kind in kinds if kind.__module__ == errors.__name__]
    assert len(ours) > 5
    for kind in ours:
        base = UserWarning if kind is NoisyOrWarning else NoisyOrError
        assert issubclass(kind, base)
        assert inspect.getdoc(kind)
    assert issubclass(NoisyOrError, ValueError)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], ""),
        (["a", "b"], "'a', 'b'"),
        (["a", "b", "c"], "'a', 'b', 'c'"),
        (["a", "b", "c", "d", 5], "'a', 'b', 'c' and 2 more"),
    ],
)
def test_few_names_are_listed(names, expected):
    assert some_of(iter(names), most=3) == expected


def test_the_nearest_name_is_asked_for_whatever_its_case():
    assert nearest_name("FEVRE", ["Fever", "cough"]) == "; did you mean 'Fever'?"
    assert nearest_name("xyz", ["Fever", "cough"]) == ""
    assert nearest_name("fever", []) == ""


def test_notices_are_warnings_unless_this_thread_collects_them():
    with pytest.warns(NoisyOrWarning, match="here") as told:
        give_notice("here")
    assert told[0].filename == __file__
    seen = []

    def elsewhere():
        with collected_notices() as notices:
            give_notice("there")
        seen.extend(notices)

    with collected_notices() as notices:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        give_notice("collected")
    assert (notices, seen) == (["collected"], ["there"])
    with pytest.warns(NoisyOrWarning, match="after it"):
        give_notice("after it")
