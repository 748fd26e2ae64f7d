"""find_schedule: rounds, depths, choices, on random and on real structures."""

import numpy as np
import pytest

import naive
from conftest import random_structure
from noisyor import Fixed, Schedule, Structure, datasets, find_schedule
from noisyor.datasets.folders import structure_from_folder
from noisyor.errors import ParameterError


def test_thousands_of_random_schedules_are_valid_and_have_the_least_depths(rng):
    rounds_seen = set()
    for _ in range(3000):
        structure = random_structure(rng)
        edges = [tuple(edge) for edge in structure.edges.tolist()]
        for pairs in True, False:
            expected = naive.edge_depths(edges, pairs)
            for choice in "first", "rarest":
                schedule = find_schedule(structure, pairs=pairs, choice=choice)
                schedule.validate()
                assert schedule.depths.tolist() == [expected.get(edge, -1) for edge in edges]
                rounds_seen.add(schedule.n_rounds)
    assert rounds_seen >= {0, 1, 2, 3}


TABLE = {
    # The table of rounds: with pairs, pairs among them, and triplets alone.
    "orphanet570": (
        [33875, 1214, 98, 4], [0, 62, 1, 0], 1813, 21,
        [33875, 1152, 125, 5, 2],
    ),
    "health_knowledge_graph": (
        [1634, 1031, 577, 276, 122, 52, 17], [0, 378, 170, 85, 23, 5, 0], 0, 0,
        [1634, 653, 362, 228, 179, 113, 69, 46, 38, 34, 25, 13, 15, 10, 3],
    ),
    "ddxplus": ([466, 58, 21, 13, 4], [0, 10, 0, 0, 0], 0, 0, [466, 48, 25, 14, 5, 4]),
    "tcc4e": ([77, 17, 14, 5], [0, 1, 3, 0], 73, 19, [77, 16, 4]),
    "plants": ([75, 4], [0, 0], 0, 0, [75, 4]),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_rounds_of_the_real_structures(real_structures, name):
    structure = structure_from_folder(real_structures / name)
    per_round, from_pairs, n_left, n_diseases_left, triplets_alone = TABLE[name]
    schedule = find_schedule(structure)
    schedule.validate()
    assert schedule.edges_per_round == per_round
    assert schedule.pairs_per_round == from_pairs
    parts = schedule.unlearned()
    assert sum(len(part.edges) for part in parts) == n_left
    assert len({name for part in parts for name in part.diseases}) == n_diseases_left
    assert find_schedule(structure, pairs=False).edges_per_round == triplets_alone


def test_rarest_prefers_symptoms_with_few_parents():
    structure = datasets.qmr_shaped(0).structure
    n_parents = np.diff(structure.parent_offsets)

    def parents_used(choice):
        schedule = find_schedule(structure, choice=choice)
        return n_parents[schedule.step_symptoms[~schedule.is_pair]].mean()

    assert parents_used("rarest") < 0.8 * parents_used("first")
    with pytest.raises(ParameterError, match="expected a Structure, not str"):
        find_schedule("clinic")
    with pytest.raises(ParameterError, match="'first' or 'rarest', not 'best'"):
        find_schedule(structure, choice="best")


def test_schedules_with_given_edges_equal_naive_ones(rng, tmp_path):
    for number in range(200):
        matrix = rng.random((rng.integers(2, 7), rng.integers(4, 12))) < 0.5
        structure = Structure.from_matrix(matrix)
        fixed = Fixed(
            structure,
            priors=np.where(rng.random(structure.n_diseases) < 0.5, 0.1, np.nan),
            failures=np.where(rng.random(structure.n_edges) < 0.5, 0.5, np.nan),
        )
        pairs = bool(number % 2)
        schedule = find_schedule(structure, pairs=pairs, fixed=fixed)
        schedule.validate()
        given = [tuple(edge) for edge in structure.edges[fixed.edges].tolist()]
        expected = naive.edge_depths([tuple(e) for e in structure.edges.tolist()], pairs, given)
        for edge, depth, is_given in zip(
            structure.edges.tolist(), schedule.depths, fixed.edges, strict=True
        ):
            assert depth == (0 if is_given else expected.get(tuple(edge), -1))
        schedule.save(tmp_path / "schedule.json")
        assert Schedule.load(tmp_path / "schedule.json") == schedule
