"""`noisyor diagnose`, for one patient and for files of records."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from noisyor import (
    Findings,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    datasets,
    posterior,
    posteriors,
)


def test_one_patient(run):
    code, out, err = run(
        "diagnose", "clinic", "--present", "Fever", "-p", "COUGH", "-p", "musc",
        "--absent", "runny nose", "--top", "3", "--explain", "--ask", "--sets", "2",
    )  # fmt: skip
    assert code == 0, err
    lines = out.splitlines()
    said = " ".join(lines[:2])
    assert said.startswith(
        "Present: fever, cough, muscle pain; absent: runny nose; 56 unknown (exact)"
    )
    assert "influenza" in lines[2]
    assert "98.0%" in lines[2]
    for text in "influenza: what each finding adds", "What has caused each", "Most probable sets":
        assert text in out
    assert "What to ask for next" in out


def test_json_says_the_same(run):
    _, out, _ = run(
        "diagnose", "clinic", "-p", "fever", "-a", "cough", "--explain", "--sets", "2",
        "--ask", "--about", "influenza", "--json",
    )  # fmt: skip
    facts = json.loads(out)
    truth = posterior(datasets.clinic(), ["fever"], ["cough"])
    assert facts["method"] == "exact"
    assert facts["log_evidence"] == pytest.approx(truth.log_evidence)
    assert facts["diseases"][0]["probability"] == pytest.approx(truth.probabilities.max())
    assert len(facts["diseases"]) == 10
    assert facts["sets"]["is_proven"]
    assert facts["questions"][0]["symptom"] in ("muscle pain", "chills", "fatigue")
    assert {row["finding"] for row in facts["causes"]} == {"fever"}


@pytest.mark.parametrize("method", ["variational", "mean_field", "gibbs"])
def test_other_methods_say_how_good_they_are(run, method):
    code, out, _ = run("diagnose", "clinic", "-p", "fever", "-p", "cough", "--method", method)
    words = {"variational": "bounds", "mean_field": "unknown error", "gibbs": "sampled"}
    assert code == 0
    assert words[method] in out


def test_intervals_from_a_summary(run, tmp_path):
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(5000, rng=0))
    learner.network_.save(tmp_path / "learned.json")
    for name in "summary.csv", "summary.parquet":
        learner.estimate_.save_summary(tmp_path / name)
        code, out, err = run(
            "diagnose", tmp_path / "learned.json", "-p", "fever", "--errors", tmp_path / name,
        )  # fmt: skip
        assert code == 0, err
        assert "95% interval" in out
    found = posterior(learner.estimate_, ["fever"])
    assert (found.interval_lower <= found.probabilities).mean() > 0.9
    assert (found.interval_upper >= found.probabilities).mean() > 0.9


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


def test_what_fit_could_not_learn_is_marked_and_has_no_interval(run, unidentified):
    asked = "diagnose", "learned.json", "-p", "d", "-p", "a"
    _, out, _ = run(*asked)
    assert "open *" in out
    assert "sure *" not in out
    assert "* rests on parameters that are flagged: it may be far off" in out
    assert "nor the clean-up shows that it can be known." in " ".join(out.split())
    _, out, _ = run(*asked, "--errors", "learned.csv")
    [row] = [line for line in out.splitlines() if line.strip().startswith("open *")]
    assert "not known" in row
    assert " to " not in row
    _, out, _ = run(*asked, "--errors", "learned.csv", "--json")
    rows = {row["disease"]: row for row in json.loads(out)["diseases"]}
    assert rows["open"]["flags"] == "weak uncertified"
    assert rows["open"]["interval_lower"] is rows["open"]["interval_upper"] is None
    assert rows["sure"]["flags"] == ""
    assert rows["sure"]["interval_lower"] < rows["sure"]["interval_upper"]


def test_flags_of_the_summary_are_read_too(run, unidentified):
    network = NoisyOrNetwork.load("learned.json")
    NoisyOrNetwork(network.structure, *network.parameters).save("plain.json")
    assert "*" not in run("diagnose", "plain.json", "-p", "d")[1]
    assert "open *" in run("diagnose", "plain.json", "-p", "d", "--errors", "learned.csv")[1]


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


def test_a_summary_of_another_network_is_refused(run, tmp_path):
    """Its errors were taken for those of this network, without a word."""
    network = datasets.clinic()
    for seed in range(2):
        learner = NoisyOrLearner(network.structure, method="pooled")
        estimate = learner.fit(network.sample(300, rng=seed)).estimate_
        estimate.network.save(tmp_path / f"{seed}.json")
        estimate.save_summary(tmp_path / f"{seed}.csv")
    assert run("diagnose", tmp_path / "0.json", "--errors", tmp_path / "0.csv")[0] == 0
    code, _, err = run("diagnose", tmp_path / "0.json", "--errors", tmp_path / "1.csv")
    assert code == 2
    assert "in the network; give the summary that was written with this network" in err
    lines = (tmp_path / "0.csv").read_text().splitlines()
    (tmp_path / "cut.csv").write_text("\n".join(lines[:-2]))
    code, _, err = run("diagnose", tmp_path / "0.json", "--errors", tmp_path / "cut.csv")
    assert code == 2
    assert "cut.csv has no row for 2 parameters of the network" in err


def test_what_is_certain_is_not_called_fixed(run, tmp_path):
    network = NoisyOrNetwork(Structure.from_edges([("flu", "fever")]), [0.5], [0.0], [0.5])
    network.save(tmp_path / "n.json")
    rows = ["prior,flu,,0.1", "failure,flu,fever,0.1", "leak,,fever,"]
    (tmp_path / "e.csv").write_text(
        "\n".join(["parameter,disease,symptom,standard_error", *rows, ""])
    )
    _, out, _ = run("diagnose", tmp_path / "n.json", "-a", "fever", "--errors", tmp_path / "e.csv")
    assert "certain" in out
    assert "fixed" not in out


def test_an_interval_of_what_is_fixed_is_not_shown(run, tmp_path):
    clinic, path = datasets.clinic(), tmp_path / "fixed.csv"
    rows = [f"prior,{name},,0" for name in clinic.structure.diseases]
    path.write_text("\n".join(["parameter,disease,symptom,standard_error", *rows, ""]))
    _, out, _ = run("diagnose", "clinic", "--errors", path)
    assert "all fixed" in out
    assert "% to " not in out


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "fevr"], "there is no symptom named 'fevr'; did you mean 'fever'?"),
        (["-p", "s"], "can be more than one symptom"),
        (["-p", "fever", "-a", "fever"], "'fever' is given twice"),
        (["-p", "fever", "--budget", "0"], "budget must be a number of seconds above 0"),
        (["-p", "fever", "--layout", "long"], "--layout is for files of records"),
        (["-p", "fever", "--method", "magic"], "there is no method 'magic'"),
        (["-p", "fever", "--about", "flu"], "there is no disease named 'flu'"),
        (["-p", "fever", "-o", "x.csv"], "--output is for files of records"),
        (["records.csv", "-p", "fever"], "--present is for one patient"),
        (["records.csv"], "say where to write"),
        (["nowhere.csv", "-o", "x.csv"], "nowhere.csv"),
        (["-p", "fever", "--errors", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_calls(run, arguments, message):
    code, out, err = run("diagnose", "clinic", *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""


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
