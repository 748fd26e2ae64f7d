"""Formats: what is written and read again is the same, to the last digits that they can hold."""

import string
import warnings

import numpy as np
import pytest

from conftest import random_network
from exchange.models import assert_close, told_by_tables, written
from noisyor import NoisyOrNetwork, Structure, datasets, read_model, write_model
from noisyor.errors import NoisyOrError, NoisyOrWarning

ODD = [
    "runny nose", 'a "quoted" word', "<b> & 'c'", "naïve; größer", "日本", "x,y", "a\nb", "1st",
    "\t", "semi;colon", "back\\slash", "{}()|[]", "//no comment", "/* nor */", "  spaces  ", "]]>",
    "\r",
]  # fmt: skip


def odd_name(rng, number):
    letters = "".join(rng.choice(list(string.ascii_letters + "  _-"), 4))
    return f"{ODD[rng.integers(len(ODD))]}{letters}{number}"


def odd_network(rng):
    network = random_network(rng, extremes=True)
    structure = network.structure
    renamed = Structure(
        [odd_name(rng, number) for number in range(structure.n_diseases)],
        [odd_name(rng, number) for number in range(structure.n_symptoms)],
        structure.edges,
    )
    return NoisyOrNetwork(renamed, network.priors, network.failures, network.leaks)


def passed_through(network, path, file_format=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        write_model(network, path, file_format)
    return read_model(path, file_format)


@pytest.mark.parametrize("name", ["network.xdsl", "network.json"])
def test_formats_that_know_noisy_or_lose_nothing(rng, tmp_path, name):
    for _ in range(100):
        network = odd_network(rng)
        assert passed_through(network, tmp_path / name) == network


def test_bif_keeps_what_tables_tell(rng, tmp_path):
    for _ in range(100):
        network = odd_network(rng)
        read = passed_through(network, tmp_path / "network.bif")
        assert_close(read, told_by_tables(network))
        assert np.array_equal(read.priors, network.priors)
        assert np.array_equal(read.leaks, network.leaks)


def test_uai_keeps_the_numbers_of_nodes_with_edges(rng, tmp_path):
    for _ in range(100):
        network = told_by_tables(random_network(rng, extremes=True))
        structure = network.structure
        read = passed_through(network, tmp_path / "network.uai")
        kept = np.unique(structure.edges[:, 0])
        lone = sorted(set(range(structure.n_diseases)) - set(kept.tolist()))
        # Diseases without children come first, and become symptoms.
        assert np.array_equal(read.leaks, [*network.priors[lone], *network.leaks])
        assert np.array_equal(read.priors, network.priors[kept])
        np.testing.assert_allclose(read.failures, network.failures, rtol=0, atol=1e-12)
        assert read.structure.diseases == tuple(f"disease_{i}" for i in range(len(kept)))
        expected = structure.edges - [0, -len(lone)]
        expected[:, 0] = np.searchsorted(kept, structure.edges[:, 0])
        assert np.array_equal(read.structure.edges, expected)


def test_folders_keep_all_but_a_last_digit(rng, tmp_path):
    for number in range(20):
        network = random_network(rng, extremes=True)
        assert_close(passed_through(network, tmp_path / str(number)), network)


def test_q_matrices_keep_the_structure(rng, tmp_path):
    for _ in range(50):
        structure = odd_network(rng).structure
        write_model(structure, tmp_path / "q.csv", "q-matrix")
        assert read_model(tmp_path / "q.csv", "q-matrix") == structure


@pytest.mark.parametrize("name", ["edges.csv", "edges.parquet", "structure.json"])
def test_structures(tmp_path, flu, name):
    write_model(flu, tmp_path / name)
    assert read_model(tmp_path / name) == flu


@pytest.mark.parametrize("name", ["none.xdsl", "none.bif", "none.uai", "none.json"])
def test_a_symptom_alone_and_a_disease_and_a_symptom_of_one_name(tmp_path, name):
    alone = NoisyOrNetwork(Structure([], ["symptom_0"], []), [], [], [0.25])
    assert passed_through(alone, tmp_path / name) == alone
    if not name.endswith(".uai"):
        same = NoisyOrNetwork(Structure(["fever"], ["fever"], [[0, 0]]), [0.25], [0.5], [0.125])
        assert passed_through(same, tmp_path / name) == same


def test_words_of_the_grammar_are_names_too(tmp_path):
    words = ["property", "variable", "Table", "default", "probability", "network", "type"]
    network = NoisyOrNetwork(
        Structure(words, ["discrete"], [[i, 0] for i in range(7)]), [0.1] * 7, [0.5] * 7, [0.25]
    )
    assert_close(passed_through(network, tmp_path / "words.bif"), network)


def test_a_large_network_passes_through_xdsl(tmp_path):
    network = datasets.qmr_shaped(rng=0)
    assert passed_through(network, tmp_path / "qmr.xdsl") == network


def test_what_is_lost_is_told(tmp_path):
    network = datasets.figure1(rng=0)
    with pytest.warns(NoisyOrWarning, match="q-matrix.* priors, failures and leaks: they are lost"):
        write_model(network, tmp_path / "q.csv", "q-matrix")
    with pytest.warns(NoisyOrWarning, match="does not hold names"):
        write_model(network, tmp_path / "n.uai")
    lone = Structure(["a", "b"], ["x"], [[0, 0]])
    with pytest.warns(NoisyOrWarning, match="the names without edges .'b'.: they are lost"):
        write_model(lone, tmp_path / "edges.csv")
    write_model(network, tmp_path / "folder")
    with pytest.warns(NoisyOrWarning, match="'failure' is not read"):
        assert read_model(tmp_path / "folder" / "edges.csv") == network.structure


def test_formats_that_cannot_be(tmp_path, flu):
    for name in ("a.xdsl", "a.bif", "a.uai", "folder"):
        with pytest.raises(NoisyOrError, match="a structure has no priors, failures and leaks"):
            write_model(flu, tmp_path / name)
    for call in (read_model, lambda path: write_model(flu, path)):
        with pytest.raises(NoisyOrError, match="the ending '.docx' is unknown; use .json"):
            call(written(tmp_path, "x", "a.docx"))
    with pytest.raises(NoisyOrError, match="no format 'hugin'; formats are json, edges"):
        write_model(flu, tmp_path / "a", "hugin")
    with pytest.raises(NoisyOrError, match="nothing.xdsl does not exist"):
        read_model(tmp_path / "nothing.xdsl")
    (tmp_path / "part").mkdir()
    with pytest.raises(NoisyOrError, match="has no edges.csv; a network needs"):
        read_model(tmp_path / "part")
    with pytest.raises(NoisyOrError, match="a.docx is not a directory"):
        read_model(tmp_path / "a.docx", "folder")
    network = NoisyOrNetwork(flu, [0.1] * 2, [0.1] * 4, [0.1] * 3)
    with pytest.raises(NoisyOrError, match="cannot be made"):
        write_model(network, tmp_path / "a.docx" / "b")


def test_a_symptom_with_too_many_parents_for_a_table_is_named(tmp_path):
    structure = Structure.from_matrix(np.ones((13, 1)), symptoms=["fatigue"])
    network = NoisyOrNetwork(structure, [0.1] * 13, [0.5] * 13, [0.01])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)
        for name in ("a.bif", "a.uai"):
            with pytest.raises(
                NoisyOrError, match="symptom 'fatigue' has 13 parents: .* 2.13 rows"
            ):
                write_model(network, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
