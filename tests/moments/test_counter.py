"""The counter: groups of records, counts taken, forgotten, and begun anew."""

import numba
import numpy as np
import pytest

from conftest import random_records
from noisyor import Findings, MomentPlan, Structure, count_moments
from noisyor.moments.counter import MomentCounter, aligned

STRUCTURE = Structure.from_matrix(np.ones((1, 5)))
PLAN = MomentPlan.all_pairs(STRUCTURE)


def findings_of(rng, n_records, unknown=0.1):
    return Findings.from_numpy(random_records(rng, n_records, 5, unknown), STRUCTURE)


@pytest.mark.parametrize("n_groups", [1, 7])
def test_take_gives_all_counts_since_the_last(rng, n_groups):
    counter = MomentCounter(PLAN, n_groups, n_jobs=2)
    first, second = findings_of(rng, 5000), findings_of(rng, 130)
    seen = []
    counter.add_blocks(first.blocks, seen.append)
    assert sum(seen) == 5000
    assert counter.take() == count_moments(first, PLAN, n_groups=n_groups)
    counter.add_blocks(second.blocks)
    assert counter.take() == count_moments(second, PLAN, n_groups=n_groups)
    assert counter.take().n_records == 0


def test_sources_add_up(rng):
    counter = MomentCounter(PLAN, 3)
    parts = [findings_of(rng, n) for n in (100, 64, 1)]
    for part in parts:
        counter.add_blocks(part.blocks)
    one, two, three = (count_moments(part, PLAN, n_groups=3) for part in parts)
    taken = counter.take()
    assert taken == one + two + three
    assert taken.group_records.sum() == 165


def test_what_is_discarded_is_not_counted(rng):
    counter = MomentCounter(PLAN, 4)
    counter.add_blocks(findings_of(rng, 5000).blocks)
    counter.discard()
    kept = findings_of(rng, 70)
    counter.add_blocks(kept.blocks)
    assert counter.take() == count_moments(kept, PLAN, n_groups=4)


def test_planes_are_of_one_type(rng, monkeypatch):
    """Those gathered from short runs made all counting be compiled once more."""
    counter, kinds = MomentCounter(PLAN, 1), set()
    add = counter._tally.add

    def noted(part):
        kinds.add((numba.typeof(part.present), numba.typeof(part.unknown)))
        add(part)

    monkeypatch.setattr(counter._tally, "add", noted)
    for n_records in 100, 40_000:
        counter.add_blocks(findings_of(rng, n_records).blocks)
        counter.take()
    assert len(kinds) == 1


def test_blocks_are_aligned_to_words_and_lose_nothing(rng):
    parts = [findings_of(rng, n) for n in (64, 70, 1, 200)]
    found = list(aligned([block for part in parts for block in part.blocks], STRUCTURE))
    assert all(block.n_records % 64 == 0 for block in found[:-1])
    whole = np.concatenate([part.to_numpy().astype(float) for part in parts])
    again = Findings(STRUCTURE, found).to_numpy().astype(float)
    assert np.array_equal(again, whole, equal_nan=True)


def test_a_last_block_of_any_size_is_counted_as_it_is(rng):
    blocks = [findings_of(rng, n).blocks[0] for n in (64, 70)]
    assert list(aligned(blocks, STRUCTURE)) == blocks
    after = [*blocks, findings_of(rng, 64).blocks[0]]
    assert [each.n_records for each in aligned(after, STRUCTURE)] == [64, 134]


@pytest.mark.parametrize("n_records", [3, 300, 9000])
def test_planes_of_groups_grow_with_their_records(rng, n_records):
    findings = findings_of(rng, n_records)
    whole = sum(count_moments(findings, PLAN, n_groups=7).present[1].astype(int))
    assert whole.tolist() == count_moments(findings, PLAN, n_groups=1).present[1][0].tolist()
