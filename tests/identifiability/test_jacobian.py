"""The Jacobian modulo a prime against one of real numbers."""

import itertools
import math

import numpy as np
import pytest

from noisyor import Structure
from noisyor.identifiability.jacobian import Unknowns, null_space, subsets


def log_moment(structure, priors, failures, symptoms):
    """The logarithm of a negative moment, without leaks (Eq. 3)."""
    total = 0.0
    for disease in range(structure.n_diseases):
        product = 1.0
        for edge in range(*structure.edges_of(disease).indices(structure.n_edges)):
            if structure.edges[edge, 1] in symptoms:
                product = product * failures[edge]
        total = total + np.log(1.0 - priors[disease] + priors[disease] * product)
    return total


def real_jacobian(structure, order, fixed_leaks, rng):
    """Derivatives of log R(S) by priors and failures, each by a complex step."""
    n, m = structure.n_diseases, structure.n_edges
    values = rng.uniform(0.2, 0.8, n + m).astype(complex)
    columns = []
    for k in range(n + m):
        moved = values + 1e-30j * (np.arange(n + m) == k)

        def log_of(*symptoms, moved=moved):
            return log_moment(structure, moved[:n], moved[n:], symptoms)

        column = [
            log_of(*chosen) - sum(log_of(j) for j in chosen)
            for size in range(2, order + 1)
            for chosen in itertools.combinations(range(structure.n_symptoms), size)
        ]
        columns.append([*column, *(log_of(j) for j in fixed_leaks)])
    return np.imag(np.array(columns).T) / 1e-30


@pytest.mark.parametrize("order", [2, 3, 4])
def test_what_is_open_is_what_real_numbers_leave_open(order):
    rng = np.random.default_rng(order)
    n_open = 0
    for number in range(15):
        structure = Structure.from_matrix(rng.random((2, 5)) < 0.7)
        n_columns = structure.n_diseases + structure.n_edges
        fixed_leaks = np.flatnonzero(rng.random(5) < 0.3) if number % 2 else np.empty(0, int)
        leaks = ~np.isin(np.arange(5), fixed_leaks)
        everything = np.ones(structure.n_edges, dtype=bool)
        unknowns = Unknowns(structure, np.arange(2), np.ones(2, dtype=bool), everything, leaks)
        found = null_space(unknowns, order)
        _, sizes, directions = np.linalg.svd(
            real_jacobian(structure, order, fixed_leaks, rng), full_matrices=True
        )
        rank = int((sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)).sum())
        assert len(found.basis) == n_columns - rank
        expected = (np.abs(directions[rank:]) > 1e-7).any(axis=0)
        assert found.is_open.tolist() == expected.tolist()
        assert not found.moved_leaks[fixed_leaks].any()
        n_open += len(found.basis) > 0
    assert n_open > 0


def test_fixed_parameters_have_no_column():
    structure = Structure.from_edges([("A", "a"), ("A", "b"), ("B", "b"), ("C", "c")])
    unknowns = Unknowns(
        structure, np.array([0, 1]), np.array([True, False, True]),
        np.array([False, True, True, True]), np.ones(3, dtype=bool),
    )  # fmt: skip
    assert unknowns.prior_columns.tolist() == [0, -1, -1]
    assert unknowns.edge_columns.tolist() == [-1, 1, 2, -1]
    assert unknowns.n_columns == 3


def test_subsets_are_all_or_a_sample(rng):
    children = np.array([3, 5, 8, 9, 11])
    every = subsets(children, 3, 10, rng)
    assert [tuple(each) for each in every.tolist()] == list(
        itertools.combinations(children.tolist(), 3)
    )
    many = np.arange(100, 160)
    assert math.comb(60, 3) > 500
    some = subsets(many, 3, 500, rng)
    assert 400 < len(some) <= 500
    assert (np.diff(some, axis=1) > 0).all()
    assert np.isin(some, many).all()
