"""learn_uniform: the paper's dotted line, which looks at nothing."""

import numpy as np

from noisyor.baselines.runs import check_input, no_errors, to_estimate
from noisyor.findings import Findings
from noisyor.learning.estimate import (
    NEUTRAL_VALUES,
    Estimate,
    Flag,
)
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, Parameters, as_fixed
from noisyor.structure import Structure


def learn_uniform(
    findings: Findings, structure: Structure, *, fixed: Fixed | None = None
) -> Estimate:
    """Guess 0.5 for every prior and failure and hardly any leak (Figure 3, Uniform).

    Examples
    --------
    >>> from noisyor import datasets, learn_uniform
    >>> network = datasets.figure1(seed=0)
    >>> learn_uniform(network.sample(500, seed=1), network.structure).network.priors
    array([0.5, 0.5])
    """
    check_input(findings, structure)
    network = NoisyOrNetwork(structure, *Parameters.full(structure, NEUTRAL_VALUES))
    held = as_fixed(fixed, structure)
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    priors, failures, leaks = (np.full(size, Flag.NOT_SCHEDULED, np.uint16) for size in sizes)
    flags = priors, failures, leaks
    errors = no_errors(structure)
    return to_estimate("uniform", network, errors, findings.n_records, held, flags=flags)
