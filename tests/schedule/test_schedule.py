"""Algorithm 1, first pass: rounds, steps, validity, what is left, files."""

import json

import numpy as np
import pytest

import naive
from noisyor import Schedule, Structure, datasets, find_schedule
from noisyor.errors import FileError, ParameterError, ScheduleError, StructureError
from noisyor.schedule.validity import is_singly_coupled


def random_structure(rng):
    """Up to 8 diseases, from sparse to full, some with equal or no children."""
    n_diseases, n_symptoms = int(rng.integers(1, 9)), int(rng.integers(1, 15))
    matrix = rng.random((n_diseases, n_symptoms)) < rng.choice([0.15, 0.3, 0.5, 0.8])
    if rng.random() < 0.2:
        matrix[-1] = matrix[0]
    return Structure.from_matrix(matrix)


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


def test_each_removal_is_needed():
    """With what is removed a step is singly coupled; with one disease fewer removed it is not."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        structure = random_structure(rng)
        schedule = find_schedule(structure)
        for step in schedule.steps():
            assert is_singly_coupled(structure, step.disease, step.symptoms, step.removed)
            for left_in in step.removed:
                fewer = set(step.removed) - {left_in}
                assert not is_singly_coupled(structure, step.disease, step.symptoms, fewer)


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
    structure = datasets.from_folder(real_structures / name).structure
    per_round, from_pairs, n_left, n_diseases_left, triplets_alone = TABLE[name]
    schedule = find_schedule(structure)
    schedule.validate()
    assert schedule.edges_per_round == per_round
    assert schedule.pairs_per_round == from_pairs
    parts = schedule.unlearned()
    assert sum(len(part.edges) for part in parts) == n_left
    assert len({name for part in parts for name in part.diseases}) == n_diseases_left
    assert find_schedule(structure, pairs=False).edges_per_round == triplets_alone


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


def test_figure_1_in_words(flu):
    schedule = find_schedule(datasets.figure1(0).structure)
    assert schedule.is_complete
    assert schedule.edges_per_round == [4, 3]
    assert (
        str(schedule.step("B", "b"))
        == "round 0: triplet ('b', 'd', 'e') of 'B' teaches 'b', 'd', 'e'"
    )
    assert schedule.step("A", "b").removed == ("B",)
    assert schedule.step("A", "b").kind == "triplet"
    assert schedule.prior_depths.tolist() == [1, 0]
    assert repr(schedule) == "Schedule(2 rounds, 7 of 7 edges learned by 3 triplets and 0 pairs)"
    assert schedule.plan().triplets.tolist() == [[0, 1, 2], [1, 3, 4], [2, 3, 4]]
    assert find_schedule(flu).step("flu", "fever") is None


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
    assert "And so with 4 more" in part.reason


def test_a_partly_learned_disease_is_told_from_one_without_a_prior():
    rng = np.random.default_rng(1)
    told = []
    while len(told) < 5:
        schedule = find_schedule(random_structure(rng))
        known = {schedule.structure.diseases[i] for i in np.flatnonzero(schedule.prior_depths >= 0)}
        told += [part.reason for part in schedule.unlearned() if known & set(part.diseases[:5])]
    assert all("are left: with no two others, nor with a learned one" in each for each in told)


def test_rarest_prefers_symptoms_with_few_parents():
    structure = datasets.qmr_shaped(0).structure
    n_parents = np.diff(structure.parent_offsets)

    def parents_used(choice):
        schedule = find_schedule(structure, choice=choice)
        return n_parents[schedule.step_symptoms[~schedule.is_pair]].mean()

    assert parents_used("rarest") < 0.8 * parents_used("first")
    with pytest.raises(ParameterError, match="a Structure is wanted, not str"):
        find_schedule("clinic")
    with pytest.raises(ParameterError, match="'first' or 'rarest', not 'best'"):
        find_schedule(structure, choice="best")


# --- the checker must be able to fail ---


def changed(schedule, **arrays):
    parts = {
        name: np.array(getattr(schedule, name))
        for name in ("step_rounds", "step_diseases", "step_symptoms", "edge_steps", "removed")
    }
    for name, change in arrays.items():
        parts[name] = change(parts[name])
    return Schedule(schedule.structure, **parts, pairs=True, choice="first")


def test_the_checker_refuses_schedules_that_are_not_valid():
    schedule = find_schedule(datasets.figure1(0).structure)  # B learned in 0, A in 1 without B
    schedule.validate()
    with pytest.raises(ScheduleError, match="not the only one that couples"):
        changed(schedule, removed=lambda rows: rows[:0]).validate()
    with pytest.raises(ScheduleError, match="prior of the removed disease 1 was not learned"):
        changed(schedule, step_rounds=np.zeros_like).validate()
    with pytest.raises(ScheduleError, match="not the only one"):
        changed(schedule, step_diseases=np.zeros_like).validate()
    with pytest.raises(ScheduleError, match="teaches \\(\\)"):
        changed(schedule, edge_steps=lambda steps: np.where(steps == 0, -1, steps)).validate()
    with pytest.raises(ScheduleError, match="removes a disease twice"):
        changed(schedule, removed=lambda rows: np.repeat(rows, 2, axis=0)).validate()
    with pytest.raises(ScheduleError, match="not in increasing order"):
        changed(schedule, step_symptoms=lambda symptoms: symptoms[:, ::-1]).validate()
    with pytest.raises(ScheduleError, match="gaps"):
        changed(schedule, step_rounds=lambda rounds: 2 * rounds).validate()


def test_the_checker_notices_random_damage(rng):
    """A negative control: a checker that accepts anything would let these pass."""
    n_tried = 0
    while n_tried < 300:
        schedule = find_schedule(random_structure(rng))
        if not len(schedule.removed):
            continue
        n_tried += 1
        gone = rng.integers(len(schedule.removed))
        with pytest.raises(ScheduleError, match="not the only one"):
            changed(schedule, removed=lambda rows, gone=gone: np.delete(rows, gone, 0)).validate()
        with pytest.raises(ScheduleError, match="not learned in an earlier round"):
            changed(schedule, step_rounds=np.zeros_like).validate()


def test_steps_must_stand_in_the_order_of_their_rounds():
    structure = datasets.figure1(0).structure
    twice = np.concatenate([structure.edges, structure.edges + np.array([2, 5])])
    schedule = find_schedule(Structure("ABCD", "abcdefghij", twice))
    swap = np.array([0, 1, 4, 3, 2, 5])
    assert schedule.step_rounds.tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.raises(ScheduleError, match="stands after a later round"):
        changed(
            schedule,
            step_rounds=lambda rounds: rounds[swap],
            step_diseases=lambda diseases: diseases[swap],
            step_symptoms=lambda symptoms: symptoms[swap],
            edge_steps=lambda steps: np.argsort(swap)[steps],
            removed=lambda rows: np.column_stack([np.argsort(swap)[rows[:, 0]], rows[:, 1]]),
        ).validate()


def test_a_pair_step_needs_what_it_builds_on():
    schedule = next(
        each
        for each in (
            find_schedule(random_structure(np.random.default_rng(seed))) for seed in range(1000)
        )
        if each.is_pair.any()
    )
    pair = int(np.flatnonzero(schedule.is_pair)[0])

    def swapped(symptoms):
        symptoms[pair, :2] = symptoms[pair, 1::-1]
        return symptoms

    with pytest.raises(ScheduleError, match="second edge of its pair"):
        changed(schedule, step_symptoms=swapped).validate()


# --- files ---


def test_save_and_load(tmp_path):
    for seed in range(20):
        schedule = find_schedule(random_structure(np.random.default_rng(seed)), pairs=seed % 2 == 0)
        path = tmp_path / "learned.schedule"
        schedule.save(path)
        again = Schedule.load(path)
        assert again == schedule
        assert hash(again) == hash(schedule)
        assert (again.pairs, again.choice) == (schedule.pairs, schedule.choice)
    assert schedule != 1
    with pytest.raises(AttributeError):
        schedule.pairs = False


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "figure1.schedule"
    find_schedule(datasets.figure1(0).structure).save(path)
    document = json.loads(path.read_text())

    def refusal(**changes):
        path.write_text(json.dumps(document | changes))
        with pytest.raises(FileError, match="figure1.schedule") as caught:
            Schedule.load(path)
        return str(caught.value)

    steps = document["steps"]
    assert "not valid" in refusal(steps=[[*step[:4], []] for step in steps])
    assert "names what does not exist" in refusal(steps=[[0, 99, *steps[0][2:]]])
    assert "names what does not exist" in refusal(steps=[["0", *steps[0][1:]]])
    assert "holds no lists" in refusal(steps=[[0, 1, 2, 3, 4]])
    assert "is no list of round, disease" in refusal(steps=[[1]])
    assert "is no list of round, disease" in refusal(steps=[5])
    assert "no edge from" in refusal(steps=[[0, 1, [0, 1, 2], [0], []]])
    assert "neither two nor three" in refusal(steps=[[0, 1, [1, 2, 3, 4], [1], []]])
    del document["steps"]
    assert "'steps' is missing" in refusal()


def test_pickling_keeps_it_whole():
    import copy

    schedule = find_schedule(datasets.figure1(0).structure)
    assert copy.deepcopy(schedule) == schedule


# --- Theorem 2 ---


def test_theorem_2_by_hand():
    """Figure 1 with all parameters 1/2: every quantity of the theorem can be written down."""
    network = datasets.figure1(0)
    structure = network.structure
    half = type(network)(structure, [0.5] * 2, [0.5] * 7, [0.0] * 5)
    asked = find_schedule(structure).sample_complexity(half, epsilon=0.1, delta=0.05)
    assert (asked.depth, asked.max_parents, asked.n_parameters) == (1, 2, 9)
    absent = 0.75**2
    confidence = 0.05 / (9 * 2)
    growth = absent**-11 * 0.5**-10 * 0.5**-2 * np.log(1 / confidence) / confidence
    records = growth**4 * 2**2 * absent**-6 * 0.1**-2 * np.log(9 / 0.05)
    assert asked.log10_error_growth == pytest.approx(np.log10(growth))
    assert asked.log10_records == pytest.approx(np.log10(records))
    largest = 0.5 / growth * absent**3 / (15 * 2)
    assert asked.log10_largest_epsilon == pytest.approx(np.log10(largest))
    assert not asked.holds
    with pytest.raises(ParameterError, match="epsilon"):
        find_schedule(structure).sample_complexity(half, epsilon=0)
    with pytest.raises(StructureError, match="different structures"):
        find_schedule(structure).sample_complexity(datasets.figure2(0))
    with pytest.raises(ParameterError, match="learns nothing"):
        find_schedule(datasets.figure2(0).structure).sample_complexity(datasets.figure2(0))
