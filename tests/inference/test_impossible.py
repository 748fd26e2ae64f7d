"""Findings that a network holds for impossible: it is said why."""

import numpy as np
import pytest

from noisyor import (
    NoisyOrError,
    NoisyOrNetwork,
    Structure,
    best_questions,
    explain,
    most_probable,
    posterior,
    posteriors,
)


def test_what_is_impossible_is_explained():
    structure = Structure.from_edges([("flu", "fever"), ("flu", "cough"), ("cold", "cough")])
    network = NoisyOrNetwork(structure, [0.1, 1.0], [0.0, 0.5, 0.0], [0.0, 0.1])
    with pytest.raises(NoisyOrError, match="'cough' is absent, but 'cold' is certain"):
        posterior(network, ["fever"], ["cough"])
    network = NoisyOrNetwork(structure, [0.0, 0.2], [0.0, 0.5, 0.0], [0.0, 1.0])
    with pytest.raises(NoisyOrError, match="'fever' is present, but nothing can have caused it"):
        posterior(network, ["fever"])
    with pytest.raises(NoisyOrError, match="'cough' is absent, but its leak is 1"):
        posterior(network, [], ["cough"])
    found = posteriors(network, [[1, 1], [0, 1]])
    assert found.method_names == ["impossible", "exact"]
    assert np.isnan(found.probabilities[0]).all()
    assert found.log_evidences[0] == -np.inf
    for question in best_questions, most_probable, explain:
        with pytest.raises(NoisyOrError, match="impossible"):
            question(network, ["fever"])
    for method in "gibbs", "mean_field", "variational":
        with pytest.raises(NoisyOrError, match="'fever' is present, but nothing"):
            posterior(network, ["fever"], method=method)
        assert posteriors(network, [[1, 1]], method=method).method_names == ["impossible"]
