"""Files of records: their posteriors as tables, with notes where there is none."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from noisyor import (
    Findings,
    datasets,
    posterior,
    posteriors,
)


def test_files_of_records_are_marked_too(run, unidentified):
    asked = "diagnose", "learned.json", "records.parquet"
    code, _, err = run(*asked, "-o", "found.parquet")
    assert code == 0
    assert "note: 1 of 2 diseases rest on parameters that are flagged" in err
    assert "may be far off: 'open'." in err
    metadata = pq.read_schema("found.parquet").metadata
    assert json.loads(metadata[b"flagged_diseases"]) == {"open": "weak uncertified"}
    _, out, _ = run(*asked, "-o", "top.csv", "--top", "2", "--json")
    assert json.loads(out)["flagged"] == ["open"]
    table = pyarrow.csv.read_csv("top.csv")
    assert set(zip(table["disease"].to_pylist(), table["flags"].to_pylist(), strict=True)) == {
        ("open", "weak uncertified"), ("sure", ""),
    }  # fmt: skip


def test_files_of_records(run, tmp_path):
    clinic = datasets.clinic()
    findings = clinic.sample(300, rng=1)
    findings.to_parquet(tmp_path / "records.parquet")
    output = tmp_path / "posteriors.parquet"
    code, out, err = run("diagnose", "clinic", tmp_path / "records.parquet", "-o", output)
    assert code == 0, err
    assert "Diagnosed 300 records (300 exact)" in out
    table = pq.read_table(output)
    assert table.column_names == [
        "record", *clinic.structure.diseases, "method", "error", "log_evidence",
    ]  # fmt: skip
    truth = posteriors(clinic, findings)
    written = np.column_stack([table[name].to_numpy() for name in clinic.structure.diseases])
    assert np.array_equal(written, truth.probabilities)
    assert table["record"].to_pylist() == list(range(300))


def test_the_top_diseases_as_rows_with_ids(run, tmp_path):
    clinic = datasets.clinic()
    rows = clinic.sample(50, rng=2).to_numpy()
    ids = [f"p{number}" for number in range(50)]
    findings = Findings.from_numpy(rows, clinic.structure, record_ids=ids)
    findings.to_csv(tmp_path / "records.csv", layout="long")
    code, _, err = run(
        "diagnose", "clinic", tmp_path / "records.csv", "-o", tmp_path / "top.csv", "--top", "2"
    )
    assert code == 0, err
    table = pyarrow.csv.read_csv(tmp_path / "top.csv")
    assert table.num_rows == 100
    assert table["record"].to_pylist()[:3] == ["p0", "p0", "p1"]
    assert table["rank"].to_pylist()[:3] == [1, 2, 1]
    best = posteriors(clinic, rows[:1]).probabilities[0]
    assert table["disease"][0].as_py() == clinic.structure.diseases[int(best.argmax())]


def test_findings_without_a_row_can_be_unknown(run, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("record,symptom,state\n1,fever,present\n1,cough,absent\n2,cough,present\n")
    for unmentioned in "absent", "unknown":
        output = tmp_path / f"{unmentioned}.parquet"
        code, _, err = run("diagnose", "clinic", path, "-o", output, "--unmentioned", unmentioned)
        assert code == 0, err
    clinic = datasets.clinic()
    truth = posterior(clinic, ["fever"], ["cough"]).probabilities
    found = pq.read_table(tmp_path / "unknown.parquet")
    influenza = clinic.structure.disease_index("influenza")
    assert found["influenza"][0].as_py() == pytest.approx(truth[influenza])
    assert pq.read_table(tmp_path / "absent.parquet")["influenza"][0].as_py() < truth[influenza]


def without_causes(tmp_path):
    """Write a network in which a fever has no cause, and two records, one with a fever."""
    network = tmp_path / "network.json"
    content = {
        "format": "noisyor.network", "version": 1, "diseases": ["flu"], "symptoms": ["fever"],
        "priors": [0.1], "leaks": [0.0], "edges": [[0, 0]], "failures": [1.0],
    }  # fmt: skip
    network.write_text(json.dumps(content))
    (tmp_path / "records.csv").write_text("fever\n1\n0\n")
    return network


def test_impossible_records_are_told(run, tmp_path):
    network = without_causes(tmp_path)
    output = tmp_path / "out.csv"
    code, out, err = run("diagnose", network, tmp_path / "records.csv", "-o", output)
    assert code == 0
    assert "1 records are impossible under the network" in err
    assert "1 exact, 1 impossible" in out or "1 impossible, 1 exact" in out
    code, _, err = run("diagnose", network, "-p", "fever")
    assert code == 2
    assert "nothing can have caused it" in err


def test_no_records_make_an_empty_table(run, tmp_path):
    symptoms = ",".join(datasets.clinic().structure.symptoms)
    (tmp_path / "none.csv").write_text(symptoms + "\n")
    output = tmp_path / "none.parquet"
    code, out, err = run("diagnose", "clinic", tmp_path / "none.csv", "-o", output)
    assert code == 0, err
    assert "Diagnosed 0 records" in out
    assert pq.read_table(output).num_rows == 0


def test_ids_of_all_files_are_of_one_kind(run, tmp_path):
    names = datasets.clinic().structure.symptoms
    header, row = ",".join(names), ",".join(["0"] * len(names))
    (tmp_path / "ids.csv").write_text(f"record,{header}\n7,{row}\n")
    (tmp_path / "none.csv").write_text(f"{header}\n{row}\n")
    for order in ("ids.csv", "none.csv"), ("none.csv", "ids.csv"):
        output = tmp_path / "out.csv"
        files = [tmp_path / name for name in order]
        code, _, err = run("diagnose", "clinic", *files, "-o", output)
        assert code == 2
        assert "has a column of record ids and" in err
        assert not output.exists()


def test_json_can_be_read_by_any_parser(run, tmp_path):
    network = tmp_path / "network.json"
    content = {
        "format": "noisyor.network", "version": 1, "diseases": ["flu", "cold"],
        "symptoms": ["fever", "cough"], "priors": [0.1, 0.2], "leaks": [0.0, 0.1],
        "edges": [[0, 0], [0, 1], [1, 1]], "failures": [0.5, 0.5, 0.5],
    }  # fmt: skip
    network.write_text(json.dumps(content))
    code, out, _ = run("diagnose", network, "-p", "fever", "-a", "cough", "--explain", "--json")
    assert code == 0

    def refuse(constant):
        raise AssertionError(constant)

    facts = json.loads(out, parse_constant=refuse)
    assert facts["contributions"][0]["log_odds"] is None  # a fever makes flu certain


def test_records_without_an_answer_name_no_disease(run, tmp_path):
    network = without_causes(tmp_path)
    output = tmp_path / "out.parquet"
    run("diagnose", network, tmp_path / "records.csv", "-o", output, "--top", "1")
    rows = pq.read_table(output).to_pylist()
    assert [row["disease"] for row in rows] == [None, "flu"]
    assert rows[0]["probability"] is None
