"""`noisyor evaluate`: the differences, and the scores of diagnoses, that Python finds."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from noisyor import (
    Findings,
    NoisyOrLearner,
    Structure,
    datasets,
    evaluate,
    evaluate_diagnoses,
)
from noisyor.cli import main
from noisyor.evaluation import DiagnosisEvaluation


def test_the_command(tmp_path, capsys):
    truth, learned = datasets.figure1(0), datasets.figure1(1)
    truth.save(tmp_path / "truth.json")
    learned.save(tmp_path / "learned.json")
    files = [str(tmp_path / "learned.json"), str(tmp_path / "truth.json")]
    with pytest.raises(SystemExit) as exit_:
        main(["evaluate", *files, "--json", "-n", "50"])
    assert not exit_.value.code
    facts = json.loads(capsys.readouterr().out)
    assert facts["failures"]["mean"] == evaluate(learned, truth, n_records=0).failures.mean
    assert facts["posteriors"]["n_records"] == 50
    with pytest.raises(SystemExit):
        main(["evaluate", *files])
    assert "failures of depth 1" in capsys.readouterr().out
    with pytest.raises(SystemExit) as exit_:
        main(["evaluate", files[0], "clinic"])
    assert exit_.value.code == 2
    assert "only the second network has the diseases" in capsys.readouterr().err


def test_intervals_of_a_model_file_are_counted(tmp_path, capsys):
    truth = datasets.figure1(0)
    estimate = NoisyOrLearner(truth.structure, method="pooled").fit(truth.sample(3000, 1)).estimate_
    estimate.save(tmp_path / "learned.json")
    truth.save(tmp_path / "truth.json")
    files = [str(tmp_path / "learned.json"), str(tmp_path / "truth.json")]
    with pytest.raises(SystemExit):
        main(["evaluate", *files, "--json", "-n", "0"])
    facts = json.loads(capsys.readouterr().out)["intervals"]
    found = evaluate(estimate, truth, n_records=0).intervals
    assert {kind: each["n_holding"] for kind, each in facts.items()} == {
        kind: each.n_holding for kind, each in found.items()
    }
    assert found["failures"].n + found["failures"].n_flagged == 7
    assert found["failures"].n_holding >= 5
    with pytest.raises(SystemExit):
        main(["evaluate", *files, "-n", "0"])
    out = " ".join(capsys.readouterr().out.split())
    assert "95% intervals that hold the truth, of what is not flagged:" in out


# --- diagnoses against labels ---


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    """A folder with records and labels that have ids, the labels in another order."""
    monkeypatch.chdir(tmp_path)
    clinic = datasets.clinic()
    findings, diseases = clinic.sample(200, rng=0, return_diseases=True)
    ids = [f"p{number}" for number in range(200)]
    findings = Findings.from_numpy(findings.to_numpy(), clinic.structure, record_ids=ids)
    findings.to_csv("records.csv")
    frame = pd.DataFrame(diseases.astype(float), columns=list(clinic.structure.diseases))
    frame = frame.assign(record=ids).sample(frac=1.0, random_state=0)
    frame.iloc[:10, 0] = np.nan
    frame.iloc[:150].to_csv("labels.csv", index=False)
    return evaluate_diagnoses(clinic, findings, frame.iloc[:150])


RIGHT = ("evaluate", "clinic", "records.csv", "--labels", "labels.csv")


def test_labels_are_what_python_makes_of_them(run, labelled):
    code, out, err = run(*RIGHT, "-o", "all.json", "--json")
    assert (code, err) == (0, "")
    assert DiagnosisEvaluation.load("all.json") == labelled
    facts = json.loads(out)
    assert (facts["records"], facts["unlabelled"], facts["methods"]) == (150, 50, {"exact": 150})
    assert facts["mean_auc"]["lower"] == labelled.mean_auc.lower
    assert facts["diseases"][0]["labels"] == 140
    assert facts["overall"]["auc"] == labelled.overall.auc.value


def test_scores_and_curves_are_written_as_tables(run, labelled):
    code, out, _ = run(
        *RIGHT, "-o", "scores.csv", "--calibration", "bins.csv", "--decisions", "decisions.parquet"
    )
    assert code == 0
    assert "50 records are without a label and not asked about." in out
    assert "Written: scores.csv, bins.csv, decisions.parquet" in out
    assert "all diseases" in out
    scores = pd.read_csv("scores.csv")
    assert scores["auc"].iloc[0] == pytest.approx(labelled.overall.auc.value)
    assert len(pd.read_csv("bins.csv")) == len(labelled.calibration_table())
    assert pd.read_parquet("decisions.parquet").equals(labelled.decision_table().to_pandas())
    assert run(*RIGHT, "-o", "scores.csv", "--quiet") == (0, "", "")


def test_ids_that_do_not_match_are_told(run, labelled):
    path = Path("labels.csv")
    first, *rows = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([first, f"{rows[0]}x", *rows[1:]]), encoding="utf-8")
    code, out, err = run(*RIGHT)
    assert code == 0
    assert "1 of 150 labels belong to no record" in err
    assert "labels of 149 records" in out


def test_covariates_are_read_beside_the_records(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(2) for x in range(3)])
    age = rng.choice([-1.0, 1.0], 300)
    has = rng.random((300, 2)) < 1.0 / (1.0 + np.exp(-np.outer(age, [2.0, -2.0])))
    shown = np.repeat(has, 3, axis=1) & (rng.random((300, 6)) < 0.5)
    frame = pd.DataFrame(shown.astype(int), columns=list(structure.symptoms))
    frame.assign(age=age).to_csv("records.csv", index=False)
    pd.DataFrame(has.astype(int), columns=["d0", "d1"]).to_csv("labels.csv", index=False)
    people = pd.DataFrame({"age": age})
    network = NoisyOrLearner(structure).fit(shown, covariates=people).network_
    network.save("learned.json")
    arguments = "evaluate", "learned.json", "records.csv", "--labels", "labels.csv"
    code, out, err = run(*arguments, "--json")
    assert code == 0
    assert "labels.csv has no column of ids: its rows are taken in the order" in err
    right = evaluate_diagnoses(network, shown, has, covariates=people)
    assert json.loads(out)["overall"]["log_score"] == pytest.approx(right.overall.log_score)
    frame.to_csv("more.csv", index=False)
    code, _, err = run(*arguments[:3], "more.csv", *arguments[3:])
    assert code == 2
    assert "--covariates: give a table" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*RIGHT, "-n", "5"], "--records is for two networks, not for labels"),
        ([*RIGHT, "-o", "x.txt"], "x.txt: the file must end in .json or .csv or .parquet"),
        ([*RIGHT, "--calibration", "x.json"], "the ending must be .csv or .parquet"),
        ([*RIGHT, "-o", "labels.csv"], "labels.csv"),
        ([*RIGHT, "--covariates", "labels.csv"], "was not learned with covariates"),
        ([*RIGHT, "--method", "magic"], "magic"),
        ([*RIGHT, "-o", "x.json", "--spreadsheet-safe"], "--spreadsheet-safe is for tables"),
        ([*RIGHT[:-1], "none.csv"], "none.csv does not exist"),
        (["evaluate", "figure1", *RIGHT[2:]], "records.csv"),
        (["evaluate", "clinic", "clinic", "--method", "exact"], "--method is for diagnoses agai"),
        (["evaluate", "clinic", "clinic", "--invert"], "--invert is for diagnoses against labels"),
        (["evaluate", "clinic", "clinic", "-o", "x.csv"], "--output is for diagnoses against lab"),
        (["evaluate", "clinic", "clinic", "clinic"], "compared with one other, not with 2"),
    ],
)
def test_misuse_is_named_before_anything_is_written(run, labelled, tmp_path, arguments, message):
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
