"""Blocks: bits packed and unpacked, and the builder that fills them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisyor import Structure
from noisyor.findings.blocks import (
    Block,
    BlockBuilder,
    ConflictError,
    Origin,
    first_bits,
    pack,
    unpack,
    words_for,
)
from noisyor.io.columns import ABSENT, PRESENT, UNKNOWN

STRUCTURE = Structure.from_edges([("A", letter) for letter in "abc"])


@given(st.integers(0, 2**32), st.integers(0, 200), st.integers(1, 5))
def test_bits_there_and_back(seed, n_records, n_symptoms):
    flags = np.random.default_rng(seed).random((n_records, n_symptoms)) < 0.5
    packed = pack(flags)
    assert packed.shape == (n_symptoms, words_for(n_records))
    assert np.array_equal(unpack(packed, n_records), flags)


@given(st.integers(0, 300), st.integers(0, 3))
def test_the_first_bits_are_set(n_records, more_words):
    words = first_bits(n_records, words_for(n_records) + more_words)
    bits = unpack(words[np.newaxis], 64 * len(words))[:, 0]
    assert bits.tolist() == [record < n_records for record in range(len(bits))]


@given(st.integers(0, 2**32), st.lists(st.integers(1, 70), max_size=8))
def test_records_are_appended_at_any_bit(seed, sizes):
    rng = np.random.default_rng(seed)
    builder = BlockBuilder(STRUCTURE, capacity=1024)
    parts = [rng.integers(0, 3, (size, 3)) for size in sizes]
    for part in parts:
        builder.append(len(part), pack(part == PRESENT), pack(part == UNKNOWN), None)
    states = np.concatenate([np.empty((0, 3), int), *parts])
    block = builder.take_block(Origin("a.csv", 128))
    assert (block.n_records, block.origin) == (len(states), ("a.csv", 128))
    present, unknown = block.unpacked()
    assert np.array_equal(present, states == PRESENT)
    assert (unknown is not None) == (states == UNKNOWN).any()
    if unknown is not None:
        assert np.array_equal(unknown, states == UNKNOWN)
    offsets, symptoms, is_unknown = block.listed()
    records = np.repeat(np.arange(len(states)), np.diff(offsets))
    assert np.array_equal(np.argwhere(states != ABSENT), np.column_stack([records, symptoms]))
    assert np.array_equal(states[records, symptoms] == UNKNOWN, is_unknown)


def test_unmentioned_findings_can_be_unknown():
    builder = BlockBuilder(STRUCTURE, unmentioned_unknown=True)
    builder.mark(PRESENT, np.array([0], np.int32), np.array([0]))
    builder.mark(ABSENT, np.array([1, 2], np.int32), np.array([0, 65]))
    builder.close_records(66, None)
    present, unknown = builder.take_block().unpacked()
    assert np.argwhere(present).tolist() == [[0, 0]]
    assert np.argwhere(~unknown).tolist() == [[0, 0], [0, 1], [65, 2]]


def test_findings_in_two_states_are_a_conflict():
    builder = BlockBuilder(STRUCTURE)
    for state in PRESENT, UNKNOWN:
        builder.mark(state, np.array([1], np.int32), np.array([70]))
    builder.close_records(71, pa.array(np.arange(100, 171)))
    with pytest.raises(ConflictError) as error:
        builder.take_block()
    assert (error.value.record, error.value.symptom) == (170, 1)
    assert error.value.states == ("present", "unknown")


def test_a_block_cannot_be_changed():
    builder = BlockBuilder(STRUCTURE)
    builder.close_records(1, None)
    block = builder.take_block()
    with pytest.raises(ValueError, match="read-only"):
        block.present[0, 0] = 1
    assert not list(builder.last_block())


@pytest.mark.parametrize("has_unknown", [False, True])
def test_a_split_block_lists_the_same_findings(rng, has_unknown):
    present, unknown = rng.random((2, 200, 3)) < 0.4
    present &= ~unknown
    whole = Block(200, pack(present), pack(unknown) if has_unknown else None)
    parts = list(whole.split(64))
    assert [part.n_records for part in parts] == [64, 64, 64, 8]
    listed = [part.listed() for part in parts]
    offsets, symptoms, is_unknown = whole.listed()
    sizes = np.concatenate([np.diff(each[0]) for each in listed])
    assert np.array_equal(sizes, np.diff(offsets))
    assert np.array_equal(np.concatenate([each[1] for each in listed]), symptoms)
    assert np.array_equal(np.concatenate([each[2] for each in listed]), is_unknown)
