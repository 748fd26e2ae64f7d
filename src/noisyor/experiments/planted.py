"""Causes to be found: networks that are drawn, others' learners of hidden causes, a Q-matrix."""

import csv
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.discovery import validate_q_matrix
from noisyor.discovery.suggestions import ADD, DROP
from noisyor.experiments.results import Quantities
from noisyor.findings import Findings
from noisyor.learner import NoisyOrLearner
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans
from noisyor.structure import Structure

PLANTED = {"planted8": 64, "planted16": 128, "planted24": 200, "planted40": 400}
"""Numbers of symptoms, by the names that have the numbers of causes."""
CORRELATION = 0.3
"""Of the normal variables behind causes that occur together."""
PEERS = {"CorEx": "corextopic", "restricted Boltzmann machine": "sklearn"}
"""Others' learners of hidden binary causes, and the packages that have them."""
N_FLIPS = 3
"""Entries of a Q-matrix that are flipped."""


def planted(name: str, seed: int) -> NoisyOrNetwork:
    """Return a random network whose causes overlap: 8 to 16 symptoms each, of unequal priors."""
    n_causes, n_symptoms = int(name.removeprefix("planted")), PLANTED[name]
    rng = np.random.default_rng([seed, n_causes])
    matrix = np.zeros((n_causes, n_symptoms), dtype=np.bool_)
    for row in matrix:
        row[rng.choice(n_symptoms, int(rng.integers(8, 17)), replace=False)] = True
    structure = Structure.from_matrix(matrix)
    return NoisyOrNetwork(
        structure, rng.uniform(0.03, 0.2, n_causes), rng.uniform(0.1, 0.6, structure.n_edges),
        rng.uniform(0.005, 0.05, n_symptoms),
    )  # fmt: skip


# --- others' learners ---


def installed_peers() -> list[str]:
    """Return the learners whose packages are there."""
    return [name for name, package in PEERS.items() if importlib.util.find_spec(package)]


def causes_by(peer: str, records: Findings, n_causes: int, seed: int) -> NoisyOrNetwork:
    """Return causes that another learner found, told how many there are.

    It says which records have which cause; with these labels the parameters of a noisy-or network
    in which every cause may have every symptom are learned as if the causes had been seen.
    """
    present = records.to_numpy().astype(float)
    labels = {"CorEx": _corex, "restricted Boltzmann machine": _machine}[peer](
        present, n_causes, seed
    )
    rare = labels.mean(axis=0) > 0.5
    labels[:, rare] = ~labels[:, rare]  # a hidden unit may stand for the absence of its cause
    everything = Structure.from_matrix(np.ones((n_causes, present.shape[1])))
    learner = NoisyOrLearner(everything, method="observed_likelihood")
    return learner.fit(present, labels.astype(float)).network_


def _corex(present: Any, n_causes: int, seed: int) -> Booleans:
    from corextopic.corextopic import Corex  # type: ignore[import-not-found]
    from scipy.sparse import csr_matrix

    found = Corex(n_hidden=n_causes, seed=seed).fit(csr_matrix(present))
    return np.asarray(found.labels, dtype=np.bool_)


def _machine(present: Any, n_causes: int, seed: int) -> Booleans:
    from sklearn.neural_network import BernoulliRBM

    machine = BernoulliRBM(n_causes, learning_rate=0.05, n_iter=50, random_state=seed)
    return np.asarray(machine.fit_transform(present) > 0.5)


# --- a test whose Q-matrix has wrong entries ---


def flipped_q_matrix(folder: Path, seed: int, kind: str) -> Quantities:
    """Flip some entries of the Q-matrix of ECPE, and see whether they are found.

    `kind` says which: "removed" (entries that are 1), "added" (0), or "any".
    """
    needs, wrong = (_numbers(folder / f"{name}.csv") for name in ("q_matrix", "responses"))
    needs, wrong = needs[:, -3:].astype(bool), 1 - wrong
    rng = np.random.default_rng([seed, 37])
    open_to = {"removed": needs, "added": ~needs, "any": np.ones_like(needs)}[kind]
    cells = np.argwhere(open_to)
    flips = cells[rng.choice(len(cells), N_FLIPS, replace=False)]
    given = needs.copy()
    given[tuple(flips.T)] ^= True
    structure = Structure.from_matrix(given.T)
    learned = NoisyOrLearner(structure, causes="joint", random_state=seed).fit(wrong).estimate_
    rows = validate_q_matrix(learned, wrong).rows
    named = [(row.kind, row.disease, row.symptoms[0]) for row in rows]
    wanted = [
        (ADD if needs[j, i] else DROP, structure.diseases[i], structure.symptoms[j])
        for j, i in flips
    ]
    places = [named.index(each) for each in wanted if each in named]
    return {
        "flips found": len(places) / N_FLIPS,
        "among the first 6": sum(place < 2 * N_FLIPS for place in places) / N_FLIPS,
        "further suggestions": float(len(named) - len(places)),
    }


def _numbers(path: Path) -> Any:
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    is_named = not rows[0][0].replace(".", "").isdigit()
    return np.array([row[is_named:] for row in rows], dtype=float).astype(np.int64)
