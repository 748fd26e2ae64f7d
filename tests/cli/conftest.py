"""What tests of several commands need."""

import pytest

from noisyor import datasets


@pytest.fixture
def clinic(tmp_path):
    """A folder with a network, its structure and some records."""
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    network.structure.to_csv(tmp_path / "edges.csv")
    network.sample(2000, rng=0).to_parquet(tmp_path / "records.parquet")
    return tmp_path
