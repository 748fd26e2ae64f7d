"""Structures that no schedule learns, and what is known of them before the clean-up."""

import numpy as np

from noisyor.learning.decompose import Influences

SHAPES = [
    np.ones((2, 5)),
    np.ones((3, 7)),
    np.ones((4, 9)),
    np.array([[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]]),
    # two clusters of near-duplicates that share two symptoms
    np.array([[1] * 7 + [0] * 5] * 2 + [[0] * 5 + [1] * 7] * 2),
]


def without_components(network, components):
    """Return what diseases do in a network, as if nothing were learned of the components."""
    owners = network.structure.edges[:, 0]
    learned = Influences.of(owners, network.priors, network.failures)
    for component in components:
        alone = component.alone(network.structure)
        learned.strengths[alone.edges] = 0.0
        learned.lambdas[alone.priors] = np.nan
    return learned
