"""`noisyor compare`, and fit and diagnose where diseases occur together."""

import json

import numpy as np
import pandas as pd
import pytest

from noisyor import NoisyOrNetwork, Structure
from noisyor.network import Covariate, Effects, Independent, Joint

STRUCTURE = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(2) for x in range(4)])


@pytest.fixture
def together(tmp_path):
    """A folder with a structure and records of diseases that occur together."""
    STRUCTURE.save(tmp_path / "needs.json")
    causes = Joint([0.6, 0.05, 0.05, 0.3])
    network = NoisyOrNetwork(STRUCTURE, None, [0.3] * 8, [0.02] * 8, causes=causes)
    network.sample(800, rng=1).to_csv(tmp_path / "records.csv")
    return tmp_path


def test_models_are_compared(run, together):
    call = "compare", together / "needs.json", together / "records.csv"
    options = "--causes", "independent,joint", "--held-out", "0"
    code, out, _ = run(*call, *options, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["best"] == "joint"
    assert [row["parameters"] for row in facts["models"]] == [19, 18]
    code, out, _ = run(*call, *options)
    assert "The smallest BIC has: joint." in out
    assert "…" not in out  # in 80 columns
    assert "independent" in out
    assert facts["recommendation"] == "The smallest BIC has: joint."
    code, _, err = run(*call, "--causes", "all")
    assert code == 2
    assert "causes" in err


def test_more_diseases_than_a_joint_distribution_has_are_compared_without(run, tmp_path):
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(13) for x in range(3)])
    structure.save(tmp_path / "needs.json")
    network = NoisyOrNetwork(structure, [0.3] * 13, [0.3] * 39, [0.02] * 39)
    network.sample(300, rng=1).to_csv(tmp_path / "records.csv")
    call = "compare", tmp_path / "needs.json", tmp_path / "records.csv", "--held-out", "0"
    code, out, err = run(*call, "--json")
    assert code == 0, err
    assert {row["model"] for row in json.loads(out)["models"]} == {"independent", "trait"}
    assert "joint is not compared: a joint distribution is of up to 12 diseases" in err
    code, _, err = run(*call, "--causes", "independent,joint")
    assert code == 2
    assert "up to 12 diseases" in " ".join(err.split())


def test_a_joint_distribution_from_files_to_answers(run, together):
    files = together / "needs.json", together / "records.csv", "-o", together / "learned.json"
    code, out, _ = run("fit", *files, "--causes", "joint")
    assert code == 0
    assert "How diseases occur together (joint, 3 parameters" in out
    learned = NoisyOrNetwork.load(together / "learned.json")
    assert learned.causes.correlations()[0, 1] > 0.5
    code, out, _ = run("diagnose", together / "learned.json", "-p", "s00", "--explain")
    assert code == 0
    assert "the other diseases" in out
    code, out, _ = run("fit", *files, "--causes", "joint", "--json")
    assert json.loads(out)["causes"]["kind"] == "joint"
    code, out, err = run("fit", *files, "--causes", "joint", "--misfits", together / "m.csv")
    assert code == 0, err
    assert "The network fits" in out
    assert (together / "m.csv").exists()
    code, out, _ = run("fit", *files)
    assert "d0 and d1 may occur together more often than independent diseases" in out
    assert "How diseases occur together can be learned" in out


def test_covariates_from_files_to_answers(run, tmp_path):
    STRUCTURE.save(tmp_path / "needs.json")
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {"age": rng.choice([30.0, 60.0], 600), "sex": rng.choice(["f", "m"], 600)}
    )
    covariates = [Covariate("age", (), 45.0, 15.0), Covariate("sex", ("f", "m"))]
    effects = Effects(covariates, [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]], [1.0])
    network = NoisyOrNetwork(
        STRUCTURE, None, [0.3] * 8, [0.02] * 8, causes=Independent([0.3, 0.3], effects)
    )
    records = network.sample(600, rng=1, covariates=people).to_numpy().astype(int)
    frame = pd.DataFrame(records, columns=STRUCTURE.symptoms).join(people)
    frame.to_csv(tmp_path / "records.csv", index=False)
    files = tmp_path / "needs.json", tmp_path / "records.csv", "-o", tmp_path / "learned.json"
    code, out, err = run("fit", *files, "--covariates", "age,sex", "--json")
    assert code == 0, err
    prevalence = json.loads(out)["causes"]["prevalence"]
    old = next(r for r in prevalence if r["disease"] == "d0" and r["value"] == "60")
    young = next(r for r in prevalence if r["disease"] == "d0" and r["value"] == "30")
    assert old["prevalence"] > young["prevalence"] + 0.2
    code, out, _ = run(
        "diagnose", tmp_path / "learned.json", "-p", "s00", "--given", "age=60", "--given", "sex=f",
        "--explain", "--json",
    )  # fmt: skip
    assert code == 0
    rows = json.loads(out)["contributions"]
    assert {row["finding"] for row in rows if row["state"] == "covariate"} == {
        "age = 60",
        "sex = f",
    }
    call = "compare", *files[:2], "--covariates", "age,sex", "--causes", "independent,joint"
    code, out, err = run(*call, "--held-out", "0", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert facts["best"] == "independent, with covariates"
    assert len(facts["models"]) == 3
    call = "diagnose", tmp_path / "learned.json", tmp_path / "records.csv", "-o"
    code, out, err = run(*call, tmp_path / "posteriors.csv")
    assert code == 0, err
    found = pd.read_csv(tmp_path / "posteriors.csv")
    is_old = people.age == 60.0
    assert found.d0[is_old].mean() > found.d0[~is_old].mean() + 0.2
    for options, message in [
        (("--given", "age"), "say it as age=71"),
        (("--given", "agee=3"), "did you mean 'age'"),
        (("--given", "sex=x"), "a category that was not learned from"),
        (("--given", "age=1", "--given", "age=2"), "age was given before"),
    ]:
        code, _, err = run("diagnose", tmp_path / "learned.json", "-p", "s00", *options)
        assert code == 2
        assert message in " ".join(err.split())
