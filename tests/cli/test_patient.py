"""One patient: all answers, for people and as JSON."""

import json

import pytest

from noisyor import (
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    best_questions,
    datasets,
    posterior,
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
    assert "What to ask for next (sampled)" in out  # while the diagnosis is exact


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


def test_what_fit_could_not_learn_is_marked_and_has_no_interval(run, unidentified):
    asked = "diagnose", "learned.json", "-p", "d", "-p", "a"
    _, out, _ = run(*asked)
    assert "open *" in out
    assert "sure *" not in out
    assert "* rests on parameters that are flagged: it may be far off" in out
    assert "nor the clean-up shows that it can be known." in " ".join(out.split())
    # The model file says all that the summary says.
    for more in ([], ["--errors", "learned.csv"]):
        _, out, _ = run(*asked, *more)
        [row] = [line for line in out.splitlines() if line.strip().startswith("open *")]
        assert "not known" in row
        assert " to " not in row
        _, out, _ = run(*asked, *more, "--json")
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


def test_costs_and_sensitivity(run, unidentified):
    asked = "diagnose", "learned.json", "-p", "a"
    _, out, _ = run(*asked, "--ask", "--cost", "b=50", "--sensitivity", "--json")
    facts = json.loads(out)
    costs = {row["symptom"]: row["cost"] for row in facts["questions"]}
    assert costs["b"] == 50
    assert costs["c"] == 1
    assert facts["sensitivity"]["disease"] == facts["diseases"][0]["disease"]
    assert facts["sensitivity"]["parameters"][0]["swing"] > 0
    _, out, _ = run(*asked, "--ask", "--cost", "b=50", "--sensitivity")
    assert "bits a cost" in out
    assert "What sure hangs on" in out
    for wrong in ("b", "b=much", "z=3"):
        code, _, err = run(*asked, "--ask", "--cost", wrong)
        assert code == 2
        assert f"--cost {wrong}: expected a finding of the network and a number" in err
    code, _, err = run("diagnose", "clinic", "-p", "fever", "--sensitivity")
    assert code == 2
    assert "sensitivity needs standard errors" in err


def test_questions_by_what_they_save(run):
    asked = "diagnose", "clinic", "-p", "fever", "--ask", "--utility", "pneu=50,5"
    code, out, err = run(*asked)
    assert code == 0, err
    assert "saves (loss)" in out
    _, out, _ = run(*asked, "--json")
    rows = json.loads(out)["questions"]
    expected = best_questions(datasets.clinic(), ["fever"], utilities={"pneumonia": (50, 5)})
    assert [row["gain"] for row in rows] == pytest.approx(expected.gains[:10].tolist())
    assert {row["unit"] for row in rows} == {"loss"}
    for wrong, says in (
        ("pneumonia=5", "two numbers"), ("flu=5,1", "there is no disease named 'flu'"),
        ("pneumonia=-1,5", "two numbers from 0"),
    ):  # fmt: skip
        code, _, err = run("diagnose", "clinic", "-p", "fever", "--ask", "--utility", wrong)
        assert code == 2
        assert says in " ".join(err.split())


def test_a_network_that_does_not_fit_says_so(run, tmp_path):
    clinic = datasets.clinic()
    edges = [(i, j) for i, j in clinic.structure.edges.tolist() if (i, j) != (0, 1)]
    names = clinic.structure.diseases, clinic.structure.symptoms
    learner = NoisyOrLearner(Structure(*names, edges), method="pooled")
    learner.fit(clinic.sample(5000, rng=0)).estimate_.save(tmp_path / "wrong.json")
    _, _, err = run("diagnose", tmp_path / "wrong.json", "-p", "fever")
    assert "does not explain the records it was learned from" in " ".join(err.split())
    assert "does not explain" not in run("diagnose", "clinic", "-p", "fever")[2]
