"""Networks in folders."""

import numpy as np
import pytest

from conftest import learnable_rounds
from noisyor import datasets


@pytest.mark.parametrize(
    ("name", "sizes", "learned"),
    [
        ("orphanet570", (570, 4075, 37004), [33875, 1214, 98, 4]),
        ("health_knowledge_graph", (156, 330, 3709), [1634, 1031, 577, 276, 122, 52, 17]),
        ("ddxplus", (49, 208, 562), [466, 58, 21, 13, 4]),
        ("tcc4e", (36, 62, 186), [77, 17, 14, 5]),
        ("plants", (8, 62, 79), [75, 4]),
    ],
)
def test_real_structures_are_read_and_learned_as_known(real_structures, name, sizes, learned):
    network = datasets.from_folder(real_structures / name, rng=1)
    structure = network.structure
    assert (structure.n_diseases, structure.n_symptoms, structure.n_edges) == sizes
    assert learnable_rounds(structure)[0] == learned
    assert network.failures.min() >= 0.001
    assert network.failures.max() <= 0.999
    assert network.leaks.min() > 0


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
