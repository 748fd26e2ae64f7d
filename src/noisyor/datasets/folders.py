"""Networks kept as folders: edges.csv, and priors.csv and leaks.csv where they are known."""

from pathlib import Path

import numpy as np

from noisyor.datasets.qmr import random_leaks, zipf_priors
from noisyor.errors import FileError
from noisyor.io.paths import PathLike
from noisyor.network import NoisyOrNetwork
from noisyor.network.csv_files import read_edge_failures, read_values, values_for
from noisyor.network.sampling import Rng, seed_sequence

"""Failures are clipped to [0.001, 0.999]: knowledge bases write 0 and 1 for "always", "never"."""


def from_folder(path: PathLike, rng: Rng = 0) -> NoisyOrNetwork:
    """Read a network from a folder.

    `edges.csv` has the columns disease, symptom and probability (or failure), `priors.csv` disease
    and prior, `leaks.csv` symptom and leak; names that no edge has are left out. Where a file is
    missing its numbers are drawn with `rng`: Zipf priors, 0.12 / rank^0.6 within [0.001, 0.3],
    and leaks log-uniform in [0.0002, 0.01]. Failures are clipped to [0.001, 0.999].
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileError(f"{folder} is not a directory with an edges.csv.")
    structure, failures = read_edge_failures(folder / "edges.csv")
    prior_rng, leak_rng = map(np.random.default_rng, seed_sequence(rng, "folder").spawn(2))
    if (prior_file := folder / "priors.csv").exists():
        prior_of = read_values(prior_file, "disease", "prior")
        priors = values_for(structure.diseases, prior_of, prior_file)
    else:
        priors = zipf_priors(structure.n_diseases, prior_rng)
    if (leak_file := folder / "leaks.csv").exists():
        leak_of = read_values(leak_file, "symptom", "leak")
        leaks = values_for(structure.symptoms, leak_of, leak_file)
    else:
        leaks = random_leaks(structure.n_symptoms, leak_rng)
    # Knowledge bases write 0 and 1 for "always" and "never".
    clipped = np.clip(failures, 0.001, 1 - 0.001)
    return NoisyOrNetwork(structure, priors, clipped, leaks)
