"""The networks of the paper's Figures 1 and 2, with random parameters as in Section 4.1."""

import numpy as np

from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, seed_sequence
from noisyor.structure import Structure

_FIGURE_1 = ("Aa", "Ab", "Ac", "Bb", "Bc", "Bd", "Be")
_FIGURE_2 = ("Aa", "Ab", "Ac", "Ad", "Bb", "Bc", "Bd", "Be")


def figure1(rng: Rng = None) -> NoisyOrNetwork:
    """Return the network of Figure 1: two diseases that share two of their symptoms.

    The smallest network in which learning must remove a disease's influence. Priors and failures
    are uniform in [0.2, 0.8], leaks are 0.01.
    """
    return _random_network(_FIGURE_1, rng)


def figure2(rng: Rng = None) -> NoisyOrNetwork:
    """Return the network of Figure 2: Figure 1 with the edge A to d; no triplet singly coupled."""
    return _random_network(_FIGURE_2, rng)


def _random_network(edges: tuple[str, ...], rng: Rng) -> NoisyOrNetwork:
    structure = Structure.from_edges(
        [(edge[0], edge[1]) for edge in edges], diseases="AB", symptoms="abcde"
    )
    generator = np.random.default_rng(seed_sequence(rng, "figure"))
    return NoisyOrNetwork(
        structure,
        priors=generator.uniform(0.2, 0.8, structure.n_diseases),
        failures=generator.uniform(0.2, 0.8, structure.n_edges),
        leaks=np.full(structure.n_symptoms, 0.01),
    )
