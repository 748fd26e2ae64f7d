"""`noisyor suggest` and `noisyor repair`."""

import json

import pyarrow.csv
import pytest

from clusters import commands_do_without_dask
from discovery.test_suggestions import CLINIC
from noisyor import NoisyOrLearner, Structure, datasets


@pytest.fixture
def folder(tmp_path):
    """A folder with a structure that lacks an edge, records, and the edge's names."""
    clinic = CLINIC
    structure = clinic.structure
    Structure(structure.diseases, structure.symptoms, structure.edges[1:]).save(
        tmp_path / "wrong.json"
    )
    clinic.sample(4000, rng=1).to_parquet(tmp_path / "records.parquet")
    missing = tuple(names[0] for names in structure.edge_names().values())
    return tmp_path, missing


def test_suggestions_of_a_structure_and_of_a_network(run, folder):
    path, (disease, symptom) = folder
    call = "suggest", path / "wrong.json", path / "records.parquet", "--no-diseases"
    code, out, err = run(*call, "--json", "-o", path / "s.csv")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert facts["records"] == 4000
    first = facts["suggestions"][0]
    assert (first["kind"], first["disease"], first["symptoms"]) == ("add edge", disease, symptom)
    assert pyarrow.csv.read_csv(path / "s.csv").num_rows == len(facts["suggestions"])
    run("fit", path / "wrong.json", path / "records.parquet", "-o", path / "learned.json")
    code, out, _ = run("suggest", path / "learned.json", path / "records.parquet", "--no-diseases")
    assert code == 0
    assert f"{disease} seems to cause {symptom}" in out


def test_repair_writes_the_better_structure(run, folder):
    path, (disease, symptom) = folder
    call = "repair", path / "wrong.json", path / "records.parquet", "--no-diseases"
    code, out, err = run(*call, "-o", path / "better.csv", "--path", path / "steps.csv")
    assert (code, err) == (0, "")
    assert "seems to cause" in out
    assert Structure.from_csv(path / "better.csv").has_edge(disease, symptom)
    assert pyarrow.csv.read_csv(path / "steps.csv").num_rows == 1
    options = "--forbidden", f"{disease}={symptom}", "-o", path / "same.json", "--json"
    code, out, _ = run(*call, *options)
    assert json.loads(out)["changes"] == []
    assert not Structure.load(path / "same.json").has_edge(disease, symptom)


def test_a_repair_says_why_it_ended(run, folder):
    path, _ = folder
    call = "repair", path / "wrong.json", path / "records.parquet", "--no-diseases"
    _, out, _ = run(*call, "-o", path / "same.csv", "--max-changes", "0")
    assert "as many changes as it may (--max-changes)" in out
    _, out, _ = run(*call, "-o", path / "better.csv", "--max-changes", "5")
    assert "--max-changes" not in out


def test_misuse_is_refused(run, folder):
    path, _ = folder
    call = "repair", path / "wrong.json", path / "records.parquet", "-o", path / "b.csv"
    code, _, err = run(*call, "--certain", "flu")
    assert code == 2
    assert "write disease=symptom" in err
    code, _, err = run(*call, "--criterion", "aic")
    assert code == 2
    assert "criterion must be 'bic' or 'held_out'" in err
    code, _, err = run(*call[:-1], path / "b.txt")
    assert code == 2
    assert "must end in .csv or .json" in err


def test_repair_refuses_diseases_that_occur_together(run, tmp_path):
    network = datasets.figure1(rng=0)
    records = network.sample(300, rng=1)
    records.to_csv(tmp_path / "records.csv")
    learner = NoisyOrLearner(network.structure, causes="joint").fit(records)
    learner.estimate_.save(tmp_path / "joint.json")
    given = tmp_path / "joint.json", tmp_path / "records.csv", "-o", tmp_path / "better.csv"
    code, _, err = run("repair", *given)
    assert code == 2
    assert "repair takes diseases for independent" in " ".join(err.split())


@pytest.fixture
def cluster(monkeypatch):
    """A cluster that does its jobs here."""
    commands_do_without_dask(monkeypatch)
    return "--cluster", "local:1"


def test_a_cluster_reads_the_same_records(run, folder, cluster):
    path, _ = folder
    given = path / "wrong.json", path / "records.parquet"
    for call in (
        ("suggest", *given, "--no-diseases", "--json"),
        ("repair", *given, "--no-diseases", "--max-changes", "1", "-o", path / "o.csv", "--json"),
        (
            "discover", given[1], "--max-causes", "2", "--starts", "1", "-o", path / "o.json",
            "--json",
        ),
    ):  # fmt: skip
        code, there, err = run(*call, *cluster)
        assert (code, err) == (0, "")
        assert json.loads(there) == json.loads(run(*call)[1])


def test_what_is_asked_for_is_checked_before_records_are_read(run, folder, cluster):
    path, _ = folder
    (path / "bad.csv").write_text("record,nothing\n1,x\n")
    wrong = path / "wrong.json", path / "bad.csv", "-o", path / "better.csv"
    code, _, err = run("repair", *wrong, "--certain", "nobody=nothing", *cluster)
    assert code != 0
    assert "nobody" in err
    _, _, err = run("repair", *wrong, "--criterion", "aic", *cluster)
    assert "criterion must be 'bic' or 'held_out'" in err
    records = path / "bad.csv", "-o", path / "network.json"
    _, _, err = run("discover", *records, "--start", "anywhere", *cluster)
    assert "start must be" in err
