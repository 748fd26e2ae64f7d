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
    if repair.kind == "label":
        labelled = [name for (name,) in repair.parameters]
        known = structure.edge_names().values()
        failures = {edge: 0.3 for edge in zip(*known, strict=True) if edge[0] in labelled}
        priors = dict.fromkeys(labelled, 0.3)
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
    assert kinds >= {"know", "label", "add"}


def test_two_diseases_over_three_symptoms():
    structure = Structure.from_matrix(
        np.ones((2, 3)), diseases=["flu", "cold"], symptoms=["fever", "cough", "rash"]
    )
    result = check_identifiability(structure)
    (tradeoff,) = result.tradeoffs
    assert tradeoff.freedom == 4  # 8 unknowns, 3 pairs and a triplet
    know, label, add = result.repairs(tradeoff)
    assert label.parameters == (("flu",),)
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


def test_labels_and_beliefs_make_known_what_findings_do_not_tell():
    equal = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    assert check_identifiability(equal).swaps == [(0, 1)]
    labelled = check_identifiability(equal, labelled=["A"])
    assert labelled.swaps == []
    verdicts = labelled.verdicts()["verdict"].to_pylist()
    assert verdicts == ["labelled", "certified", *["labelled"] * 4, *["certified"] * 8]
    believed = check_identifiability(equal, fixed={"priors": {"A": (0.1, 50)}})
    assert believed.swaps == []
    assert believed.verdicts()["verdict"].to_pylist()[0] == "believed"
    doubtful = check_identifiability(equal, fixed={"priors": {"A": (0.1, 1)}})
    assert doubtful.swaps == [(0, 1)]  # one case is no knowledge


def test_labels_are_among_the_repairs_and_do():
    small = Structure.from_matrix(np.ones((2, 3)), diseases=["A", "B"])
    result = check_identifiability(small)
    (tradeoff,) = result.tradeoffs
    repair = next(each for each in result.repairs(tradeoff) if each.kind == "label")
    assert str(repair) == "see in some records whether they have 'A' (labels)"
    assert check_identifiability(small, labelled=["A"]).is_identifiable
    assert not result.is_identifiable
