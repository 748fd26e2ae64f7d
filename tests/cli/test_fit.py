"""The commands schedule, plan and fit, as a user would call them."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from conftest import network_on
from noisyor import (
    Estimate,
    Findings,
    MomentPlan,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    datasets,
    find_schedule,
    read_model,
)
from noisyor.network import Trait
from noisyor.report.content import content_of


@pytest.mark.parametrize("method", ["refined", "pooled", "sequential"])
def test_fit_from_records_gives_what_the_learner_gives(run, clinic, method):
    code, out, err = run(
        "fit", clinic / "edges.csv", clinic / "records.parquet", "-o", clinic / "learned.json",
        "--summary", clinic / "summary.csv", "--method", method,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert f"Learned from 2,000 records ({method})." in out
    learned = NoisyOrNetwork.load(clinic / "learned.json")
    structure = Structure.from_csv(clinic / "edges.csv")
    learner = NoisyOrLearner(structure, method=method).fit(clinic / "records.parquet")
    assert learned == learner.network_
    truth = datasets.clinic()
    assert learned.structure.diseases == truth.structure.diseases
    assert np.abs(learned.priors - truth.priors).mean() < 0.04
    table = pyarrow.csv.read_csv(clinic / "summary.csv")
    assert table.num_rows == 20 + 120 + 60
    assert table.column("value").to_pylist()[:20] == pytest.approx(learned.priors.tolist())


def test_fit_from_moments_of_two_sites_equals_fit_from_all_records(run, clinic):
    network = datasets.clinic()
    parts = [network.sample(5000, rng=seed) for seed in (1, 2)]
    for name, findings in zip(("north", "south"), parts, strict=True):
        findings.to_parquet(clinic / f"{name}.parquet")
    sequential = "--method", "sequential"
    assert run("plan", clinic / "clinic.json", "-o", clinic / "clinic.plan", *sequential)[0] == 0
    plan = MomentPlan.load(clinic / "clinic.plan")
    assert plan == find_schedule(network.structure).plan()
    for name in "north", "south":
        counted = run(
            "count", clinic / "clinic.json", clinic / f"{name}.parquet",
            "--plan", clinic / "clinic.plan", "-o", clinic / f"{name}.moments",
        )  # fmt: skip
        assert counted[0] == 0
    code, out, _ = run(
        "fit", clinic / "clinic.json", clinic / "*th.moments", "-o", clinic / "a.json", "--json",
        *sequential,
    )  # fmt: skip
    assert code == 0
    assert json.loads(out)["records"] == 10_000
    together = run(
        "fit", clinic / "clinic.json", clinic / "north.parquet", clinic / "south.parquet",
        "-o", clinic / "b.json", "--summary", clinic / "b.parquet", "--quiet", *sequential,
    )  # fmt: skip
    assert together == (0, "", "")
    assert Estimate.load(clinic / "a.json") == Estimate.load(clinic / "b.json")
    assert pq.read_table(clinic / "b.parquet").num_rows == 200


def test_fit_errors_say_what_to_do_and_leave_nothing(run, clinic):
    records, output = clinic / "records.parquet", clinic / "out.json"

    def refusal(*arguments):
        code, out, err = run("fit", *arguments, "-o", output)
        assert (code, out) == (2, "")
        assert err.startswith("noisyor: error: ")
        assert "Traceback" not in err
        assert not output.exists()
        return err

    assert "there is no method 'magic'; known: refined, pooled, sequential" in refusal(
        "clinic", records, "--method", "magic"
    )
    run("count", "clinic", records, "-o", clinic / "pairs.moments")
    assert "no triplets, without which" in refusal("clinic", clinic / "pairs.moments")
    assert "lack 73 of the 73 triplets" in refusal(
        "clinic", clinic / "pairs.moments", "--method", "sequential"
    )
    assert "holds moments and" in refusal("clinic", records, clinic / "pairs.moments")
    assert "different structures" in refusal("figure1", clinic / "pairs.moments")
    assert "does not exist" in refusal("clinic", clinic / "nothing.parquet")
    assert "ending must be .csv or .parquet" in refusal(
        "clinic", records, "--summary", clinic / "summary.txt"
    )
    assert "'a'" in refusal("figure1", records)


def test_options_of_learning_reach_the_learner(run, tmp_path):
    rng = np.random.default_rng(0)
    network = network_on(Structure.from_matrix(rng.random((40, 60)) < 0.15), rng)
    file = tmp_path / "network.json"
    network.save(file)
    sequential = "--method", "sequential"
    plans = {}
    for option in (), ("--no-pairs",), ("--choice", "rarest"):
        path = tmp_path / "some.plan"
        assert run("plan", file, "-o", path, *option, *sequential, "-q")[0] == 0
        plans[option] = MomentPlan.load(path)
    for option, schedule in (
        (("--no-pairs",), find_schedule(network.structure, pairs=False)),
        (("--choice", "rarest"), find_schedule(network.structure, choice="rarest")),
    ):
        needed = schedule.plan()
        assert (plans[option].rows_of(3, needed.triplets) >= 0).all()
        assert not (plans[()].rows_of(3, needed.triplets) >= 0).all()
        assert not (plans[option].rows_of(3, plans[()].triplets) >= 0).all()
    network.sample(200, rng=0).to_parquet(tmp_path / "r.parquet")
    run("count", file, tmp_path / "r.parquet", "-o", tmp_path / "r.moments", "-q",
        "--plan", tmp_path / "some.plan")  # fmt: skip
    for option, fits in ((), False), (("--no-pairs",), False), (("--choice", "rarest"), True):
        code, _, err = run(
            "fit", file, tmp_path / "r.moments", "-o", tmp_path / "n.json", "-q", *option,
            *sequential,
        )  # fmt: skip
        assert (code == 0) is fits
        assert fits or "r.moments': the moments lack" in err


def test_groups_reach_the_standard_errors(run, clinic):
    def errors(groups):
        run("fit", "clinic", clinic / "records.parquet", "-o", clinic / "n.json", "-q",
            "--groups", groups, "--summary", clinic / "s.parquet",
            "--method", "sequential")  # fmt: skip
        return pq.read_table(clinic / "s.parquet").column("standard_error").null_count

    assert errors(50) < 100
    assert errors(9) == 200  # fewer than ten groups tell nothing


def test_a_folder_that_is_read_is_not_written_into(run, real_structures, tmp_path):
    for file in (real_structures / "tcc4e").glob("*.csv"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    before = (tmp_path / "edges.csv").read_bytes()
    for command in "plan", "schedule":
        code, _, err = run(command, tmp_path, "-o", tmp_path / "edges.csv")
        assert (code, "is read and cannot be the output" in err) == (2, True)
    assert (tmp_path / "edges.csv").read_bytes() == before
    assert run("plan", tmp_path, "-o", tmp_path / "new.plan")[0] == 0


def test_fit_does_not_overwrite_its_inputs(run, clinic):
    before = (clinic / "clinic.json").read_bytes()
    code, _, err = run(
        "fit", clinic / "clinic.json", clinic / "records.parquet", "-o", clinic / "clinic.json"
    )
    assert (code, "clinic.json" in err) == (2, True)
    assert (clinic / "clinic.json").read_bytes() == before


def test_fit_relearns_only_the_priors(run, clinic):
    arguments = "fit", clinic / "clinic.json", clinic / "records.parquet", "-q"
    output = clinic / "new.json"
    code, _, err = run(
        *arguments, "-o", output, "--fixed", clinic / "clinic.json", "--relearn", "priors"
    )
    assert (code, err) == (0, "")
    learned, truth = NoisyOrNetwork.load(output), datasets.clinic()
    assert (learned.failures == truth.failures).all()
    assert (learned.leaks == truth.leaks).all()
    assert (learned.priors != truth.priors).all()


def test_fit_holds_a_table_of_values(run, clinic):
    table = clinic / "known.csv"
    table.write_text("parameter,disease,symptom,value\nprior,influenza,,0.07\n")
    output = clinic / "new.json"
    code, out, _ = run(
        "fit", clinic / "clinic.json", clinic / "records.parquet", "-o", output, "--method",
        "pooled", "--fixed", table,
    )  # fmt: skip
    assert code == 0
    assert "1 prior: fixed at the value that was given." in " ".join(out.split())
    learned = NoisyOrNetwork.load(output)
    assert learned.priors[learned.structure.disease_index("influenza")] == 0.07


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--relearn", "priors"], "--relearn needs --fixed"),
        (["--fixed", "clinic.json"], "would fix every parameter"),
        (["--fixed", "clinic.json", "--relearn", "prior"], "known are priors, failures, leaks"),
        (["--fixed", "figure1.json", "--relearn", "priors"], "another structure"),
        (["--fixed", "none.csv"], "none.csv"),
        (
            [
                "--fixed",
                "clinic",
                *["--relearn", "priors", "--relearn", "failures", "--relearn", "leaks"],
            ],
            "would fix nothing",
        ),
    ],
)
def test_fit_refuses_what_cannot_be_held(run, clinic, monkeypatch, options, says):
    monkeypatch.chdir(clinic)
    datasets.figure1(0).save("figure1.json")
    code, _, err = run("fit", "clinic.json", "records.parquet", "-o", "new.json", *options)
    assert code == 2
    assert says in err
    assert not (clinic / "new.json").exists()


def test_fit_tells_what_the_structure_does_not_explain(run, clinic):
    structure = datasets.clinic().structure
    first = structure.edges[0].tolist()
    cut = Structure(structure.diseases, structure.symptoms, structure.edges[1:])
    cut.save(clinic / "cut.json")
    table = clinic / "misfits.csv"
    code, out, _ = run(
        "fit", clinic / "cut.json", clinic / "records.parquet", "-o", clinic / "new.json",
        "--method", "pooled", "--misfits", table,
    )  # fmt: skip
    assert code == 0
    words = " ".join(out.split())
    assert "The network does not fit (p " in words
    edge = f"{structure.diseases[first[0]]} to {structure.symptoms[first[1]]}"
    assert f"An edge from {edge} may be missing" in words
    row = pyarrow.csv.read_csv(table).to_pylist()[0]
    assert structure.symptoms[first[1]] in (row["first"], row["second"])
    whole = run(
        "fit", clinic / "clinic.json", clinic / "records.parquet", "-o", clinic / "new.json",
        "--method", "pooled", "--json",
    )[1]  # fmt: skip
    verdict = json.loads(whole)["misfits"]
    assert verdict["tested"] == 1770
    assert verdict["fits"] == (verdict["p_value"] > 0.05)
    assert min(verdict["tests"].values()) <= verdict["p_value"]


def test_fit_with_the_diseases_seen(run, tmp_path):
    records, diseases = tmp_path / "r.parquet", tmp_path / "d.csv"
    run("sample", "figure1", "-n", 2000, "--seed", 1, "-o", records, "--diseases", diseases)
    learn = "fit", "figure1", records, "-o", tmp_path / "l.json", "--method"
    assert run(*learn, "observed", "--labels", diseases)[0] == 0
    truth = datasets.figure1(1)  # the seed of the sample is that of the built-in network
    assert np.abs(NoisyOrNetwork.load(tmp_path / "l.json").failures - truth.failures).max() < 0.1
    for wrong in ("observed",), ("sequential", "--labels", diseases):
        code, _, err = run(*learn, *wrong)
        assert code == 2
        assert "--labels" in err
    diseases.write_text("A,B\n" + "1,\n" * 2000)
    code, _, err = run(*learn, "observed", "--labels", diseases)
    assert code == 2
    assert "column 'B': the cell is empty" in " ".join(err.split())


@pytest.mark.parametrize("ending", ["xdsl", "bif", "uai"])
def test_the_ending_says_the_format(run, tmp_path, ending):
    network = datasets.figure1(0)
    network.structure.save(tmp_path / "s.json")
    network.sample(2000, rng=1).to_parquet(tmp_path / "r.parquet")
    learned = tmp_path / f"learned.{ending}"
    code, _, _ = run("fit", tmp_path / "s.json", tmp_path / "r.parquet", "-o", learned, "-q")
    assert code == 0
    assert read_model(learned).priors.shape == (2,)


@pytest.mark.parametrize(
    ("command", "output", "says"),
    [
        (["fit"], "learned.txt", "must end in .json or .xdsl or .bif or .uai"),
        (["count"], "counts.csv", "must end in .moments"),
    ],
)
def test_other_endings_are_refused(run, tmp_path, command, output, says):
    datasets.figure1(0).structure.save(tmp_path / "s.json")
    datasets.figure1(0).sample(50, rng=1).to_parquet(tmp_path / "r.parquet")
    code, _, error = run(
        *command, tmp_path / "s.json", tmp_path / "r.parquet", "-o", tmp_path / output
    )
    assert code == 2
    assert says in " ".join(error.split())
    assert not (tmp_path / output).exists()


@pytest.fixture
def formulas(tmp_path, monkeypatch):
    """A network whose names a spreadsheet would compute, and records of it."""
    monkeypatch.chdir(tmp_path)
    structure = Structure.from_edges(
        [("=cmd()", symptom) for symptom in ("@a", "+b", "-c")], diseases=["=cmd()", "'=cmd()"]
    )
    network = NoisyOrNetwork(structure, [0.3, 0.2], [0.2, 0.3, 0.4], [0.1, 0.1, 0.1])
    network.save("n.json")
    network.sample(3000, rng=0).to_csv("r.csv")
    return tmp_path


def test_tables_for_spreadsheets_compute_nothing(run, formulas):
    options = ["--method", "pooled", "--summary", "s.csv", "--misfits", "m.csv", "-q"]
    assert run("fit", "n.json", "r.csv", "-o", "l.json", *options, "--spreadsheet-safe")[0] == 0
    assert run("diagnose", "n.json", "r.csv", "-o", "p.csv", "-q", "--spreadsheet-safe")[0] == 0
    for name in ("s.csv", "m.csv", "p.csv"):
        with (formulas / name).open(newline="") as lines:
            cells = [cell for row in csv.reader(lines) for cell in row]
        starts = [cell for cell in cells if cell.startswith(("=", "+", "@", "-"))]
        assert all(re.fullmatch(r"-[\d.e-]+", cell) for cell in starts)  # numbers
    assert "''=cmd()" in (formulas / "s.csv").read_text()


def test_tables_for_spreadsheets_are_not_read_back_as_something_else(run, formulas):
    """A name with its apostrophe is another name; the file is refused, not misread."""
    options = ["--method", "pooled", "--summary", "s.csv", "-q"]
    run("fit", "n.json", "r.csv", "-o", "l.json", *options, "--spreadsheet-safe")
    code, _, err = run("diagnose", "l.json", "-p", "@a", "--errors", "s.csv")
    assert code == 2
    assert "s.csv, line" in err
    assert "did you mean" in err


@pytest.mark.parametrize("tables", [[], ["--summary", "s.parquet"]])
def test_only_csv_is_made_safe_for_spreadsheets(run, formulas, tables):
    code, _, err = run("fit", "n.json", "r.csv", "-o", "l.json", *tables, "--spreadsheet-safe")
    assert code == 2
    assert "--spreadsheet-safe is for tables that end in .csv" in err


def test_moments_need_no_cluster(run, sites):
    """It was left out without a word."""
    counted = sites / "all.moments"
    run("count", sites / "clinic.json", sites / "part0.parquet", "-o", counted, "-q")
    call = "fit", sites / "clinic.json", counted, "-o", sites / "l.json", "--cluster", "local:1"
    code, _, err = run(*call)
    assert code == 2
    assert "--cluster local:1 is for records" in err


def test_draws_are_written_and_the_report_has_their_intervals(run, tmp_path):
    network = datasets.figure1(rng=0)
    network.structure.save(tmp_path / "figure.json")
    network.sample(300, rng=1).to_parquet(tmp_path / "records.parquet")
    files = tmp_path / "figure.json", tmp_path / "records.parquet", "-o", tmp_path / "learned.json"
    code, out, err = run(
        "fit", *files, "--method", "bayesian", "--max-iter", "60", "--n-chains", "2",
        "--pseudo-counts", "leaks=1,50", "--draws", tmp_path / "draws.parquet",
        "--summary", tmp_path / "summary.csv",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert "2 chains of 60 rounds, 80 draws kept." in out
    assert pq.read_table(tmp_path / "draws.parquet").num_rows == 80 * 14
    summary = tmp_path / "summary.csv"
    content = content_of(NoisyOrNetwork.load(tmp_path / "learned.json"), errors=summary)
    rows = pyarrow.csv.read_csv(summary).to_pylist()
    lower, upper = content.parts["failure"].intervals()
    assert lower.tolist() == [row["lower"] for row in rows[2:9]]
    assert upper.tolist() == [row["upper"] for row in rows[2:9]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--draws", "x.csv"], "--draws needs --method bayesian"),
        (["--pseudo-counts", "leaks=1,2"], "--pseudo-counts needs --method bayesian"),
        (["--n-chains", "4"], "--n-chains needs --method bayesian"),
        (["--traits", "2"], "n_traits (--traits) is for causes='trait' (--causes trait), not 'ind"),
        (["--method", "bayesian", "--pseudo-counts", "leaks=1"], "expected a kind and two numbers"),
        (["--method", "bayesian", "--pseudo-counts", "leak=1,2"], "there is no kind 'leak'"),
    ],
)
def test_options_of_other_methods_and_causes_are_refused(run, clinic, options, message):
    files = clinic / "edges.csv", clinic / "records.parquet", "-o", clinic / "learned.json"
    code, _, err = run("fit", *files, *options)
    assert code != 0
    assert message in " ".join(err.split())


@pytest.fixture
def labelled_files(tmp_path):
    """Records of two diseases with equal symptoms, with ids, and labels of the first 200."""
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.2, 0.3, 0.6, 0.7, 0.7, 0.6, 0.3, 0.2]
    network = NoisyOrNetwork(structure, [0.1, 0.2], failures, [0.02] * 4)
    findings, diseases = network.sample(2000, rng=0, return_diseases=True)
    ids = [f"p{number}" for number in range(2000)]
    Findings.from_numpy(findings.to_numpy(), structure, record_ids=ids).to_csv(
        tmp_path / "records.csv"
    )
    structure.save(tmp_path / "structure.json")
    rows = [f"p{n},{int(diseases[n, 1])},{int(diseases[n, 0])}" for n in range(200)]
    (tmp_path / "labels.csv").write_text("\n".join(["patient,B,A", *rows]) + "\n")
    (tmp_path / "shuffled.csv").write_text("\n".join(["patient,B,A", *rows[::-1]]) + "\n")
    code = np.where(diseases[:, 0], np.arange(2000) % 5 > 0, np.arange(2000) % 100 == 0)
    lines = (tmp_path / "records.csv").read_text().splitlines()
    coded = [f"{lines[0]},J45", *(f"{x},{int(c)}" for x, c in zip(lines[1:], code, strict=True))]
    (tmp_path / "coded.csv").write_text("\n".join(coded) + "\n")
    return tmp_path


def test_fit_with_labels_of_some_records(run, labelled_files):
    learn = "fit", labelled_files / "structure.json", labelled_files / "records.csv"
    learned = labelled_files / "l.json"
    assert "the same symptoms" in " ".join(run(*learn, "-o", learned)[1].split())
    found = []
    for name in "labels.csv", "shuffled.csv":
        code, out, _ = run(*learn, "-o", learned, "--labels", labelled_files / name)
        assert code == 0
        assert "the same symptoms" not in " ".join(out.split())
        assert "from 2,000 records, 200 of them with a label" in " ".join(out.split())
        found.append(NoisyOrNetwork.load(learned))
    assert "records with a label" in run("info", learned)[1]
    assert found[0] == found[1]  # to the last digit
    assert NoisyOrNetwork.load(learned).priors == pytest.approx([0.1, 0.2], abs=0.05)
    (labelled_files / "wrong.csv").write_text("patient,gout\np1,1\n")
    code, _, err = run(*learn, "-o", learned, "--labels", labelled_files / "wrong.csv")
    assert code == 2
    assert "'gout' holds labels, but the structure has no such disease" in " ".join(err.split())


def test_labels_that_contradict_their_records_are_told_everywhere(run, labelled_files):
    learned = labelled_files / "l.json"
    text = (labelled_files / "labels.csv").read_text()
    inverted = text.replace(",1", ",x").replace(",0", ",1").replace(",x", ",0")
    (labelled_files / "inverted.csv").write_text(inverted)
    files = [labelled_files / name for name in ("structure.json", "records.csv", "inverted.csv")]
    fitting = "fit", *files[:2], "-o", learned, "--labels", files[2]
    code, out, err = run(*fitting, "--json")
    assert code == 0
    assert "contradict the findings of their records" in " ".join(err.split())
    found = json.loads(out)["labels"]
    assert (found["n_records"], found["n_diseases"]) == (200, 2)
    assert "0 and 1 exchanged" in found["hint"]
    facts = json.loads(run("info", learned, "--json")[1])
    assert facts["labels"] == Estimate.load(learned).label_check.sentence
    _, _, err = run("diagnose", learned, "-p", "S0")
    assert "learned with labels that contradict their records" in " ".join(err.split())
    assert run(*fitting[:-1], labelled_files / "labels.csv")[0] == 0
    assert "200 looked at" in json.loads(run("info", learned, "--json")[1])["labels"]


def test_fit_with_beliefs_of_a_table_and_of_the_structure(run, labelled_files):
    beliefs, learned = labelled_files / "beliefs.csv", labelled_files / "l.json"
    beliefs.write_text(
        "parameter,disease,symptom,value,weight\nprior,A,,0.1,100\nprior,B,,0.2,100\n"
    )
    learn = "fit", labelled_files / "structure.json", labelled_files / "records.csv", "-o", learned
    summary = labelled_files / "s.csv"
    code, out, _ = run(*learn, "--beliefs", beliefs, "--summary", summary)
    assert code == 0
    assert "the same symptoms" not in " ".join(out.split())
    assert pd.read_csv(summary)["weight"].tolist()[:2] == [100.0, 100.0]
    beliefs.write_text("parameter,disease,symptom,value,weight\nprior,A,,0.7,500\n")
    code, _, err = run(*learn, "--beliefs", beliefs)
    assert code == 0
    assert "1 belief is contradicted by the records" in " ".join(err.split())
    code, _, err = run(*learn, "--fixed", beliefs)
    assert code == 0
    assert "are believed, and not fixed" in " ".join(err.split())
    beliefs.write_text("parameter,disease,symptom,value,standard_error\nprior,A,,0.7,0.1\n")
    code, _, err = run(*learn, "--beliefs", beliefs)
    assert code == 2
    assert "no row has a weight" in " ".join(err.split())
    edges = labelled_files / "edges.csv"
    rows = [f"{d},S{j},{p},30" for d in "AB" for j, p in enumerate((0.8, 0.7, 0.4, 0.3))]
    edges.write_text("\n".join(["disease,symptom,probability,weight", *rows]) + "\n")
    code, _, err = run("fit", edges, labelled_files / "records.csv", "-o", learned)
    assert code == 0
    assert "are beliefs about 8 edges" in " ".join(err.split())


def test_fit_with_loadings_that_are_known(run, tmp_path):
    edges = [(f"d{i}", f"s{i}{x}") for i in range(4) for x in range(3)]
    structure = Structure.from_edges(edges)
    truth = NoisyOrNetwork(
        structure, None, [0.3] * 12, [0.02] * 12, causes=Trait([-1.0] * 4, [1.5, 1.2, 1.3, 0.0])
    )
    structure.save(tmp_path / "structure.json")
    truth.sample(2000, rng=0).to_parquet(tmp_path / "records.parquet")
    known = tmp_path / "known.csv"
    known.write_text(
        "parameter,disease,symptom,name,value,error\nloading,d3,,,0,\nloading,d0,,trait,1.5,0.2\n"
    )
    learn = "fit", tmp_path / "structure.json", tmp_path / "records.parquet"
    learn = *learn, "-o", tmp_path / "learned.json", "--beliefs", known
    code, out, _ = run(*learn, "--causes", "trait", "--report", tmp_path / "report.html")
    assert code == 0
    assert re.search(r"d3\W+loading\W+trait\W+0\.000\W+fixed", out), out
    estimate = Estimate.load(tmp_path / "learned.json")
    assert estimate.network.causes.loadings[3, 0] == 0.0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "of loadings and effects its standard error" in page
    code, out, _ = run(*learn, "--causes", "trait", "--json")
    loadings = [x for x in json.loads(out)["causes"]["parameters"] if x["parameter"] == "loading"]
    assert [row["flags"] for row in loadings] == ["", "", "", "fixed"]
    code, _, err = run(*learn)
    assert code == 2
    assert "learn with causes='trait', from records, or leave it out" in " ".join(err.split())


def test_fit_with_codes_that_can_be_wrong(run, labelled_files):
    codes, learned = labelled_files / "codes.csv", labelled_files / "l.json"
    codes.write_text("code,disease\nJ45,A\n")
    learn = "fit", labelled_files / "structure.json", labelled_files / "coded.csv", "-o", learned
    code, out, _ = run(*learn, "--codes", codes)
    assert code == 0
    assert "Codes, with 95% intervals:" in out
    (row,) = json.loads(run(*learn, "--codes", codes, "--json")[1])["codes"]
    assert row["sensitivity"] == pytest.approx(0.8, abs=0.12)
    assert row["specificity"] == pytest.approx(0.99, abs=0.02)
    assert NoisyOrNetwork.load(learned).structure.symptoms[-1] == "J45"
    codes.write_text("code,disease\nJ45,gout\n")
    code, _, err = run(*learn, "--codes", codes)
    assert code == 2
    assert "gout" in err
