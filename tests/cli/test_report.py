import json

import pyarrow.parquet as pq
import pytest

from noisyor import NoisyOrLearner, datasets, evaluate_diagnoses
from report.pages import read_page


@pytest.fixture
def learned(tmp_path, monkeypatch):
    """A folder with a learned network, its summary and its misfits, as fit writes them."""
    monkeypatch.chdir(tmp_path)
    clinic = datasets.clinic()
    estimate = (
        NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(2000, 0)).estimate_
    )
    estimate.network.save("learned.json")
    estimate.save_summary("learned.parquet")
    estimate.misfits().save("misfits.csv")
    return tmp_path


def test_report_writes_a_page(run, learned):
    code, out, _ = run(
        "report", "learned.json", "--summary", "learned.parquet", "--misfits", "misfits.csv",
        "--truth", "clinic", "--title", "A <title>", "-o", "report.html",
    )  # fmt: skip
    assert code == 0
    assert "A network of 20 diseases, 60 symptoms and 120 edges." in out
    assert "Written: report.html (0.0" in out
    page = read_page(learned / "report.html")
    assert page.text.startswith("A <title>")
    assert page.data["knows"] == {"errors": True, "flags": True, "independent": True, "truth": True}
    assert "No pair of symptoms deviates" in page.text


def test_diagnoses_against_labels_come_from_the_file_of_evaluate(run, learned):
    records, diseases = datasets.clinic().sample(200, rng=1, return_diseases=True)
    evaluate_diagnoses(datasets.clinic(), records, diseases).save("evaluation.json")
    report = "report", "learned.json", "-o", "report.html", "--evaluation"
    assert run(*report, "evaluation.json")[0] == 0
    page = read_page(learned / "report.html")
    assert "Diagnoses against labels 4,000 labels of 200 records" in page.text
    code, _, err = run(*report, "learned.json")
    assert code == 2
    assert "learned.json is not a noisyor.evaluation document" in err


def test_report_for_machines_and_for_nobody(run, learned):
    _, out, _ = run("report", "learned.json", "-o", "report.html", "--json")
    facts = json.loads(out)
    assert facts["bytes"] == (learned / "report.html").stat().st_size
    n_flagged = sum(map(bool, pq.read_table("learned.parquet")["flags"].to_pylist()))
    assert (facts["flagged"], facts["learned"], facts["misfits"]) == (n_flagged, 200, None)
    _, out, _ = run("report", "clinic", "-o", "report.html", "--json")
    facts = json.loads(out)
    assert facts["flagged"] is facts["learned"] is facts["misfits"] is None
    _, out, _ = run(
        "report", "learned.json", "--summary", "learned.parquet", "-o", "r.html", "--json"
    )
    assert json.loads(out)["learned"] == 200
    assert run("report", "figure1", "-o", "figure.html", "--quiet") == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["learned.json", "-o", "report.txt"], "the ending of a report must be .html"),
        (["learned.json", "-o", "r.html", "--summary", "none.csv"], "none.csv does not exist"),
        (["learned.json", "-o", "r.html", "--summary", "misfits.csv"], "has no column"),
        (["learned.json", "-o", "r.html", "--misfits", "learned.parquet"], "has no column"),
        (["learned.json", "-o", "r.html", "--truth", "figure1"], "another structure"),
        (["clinic", "-o", "r.html", "--summary", "learned.parquet"], "written with this network"),
    ],
)
def test_report_refuses(run, learned, arguments, message):
    code, _, err = run("report", *arguments)
    assert code == 2
    assert message in err
    assert not (learned / "r.html").exists()


def test_fit_writes_the_page_too(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    datasets.clinic().sample(1000, 0).to_parquet("records.parquet")
    fit = "fit", "clinic", "records.parquet", "--method", "pooled", "-o", "learned.json"
    code, _, err = run(*fit, "--report", "report.pdf")
    assert code == 2
    assert "must be .html" in err
    assert run(*fit, "--report", "report.html", "--quiet")[0] == 0
    text = read_page(tmp_path / "report.html").text
    assert "learned from 1,000 records" in text
    assert "The network fits (p = " in text or "The network does not fit (p = " in text


def test_a_model_file_says_all_that_fit_knew(run, learned):
    clinic = datasets.clinic()
    clinic.sample(1500, rng=0).to_parquet("records.parquet")
    fitting = "fit", "clinic", "records.parquet", "--method", "pooled", "-o", "whole.json"
    assert run(*fitting, "--report", "fitted.html")[0] == 0
    assert run("report", "whole.json", "-o", "read.html")[0] == 0
    assert (learned / "read.html").read_bytes() == (learned / "fitted.html").read_bytes()
