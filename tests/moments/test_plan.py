import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisyor import MomentPlan, NoisyOrError, Structure, datasets

STRUCTURE = Structure.from_matrix(np.ones((1, 8)))
SETS = [
    st.lists(st.lists(st.integers(0, 7), min_size=order, max_size=order, unique=True), max_size=12)
    for order in (1, 2, 3)
]


def closed(symptoms, pairs, triplets):
    """The sets and all their subsets, sorted."""
    threes = {tuple(sorted(each)) for each in triplets}
    twos = {tuple(sorted(each)) for each in pairs}
    twos |= {pair for each in threes for pair in itertools.combinations(each, 2)}
    ones = {each[0] for each in symptoms} | {j for pair in twos for j in pair}
    return sorted(ones), sorted(twos), sorted(threes)


@given(*SETS)
def test_plans_are_closed_distinct_and_in_order(symptoms, pairs, triplets):
    plan = MomentPlan(STRUCTURE, symptoms, pairs, triplets)
    ones, twos, threes = closed(symptoms, pairs, triplets)
    assert plan.symptoms.tolist() == ones
    assert [tuple(each) for each in plan.pairs.tolist()] == twos
    assert [tuple(each) for each in plan.triplets.tolist()] == threes
    assert plan.sizes == (len(ones), len(twos), len(threes))
    for (a, b), rows in zip(twos, plan.pair_rows, strict=True):
        assert plan.symptoms[rows].tolist() == [a, b]
    for (a, b, c), rows in zip(threes, plan.triplet_rows, strict=True):
        assert plan.pairs[rows].tolist() == [[a, b], [a, c], [b, c]]


@given(*SETS, *SETS)
def test_unions(one1, one2, one3, other1, other2, other3):
    one = MomentPlan(STRUCTURE, one1, one2, one3)
    other = MomentPlan(STRUCTURE, other1, other2, other3)
    both = MomentPlan(STRUCTURE, one1 + other1, one2 + other2, one3 + other3)
    assert one | other == other | one == both
    assert hash(one | other) == hash(both)
    assert (one == both) == (one.sizes == both.sizes)


def test_coupled_pairs_share_a_parent():
    structure = datasets.clinic().structure
    expected = sorted(
        (a, b)
        for a, b in itertools.combinations(range(structure.n_symptoms), 2)
        if set(structure.parents(a).tolist()) & set(structure.parents(b).tolist())
    )
    plan = MomentPlan.coupled(structure)
    assert [tuple(pair) for pair in plan.pairs.tolist()] == expected
    assert plan.symptoms.tolist() == list(range(60))


@given(*SETS)
def test_files_there_and_back(tmp_path_factory, symptoms, pairs, triplets):
    path = tmp_path_factory.mktemp("plans") / "some.plan"
    plan = MomentPlan(STRUCTURE, symptoms, pairs, triplets)
    plan.save(path)
    again = MomentPlan.load(path)
    assert again == plan
    assert again.structure == STRUCTURE


def test_another_structure_makes_another_plan():
    other = Structure.from_matrix(np.eye(8))
    one, two = (MomentPlan(each, pairs=[[0, 1]]) for each in (STRUCTURE, other))
    assert one != two
    assert one != "a plan"
    with pytest.raises(NoisyOrError, match="different structures"):
        _ = one | two


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ({"pairs": [[0, 8]]}, "outside 0 to 7"),
        ({"pairs": [[0, -1]]}, "outside 0 to 7"),
        ({"pairs": [[0, 1, 2]]}, "rows of 2 indices"),
        ({"triplets": [[0, 1]]}, "rows of 3 indices"),
        ({"triplets": [[0, 1, 1]]}, r"the set \[0, 1, 1\] names a symptom twice"),
        ({"pairs": [["S0", "S1"]]}, "rows of 2 indices"),
        ({"symptoms": [0.5]}, "rows of 1 indices"),
    ],
)
def test_what_makes_no_plan_is_refused(sets, message):
    with pytest.raises(NoisyOrError, match=message):
        MomentPlan(STRUCTURE, **sets)


def test_orders_are_1_to_3():
    with pytest.raises(NoisyOrError, match="orders 1, 2 and 3, not 4"):
        MomentPlan(STRUCTURE).sets(4)
