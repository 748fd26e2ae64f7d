"""Tables: those of a noisy-or, and those that are none."""

import numpy as np
import pytest

import naive
from noisyor.errors import ExchangeError
from noisyor.exchange.tables import noisy_or_table, table_parameters


def some_probabilities(rng, count):
    values = rng.random(count)
    chosen = rng.random(count) < 0.2
    values[chosen] = rng.integers(0, 2, chosen.sum())
    return values.tolist()


def test_tables_are_those_of_the_obvious_way(rng):
    for _ in range(300):
        failures = some_probabilities(rng, int(rng.integers(0, 6)))
        (leak,) = some_probabilities(rng, 1)
        table = noisy_or_table(failures, leak)
        for states, absent, present in naive.noisy_or_rows(failures, leak):
            assert table[states] == pytest.approx([absent, present], abs=1e-15)


def test_a_table_tells_its_parameters(rng):
    for _ in range(300):
        failures = some_probabilities(rng, int(rng.integers(0, 6)))
        leak = float(rng.random())
        found = table_parameters(noisy_or_table(failures, leak), "here", "cough")
        assert found == (leak, pytest.approx(tuple(failures), abs=1e-12))


def test_rare_symptoms_keep_their_digits():
    table = noisy_or_table([1 - 1e-16, 1.0], 1e-20)
    assert table[0, 1, 1] == 1e-20
    assert table_parameters(table, "here", "cough")[0] == 1e-20


def test_where_the_leak_is_1_failures_are_not_told():
    assert table_parameters(noisy_or_table([0.3], 1.0), "here", "cough") == (1.0, (1.0,))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.9, 0.1], [0.5, 0.4]], "here: the probabilities of node 'cough' add up to 0.9, not"),
        ([[1.2, -0.2], [0.5, 0.5]], "node 'cough' has a number that is not between 0 and 1"),
        ([[0.5, 0.5], [0.6, 0.4]], "parent 1 makes it less probable"),
        ([[np.nan, 0.5], [0.6, 0.4]], "not between 0 and 1"),
    ],
)
def test_tables_that_are_none(table, message):
    with pytest.raises(ExchangeError, match=message):
        table_parameters(np.array(table), "here", "cough")


def test_another_interaction_is_no_noisy_or(rng):
    for _ in range(100):
        table = noisy_or_table(rng.uniform(0.1, 0.9, 3).tolist(), 0.1)
        row = tuple(rng.permutation([1, 1, int(rng.integers(0, 2))]))
        table[row] = [table[row][0] * (1 + 1e-5), 1 - table[row][0] * (1 + 1e-5)]
        with pytest.raises(ExchangeError, match="table of node 'cough' is not a noisy-or"):
            table_parameters(table, "here", "cough")


def test_numbers_of_six_digits_are_enough(rng):
    for _ in range(100):
        failures = rng.uniform(0.1, 0.9, int(rng.integers(1, 7)))
        exact = noisy_or_table(failures.tolist(), 0.1)
        rounded = np.array([float(f"{number:.6g}") for number in exact.ravel()])
        found = table_parameters(rounded.reshape(exact.shape), "here", "cough")
        assert found == (0.1, pytest.approx(tuple(failures), rel=2e-5))


def test_few_digits_are_no_excuse():
    table = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.6, 0.4], [0.33, 0.67]]])
    with pytest.raises(ExchangeError, match="P.absent. is 0.33 .* would have 0.3333333"):
        table_parameters(table, "here", "cough")
