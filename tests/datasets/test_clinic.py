"""The clinic."""

from conftest import learnable_rounds
from noisyor import datasets


def test_every_edge_of_the_clinic_can_be_learned():
    structure = datasets.clinic().structure
    assert (structure.n_diseases, structure.n_symptoms) == (20, 60)
    assert learnable_rounds(structure)[1] == set()


def test_the_clinic_is_what_its_text_says():
    network = datasets.clinic()
    structure = network.structure
    assert (structure.n_diseases, structure.n_symptoms, structure.n_edges) == (20, 60, 120)
    edge = structure.edge_index("influenza", "loss of appetite")
    assert network.priors[structure.disease_index("influenza")] == 0.06
    assert network.failures[edge] == 1.0 - 0.35
    assert network.leaks[structure.symptom_index("muscle pain")] == 0.03
    assert network.leaks[structure.symptom_index("loss of appetite")] == 0.005
