import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisyor import MomentPlan, NoisyOrError, Structure, datasets

OLD = Path(__file__).parents[1] / "old_files"
STRUCTURE = Structure.from_matrix(np.ones((1, 8)))
SETS = [
    st.lists(st.lists(st.integers(0, 7), min_size=order, max_size=order, unique=True), max_size=12)
    for order in (1, 2, 3, 4)
]


def closed(symptoms, pairs, triplets, quartets):
    """The sets and all their subsets, sorted."""
    fours = {tuple(sorted(each)) for each in quartets}
    threes = {tuple(sorted(each)) for each in triplets}
    threes |= {triplet for each in fours for triplet in itertools.combinations(each, 3)}
    twos = {tuple(sorted(each)) for each in pairs}
    twos |= {pair for each in threes for pair in itertools.combinations(each, 2)}
    ones = {each[0] for each in symptoms} | {j for pair in twos for j in pair}
    return sorted(ones), sorted(twos), sorted(threes), sorted(fours)


@given(*SETS)
def test_plans_are_closed_distinct_and_in_order(symptoms, pairs, triplets, quartets):
    plan = MomentPlan(STRUCTURE, symptoms, pairs, triplets, quartets)
    ones, twos, threes, fours = closed(symptoms, pairs, triplets, quartets)
    assert plan.symptoms.tolist() == ones
    assert [tuple(each) for each in plan.pairs.tolist()] == twos
    assert [tuple(each) for each in plan.triplets.tolist()] == threes
    assert [tuple(each) for each in plan.quartets.tolist()] == fours
    assert plan.sizes == (len(ones), len(twos), len(threes), len(fours))
    for (a, b), rows in zip(twos, plan.pair_rows, strict=True):
        assert plan.symptoms[rows].tolist() == [a, b]
    for (a, b, c), rows in zip(threes, plan.triplet_rows, strict=True):
        assert plan.pairs[rows].tolist() == [[a, b], [a, c], [b, c]]
    for (a, b, c, d), rows in zip(fours, plan.quartet_rows, strict=True):
        assert plan.triplets[rows].tolist() == [[a, b, c], [a, b, d], [a, c, d], [b, c, d]]


@given(*SETS, *SETS)
def test_unions(one1, one2, one3, one4, other1, other2, other3, other4):
    one = MomentPlan(STRUCTURE, one1, one2, one3, one4)
    other = MomentPlan(STRUCTURE, other1, other2, other3, other4)
    sets = one1 + other1, one2 + other2, one3 + other3, one4 + other4
    both = MomentPlan(STRUCTURE, *sets)
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
def test_files_there_and_back(tmp_path_factory, symptoms, pairs, triplets, quartets):
    path = tmp_path_factory.mktemp("plans") / "some.plan"
    plan = MomentPlan(STRUCTURE, symptoms, pairs, triplets, quartets)
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
        ({"quartets": [[0, 1, 2]]}, "rows of 4 indices"),
        ({"triplets": [[0, 1, 1]]}, r"the set \[0, 1, 1\] names a symptom twice"),
        ({"pairs": [["S0", "S1"]]}, "rows of 2 indices"),
        ({"symptoms": [0.5]}, "rows of 1 indices"),
    ],
)
def test_what_makes_no_plan_is_refused(sets, message):
    with pytest.raises(NoisyOrError, match=message):
        MomentPlan(STRUCTURE, **sets)


def test_orders_are_1_to_4():
    with pytest.raises(NoisyOrError, match="orders 1, 2, 3 and 4, not 5"):
        MomentPlan(STRUCTURE).sets(5)


def test_files_of_version_1_have_no_quartets():
    plan = MomentPlan.load(OLD / "plan_1.plan")
    assert plan.sizes == (4, 6, 2, 0)
    assert plan == MomentPlan(plan.structure, triplets=[[0, 1, 2], [1, 2, 3]], pairs=[[0, 3]])


def test_too_many_symptoms_for_quartets():
    names = [f"S{j}" for j in range(55_001)]
    wide = Structure((), names, np.empty((0, 2), int))
    with pytest.raises(NoisyOrError, match="up to 55,000 symptoms"):
        MomentPlan(wide, quartets=[[0, 1, 2, 3]])
