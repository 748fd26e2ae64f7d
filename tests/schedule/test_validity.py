"""The checker of schedules, which must be able to fail."""

import numpy as np
import pytest

from conftest import random_structure
from noisyor import Schedule, Structure, datasets, find_schedule
from noisyor.errors import ScheduleError
from noisyor.schedule.schedule import StepArrays
from noisyor.schedule.validity import is_singly_coupled


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


def changed(schedule, **arrays):
    """The schedule with some of its arrays changed."""
    steps = StepArrays(
        schedule.step_rounds,
        schedule.step_diseases,
        schedule.step_symptoms,
        schedule.edge_steps,
        schedule.removed,
    )
    new = {name: change(np.array(getattr(steps, name))) for name, change in arrays.items()}
    return Schedule(schedule.structure, steps._replace(**new), pairs=True, choice="first")


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
