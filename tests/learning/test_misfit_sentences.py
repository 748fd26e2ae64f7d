"""Misfits in words."""

import numpy as np

from noisyor import MomentPlan, NoisyOrNetwork, Structure, count_moments, datasets
from noisyor.learning.misfit_causes import DEPENDENCE, EDGE, HIDDEN, Cause
from noisyor.learning.misfit_sentences import names_of, sentence_of, sentences
from noisyor.learning.misfits import Misfits
from noisyor.network import Joint, Trait
from noisyor.parameters import Parameters

CLINIC = datasets.clinic()


def test_each_kind_of_cause_is_told_by_its_names():
    diseases, symptoms = CLINIC.structure.diseases, CLINIC.structure.symptoms
    edge, both, hidden = (
        Cause(EDGE, (1, 2), 5.0, 0.5),
        Cause(DEPENDENCE, (0, 3), -4.0, 0.25),
        Cause(HIDDEN, (0, 1, 4), 6.0, 1.0),
    )
    assert names_of(edge, CLINIC) == ([diseases[1]], [symptoms[2]])
    assert sentence_of(edge, CLINIC) == (
        f"An edge from {diseases[1]} to {symptoms[2]} may be missing: that would explain 50% of "
        "what is in excess."
    )
    assert f"{diseases[0]} and {diseases[3]} may occur together less often" in sentence_of(
        both, CLINIC
    )
    assert ", ".join(symptoms[j] for j in (0, 1, 4)) in sentence_of(hidden, CLINIC)


def test_edges_that_a_known_disease_may_lack_are_named_beside_a_missing_one():
    structure = Structure.from_matrix([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    network = NoisyOrNetwork(structure, [0.2, 0.2], [0.4] * 6, [0.02] * 6)
    said = sentence_of(Cause(HIDDEN, (0, 1, 2, 3), 5.0, 1.0), network)
    assert "symptoms S0, S1, S2, S3, or edges from D0 to S3, may be missing" in said
    known = sentence_of(Cause(HIDDEN, (0, 1, 2), 5.0, 1.0), network)
    assert " or edges" not in known


def test_of_many_dependent_diseases_eight_are_named():
    many = Cause(DEPENDENCE, tuple(range(11)), 5.0, 0.5)
    assert "and 3 others may occur together more often" in sentence_of(many, CLINIC)


def test_where_no_pair_is_tested_it_is_said():
    structure = Structure.from_edges([("d", "s")])
    network = NoisyOrNetwork(structure, [0.3], [0.3], [0.02])
    moments = count_moments(network.sample(100, rng=0), MomentPlan.all_pairs(structure))
    learned = Parameters.full(structure, 0, np.uint16)
    (said,) = sentences(Misfits(network, moments, flags=learned))
    assert said.startswith("No pair of symptoms could be tested")
    (said,) = sentences(Misfits(network, moments))  # all is fixed: single symptoms can be wrong
    assert said == "The network fits (p = 0.3): single symptoms, but no pairs, were tested."
    wrong = NoisyOrNetwork(structure, [0.9], [0.1], [0.02])
    said = next(sentences(Misfits(wrong, moments)))
    assert said.endswith("(p < 1e-10): single symptoms, but no pairs, were tested.")


def test_the_remedy_is_what_can_be_learned():
    def remedy(network):
        plan = MomentPlan.all_pairs(network.structure)
        moments = count_moments(network.sample(3000, rng=1), plan)
        fitted = Parameters.full(network.structure, 0, np.uint16)
        return Misfits(network.as_independent(), moments, flags=fitted).remedy

    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(2) for x in range(4)])
    two = NoisyOrNetwork(
        structure, None, [0.3] * 8, [0.02] * 8, causes=Joint([[0.6, 0.1], [0.1, 0.2]])
    )
    assert "causes='joint' (--causes)" in remedy(two)  # a trait needs three diseases
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(14) for x in range(3)])
    trait = Trait(np.full(14, -2.0), np.full((14, 1), 2.0))
    many = NoisyOrNetwork(structure, None, [0.3] * 42, [0.02] * 42, causes=trait)
    assert "causes='trait' (--causes)" in remedy(many)  # a joint distribution is of up to twelve
    assert remedy(many.as_independent()) == ""
