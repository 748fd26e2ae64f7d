"""What can be known of a structure's parameters."""

import random
from fractions import Fraction

import numpy as np
import pytest

import naive
from noisyor import Fixed, Structure, check_identifiability, datasets, find_schedule
from noisyor.errors import ParameterError
from noisyor.identifiability import identifiability_table

TABLE_1 = [
    [-1, -1, 3, 3, 3, 3, 3],
    [-1, -1, -1, 3, 3, 3, 3],
    [-1, -1, -1, -1, 3, 3, 3],
    [-1, -1, -1, -1, 4, 3, 3],
    [-1, -1, -1, -1, -1, 3, 3],
    [-1, -1, -1, -1, -1, 4, 3],
    [-1, -1, -1, -1, -1, 4, 3],
]


def test_table_1_of_the_paper():
    assert identifiability_table(7, 7).tolist() == TABLE_1


def random_numbers(seed):
    random.seed(seed)
    while True:
        yield Fraction(random.randint(1, 10**6), random.randint(10**6, 10**7))


@pytest.mark.parametrize("max_order", [2, 3, 4])
def test_verdicts_equal_those_of_exact_fractions(rng, max_order):
    """The whole Jacobian, leaks and learned parameters included, without any schedule."""
    for number in range(25):
        matrix = rng.random((rng.integers(1, 4), rng.integers(2, 6))) < 0.7
        structure = Structure.from_matrix(matrix)
        result = check_identifiability(structure, max_order=max_order)
        edges = [tuple(edge) for edge in structure.edges.tolist()]
        sizes = structure.n_diseases, structure.n_symptoms
        rows = naive.moment_jacobian(edges, *sizes, max_order, random_numbers(number))
        basis = naive.null_space(rows, len(rows[0]))
        is_open = [any(vector[column] for vector in basis) for column in range(len(rows[0]))]
        assert (result.orders.vector < 0).tolist() == is_open
        assert sum(tradeoff.freedom for tradeoff in result.tradeoffs) == len(basis)
        assert (result.order >= 0) == (not basis)


def test_the_smallest_order_of_each_parameter(rng):
    for _ in range(20):
        structure = Structure.from_matrix(rng.random((3, 6)) < 0.7)
        highest = check_identifiability(structure, max_order=5)
        for order in 3, 4, 5:
            found = check_identifiability(structure, max_order=order)
            for mine, all_ in zip(found.orders, highest.orders, strict=True):
                assert ((mine >= 0) == ((all_ >= 0) & (all_ <= order))).all()


def test_fixed_parameters_count_as_known(rng):
    """Naively: their columns are left out."""
    for number in range(40):
        structure = Structure.from_matrix(rng.random((3, 5)) < 0.7)
        fixed = Fixed(
            structure,
            priors=np.where(rng.random(3) < 0.4, 0.1, np.nan),
            failures=np.where(rng.random(structure.n_edges) < 0.3, 0.5, np.nan),
            leaks=np.where(rng.random(5) < 0.3, 0.01, np.nan),
        )
        result = check_identifiability(structure, fixed=fixed)
        edges = [tuple(edge) for edge in structure.edges.tolist()]
        rows = naive.moment_jacobian(edges, 3, 5, 3, random_numbers(number))
        held = fixed.mask.vector
        free = np.flatnonzero(~held)
        basis = naive.null_space([[row[k] for k in free] for row in rows], len(free))
        is_open = np.array([any(v[k] for v in basis) for k in range(len(free))])
        assert ((result.orders.vector < 0)[free] == is_open).all()
        assert (result.orders.vector[held] == 0).all()


def test_what_a_schedule_learns_is_certified():
    structure = datasets.figure1(0).structure
    result = check_identifiability(structure)
    assert set(result.verdicts()["verdict"].to_pylist()) == {"certified"}
    assert result.order == 3
    assert check_identifiability(datasets.figure2(0).structure).verdicts()["verdict"].to_pylist() \
        == ["local"] * 15  # fmt: skip


def test_equal_diseases_can_be_swapped():
    structure = Structure.from_matrix(np.ones((2, 5)))
    result = check_identifiability(structure)
    assert result.swaps == [(0, 1)]
    assert result.is_identifiable
    rows = result.verdicts().to_pylist()
    assert [row["swap"] for row in rows if row["parameter"] != "leak"] == [0] * 12
    told_apart = check_identifiability(structure, fixed={"priors": {0: 0.1}})
    assert told_apart.swaps == []


def test_a_disease_with_one_symptom_trades_off_with_its_leak():
    structure = Structure.from_edges([("flu", "fever")])
    result = check_identifiability(structure)
    (tradeoff,) = result.tradeoffs
    assert [part.tolist() for part in tradeoff[:3]] == [[0], [0], [0]]
    assert tradeoff.freedom == 2
    assert repr(result).startswith("Identifiability(0 of 1 priors, 0 of 1 failures, 0 of 1 leaks")


def test_qmr_shaped_is_identifiable_and_a_childless_disease_is_not():
    result = check_identifiability(datasets.qmr_shaped(0).structure)
    assert result.order == 3
    assert sorted(set(result.verdicts()["verdict"].to_pylist())) == ["certified", "local"]
    lonely = Structure(["a", "b"], ["x", "y", "z"], [[0, 0], [0, 1], [0, 2]])
    found = check_identifiability(lonely)
    assert found.orders.priors.tolist() == [3, -1]
    assert found.order == -1


def test_a_given_schedule_is_used():
    structure = datasets.figure1(0).structure
    schedule = find_schedule(structure, pairs=False)
    assert check_identifiability(structure, schedule=schedule).schedule is schedule


@pytest.mark.parametrize("order", [1, 11, 2.5, "3"])
def test_a_wrong_order_is_refused(order):
    with pytest.raises(ParameterError, match="max_order must be 2 to 10"):
        check_identifiability(datasets.figure1(0).structure, max_order=order)
    with pytest.raises(ParameterError, match="expected a Structure"):
        check_identifiability(datasets.figure1(0))
