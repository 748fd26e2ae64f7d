"""Networks as three CSV files."""

import numpy as np
import pytest

from conftest import random_network
from noisyor import NoisyOrError, NoisyOrNetwork, Structure, datasets


def test_csv_there_and_back(tmp_path):
    network = random_network(np.random.default_rng(1), n_diseases=5, n_symptoms=6)
    paths = {name: tmp_path / f"{name}.csv" for name in ("edges", "priors", "leaks")}
    network.to_csv(paths["edges"], priors=paths["priors"], leaks=paths["leaks"])
    again = NoisyOrNetwork.from_csv(paths["edges"], priors=paths["priors"], leaks=paths["leaks"])
    assert again.structure == network.structure
    assert np.array_equal(again.priors, network.priors)
    assert np.array_equal(again.leaks, network.leaks)
    assert np.array_equal(again.failures, network.failures)
    assert datasets.from_folder(tmp_path) == network


def test_a_network_without_edges_there_and_back(tmp_path):
    network = NoisyOrNetwork(Structure(["d"], ["s"], []), [0.1], [], [0.2])
    paths = [tmp_path / f"{name}.csv" for name in ("edges", "priors", "leaks")]
    network.to_csv(paths[0], priors=paths[1], leaks=paths[2])
    assert NoisyOrNetwork.from_csv(paths[0], priors=paths[1], leaks=paths[2]) == network


def test_csv_with_failures_instead_of_probabilities(tmp_path):
    (tmp_path / "edges.csv").write_text("symptom,failure,disease\ncough,0.25,flu\nfever,0.5,flu\n")
    (tmp_path / "priors.csv").write_text("disease,prior\nflu,0.1\n")
    (tmp_path / "leaks.csv").write_text("symptom,leak\nfever,0.01\ncough,0.02\n")
    files = (tmp_path / "edges.csv", tmp_path / "priors.csv", tmp_path / "leaks.csv")
    network = NoisyOrNetwork.from_csv(files[0], priors=files[1], leaks=files[2])
    assert network.structure.symptoms == ("fever", "cough")
    assert network.failures.tolist() == [0.5, 0.25]
    assert network.leaks.tolist() == [0.01, 0.02]
    assert datasets.from_folder(tmp_path) == network


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "edges",
            "disease,symptom,probability\nflu,fever,1.5\n",
            "line 2, column 'probability': 1.5",
        ),
        ("edges", "disease,symptom,probability\nflu,fever,\n", "line 2, column 'probability': nan"),
        (
            "edges",
            "disease,symptom,probability\nflu,fever,x\n",
            "line 2, column 'probability': 'x'",
        ),
        ("edges", "disease,symptom\nflu,fever\n", "no column 'probability'"),
        ("edges", "disease,symptom,probability\npox,fever,0.5\n", "no row for 'pox'"),
        (
            "priors",
            "disease,prior\nflu,0.1\nflu,0.2\n",
            "line 3, column 'disease': 'flu' was given",
        ),
        ("priors", "disease,prior\n,0.1\n", "line 2, column 'disease': the name is empty"),
        ("leaks", "symptom,leak\ncough,0.1\n", "leaks.csv has no row for 'fever'"),
    ],
)
def test_what_is_wrong_in_csv_files_is_named(tmp_path, name, text, message):
    (tmp_path / "edges.csv").write_text("disease,symptom,probability\nflu,fever,0.5\n")
    (tmp_path / "priors.csv").write_text("disease,prior\nflu,0.1\n")
    (tmp_path / "leaks.csv").write_text("symptom,leak\nfever,0.01\n")
    (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(NoisyOrError, match=message):
        datasets.from_folder(tmp_path)
