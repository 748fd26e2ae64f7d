"""Structures in which two diseases are given as one, or one as two; what `suggest` says of them."""

import numpy as np

from noisyor.discovery import Suggestion, Suggestions, suggest
from noisyor.discovery.changes import ADD_DISEASE, MERGE, SPLIT, changed
from noisyor.experiments.measures import timed
from noisyor.experiments.results import Quantities
from noisyor.findings import Findings
from noisyor.learner import NoisyOrLearner
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

JOINED, HALVED, DOUBLED = "two given as one", "halves of one", "one given twice"
AS_IT_IS = "given as it is"
MISGIVEN = JOINED, HALVED, DOUBLED, AS_IT_IS
FEWEST_OF_TWO, FREQUENT = 6, 0.005
"""Symptoms and prior of the diseases that are given wrongly."""


def misgiven(
    network: NoisyOrNetwork, method: str, rng: np.random.Generator
) -> tuple[Structure, set[str]]:
    """Return a structure with a disease or two given wrongly, and which these are."""
    structure = network.structure
    is_large = np.diff(structure.child_offsets) >= FEWEST_OF_TWO
    chosen = rng.permutation(np.flatnonzero(is_large & (network.priors >= FREQUENT)))[:2]
    names = [structure.diseases[i] for i in chosen]
    own = {
        name: structure.children(i).tolist()
        for i, name in enumerate(structure.diseases)
    }  # fmt: skip
    wrong = {names[0]}
    if method == JOINED:
        own[names[0]] = sorted({*own[names[0]], *own.pop(names[1])})
    elif method == HALVED:
        symptoms = rng.permutation(own[names[0]]).tolist()
        half = len(symptoms) // 2
        own[names[0]], own[f"{names[0]}, again"] = symptoms[:half], symptoms[half:]
    elif method == DOUBLED:
        own[f"{names[0]}, again"] = own[names[0]]
    if method in (HALVED, DOUBLED):
        wrong.add(f"{names[0]}, again")
    edges = [[i, j] for i, symptoms in enumerate(own.values()) for j in symptoms]
    return Structure(list(own), structure.symptoms, edges), wrong


def named(
    network: NoisyOrNetwork, records: Findings, method: str, rng: np.random.Generator
) -> Quantities:
    """Learn with what was given, and see whether what is wrong is named, and what else is."""
    given, wrong = misgiven(network, method, rng)
    estimate = NoisyOrLearner(given, random_state=0).fit(records).estimate_
    found, quantities = timed(suggest, estimate, records)
    right = _of_diseases(found, SPLIT if method == JOINED else MERGE, wrong)
    others = found.of(ADD_DISEASE) + found.of(SPLIT) + found.of(MERGE)
    mended = changed(given, right[:1])
    return quantities | {
        "named": float("nan") if method == AS_IT_IS else float(bool(right)),
        "edges right": agreement(network.structure, mended),
        "other diseases": float(len(others) - len(right[:1])),
        "edges suggested": float(len(found) - len(others)),
    }


def _of_diseases(found: Suggestions, kind: str, names: set[str]) -> list[Suggestion]:
    return [row for row in found.of(kind) if {row.disease, row.other} - {""} == names]


def agreement(truth: Structure, found: Structure) -> float:
    """Return the share of the edges of both that both have, diseases matched as they agree best."""
    from scipy.optimize import linear_sum_assignment

    one, two = (each.sparse_matrix().toarray().T != 0 for each in (truth, found))
    both = one.astype(float) @ two.T.astype(float)
    n_shared = both[linear_sum_assignment(-both)].sum()
    return float(n_shared / (one.sum() + two.sum() - n_shared))
