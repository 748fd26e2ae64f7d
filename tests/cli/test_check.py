"""`noisyor check`."""

import json

import numpy as np
import pytest

from noisyor import datasets

EDGES = "disease;symptom\nflu;fever\nflu;cough\ncold;cough\ncold;runny nose\n"
RECORDS = "Patient ID;Finding;Result\n1;Fever;yes\n1;cough;no\n2;Runny Nose;yes\n3;fevr;yes\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.csv").write_text(EDGES)
    (tmp_path / "records.csv").write_text(RECORDS)
    return tmp_path


def test_names_that_are_not_understood_are_written_and_given_back(run, files):
    call = "check", "edges.csv", "records.csv"
    code, out, err = run(*call, "--write-mapping", "names.csv")
    assert code == 2
    assert "fit would refuse these records: the structure has no symptoms 'fevr'" in err
    assert "long, record in 'Patient ID', symptom in 'Finding', state in" in out
    assert "semicolons" in out
    assert (files / "names.csv").read_text().splitlines()[1] == '"fevr","fever",1'
    code, out, err = run(*call, "--names", "names.csv", "--no-time")
    assert code == 0, err
    assert "3 records, 0 without a finding that is present" in out


def test_facts_for_machines(run, files):
    code, out, _ = run(
        "check", "edges.csv", "records.csv", "--json", "--ignore-unknown", "--n-records", "9"
    )
    facts = json.loads(out)
    assert code == 0
    assert facts["records"] == 9
    assert facts["records_without_a_finding"] == 7
    assert facts["symptoms"]["fever"] == {"present": 1, "known": 9}
    assert facts["not_understood"] == [{"name": "fevr", "nearest": "fever", "rows": 1}]
    assert facts["seconds_to_fit"] is None  # so few need no trial


@pytest.mark.slow
def test_how_long_fit_takes_is_tried_out_where_records_are_many(run, tmp_path):
    records = tmp_path / "records.parquet"
    datasets.clinic().sample(6000, rng=0).to_parquet(records)
    code, out, err = run("check", "clinic", records)
    assert code == 0, err
    assert "fit with the method refined takes about" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--values", "ja"], "'ja' is not of the form word=state"),
        (["--values", "ja=perhaps"], "'perhaps' is none of absent, present, unknown"),
        (["--record", "Visit"], "has no column 'Visit' (--record). Its columns are 'Patient ID'"),
        (["--state", "Sure"], "has no column 'Sure' (--state)"),
        (["--write-mapping", "names.txt"], "must be .csv"),
        (["--names", "edges.csv"], "has no column 'name', 'meaning'"),
        (["--labels", "edges.csv", "--ignore-unknown"], "give it a column for each disease"),
        (["--layout", "wide"], "no column for any symptom of the structure"),
    ],
)
def test_misuse_is_told(run, files, options, message):
    code, _, err = run("check", "edges.csv", "records.csv", "--no-time", *options)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


@pytest.fixture
def people(tmp_path, monkeypatch):
    """Records with columns of covariates, in the folder where the command runs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    network = datasets.figure1(rng=0)
    network.structure.save("structure.json")
    frame = network.sample(60, rng=1).to_arrow().to_pandas()
    frame["age"], frame["sex"] = rng.integers(20, 80, 60), rng.choice(["f", "m"], 60)
    return frame


def test_covariates_are_said_as_fit_would_take_them(run, people):
    people.to_csv("records.csv", index=False)
    arguments = "check", "structure.json", "records.csv", "--covariates", "age,sex", "--no-time"
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "Covariate 'age': a number" in out
    assert "Covariate 'sex': a category: 'f', 'm'." in out
    code, out, _ = run(*arguments, "--json")
    age, sex = json.loads(out)["covariates"]
    assert age["mean"] == pytest.approx(people.age.mean())
    assert sex == {"name": "sex", "unknown": 0, "levels": ["f", "m"]}


@pytest.mark.parametrize("command", ["check", "fit"])
@pytest.mark.parametrize(
    ("change", "covariates", "message"),
    [
        ({"age": lambda x: x.where(x > 30)}, "age,sex", "records have an unknown covariate"),
        ({"age": lambda x: 50}, "age,sex", "the covariate 'age' is 50.0 in all records"),
        ({"age": lambda x: x.where(x > 30, np.inf)}, "age,sex", "'age' is inf, not a finite"),
        ({"sex": lambda x: x.index.map("t{}".format)}, "age,sex:category", None),
        ({}, "agee,sex", "no column 'agee'"),
        ({}, "age,age,sex", "'age' is named twice"),
        ({}, "people.csv", "has other ids than the records: it has no covariates of some"),
        ({}, "twice.csv", "more than one row for the records 'r0'"),
    ],
)
def test_covariates_that_fit_would_refuse(run, people, command, change, covariates, message):
    for name, changed in change.items():
        people[name] = changed(people[name])
    if covariates.endswith(".csv"):
        people.insert(0, "record", [f"r{i}" for i in range(60)])
        table = people[["record", "age", "sex"]]
        table.iloc[:50].to_csv("people.csv", index=False)
        table.iloc[[*range(60), 0]].to_csv("twice.csv", index=False)
        people = people.drop(columns=["age", "sex"])
    people.to_csv("records.csv", index=False)
    options = ["--no-time"] if command == "check" else ["-o", "network.json"]
    code, _, err = run(
        command, "structure.json", "records.csv", "--covariates", covariates, *options
    )
    assert code == (2 if message else 0), err
    assert (message or "") in " ".join(err.split())
    assert "Traceback" not in err
