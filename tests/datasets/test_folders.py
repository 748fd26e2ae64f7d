"""Networks in folders."""

import numpy as np
import pytest

from conftest import learnable_rounds
from noisyor import NoisyOrNetwork, Structure, datasets, posterior, write_model
from noisyor.datasets.folders import structure_from_folder
from noisyor.errors import FileError


@pytest.mark.parametrize(
    ("name", "sizes", "learned"),
    [
        ("orphanet570", (570, 4075, 37004), [33875, 1214, 98, 4]),
        ("health_knowledge_graph", (156, 330, 3709), [1634, 1031, 577, 276, 122, 52, 17]),
        ("ddxplus", (49, 208, 562), [466, 58, 21, 13, 4]),
        ("tcc4e", (36, 62, 186), [77, 17, 14, 5]),
        ("plants", (8, 70, 79), [75, 4]),
    ],
)
def test_real_structures_are_read_and_learned_as_known(real_structures, name, sizes, learned):
    network = datasets.from_folder(real_structures / name, rng=1)
    structure = network.structure
    assert (structure.n_diseases, structure.n_symptoms, structure.n_edges) == sizes
    assert learnable_rounds(structure)[0] == learned
    assert network.leaks.min() > 0
    assert structure_from_folder(real_structures / name) == structure


def test_numbers_of_real_structures_land_on_their_names(real_structures):
    plants = datasets.from_folder(real_structures / "plants")
    assert plants.priors[plants.structure.disease_index("h1")] == 0.154798
    assert plants.leaks[plants.structure.symptom_index("x1")] == 0.0221577
    edge = plants.structure.edge_index("h0", "x10")
    assert plants.failures[edge] == pytest.approx(1 - 0.574255, abs=1e-12)


def test_missing_priors_and_leaks_are_drawn_with_the_seed(real_structures):
    folder = real_structures / "orphanet570"
    one, same, other = (datasets.from_folder(folder, seed) for seed in (1, 1, 2))
    assert one == same
    assert not np.array_equal(one.priors, other.priors)
    assert not np.array_equal(one.leaks, other.leaks)
    assert sorted(one.priors) == sorted(other.priors)
    assert one.priors.max() == 0.12
    assert one.leaks.min() >= 0.0002
    assert one.leaks.max() <= 0.01


def test_a_folder_is_read_exactly(tmp_path):
    structure = Structure(["flu", "rare", "none"], ["a", "b", "lonely"], [[0, 1], [1, 0], [1, 1]])
    failures = [0.99999, 0.9995, 1e-30]
    network = NoisyOrNetwork(structure, [0.1, 0.1, 0.3], failures, [0.0, 0.0, 1.0])
    write_model(network, tmp_path / "folder")
    again = datasets.from_folder(tmp_path / "folder")
    assert again == network
    assert structure_from_folder(tmp_path / "folder") == structure
    for present in ["b"], ["a", "b"]:
        found, expected = (posterior(each, present).probabilities for each in (again, network))
        assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("missing", "columns"),
    [("priors", "the columns disease and prior"), ("leaks", "the columns symptom and leak")],
)
def test_what_is_missing_is_asked_for_and_drawn_only_where_rng_is_given(tmp_path, missing, columns):
    network = datasets.figure1(0)
    write_model(network, tmp_path)
    (tmp_path / f"{missing}.csv").unlink()
    with pytest.raises(FileError, match=f"has no {missing}.csv, .* it needs {columns}"):
        datasets.from_folder(tmp_path)
    drawn = datasets.from_folder(tmp_path, rng=0)
    assert drawn.structure == network.structure == structure_from_folder(tmp_path)
    same = {"priors": "leaks", "leaks": "priors"}[missing]
    assert np.array_equal(getattr(drawn, same), getattr(network, same))
    assert not np.array_equal(getattr(drawn, missing), getattr(network, missing))
