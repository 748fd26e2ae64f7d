"""Networks kept as folders: edges.csv, and priors.csv and leaks.csv where they are known."""

from pathlib import Path

import numpy as np

from noisyor.datasets.parameters import random_leaks, zipf_priors
from noisyor.errors import FileError
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork
from noisyor.network.csv_files import read_edge_failures, read_values
from noisyor.network.sampling import Seed, seed_sequence

LOWEST_FAILURE = 0.001
"""Failures are held within [0.001, 0.999]: knowledge bases write 0 and 1 for "always", "never"."""


def from_folder(path: PathLike, seed: Seed = 0) -> NoisyOrNetwork:
    """Read a network from a folder.

    `edges.csv` has the columns disease, symptom and probability (or failure), `priors.csv` disease
    and prior, `leaks.csv` symptom and leak. Where a file is missing its numbers are drawn with the
    seed: Zipf priors, 0.12 / rank^0.6 within [0.001, 0.3], and leaks log-uniform in [0.0002, 0.01].
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileError(f"{folder} is not a directory with an edges.csv.")
    prior_file, leak_file = folder / "priors.csv", folder / "leaks.csv"
    priors = read_values(prior_file, "disease", "prior") if prior_file.exists() else None
    leaks = read_values(leak_file, "symptom", "leak") if leak_file.exists() else None
    structure, failures = read_edge_failures(
        folder / "edges.csv",
        None if priors is None else list(priors),
        None if leaks is None else list(leaks),
        prior_file,
        leak_file,
    )
    prior_seed, leak_seed = seed_sequence(seed).spawn(2)
    return NoisyOrNetwork(
        structure,
        list(priors.values())
        if priors is not None
        else zipf_priors(structure.n_diseases, np.random.default_rng(prior_seed)),
        np.clip(failures, LOWEST_FAILURE, 1 - LOWEST_FAILURE),
        list(leaks.values())
        if leaks is not None
        else random_leaks(structure.n_symptoms, np.random.default_rng(leak_seed)),
    )
