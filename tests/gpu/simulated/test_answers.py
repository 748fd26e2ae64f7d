"""Posteriors that the card finds are exact: those of the processor, and of the obvious way."""

import warnings

import numpy as np
import pytest

import naive
from conftest import as_lists, with_unknown
from noisyor import Findings, NoisyOrNetwork, Structure, posteriors
from noisyor.errors import NoisyOrWarning
from noisyor.gpu import is_simulated
from noisyor.inference import answers_on_card
from noisyor.inference.answers import answer_all, make_request
from noisyor.inference.answers_on_card import CardSolver
from noisyor.inference.flat import block_records, list_records
from noisyor.inference.posterior import iter_posteriors


@pytest.fixture(autouse=True)
def few_blocks(monkeypatch):
    """Let few threads work on small records: each of them is one of Python's."""
    monkeypatch.setattr(answers_on_card, "GROUPS_OF_MULTIPROCESSOR", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def random_network(rng, n_diseases=5, n_symptoms=6):
    matrix = rng.random((n_diseases, n_symptoms)) < 0.6
    matrix[:, 0] = True
    structure = Structure.from_matrix(matrix)
    return NoisyOrNetwork(
        structure,
        rng.uniform(0.01, 0.4, n_diseases),
        rng.uniform(0.05, 1.0, structure.n_edges),
        rng.uniform(0.0, 0.2, n_symptoms),
    )


def assert_same(here, there):
    np.testing.assert_allclose(there.probabilities, here.probabilities, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(there.log_evidences, here.log_evidences, rtol=1e-9)
    assert here.method_names == there.method_names
    assert (there.errors < 1e-9).all()


@pytest.mark.parametrize("seed", range(4))
def test_posteriors_are_those_of_the_processor(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    findings = network.sample(6, rng=rng)
    if seed % 2:
        findings = with_unknown(findings, rng, 0.3)
    here, there = (posteriors(network, findings, device=device) for device in ("cpu", "gpu"))
    assert_same(here, there)


@pytest.mark.parametrize("together", [2, 3, 100])
def test_records_in_several_batches_of_several_blocks_keep_their_order(monkeypatch, together):
    """While some are taken others are solved, and those with many findings are left out."""
    monkeypatch.setattr(answers_on_card, "RECORDS_TOGETHER", together)
    monkeypatch.setattr(answers_on_card, "MOST_PRESENT", 3)
    rng = np.random.default_rng(11)
    network = random_network(rng)
    sizes, rows = [5, 1, 7, 4], np.tril(np.ones((6, 6)))[rng.integers(0, 6, 17)]
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    blocks = [Findings.from_numpy(part, network.structure).blocks[0] for part in parts]
    request = make_request("exact", 1.0, 0)
    there = list(iter_posteriors(network, blocks, request._replace(card=CardSolver(network))))
    assert [len(each) for each in there] == sizes
    for here, found in zip(iter_posteriors(network, blocks, request), there, strict=True):
        assert_same(here, found)
    findings = Findings(network.structure, blocks)
    assert_same(posteriors(network, findings), posteriors(network, findings, device="gpu"))


def test_what_fails_while_answers_are_taken_is_not_lost(monkeypatch):
    def fail(*_):
        raise RuntimeError("no answers")

    network = random_network(np.random.default_rng(12))
    monkeypatch.setattr(answers_on_card.Solving, "take", fail)
    with pytest.raises(RuntimeError, match="no answers"):
        posteriors(network, network.sample(3, rng=0), device="gpu")


def test_posteriors_are_those_of_the_obvious_way():
    rng = np.random.default_rng(9)
    network = random_network(rng, 4, 5)
    records = [([0, 1, 3], [2]), ([], [0, 4]), ([2], []), ([0, 1, 2, 3, 4], [])]
    answers = answer_all(
        network, list_records([tuple(np.array(part, int) for part in each) for each in records]),
        make_request("exact", 1.0, 0)._replace(card=CardSolver(network)), with_bounds=True,
    )  # fmt: skip
    for row, (present, absent) in enumerate(records):
        states = [1 if j in present else 0 if j in absent else None for j in range(5)]
        total, expected, _, _ = naive.expectations(*as_lists(network), states)
        np.testing.assert_allclose(answers.probabilities[row], expected, rtol=1e-10)
        np.testing.assert_allclose(np.exp(answers.log_evidences[row]), total, rtol=1e-10)
        assert (answers.lower[row] <= answers.probabilities[row]).all()
        assert (answers.upper[row] >= answers.probabilities[row]).all()


class Counted(CardSolver):
    """Counts what the card has answered."""

    n_done = 0

    def begin(self, *arguments):
        solving = super().begin(*arguments)
        finish = solving.finish

        def finish_and_count():
            is_done = finish()
            self.n_done += int(is_done.sum())
            return is_done

        solving.finish = finish_and_count
        return solving


def both_ways(network, findings, card, budget=0.1):
    request, records = make_request("auto", budget, 0), block_records(findings.blocks[0])
    return [answer_all(network, records, request._replace(card=each)) for each in (None, card)]


def test_what_is_too_much_for_the_card_is_for_the_processor(monkeypatch):
    rng = np.random.default_rng(2)
    network = random_network(rng, 3, 4)
    rows = np.zeros((4, 4))
    rows[1:, 1], rows[2:, 2:4] = 1, 1
    findings = Findings.from_numpy(rows, network.structure)
    for name, value, expected in [("MOST_PRESENT", 2, 2), ("MOST_CELLS", 4, 2)]:
        with monkeypatch.context() as patch:
            patch.setattr(answers_on_card, name, value)
            card = Counted(network)
            here, there = both_ways(network, findings, card)
        assert card.n_done == expected
        np.testing.assert_allclose(there.probabilities, here.probabilities, rtol=1e-9)
        assert (here.methods == there.methods).all()
    card = Counted(network)
    both_ways(network, findings, card, budget=1e-7)  # less than the processor may take
    assert card.n_done == 0


def test_impossible_records_are_found_by_the_processor():
    structure = Structure.from_matrix([[1, 1, 0]])
    network = NoisyOrNetwork(structure, [0.1], [0.2, 0.3], [0.0, 0.1, 0.0])
    findings = Findings.from_numpy([[0, 0, 1], [1, 1, 0]], structure)
    found = posteriors(network, findings, device="gpu")
    assert found.method_names == ["impossible", "exact"]


def test_networks_in_which_something_is_certain_are_for_the_processor():
    structure = Structure.from_matrix([[1, 1]])
    network = NoisyOrNetwork(structure, [0.1], [0.0, 0.3], [0.1, 0.1])
    findings = Findings.from_numpy([[1, 0]], structure)
    with pytest.warns(NoisyOrWarning, match="nothing is certain"):
        found = posteriors(network, findings, device="gpu")
    assert_same(posteriors(network, findings), found)


@pytest.mark.skipif(not is_simulated(), reason="a real card is not full")
def test_a_card_without_room_leaves_it_to_the_processor_and_says_so(monkeypatch):
    def refuse(*_):
        raise MemoryError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    network = random_network(np.random.default_rng(3))
    findings = network.sample(3, rng=0)
    monkeypatch.setattr(answers_on_card, "zeros_on_card", refuse)
    with pytest.warns(NoisyOrWarning, match="does not suffice.*on the processor"):
        found = posteriors(network, findings, device="gpu")
    assert_same(posteriors(network, findings), found)
