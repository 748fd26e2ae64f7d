"""Errors: one kind for all, notices that can be collected, and names in messages."""

import inspect
import threading
import time
from dataclasses import replace

import pytest

from noisyor import (
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    datasets,
    errors,
    evaluate,
    posteriors,
    read_model,
    write_model,
)
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


def test_what_is_no_network_no_path_and_no_option_is_told_in_words(tmp_path):
    network = datasets.figure1(0)
    records = network.sample(10, rng=0)
    learner = NoisyOrLearner(network.structure)
    for call, message in (
        (lambda: evaluate(network, 3), "expected a NoisyOrNetwork or an Estimate, not int"),
        (lambda: evaluate(None, network), "expected a NoisyOrNetwork or an Estimate, not NoneType"),
        (lambda: NoisyOrNetwork.load(3), "expected the path of a file, not int"),
        (lambda: Structure.load(None), "expected the path of a file, not NoneType"),
        (lambda: network.save(3), "expected the path of a file, not int"),
        (lambda: datasets.from_folder(3), "expected the path of a file, not int"),
        (lambda: read_model(3), "expected the path of a file, not int"),
        (lambda: write_model(3, tmp_path / "x.json"), "a NoisyOrNetwork or a Structure, not int"),
        (lambda: NoisyOrNetwork(3, [], [], []), "expected a Structure, not int"),
        (lambda: learner.fit(records, foo=1), "no option 'foo' for reading records; known are"),
        (lambda: learner.partial_fit(records, recrod="id"), "no option 'recrod'.*'record'"),
        (lambda: posteriors(network, records, foo=1), "no option 'foo' for reading records"),
    ):
        with pytest.raises(NoisyOrError, match=message):
            call()


def test_an_estimate_is_compared_as_its_network():
    network = datasets.figure1(0)
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(500, rng=0))
    by_estimate, by_network = (
        evaluate(each, network, n_records=20) for each in (learner.estimate_, learner.network_)
    )
    assert replace(by_estimate, intervals=None) == by_network
    assert by_estimate.intervals is not None


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


def test_numbers_in_names_are_compared_as_numbers():
    names = [f"symptom {number:02}" for number in range(45)]
    assert errors.nearest("Symptom 2", names) == "symptom 02"
    assert errors.nearest("sympton 42", names) == "symptom 42"
    assert errors.nearest("symptom 99", names) is None  # 09, 19, ... are as near as each other
    assert errors.nearest("rash 2", ["rash 1", "item 2"]) is None
    assert errors.nearest("item 30", ["item 3", "rash 30"]) is None


def test_near_names_are_looked_for_among_some_thousands_only():
    start = time.monotonic()
    names = [f"{'symptom'} {number}" for number in range(200_000)]
    assert errors.nearest("symptom 77777x", names)
    assert errors.nearest("x" * 1_000_000, ["x" * 999_999]) is None
    assert errors.nearest("fevr", ["x" * 1_000_000, "fever"]) == "fever"
    assert time.monotonic() - start < 5.0
