"""Networks kept as folders: edges.csv, priors.csv and leaks.csv."""

from pathlib import Path

import numpy as np

from noisyor.datasets.qmr import random_leaks, zipf_priors
from noisyor.errors import FileError
from noisyor.io.paths import PathLike, as_path
from noisyor.network import NoisyOrNetwork
from noisyor.network.csv_files import NetworkTables, read_tables
from noisyor.network.sampling import Rng, seed_sequence
from noisyor.structure import Structure

COLUMNS = {
    "priors.csv": "the columns disease and prior, a row for each disease: how frequent it is",
    "leaks.csv": "the columns symptom and leak, a row for each symptom: how often it comes by "
    "itself",
}


def from_folder(path: PathLike, rng: Rng = None) -> NoisyOrNetwork:
    """Read a network from a folder, exactly as it stands there.

    `edges.csv` has the columns disease, symptom and failure (or probability, 1 - failure),
    `priors.csv` disease and prior, `leaks.csv` symptom and leak; the latter list all names, in
    their order. A missing file is an error, unless `rng` is given: then its numbers are drawn, Zipf
    priors, 0.12 / rank^0.6 within [0.001, 0.3], and leaks log-uniform in [0.0002, 0.01].
    """
    folder = _existing(path)
    missing = missing_files(folder)
    if missing and rng is None:
        raise FileError(
            f"{folder} has no {missing[0]}, without which it is a structure and not a network: it "
            f"needs {COLUMNS[missing[0]]}. To draw numbers at random instead, say so: `noisyor "
            f"sample` does, and datasets.from_folder(path, rng=0)."
        )
    found = _read(folder)
    structure, failures, priors, leaks = found
    if priors is None or leaks is None:
        prior_rng, leak_rng = map(np.random.default_rng, seed_sequence(rng, "folder").spawn(2))
        priors = zipf_priors(structure.n_diseases, prior_rng) if priors is None else priors
        leaks = random_leaks(structure.n_symptoms, leak_rng) if leaks is None else leaks
    assert failures is not None
    return NoisyOrNetwork(structure, priors, failures, leaks)


def structure_from_folder(path: PathLike) -> Structure:
    """Read the structure of a network in a folder; priors.csv and leaks.csv need not be there."""
    return _read(_existing(path), failures=False).structure


def missing_files(folder: Path) -> list[str]:
    """Return which files a folder lacks for a network."""
    return [name for name in COLUMNS if not (folder / name).exists()]


def _existing(path: PathLike) -> Path:
    folder = as_path(path)
    if not folder.is_dir():
        raise FileError(f"{folder} is not a directory with edges.csv, priors.csv and leaks.csv.")
    if not (folder / "edges.csv").exists():
        raise FileError(
            f"{folder} has no edges.csv; a network needs edges.csv, priors.csv and leaks.csv."
        )
    return folder


def _read(folder: Path, *, failures: bool = True) -> NetworkTables:
    missing = missing_files(folder)
    priors, leaks = (None if name in missing else folder / name for name in COLUMNS)
    return read_tables(folder / "edges.csv", priors, leaks, failures=failures)
