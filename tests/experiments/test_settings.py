"""ExperimentSettings, and the networks that are found with them."""

import pytest

from noisyor import NoisyOrError
from noisyor.experiments import ExperimentSettings


def test_real_networks_are_found(real_structures, tmp_path):
    settings = ExperimentSettings(structures=real_structures)
    assert list(settings.real_networks()) == [
        "tcc4e", "plants", "ddxplus", "health_knowledge_graph", "orphanet570",
    ]  # fmt: skip
    assert list(ExperimentSettings(structures=real_structures / "plants").real_networks()) == [
        "plants"
    ]
    assert settings.network("plants").structure.n_diseases == 8
    assert ExperimentSettings().available("figure1", "plants") == ["figure1"]
    with pytest.raises(NoisyOrError, match="no edges.csv"):
        ExperimentSettings(structures=tmp_path).real_networks()
    with pytest.raises(NoisyOrError, match="--structures"):
        ExperimentSettings().network("plants")
