"""Random parameters for structures that come without."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def zipf_priors(n_diseases: int, rng: np.random.Generator) -> Floats:
    """Return priors 0.12 / rank^0.6, held within [0.001, 0.3], the ranks in random order.

    With 570 diseases about 3.6 are present in a record.
    """
    ranks = rng.permutation(n_diseases) + 1.0
    return np.clip(0.12 / ranks**0.6, 0.001, 0.3)


def random_leaks(n_symptoms: int, rng: np.random.Generator) -> Floats:
    """Return leaks that are log-uniform in [0.0002, 0.01]."""
    return np.exp(rng.uniform(np.log(0.0002), np.log(0.01), n_symptoms))
