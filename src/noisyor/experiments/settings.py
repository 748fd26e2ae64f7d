"""How large an experiment is, and on which networks it runs."""

from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from noisyor import datasets
from noisyor.errors import FileError
from noisyor.network import NoisyOrNetwork
from noisyor.network.csv_files import read_tables
from noisyor.structure import Structure

REAL = ("tcc4e", "plants", "ddxplus", "health_knowledge_graph", "orphanet570")
NETWORKS = ("clinic", "figure1", "figure2", *REAL[:-1], "qmr_shaped", REAL[-1])
"""As pages list them: the small ones first."""
WEAK = ("weak20", "weak40", "weak60")
"""Random networks whose records tell little, by their number of diseases."""

SURE = 0.001
"""Failures of real networks are kept this far from 0 and 1: knowledge bases write these for
"always" and "never", which no record could contradict."""

Choice = TypeVar("Choice")


def real_network(folder: Path) -> NoisyOrNetwork:
    """Return a real network as experiments take it: names as its edges list them, and only those.

    Failures of 0 and 1 are moved inside; priors and leaks that are not known are drawn.
    """
    network = datasets.from_folder(folder, rng=1)
    structure = read_tables(folder / "edges.csv", None, None).structure
    known, names = network.structure, zip(*structure.edge_names().values(), strict=True)
    edges = [known.edge_index(*each) for each in names]
    return NoisyOrNetwork(
        structure,
        network.priors[[known.disease_index(name) for name in structure.diseases]],
        np.clip(network.failures[edges], SURE, 1.0 - SURE),
        network.leaks[known.symptom_indices(structure.symptoms)],
    )


class ExperimentSettings(NamedTuple):
    """How large an experiment is."""

    quick: bool = False
    """Minutes instead of hours: fewer networks, fewer records."""
    seed: int = 0
    """Where the seeds of networks and samples start."""
    structures: Path | None = None
    """A folder of real networks; or one network: a folder with edges.csv."""

    def pick(self, full: Choice, quick: Choice) -> Choice:
        """Return the one or the other."""
        return quick if self.quick else full

    def seeds(self, n: int) -> range:
        """Return so many seeds."""
        return range(self.seed, self.seed + n)

    def network(self, name: str, seed: int = 0) -> NoisyOrNetwork:
        """Return a network by name; parameters of the paper's figures are drawn with the seed."""
        if name == "clinic":
            return datasets.clinic()
        if name in ("figure1", "figure2", "qmr_shaped"):
            drawn: NoisyOrNetwork = getattr(datasets, name)(0 if name == "qmr_shaped" else seed)
            return drawn
        if name in WEAK:
            return weak_network(int(name.removeprefix("weak")), seed)
        folder = self.real_networks().get(name)
        if folder is None:
            raise FileError(f"there is no network {name!r}: give its folder with --structures.")
        return real_network(folder)

    def real_networks(self) -> dict[str, Path]:
        """Return the folders of real networks: those in a folder, or this one itself."""
        if self.structures is None:
            return {}
        if (self.structures / "edges.csv").exists():
            return {self.structures.name: self.structures}
        found = {path.parent.name: path.parent for path in self.structures.glob("*/edges.csv")}
        if not found:
            raise FileError(
                f"{self.structures} has no edges.csv, and no folders with one: give a folder of "
                "networks."
            )
        return {name: found[name] for name in (*REAL, *sorted(found)) if name in found}

    def available(self, *names: str) -> list[str]:
        """Return those of the networks that are built in, or among the real ones."""
        return [name for name in names if name not in REAL or name in self.real_networks()]


def weak_network(n_diseases: int, seed: int) -> NoisyOrNetwork:
    """Return a random network with failures from 0.5 to 0.95, whose diseases overlap heavily.

    Each disease has five of 1.5 symptoms a disease, chosen at random.
    """
    rng = np.random.default_rng([seed, n_diseases])
    n_symptoms = 3 * n_diseases // 2
    children = np.array([rng.choice(n_symptoms, 5, replace=False) for _ in range(n_diseases)])
    matrix = np.zeros((n_diseases, n_symptoms), dtype=np.int8)
    np.put_along_axis(matrix, children, 1, axis=1)
    structure = Structure.from_matrix(matrix)
    return NoisyOrNetwork(
        structure,
        rng.uniform(0.02, 0.2, n_diseases),
        rng.uniform(0.5, 0.95, structure.n_edges),
        rng.uniform(0.001, 0.02, n_symptoms),
    )
