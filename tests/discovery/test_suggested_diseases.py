"""Diseases to split and to merge."""

import numpy as np
import pytest

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, datasets
from noisyor.discovery import repair, suggest
from noisyor.discovery.changes import ADD_DISEASE, MERGE, SPLIT, Suggestion, changed
from noisyor.discovery.fitting import Fitter, started_with
from noisyor.discovery.suggested_diseases import fitted_changes
from noisyor.experiments.misgiven import HALVED, misgiven

N_RECORDS = 10_000
NAN = float("nan")


def drawn(seed):
    """Return 6 diseases of 6 of 24 symptoms each."""
    rng = np.random.default_rng(seed)
    sets = [sorted(rng.choice(24, 6, replace=False).tolist()) for _ in range(6)]
    structure = on(sets, [f"D{i}" for i in range(6)])
    failures = rng.uniform(0.2, 0.7, structure.n_edges)
    return NoisyOrNetwork(structure, rng.uniform(0.03, 0.15, 6), failures, np.full(24, 0.02))


def on(sets, names):
    edges = [[i, j] for i, own in enumerate(sets) for j in own]
    return Structure(names, [f"s{j}" for j in range(24)], edges)


def sets_of(structure):
    return [structure.children(i).tolist() for i in range(structure.n_diseases)]


def suggested(structure, truth, seed):
    records = truth.sample(N_RECORDS, rng=seed + 1)
    return suggest(NoisyOrLearner(structure).fit(records).estimate_, records)


@pytest.mark.parametrize("seed", range(3))
def test_two_diseases_that_were_taken_for_one_are_split(seed):
    truth = drawn(seed)
    first, second, *others = sets_of(truth.structure)
    given = on([sorted({*first, *second}), *others], ["D01", "D2", "D3", "D4", "D5"])
    found = suggested(given, truth, seed)
    row = found.rows[0]
    assert (row.kind, row.disease) == (SPLIT, "D01")
    assert found.of(ADD_DISEASE) == ()  # the same, in other words
    assert "looks like two diseases" in row.sentence
    assert sorted(sets_of(changed(given, [row]))) == sorted(sets_of(truth.structure))
    mended = repair(given, truth.sample(N_RECORDS, rng=seed + 1))
    [change] = mended.changes
    assert change.kind == SPLIT
    assert "looks like two diseases" in change.sentence
    assert change.gain == pytest.approx(
        mended.steps[1].log_likelihood - mended.steps[0].log_likelihood
    )
    assert mended.table()["shared"].to_pylist() == [", ".join(change.shared)]
    assert sorted(sets_of(mended.structure)) == sorted(sets_of(truth.structure))


@pytest.mark.parametrize("seed", range(3))
def test_halves_of_a_disease_are_one(seed):
    truth = drawn(seed)
    whole, *others = sets_of(truth.structure)
    names = ["D0a", "D0b", *truth.structure.diseases[1:]]
    given = on([whole[:3], whole[3:], *others], names)
    found = suggested(given, truth, seed)
    row = found.rows[0]
    assert found.of(ADD_DISEASE) == ()
    assert (row.kind, {row.disease, row.other}) == (MERGE, {"D0a", "D0b"})
    assert row.gain > 100.0
    assert "as if they were one disease" in row.sentence
    assert sorted(sets_of(changed(given, [row]))) == sorted(sets_of(truth.structure))


def test_a_disease_that_stands_there_twice_is_one():
    rows = []
    for seed in range(1, 5):
        truth = drawn(seed)
        names = ["D0x", *truth.structure.diseases]
        given = on([sets_of(truth.structure)[0], *sets_of(truth.structure)], names)
        found = suggested(given, truth, seed)
        assert len(found) <= 1
        rows += found.rows
    assert len(rows) >= 3  # one in twenty loses so much by chance that it is not said
    assert all({row.disease, row.other} == {"D0", "D0x"} for row in rows)
    assert all(row.kind == MERGE and row.gain < 0.0 < row.gain_bic for row in rows)
    assert all("do not tell" in row.sentence for row in rows)


def test_near_duplicates_that_records_tell_apart_stay():
    truth = drawn(0)
    own = sets_of(truth.structure)
    structure = on([own[0], *own], ["D0x", *truth.structure.diseases])
    failures = np.concatenate([1.0 - 0.75 * (1.0 - truth.failures[:6]), truth.failures])
    failures[:2] = 0.15
    near = NoisyOrNetwork(structure, [0.1, *truth.priors], failures, truth.leaks)
    strengths = 1.0 - failures[:6], 1.0 - failures[6:12]
    assert strengths[0] @ strengths[1] > 0.8 * np.linalg.norm(strengths[0]) * np.linalg.norm(
        strengths[1]
    )  # so that merging is tried
    records = near.sample(30_000, rng=1)
    found = suggest(NoisyOrLearner(structure).fit(records).estimate_, records)
    assert found.of(MERGE) == ()


@pytest.mark.parametrize("seed", range(3))
def test_right_structures_are_neither_split_nor_merged(seed):
    truth = drawn(seed + 10)
    assert suggested(truth.structure, truth, seed).rows == ()


def test_edges_that_are_certain_stay_where_a_disease_is_split():
    truth = drawn(2)
    first, second, *others = sets_of(truth.structure)
    given = on([sorted({*first, *second}), *others], ["D01", "D2", "D3", "D4", "D5"])
    records = truth.sample(N_RECORDS, rng=3)
    for own in first, second:  # whichever part they belong to
        certain = [("D01", f"s{j}") for j in own]
        found = repair(given, records, certain=certain).structure
        assert all(found.has_edge(*edge) for edge in certain)
        assert sorted(sets_of(found)) == sorted(sets_of(truth.structure))
    certain = [("D01", f"s{j}") for j in given.children("D01").tolist()]
    found = repair(given, records, certain=certain).structure
    assert all(found.has_edge(*edge) for edge in certain)


@pytest.mark.parametrize("seed", range(2))
def test_a_part_of_a_disease_that_stands_beside_it_is_one_with_it(seed):
    truth = drawn(seed + 50)
    own = sets_of(truth.structure)
    given = on([own[0][:4], *own], ["D0, in part", *truth.structure.diseases])
    [row] = suggested(given, truth, seed).rows
    assert (row.kind, row.disease, row.other) == (MERGE, "D0", "D0, in part")
    assert "do not tell" in row.sentence


def test_two_diseases_that_occur_together_without_being_alike_are_no_case_of_one():
    structure = on([[0, 1, 2, 3], [4, 5, 6, 7]], ["a", "b"])
    network = NoisyOrNetwork(structure, [0.05, 0.05], [0.3] * 8, [0.02] * 24)
    fitter = Fitter(network.sample(3000, rng=0))
    merge = Suggestion(MERGE, "a", ("s4", "s5", "s6", "s7"), *[NAN] * 5, other="b")
    assert fitted_changes([merge], network, fitter) == []  # fits worse, and is not nested


def test_structures_with_hardly_anything_in_them():
    records = drawn(0).sample(300, rng=1)
    empty = Structure([], records.structure.symptoms, np.empty((0, 2), int))
    bare = NoisyOrNetwork(empty, [], [], records.count_present() / 300)
    assert all(row.kind == ADD_DISEASE for row in suggest(bare, records).rows)
    idle = Structure(["none", *drawn(0).structure.diseases[:2]], records.structure.symptoms,
                     [[1, 0], [1, 1], [1, 2], [2, 3], [2, 4], [2, 5]])  # fmt: skip
    network = NoisyOrNetwork(idle, [0.1] * 3, [0.5] * 6, [0.1] * 24)
    assert suggest(network, records).n_tested == 3 * 24 - 6  # and without a warning


def test_starts_keep_what_is_known():
    structure = Structure.from_edges([("a", "x"), ("a", "y"), ("a", "z"), ("b", "z"), ("b", "u")])
    network = NoisyOrNetwork(structure, [0.2, 0.1], [0.8, 0.7, 0.6, 0.5, 0.4], [0.01] * 4)
    split = Suggestion(SPLIT, "a", ("y", "z"), NAN, NAN, NAN, NAN, NAN, shared=("z",))
    start = started_with(network, [split], np.full(4, 0.1))
    assert start.structure.diseases == ("a", "b", "y + z")
    assert start.priors.tolist() == pytest.approx([0.1, 0.1, 0.1])
    # x and z of a; z and u of b; y and z of the new one
    assert start.failures.tolist() == pytest.approx([0.6, 0.2, 0.5, 0.4, 0.4, 0.2])
    merge = Suggestion(MERGE, "a", ("z", "u"), NAN, NAN, NAN, NAN, NAN, other="b")
    start = started_with(network, [merge], np.full(4, 0.1))
    assert start.structure.diseases == ("a",)
    assert start.priors.tolist() == pytest.approx([1.0 - 0.8 * 0.9])
    third = (0.2 * 0.6 + 0.1 * 0.5) / 0.3
    assert start.failures.tolist() == pytest.approx([0.8, 0.7, third, 0.4])


@pytest.mark.parametrize("seed", [3, 4])
def test_halves_that_look_like_a_missing_disease_are_one(seed):
    clinic = datasets.clinic()
    given, wrong = misgiven(clinic, HALVED, np.random.default_rng(seed))
    found = suggested(given, clinic, seed)
    [merged] = found.of(MERGE)
    assert {merged.disease, merged.other} == wrong
    assert found.of(ADD_DISEASE) == ()
