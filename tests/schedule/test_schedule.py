"""A schedule in words, and in files."""

import json
import pickle

import numpy as np
import pytest

from conftest import random_structure
from noisyor import Schedule, datasets, find_schedule
from noisyor.errors import FileError


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
    assert "has no lists" in refusal(steps=[[0, 1, 2, 3, 4]])
    assert "is not a list of round, disease" in refusal(steps=[[1]])
    assert "is not a list of round, disease" in refusal(steps=[5])
    assert "no edge from" in refusal(steps=[[0, 1, [0, 1, 2], [0], []]])
    assert "neither two nor three" in refusal(steps=[[0, 1, [1, 2, 3, 4], [1], []]])
    assert "takes as fixed does not exist" in refusal(given=5)
    assert "takes as fixed does not exist" in refusal(given={"priors": [2], "edges": []})
    assert "without the prior of its disease" in refusal(given={"priors": [1], "edges": [0]})
    del document["steps"]
    assert "'steps' is missing" in refusal()


def test_pickling_keeps_it_whole(rng):
    for _ in range(20):
        schedule = find_schedule(random_structure(rng))
        again = pickle.loads(pickle.dumps(schedule))  # noqa: S301
        assert again == schedule
        assert (again.pairs, again.choice) == (schedule.pairs, schedule.choice)
