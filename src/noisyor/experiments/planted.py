"""Causes to be found: networks that are drawn, others' learners of hidden causes, a Q-matrix."""

import csv
import importlib.util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisyor.discovery import validate_q_matrix
from noisyor.discovery.changes import ADD, DROP
from noisyor.discovery.skill_model import SkillFit, SkillModel
from noisyor.errors import collected_notices
from noisyor.experiments.results import Quantities
from noisyor.findings import Findings
from noisyor.learner import NoisyOrLearner
from noisyor.names import Indices
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
N_ITEMS = 28
"""Of tests that are drawn."""


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
    with collected_notices():  # that labels do not go with findings is what is measured here
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


class QMatrix(NamedTuple):
    """A test: the skills that its items need, items x skills, and who answered wrongly."""

    needs: Booleans
    wrong: Any


def ecpe(folder: Path) -> QMatrix:
    """Return the examination for the certificate of proficiency in English, as published."""
    needs, answers = (_numbers(folder / f"{name}.csv") for name in ("q_matrix", "responses"))
    return QMatrix(needs[:, -3:].astype(bool), 1 - answers)


def drawn_test(name: str, n_persons: int, seed: int) -> QMatrix:
    """Return a test of the reduced RUM: 28 items that need one to three of some skills.

    Skills are normal variables, any two with a correlation of 0.5 to 0.8, cut in two.
    """
    n_skills = int(name.removeprefix("test"))
    rng = np.random.default_rng([seed, n_skills, n_persons])
    needs = np.zeros((N_ITEMS, n_skills), dtype=np.bool_)
    for row in needs:
        row[rng.choice(n_skills, int(rng.choice([1, 2, 3], p=[0.5, 0.4, 0.1])), replace=False)] = 1
    share = np.sqrt(rng.uniform(0.5, 0.8))
    common, own = rng.normal(size=(n_persons, 1)), rng.normal(size=(n_persons, n_skills))
    skills = share * common + np.sqrt(1.0 - share**2) * own
    lacks = skills < np.quantile(skills, rng.uniform(0.3, 0.6, n_skills), axis=0).diagonal()
    failures = np.where(needs, rng.uniform(0.3, 0.8, needs.shape), 1.0)
    right = rng.uniform(0.75, 0.95, N_ITEMS) * np.exp(lacks @ np.log(failures).T)
    return QMatrix(needs, (rng.random(right.shape) > right).astype(np.int64))


def flipped_q_matrix(test: QMatrix, seed: int, kind: str) -> Quantities:
    """Flip some entries of a Q-matrix, and see whether they are found.

    `kind` says which: "removed" (entries that are 1), "added" (0), "any", or "none".
    """
    rng, needs = np.random.default_rng([seed, 37]), test.needs
    open_to = {"removed": needs, "added": ~needs}.get(kind, np.ones_like(needs))
    cells = np.argwhere(open_to)
    flips = cells[rng.choice(len(cells), 0 if kind == "none" else N_FLIPS, replace=False)]
    given = needs.copy()
    given[tuple(flips.T)] ^= True
    structure = Structure.from_matrix(given.T)
    learned = NoisyOrLearner(structure, causes="joint", random_state=seed).fit(test.wrong)
    rows = validate_q_matrix(learned.estimate_, test.wrong).rows
    named = [(row.kind, row.disease, row.symptoms[0]) for row in rows]
    wanted = [
        (ADD if needs[j, i] else DROP, structure.diseases[i], structure.symptoms[j])
        for j, i in flips
    ]
    is_found = np.array([each in named for each in wanted], dtype=np.bool_)
    further = {"further suggestions": float(len(named) - is_found.sum())}
    if kind == "none":
        return further
    is_told = _told(test, flips)
    return further | {
        "flips found": float(is_found.mean()),
        "told": float(is_told.mean()),
        "found of told": float(is_found[is_told].mean()) if is_told.any() else float("nan"),
    }


def _told(test: QMatrix, flips: Indices) -> Booleans:
    """Return which entries answers speak for, all others being as they should: by BIC.

    An entry that is left out must cost more than BIC takes off for it and for its choice; one too
    many must gain less.
    """
    model = SkillModel(test.wrong)
    n_skills, half = test.needs.shape[1], 0.5 * np.log(len(test.wrong))
    strengths = np.column_stack([np.full(len(test.needs), 0.2), 0.5 * test.needs])
    right = model.fit(test.needs, SkillFit(0.0, np.full(1 << n_skills, 0.5**n_skills), strengths))
    found = []
    for j, i in flips:
        other = test.needs.copy()
        other[j, i] ^= True
        gain = model.fit(other, right).log_likelihood - right.log_likelihood
        found.append(-gain > half + np.log(n_skills) if test.needs[j, i] else gain < half)
    return np.array(found, dtype=np.bool_)


def told_entries(test: QMatrix) -> Quantities:
    """Say of how many entries of a Q-matrix answers speak for what stands in it."""
    ones, zeros = np.argwhere(test.needs), np.argwhere(~test.needs)
    return {
        "ones": float(len(ones)), "ones told": float(_told(test, ones).sum()),
        "zeros": float(len(zeros)), "zeros told": float(_told(test, zeros).sum()),
    }  # fmt: skip


def _numbers(path: Path) -> Any:
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    is_named = not rows[0][0].replace(".", "").isdigit()
    return np.array([row[is_named:] for row in rows], dtype=float).astype(np.int64)
