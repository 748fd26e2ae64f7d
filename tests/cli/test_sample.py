import json

import pyarrow.parquet as pq
import pytest

from noisyor import Findings, NoisyOrNetwork, datasets


@pytest.mark.parametrize("name", ["records.parquet", "records.csv"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_sample_writes_what_python_would_sample(run, tmp_path, name, layout):
    path, network = tmp_path / name, datasets.clinic()
    code, out, err = run("sample", "clinic", "-n", 500, "--seed", 3, "--layout", layout, "-o", path)
    assert (code, err) == (0, "")
    assert str(path) in out
    assert Findings.read(path, network.structure) == network.sample(500, rng=3)


def test_sample_can_tell_diseases_and_network(run, tmp_path):
    code, out, _ = run(
        "sample", "figure1", "--records", 100, "--seed", 5, "--quiet", "-o",
        tmp_path / "records.parquet", "--diseases", tmp_path / "diseases.parquet",
        "--save-network", tmp_path / "network.json",
    )  # fmt: skip
    assert (code, out) == (0, "")
    network = NoisyOrNetwork.load(tmp_path / "network.json")
    assert network == datasets.figure1(5)
    _, diseases = network.sample(100, rng=5, return_diseases=True)
    table = pq.read_table(tmp_path / "diseases.parquet")
    assert table.column_names == ["A", "B"]
    assert table.to_pandas().to_numpy().tolist() == diseases.tolist()
    again = run(
        "sample", tmp_path / "network.json", "-n", 100, "--seed", 5, "-o", tmp_path / "2.parquet"
    )
    assert again[0] == 0
    assert Findings.read(tmp_path / "2.parquet", network.structure) == network.sample(100, 5)


@pytest.mark.parametrize("option", ["--diseases", "--save-network"])
def test_outputs_do_not_overwrite_each_other(run, tmp_path, option):
    path = tmp_path / "x.csv"
    code, _, err = run("sample", "clinic", "-o", path, option, path)
    assert code == 2
    assert "is given for two different outputs" in err
    code, _, err = run("sample", "clinic", "-o", path, option, tmp_path / "none" / "x.csv")
    assert code == 2
    assert list(tmp_path.iterdir()) == []


def test_drawn_numbers_are_told(run, tmp_path):
    (tmp_path / "edges.csv").write_text("disease,symptom,probability\nflu,fever,0.5\n")
    code, _, err = run("sample", tmp_path, "--records", "5", "-o", tmp_path / "records.csv")
    assert code == 0
    assert "has no priors.csv and no leaks.csv: the numbers are drawn at random" in err


def test_only_sample_draws_numbers(run, tmp_path):
    (tmp_path / "edges.csv").write_text("disease,symptom,probability\nflu,fever,0.5\n")
    for command in (
        ["diagnose", tmp_path, "-p", "fever"],
        ["evaluate", tmp_path, tmp_path],
        ["report", tmp_path, "-o", tmp_path / "report.html"],
        ["convert", tmp_path, tmp_path / "network.json"],
    ):
        code, _, err = run(*command)
        assert code == 2
        assert "has no priors.csv" in err
    code, out, _ = run("info", tmp_path, "--json")
    assert (code, json.loads(out)["kind"]) == (0, "structure")
