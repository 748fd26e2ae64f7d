"""What tests of several commands need."""

import pytest

from noisyor import NoisyOrNetwork, Structure, datasets


@pytest.fixture
def clinic(tmp_path):
    """A folder with a network, its structure and some records."""
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    network.structure.to_csv(tmp_path / "edges.csv")
    network.sample(2000, rng=0).to_parquet(tmp_path / "records.parquet")
    return tmp_path


@pytest.fixture
def unidentified(run, tmp_path, monkeypatch):
    """A folder with what `fit` wrote of a disease with two symptoms, beside a good one."""
    monkeypatch.chdir(tmp_path)
    edges = [("sure", "a"), ("sure", "b"), ("sure", "c"), ("open", "d"), ("open", "e")]
    network = NoisyOrNetwork(
        Structure.from_edges(edges), [0.2, 0.3], [0.2, 0.3, 0.4, 0.2, 0.5], [0.05] * 5
    )
    network.structure.save("structure.json")
    network.sample(3000, rng=0).to_parquet("records.parquet")
    fitting = "fit", "structure.json", "records.parquet", "-o", "learned.json"
    assert run(*fitting, "--summary", "learned.csv")[0] == 0
    return tmp_path
