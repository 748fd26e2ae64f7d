"""What the card samples of records is what the processor samples: the same random numbers."""

import warnings

import numpy as np
import pytest
from numba import cuda

from conftest import with_unknown
from noisyor import Findings, NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.em import (
    card_kernels,
    card_screening_kernels,
    card_state_kernels,
    sampled_on_card,
    stochastic,
)
from noisyor.em.sampled import RecordSampler
from noisyor.em.sampled_on_card import CardSampler
from noisyor.errors import NoisyOrWarning
from noisyor.gpu import is_simulated, lane_kernels
from noisyor.learning import refined


@pytest.fixture(autouse=True)
def as_compiled():
    """Compiled code says nothing where numbers overflow, or are divided by 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def random_network(rng, n_diseases=5, n_symptoms=8):
    matrix = rng.random((n_diseases, n_symptoms)) < 0.5
    matrix[np.arange(n_diseases), np.arange(n_diseases) % n_symptoms] = True
    structure = Structure.from_matrix(matrix)
    return NoisyOrNetwork(
        structure,
        rng.uniform(0.05, 0.4, n_diseases),
        rng.uniform(0.1, 0.9, structure.n_edges),
        rng.uniform(0.01, 0.2, n_symptoms),
    )


def random_findings(network, rng, n_records=40, unknown=0.0):
    findings = network.sample(n_records, rng=rng)
    return with_unknown(findings, rng, unknown) if unknown else findings


def in_blocks(findings, size):
    """The same records in several blocks."""
    rows = findings.to_numpy()
    parts = [rows[first : first + size] for first in range(0, len(rows), size)]
    return [Findings.from_numpy(part, findings.structure).blocks[0] for part in parts]


def samplers(structure, blocks, least_odds, **options):
    return [
        kind(structure, blocks, least_odds, n_jobs=1, **options)
        for kind in (RecordSampler, CardSampler)
    ]


def assert_same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def assert_same_states(ours, theirs):
    theirs.bring_here()
    assert (ours.states == theirs.states).all()
    assert (ours.candidates == theirs.candidates).all()


@pytest.mark.parametrize("seed", range(6))
def test_records_with_few_candidates_are_summed_up(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    findings = random_findings(network, rng, unknown=0.2 * (seed % 2))
    here, there = samplers(network.structure, findings.blocks, 10.0 ** -(1 + seed % 3))
    for number in range(3):
        round_ = {"must_screen": number != 1, "n_sweeps": 2, "seed": number}
        assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))
    assert_same_states(here, there)
    assert there.share_enumerated() == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_records_with_many_candidates_are_sampled(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 15, 12)
    findings = random_findings(network, rng, 20, 0.1 * seed)
    here, there = samplers(network.structure, findings.blocks, 1e-12, first_record=7)
    for number in range(3):
        round_ = {"must_screen": number != 1, "n_sweeps": 2, "seed": seed + number}
        assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))
    assert_same_states(here, there)
    assert there.share_enumerated() == 0.0


def test_blocks_that_join_later_and_labels():
    rng = np.random.default_rng(0)
    network = random_network(rng)
    findings, seen = network.sample(48, rng=1), np.full((48, 5), np.nan)
    chosen = rng.random(seen.shape) < 0.3
    seen[chosen] = rng.integers(0, 2, chosen.sum())
    labels = findings.with_labels(seen).labels
    here, there = samplers(
        network.structure, in_blocks(findings, 16), 1e-2, labels=labels, first_record=3
    )
    rounds = [(1, True), (1, False), (3, False), (2, False), (3, True), (1, False)]
    for number, (n_blocks, must_screen) in enumerate(rounds):
        round_ = {"must_screen": must_screen, "n_sweeps": 1, "seed": number}
        assert_same(
            here.expect(network, n_blocks, **round_), there.expect(network, n_blocks, **round_)
        )
    assert_same_states(here, there)


def test_what_is_gathered_here_goes_on_from_there_and_back():
    rng = np.random.default_rng(3)
    network = random_network(rng, 14, 9)
    findings = random_findings(network, rng, 16)
    here, there = samplers(network.structure, findings.blocks, 1e-12)
    for number in range(2):
        round_ = {"must_screen": number == 0, "n_sweeps": 1, "seed": number}
        assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))
        assert_same(here.inform(network, 2, number), there.inform(network, 2, number))
    copies = here.copied(), there.copied()
    round_ = {"must_screen": False, "n_sweeps": 1, "seed": 9}
    assert_same(*(each.expect(network, 1, **round_) for each in copies))
    assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))


@pytest.mark.parametrize("is_large", [False, True])
def test_a_fit_does_not_depend_on_the_device(monkeypatch, is_large):
    monkeypatch.setattr(refined, "MOST_TOGETHER", 0)  # as if records could not be summed up
    if is_large:
        monkeypatch.setattr(stochastic, "MOST_TOGETHER", 0)
    monkeypatch.setattr(stochastic.ScoringSettings, "steps", 3)
    rng = np.random.default_rng(1)
    network = random_network(rng, 3, 6)
    findings = network.sample(60, rng=2)
    made = []
    monkeypatch.setattr(
        CardSampler, "_sent", lambda self, real=CardSampler._sent: made.append(1) or real(self)
    )
    here, there = (
        NoisyOrLearner(network.structure, max_iter=2, device=device, n_jobs=1).fit(findings)
        for device in ("cpu", "gpu")
    )
    assert made
    assert here.moments_ == there.moments_
    values = [each.network_.parameters.vector for each in (here, there)]
    np.testing.assert_allclose(*values, rtol=1e-9)
    errors = [each.estimate_.priors.standard_errors for each in (here, there)]
    np.testing.assert_allclose(*errors, rtol=1e-8)


@pytest.mark.skipif(not is_simulated(), reason="a real card is not full")
def test_a_card_without_room_has_fewer_threads_or_leaves_it_to_the_processor(monkeypatch):
    rng = np.random.default_rng(4)
    network = random_network(rng)
    findings = random_findings(network, rng)
    round_ = {"must_screen": True, "n_sweeps": 1, "seed": 0}
    real, asked = sampled_on_card.zeros_on_card, []

    def zeros(shape, dtype):
        if dtype is np.float64:  # workspaces
            asked.append(shape[0])
            if shape[0] > most:
                raise MemoryError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        return real(shape, dtype)

    monkeypatch.setattr(sampled_on_card, "zeros_on_card", zeros)
    here, there = samplers(network.structure, findings.blocks, 1e-2)
    most = 1
    assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))
    assert {4, 2, 1} == set(asked)
    most = 0
    here, there = samplers(network.structure, findings.blocks, 1e-2)
    with pytest.warns(NoisyOrWarning, match="memory does not suffice.*on the processor"):
        found = there.expect(network, 1, **round_)
    assert_same(here.expect(network, 1, **round_), found)
    assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))


def test_errors_of_the_card_are_not_taken_for_a_lack_of_memory(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("unspecified launch failure")

    monkeypatch.setattr(cuda, "to_device", fail)
    network = random_network(np.random.default_rng(5))
    there = CardSampler(network.structure, network.sample(5, rng=0).blocks)
    with pytest.raises(RuntimeError, match="launch failure"):
        there.expect(network, 1, must_screen=True, n_sweeps=1, seed=0)


@pytest.mark.parametrize("room", ["near", "far", "some far"])
def test_records_that_do_not_fit_near_are_sampled_far(monkeypatch, room):
    sizes = {"near": 16_000, "far": 0, "some far": 900}
    monkeypatch.setattr(sampled_on_card, "NEAR_BYTES", sizes[room])
    monkeypatch.setattr(sampled_on_card, "MOST_BYTES", sizes[room])
    rng = np.random.default_rng(6)
    network = random_network(rng, 14, 20)
    findings = random_findings(network, rng, 12)
    for least_odds in (1e-2, 1e-12):
        here, there = samplers(network.structure, findings.blocks, least_odds)
        for number in range(2):
            round_ = {"must_screen": number == 0, "n_sweeps": 1, "seed": number}
            assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))
        assert_same_states(here, there)


@pytest.mark.skipif(not is_simulated(), reason="a real card has its own number of lanes")
def test_several_lanes_find_what_one_finds(monkeypatch):
    for module in (card_kernels, card_screening_kernels, card_state_kernels, lane_kernels):
        monkeypatch.setattr(module, "LANES", 3)
    rng = np.random.default_rng(7)
    network = random_network(rng, 14, 9)
    findings = random_findings(network, rng, 2, 0.1)
    for least_odds in (1e-2, 1e-12):
        here, there = samplers(network.structure, findings.blocks, least_odds)
        round_ = {"must_screen": True, "n_sweeps": 1, "seed": 1}
        assert_same(here.expect(network, 1, **round_), there.expect(network, 1, **round_))
        assert_same_states(here, there)
