"""What a schedule leaves, and the reasons."""

import numpy as np
import pytest

from conftest import random_structure
from noisyor import Structure, datasets, find_schedule


@pytest.mark.parametrize("seed", [0, 1])
def test_qmr_shaped_leaves_the_troublesome_pair_and_says_so(seed):
    structure = datasets.qmr_shaped(seed).structure
    schedule = find_schedule(structure)
    schedule.validate()
    assert schedule.n_rounds == 4
    (part,) = schedule.unlearned()
    assert len(part.diseases) == 2
    assert len(part.edges) == 122
    assert all(repr(name) in part.reason for name in part.diseases)
    assert part.reason.count("shares 60 of 61") == 2
    alone = find_schedule(structure, pairs=False)
    assert alone.n_rounds > 4
    assert [each.edges.tolist() for each in alone.unlearned()] == [part.edges.tolist()]


def test_reasons_tell_what_stands_in_the_way(flu):
    parts = find_schedule(flu).unlearned()
    assert len(parts) == 1
    assert "'flu' has only 2 symptoms" in parts[0].reason
    lonely = Structure(["none"], ["x"], np.empty((0, 2), dtype=int))
    (part,) = find_schedule(lonely).unlearned()
    assert part.reason == "'none' has no symptoms, so nothing shows it."
    assert not find_schedule(lonely).is_complete
    # A has a triplet of its own (a b c), and shares d and e with B, which nothing teaches.
    partly = Structure.from_edges([("A", x) for x in "abcde"] + [("B", x) for x in "de"])
    schedule = find_schedule(partly, pairs=False)
    reasons = [part.reason for part in schedule.unlearned()]
    assert any("'B' has only 2 symptoms" in reason for reason in reasons)
    assert [len(part.edges) for part in schedule.unlearned()] == sorted(
        (len(part.edges) for part in schedule.unlearned()), reverse=True
    )
    clique = Structure.from_matrix(np.ones((9, 9)))
    (part,) = find_schedule(clique).unlearned()
    assert "and 5 more" in part.reason
    assert "The same holds for 4 more" in part.reason


def test_a_partly_learned_disease_is_told_from_one_without_a_prior():
    rng = np.random.default_rng(1)
    told = []
    while len(told) < 5:
        schedule = find_schedule(random_structure(rng))
        known = {schedule.structure.diseases[i] for i in np.flatnonzero(schedule.prior_depths >= 0)}
        told += [part.reason for part in schedule.unlearned() if known & set(part.diseases[:5])]
    assert all("are left: with no two others, nor with a learned one" in each for each in told)
