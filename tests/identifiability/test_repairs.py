"""Repairs of what cannot be known: each is applied and checked again here."""

import numpy as np
import pytest

from noisyor import Fixed, Structure, check_identifiability


def apply(repair, structure):
    """Return the structure and the fixed values after a repair."""
    if repair.kind == "know":
        priors = {name[0]: 0.3 for name in repair.parameters if len(name) == 1}
        failures = {name: 0.3 for name in repair.parameters if len(name) == 2}
        return [(structure, Fixed(structure, priors=priors, failures=failures))]
    if repair.kind == "add":
        symptoms, edges = list(structure.symptoms), structure.edges.tolist()
        for (name,) in repair.parameters:
            for number in range(repair.n_needed):
                edges.append([structure.disease_index(name), len(symptoms)])
                symptoms.append(f"new {name} {number}")
        return [(Structure(structure.diseases, symptoms, edges), None)]
    return [
        (
            Structure(
                structure.diseases, structure.symptoms,
                np.delete(structure.edges, structure.edge_index(*name), axis=0),
            ),
            None,
        )
        for name in repair.parameters
    ]  # fmt: skip


def test_repairs_of_random_structures_work(rng):
    kinds = set()
    for _ in range(30):
        matrix = rng.random((2, 4)) < 0.8
        structure = Structure.from_matrix(matrix[matrix.any(axis=1)])
        result = check_identifiability(structure)
        for tradeoff in result.tradeoffs:
            repairs = result.repairs(tradeoff)
            assert repairs[0].kind == "know"
            for repair in repairs:
                kinds.add(repair.kind)
                for after, fixed in apply(repair, structure):
                    found = check_identifiability(after, fixed=fixed).orders
                    names = [structure.diseases[i] for i in tradeoff.priors]
                    assert all(found.priors[after.disease_index(name)] >= 0 for name in names)
    assert kinds >= {"know", "add"}


def test_two_diseases_over_three_symptoms():
    structure = Structure.from_matrix(
        np.ones((2, 3)), diseases=["flu", "cold"], symptoms=["fever", "cough", "rash"]
    )
    result = check_identifiability(structure)
    (tradeoff,) = result.tradeoffs
    assert tradeoff.freedom == 4  # 8 unknowns, 3 pairs and a triplet
    know, add = result.repairs(tradeoff)
    assert know.n_needed == 4
    assert str(know).startswith("know the prior of 'flu'")
    assert str(add) == "add a symptom of its own to 'flu'"


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ([("flu", "fever"), ("flu", "cough")], "add a symptom of its own to 'flu'"),
        ([("flu", "fever")], "add 2 symptoms of its own to 'flu'"),
    ],
)
def test_too_few_symptoms(edges, says):
    result = check_identifiability(Structure.from_edges(edges))
    assert says in [str(repair) for repair in result.repairs(result.tradeoffs[0])]
