"""ExperimentSettings, and the networks that are found with them."""

import pytest

from noisyor import NoisyOrError
from noisyor.experiments import ExperimentSettings
from noisyor.experiments.settings import real_network


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


def test_a_real_network_is_kept_off_0_and_1_and_has_the_names_of_its_edges(tmp_path):
    (tmp_path / "edges.csv").write_text("disease,symptom,probability\ny,b,1\nx,a,0\nx,b,0.25\n")
    (tmp_path / "priors.csv").write_text("disease,prior\nx,0.1\ny,0.2\nz,0.3\n")
    (tmp_path / "leaks.csv").write_text("symptom,leak\na,0.01\nlonely,0.02\nb,0.03\n")
    network = real_network(tmp_path)
    assert network.structure.diseases == ("y", "x")
    assert network.structure.symptoms == ("b", "a")
    assert network.priors.tolist() == [0.2, 0.1]
    assert network.leaks.tolist() == [0.03, 0.01]
    assert network.failures.tolist() == [0.001, 0.75, 0.999]
