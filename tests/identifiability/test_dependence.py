"""Identifiability where diseases occur together, against Jacobians of real numbers."""

import itertools

import numpy as np
import pytest

from noisyor import NoisyOrError, Structure, check_identifiability
from noisyor.network.causes import trait_grid


def needs(*rows):
    """A structure from a Q-matrix: a row an item, a column a skill."""
    matrix = np.array(rows).T
    n_skills, n_items = matrix.shape
    skills, items = [f"d{i}" for i in range(n_skills)], [f"s{j}" for j in range(n_items)]
    return Structure.from_matrix(matrix, diseases=skills, symptoms=items)


def items(*numbers, more=()):
    """So many items of its own for each skill, and others."""
    own = np.repeat(np.eye(len(numbers), dtype=int), numbers, axis=0).tolist()
    return needs(*own, *more)


def moment(structure, causes, values, symptoms):
    """P(all of the symptoms absent), of parameters in the order of the names."""
    n = structure.n_diseases
    if causes == "joint":
        weights = values[: 2**n].copy()
        weights[0] = 1.0 - weights[1:].sum()  # what the others leave
        priors = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
        rest = values[2**n :]
    else:
        table, rest = values[: 2 * n].reshape(n, 2), values[2 * n :]
        nodes, weights = trait_grid(1)
        priors = 1.0 / (1.0 + np.exp(-(table[:, 0] + nodes * table[:, 1])))
    failures, leaks = rest[: structure.n_edges], rest[structure.n_edges :]
    products = np.ones(n, dtype=values.dtype)
    for (i, j), failure in zip(structure.edges.tolist(), failures, strict=True):
        if j in symptoms:
            products[i] *= failure
    silent = np.prod(1.0 - leaks[list(symptoms)])
    return (weights * np.prod(1.0 - priors + priors * products, axis=1)).sum() * silent


def real_null_space(structure, causes, order, rng):
    """Which parameters can move, in how many ways, by derivatives of moments by a complex step."""
    n = structure.n_diseases
    items = rng.uniform(0.1, 0.6, structure.n_edges + structure.n_symptoms)
    own = rng.dirichlet(np.ones(2**n)) if causes == "joint" else rng.uniform(0.5, 1.5, 2 * n)
    values = np.concatenate([own, items]).astype(complex)
    sets = [
        each
        for size in range(1, order + 1)
        for each in itertools.combinations(range(structure.n_symptoms), size)
    ]
    first = int(causes == "joint")
    columns = []
    for k in range(first, len(values)):
        moved = values + 1e-30j * (np.arange(len(values)) == k)
        columns.append([np.imag(moment(structure, causes, moved, each)) / 1e-30 for each in sets])
    matrix = np.array(columns).T
    matrix /= np.linalg.norm(matrix, axis=0)
    _, sizes, directions = np.linalg.svd(matrix, full_matrices=True)
    rank = int((sizes > 1e-11 * sizes.max()).sum())
    return matrix.shape[1] - rank, (np.abs(directions[rank:]) > 1e-6).any(axis=0)


CASES = [
    ("joint", items(2, 2), 3),
    ("joint", items(1, 3), 4),
    ("joint", items(1, 1, more=[[1, 1]] * 3), 3),
    ("joint", items(2, 1, more=[[1, 1]]), 4),
    ("joint", needs(*[[1, 1]] * 4), 4),
    ("joint", needs(*[[1, 1]] * 6), 2),
    ("joint", items(2, 2, 2), 2),
    ("joint", items(2, 2, 2), 3),
    ("trait", items(2, 2), 4),
    ("trait", items(2, 2, 2), 3),
    ("trait", items(1, 3), 4),
]


@pytest.mark.parametrize(("causes", "structure", "order"), CASES)
def test_what_is_open_is_what_real_numbers_leave_open(causes, structure, order):
    found = check_identifiability(structure, causes=causes, max_order=order)
    freedom, is_open = real_null_space(structure, causes, order, np.random.default_rng(0))
    assert sum(each.freedom for each in found.tradeoffs) == freedom
    first = int(causes == "joint")
    assert (found.orders[first:] < 0).tolist() == is_open.tolist()
    assert found.is_identifiable == (freedom == 0)


def test_orders_are_the_smallest_that_do():
    found = check_identifiability(items(2, 2, 2), causes="joint")
    assert found.order == 3
    for order in (2, 3):
        _, is_open = real_null_space(items(2, 2, 2), "joint", order, np.random.default_rng(1))
        assert ((found.orders[1:] > order) | (found.orders[1:] < 0)).tolist() == is_open.tolist()


def test_a_skill_needs_items_of_its_own():
    """The known conditions for Q-matrices, where nothing is known of the skills' distribution."""
    # Each skill has two items alone, and others see it too: its dependence is the third view.
    assert check_identifiability(items(2, 2), causes="joint").is_identifiable
    # A skill with a single item, however many others the other skill has.
    lone = check_identifiability(items(1, 5), causes="joint")
    assert not lone.is_identifiable
    sentences = lone.tradeoffs[0].names
    assert "failure of 'd0' to 's0'" in sentences
    assert "failure of 'd1' to 's1'" not in sentences
    assert [str(each) for each in lone.repairs(lone.tradeoffs[0])] == [
        "add a symptom of its own to 'd0'"
    ]
    # The same two items do not do where the skills are independent: nothing else tells of them.
    assert not check_identifiability(items(2, 2)).is_identifiable


def test_two_skills_that_all_items_need_together():
    few = check_identifiability(needs(*[[1, 1]] * 3), causes="joint")
    assert not few.is_identifiable
    enough = check_identifiability(needs(*[[1, 1]] * 5), causes="joint")
    assert enough.swaps == [(0, 1)]  # which is which no answer says


def test_a_trait_needs_three_diseases():
    two = check_identifiability(items(3, 3), causes="trait")
    assert not two.is_identifiable
    assert set(two.tradeoffs[0].names) == {
        "intercept of 'd0'", "loading of 'd0'", "intercept of 'd1'", "loading of 'd1'",
    }  # fmt: skip
    assert two.repairs(two.tradeoffs[0]) == []
    assert check_identifiability(items(3, 3, 3), causes="trait").is_identifiable


def test_more_diseases_need_higher_orders():
    four = items(2, 2, 2, 2)
    assert check_identifiability(four, causes="joint", max_order=3).order == -1
    assert check_identifiability(four, causes="joint").order == 4


def test_fixed_values_help():
    fixed = {"leaks": {"s0": 0.1}, "failures": {("d0", "s0"): 0.3}}
    found = check_identifiability(items(1, 3), causes="joint", fixed=fixed)
    assert found.is_identifiable
    table = found.verdicts().to_pylist()
    assert [row["verdict"] for row in table if row["order"] == 0] == ["fixed", "fixed"]
    lone = check_identifiability(items(1, 3), causes="joint", fixed={"leaks": {"s1": 0.1}})
    assert lone.repairs(lone.tradeoffs[0])[0].n_needed == 1


def test_verdicts_are_a_table():
    found = check_identifiability(items(1, 3), causes="joint")
    rows = found.verdicts().to_pylist()
    assert [row["name"] for row in rows[:4]] == ["none", "d1", "d0", "d0 + d1"]
    assert rows[0]["verdict"] == "not identifiable"
    assert rows[0]["tradeoff"] == 0
    assert repr(found) == "DependentIdentifiability(joint: 6 of 12 parameters, not all)"


@pytest.mark.parametrize(
    ("structure", "options", "message"),
    [
        (items(2, 2), {"causes": "both"}, "causes must be one of"),
        (items(2, 2), {"causes": "joint", "fixed": {"priors": {"d0": 0.1}}}, "prior of 'd0'"),
        (items(*[2] * 13), {"causes": "joint"}, "up to 12 diseases"),
        (items(*[2] * 10), {"causes": "joint"}, "have 1,064 parameters"),
        (items(2, 2), {"causes": "joint", "max_order": 1}, "max_order must be 2 to 10"),
    ],
)
def test_what_cannot_be_told_is_said(structure, options, message):
    with pytest.raises(NoisyOrError, match=message):
        check_identifiability(structure, **options)
