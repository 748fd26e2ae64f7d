import numpy as np
import pytest

import naive
from noisyor import datasets
from noisyor.datasets.qmr import FREQUENCY_CLASSES


def rounds(structure, pairs=True):
    return naive.learnable_rounds([tuple(edge) for edge in structure.edges.tolist()], pairs)


def edge_names(network):
    return {"".join(pair) for pair in zip(*network.structure.edge_names().values(), strict=True)}


def test_figures_have_the_papers_edges_and_ranges():
    assert edge_names(datasets.figure1(0)) == {"Aa", "Ab", "Ac", "Bb", "Bc", "Bd", "Be"}
    assert edge_names(datasets.figure2(0)) == edge_names(datasets.figure1(0)) | {"Ad"}
    values = []
    for seed in range(200):
        network = datasets.figure1(seed)
        assert (network.leaks == 0.01).all()
        values += [*network.priors, *network.failures]
    assert 0.2 <= min(values) < 0.21
    assert 0.79 < max(values) <= 0.8
    assert np.mean(values) == pytest.approx(0.5, abs=0.03)


def test_figure_1_is_learned_in_two_rounds_and_figure_2_not_at_all():
    assert rounds(datasets.figure1(0).structure) == ([4, 3], set())
    learned, left = rounds(datasets.figure2(0).structure)
    assert learned == []
    assert len(left) == 8


@pytest.mark.parametrize("seed", [0])
def test_qmr_shaped_has_the_size_and_troubles_of_qmr(seed):
    network = datasets.qmr_shaped(seed)
    structure = network.structure
    assert (structure.n_diseases, structure.n_symptoms, structure.n_edges) == (570, 4075, 45470)
    assert np.diff(structure.parent_offsets).max() == 570
    assert np.diff(structure.parent_offsets).min() == 1
    assert set(np.round(1 - network.failures, 6)) == set(FREQUENCY_CLASSES)
    assert network.priors.sum() == pytest.approx(3.6, abs=0.1)
    assert network.marginals().sum() == pytest.approx(96, abs=5)

    with_pairs, left = rounds(structure)
    assert len(with_pairs) == 4, "depth up to 3"
    assert with_pairs[0] > 0.85 * structure.n_edges, "most at depth 0"
    pair = {disease for disease, _ in left}
    first, second = (set(structure.children(disease).tolist()) for disease in pair)
    assert len(first) == len(second) == 61
    assert len(first & second) == 60
    assert len(left) == 122, "every edge but those of the pair is learned"

    without, left_without = rounds(structure, pairs=False)
    assert left_without == left
    assert len(without) > len(with_pairs)


def test_datasets_depend_on_the_seed_and_on_nothing_else():
    assert datasets.qmr_shaped(1) == datasets.qmr_shaped(1)
    assert datasets.qmr_shaped(1).structure != datasets.qmr_shaped(2).structure
    assert datasets.figure2(3) == datasets.figure2(3)
    assert datasets.figure2(3) != datasets.figure2(4)


def test_every_edge_of_the_clinic_can_be_learned():
    structure = datasets.clinic().structure
    assert (structure.n_diseases, structure.n_symptoms) == (20, 60)
    assert rounds(structure)[1] == set()


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
    network = datasets.from_folder(real_structures / name, seed=1)
    structure = network.structure
    assert (structure.n_diseases, structure.n_symptoms, structure.n_edges) == sizes
    assert rounds(structure)[0] == learned
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
