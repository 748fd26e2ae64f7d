"""Parts that no schedule learns, and what is known of them before the clean-up."""

import numpy as np

from noisyor.learning.decompose import edge_strengths, lambdas_of

SHAPES = [
    np.ones((2, 5)),
    np.ones((3, 7)),
    np.ones((4, 9)),
    np.array([[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]]),
    # two clusters of twins that share two symptoms
    np.array([[1] * 7 + [0] * 5] * 2 + [[0] * 5 + [1] * 7] * 2),
]


def without_pieces(network, pieces):
    """Return strengths and lambdas of a network, with those of the pieces wiped out."""
    owners = network.structure.edges[:, 0]
    strengths = edge_strengths(network.priors[owners], network.failures)
    lambdas = lambdas_of(network.priors)
    for piece in pieces:
        alone = piece.without_kin(network.structure)
        strengths[alone.edges] = 0.0
        lambdas[alone.priors] = np.nan
    return strengths, lambdas
