"""Counts of the card are the processor's, and those of the obvious way."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from numba import cuda

import naive
from conftest import random_records
from noisyor import Findings, MomentPlan, Structure, count_moments
from noisyor.errors import CardError, NoisyOrWarning
from noisyor.gpu import is_simulated
from noisyor.moments import card_kernels, sets_on_card, tally_on_card
from noisyor.moments.counter import MomentCounter
from noisyor.moments.tally import PlaneSlice, Tally
from noisyor.moments.tally_on_card import CardTally


@pytest.fixture(autouse=True)
def small_buffers(monkeypatch):
    """Let a few records fill several buffers."""
    monkeypatch.setattr(tally_on_card, "WORDS_OF_BUFFER", 4)
    monkeypatch.setattr(tally_on_card, "FEWEST_WORDS", 1)


def structure_with(n_symptoms):
    return Structure.from_matrix(np.ones((1, n_symptoms)))


def random_case(seed, unknown):
    rng = np.random.default_rng(seed)
    n_symptoms = int(rng.integers(3, 9))
    structure = structure_with(n_symptoms)
    records = random_records(rng, int(rng.integers(1, 400)), n_symptoms, unknown)
    triplets = [rng.choice(n_symptoms, 3, replace=False) for _ in range(rng.integers(0, 5))]
    plan = MomentPlan(structure, triplets=np.reshape(triplets, (-1, 3)).astype(int))
    if seed % 2:
        plan = plan | MomentPlan.all_pairs(structure)
    return Findings.from_numpy(records, structure), plan, records


def rows_of(records):
    return [[None if np.isnan(x) else int(x) for x in row] for row in np.asarray(records, float)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_counts_are_those_of_the_processor_and_of_the_obvious_way(seed, unknown):
    findings, plan, records = random_case(seed, unknown)
    moments = count_moments(findings, plan, n_groups=3, device="gpu")
    assert moments == count_moments(findings, plan, n_groups=3)
    for order in 1, 2, 3:
        expected = naive.count_sets(rows_of(records), plan.sets(order).tolist())
        assert moments.counts(order).tolist() == [present for _, present in expected]


def test_records_by_id_and_in_short_runs():
    findings, plan, records = random_case(5, 0.1)
    columns = {f"s{j}": column for j, column in enumerate(np.asarray(records, float).T)}
    table = pa.table({"id": [f"r{k}" for k in range(len(records))], **columns})
    structure = Structure.from_edges([("d", f"s{j}") for j in range(len(columns))])
    plan = MomentPlan.all_pairs(structure)
    options = {"n_groups": 7, "record": "id"}
    moments = count_moments(table, plan, device="gpu", **options)
    assert moments == count_moments(table, plan, **options)
    assert moments.n_records == findings.n_records


def test_sets_whose_symptoms_do_not_fit_near_memory_are_counted_in_more_chunks(monkeypatch):
    monkeypatch.setattr(card_kernels, "NEAR_WORDS", 24)
    card_kernels.margin_kernel.cache_clear()
    findings, plan, _ = random_case(3, 0.1)
    assert count_moments(findings, plan, device="gpu") == count_moments(findings, plan)
    card_kernels.margin_kernel.cache_clear()


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_chunks_hold_every_set_once(order):
    rng = np.random.default_rng(order)
    sets = np.array([rng.choice(900, order, replace=False) for _ in range(500)])
    chunks = sets_on_card.Chunks.arranged(sets, 64, 100)
    found = np.empty_like(sets)
    for first, n_sets, first_symptom, n_symptoms in chunks.bounds:
        assert n_sets <= 64
        assert n_symptoms <= 100
        symptoms = chunks.listed[first_symptom : first_symptom + n_symptoms]
        here = slice(first, first + n_sets)
        found[chunks.listed[here]] = symptoms[chunks.sets[:, here].T]
    assert (found == sets).all()
    assert sorted(chunks.listed[:500]) == list(range(500))


@pytest.mark.parametrize("unknown", [0.0, 0.2])
def test_quartets(unknown):
    rng = np.random.default_rng(0)
    structure = structure_with(6)
    findings = Findings.from_numpy(random_records(rng, 200, 6, unknown), structure)
    fours = list(itertools.combinations(range(6), 4))
    plan = MomentPlan(structure, quartets=fours)
    moments = count_moments(findings, plan, n_groups=3, device="gpu")
    assert moments == count_moments(findings, plan, n_groups=3)
    assert moments.counts(4).sum() > 0


@pytest.mark.parametrize("seed", range(4))
def test_pairs_that_several_triplets_have_are_counted_once(seed):
    rng = np.random.default_rng(seed)
    structure = structure_with(9)
    findings = Findings.from_numpy(random_records(rng, 700, 9, 0.0), structure)
    triplets = [each for each in itertools.combinations(range(9), 3) if rng.random() < 0.6]
    plan = MomentPlan(structure, triplets=triplets) | MomentPlan.all_pairs(structure)
    assert count_moments(findings, plan, device="gpu") == count_moments(findings, plan)


def test_long_runs_are_cut_so_that_two_counts_fit_a_number():
    runs = [sets_on_card.WordRun(k * 5000, (k + 1) * 5000, k) for k in range(40)]
    cut = sets_on_card.cut_runs([*runs, sets_on_card.WordRun(200_000, 200_001, 4)])
    assert (cut[:, 1] - cut[:, 0]).max() * 64 < 1 << 16
    assert cut[1:, 0].tolist() == cut[:-1, 1].tolist()
    assert (cut[0, 0], *cut[-1]) == (0, 200_000, 200_001, 4)
    assert (cut[:-1, 2] == cut[:-1, 0] // 5000).all()


def test_counts_are_brought_here_before_they_overflow(monkeypatch):
    monkeypatch.setattr(tally_on_card, "MOST_COUNTED", 300)
    findings, plan, _ = random_case(7, 0.1)
    assert count_moments(findings, plan, device="gpu") == count_moments(findings, plan)


def test_a_counter_can_be_used_again_and_forget():
    findings, plan, _ = random_case(1, 0.2)

    counter, expected = (
        MomentCounter(plan, 2, 1, on_card=True),
        count_moments(findings, plan, n_groups=2),
    )
    counter.add_blocks(findings.blocks)
    counter.discard()
    for _ in range(2):
        counter.add_blocks(findings.blocks)
        assert counter.take() == expected
    assert counter.take().n_records == 0


def slices(rng, unknown_in, n_words=2):
    """Slices of records, of which some have unknown findings."""
    for has_unknown in unknown_in:
        words = rng.integers(0, 1 << 63, (2, 5, n_words), dtype=np.uint64)
        unknown = words[1] if has_unknown else None
        present = words[0] & ~words[1]
        valid = np.full(n_words, ~np.uint64(0))
        yield PlaneSlice(present, unknown, 0, n_words, valid, int(rng.integers(2)))


def test_a_buffer_forgets_what_was_unknown_in_it():
    structure = structure_with(5)
    plan = MomentPlan(structure, triplets=[[0, 1, 2], [2, 3, 4]])
    tallies = Tally(plan, 2, 1), CardTally(plan, 2, 1, n_words=4)
    for tally in tallies:
        for part in slices(np.random.default_rng(0), [1, 1, 0, 0, 0, 1, 0, 1, 1, 0]):
            tally.add(part)
    assert tallies[0].take() == tallies[1].take()


class Full:
    """A card on which arrays of more than so many bytes find no room."""

    def __init__(self, monkeypatch, most):
        self.n_refused, self._most = 0, most
        self._real = {name: getattr(cuda, name) for name in ("device_array", "to_device")}
        monkeypatch.setattr(cuda, "device_array", self.device_array)
        monkeypatch.setattr(cuda, "to_device", self.to_device)

    def _refuse(self, n_bytes):
        if n_bytes > self._most:
            self.n_refused += 1
            raise MemoryError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    def device_array(self, shape, dtype, **options):
        self._refuse(np.prod(shape) * np.dtype(dtype).itemsize)
        return self._real["device_array"](shape, dtype, **options)

    def to_device(self, array, **options):
        self._refuse(array.nbytes)
        return self._real["to_device"](array, **options)


def full_case():
    structure = structure_with(6)
    records = random_records(np.random.default_rng(0), 600, 6, 0.1)
    return Findings.from_numpy(records, structure), MomentPlan.all_pairs(structure)


@pytest.mark.skipif(not is_simulated(), reason="a real card is not full")
def test_a_card_without_room_gets_smaller_buffers(monkeypatch):
    findings, plan = full_case()
    expected = count_moments(findings, plan, n_groups=1)
    monkeypatch.setattr(tally_on_card, "WORDS_OF_BUFFER", 64)
    full = Full(monkeypatch, 15 * 4 * 4)
    assert count_moments(findings, plan, n_groups=1, device="gpu") == expected
    assert full.n_refused > 0


@pytest.mark.skipif(not is_simulated(), reason="a real card is not full")
@pytest.mark.parametrize("most", [0, 40, 100])
def test_a_card_without_any_room_leaves_it_to_the_processor_and_says_so(monkeypatch, most):
    findings, plan = full_case()
    expected = count_moments(findings, plan, n_groups=1)
    Full(monkeypatch, most)
    with pytest.warns(NoisyOrWarning, match="memory does not suffice.*on the processor"):
        assert count_moments(findings, plan, n_groups=1, device="gpu") == expected


def test_a_card_that_fails_says_so(monkeypatch):
    def fail(*_):
        raise RuntimeError("unspecified launch failure")

    findings, plan = full_case()
    monkeypatch.setattr(sets_on_card.MarginSets, "count", fail)
    with pytest.raises(CardError, match="failed while counting .unspecified launch failure"):
        count_moments(findings, plan, device="gpu")
