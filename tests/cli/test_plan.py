import json

import numpy as np
import pyarrow.csv

from noisyor import (
    NoisyOrNetwork,
    datasets,
)


def test_plan_predicts_before_there_is_data(run, clinic):
    guess = clinic / "clinic.json"
    arguments = "plan", clinic / "edges.csv", "--network", guess, "--records", 10_000
    code, out, err = run(*arguments, "--summary", clinic / "plan.csv", "--precision", 0.02)
    assert (code, err) == (0, "")
    assert "Predicted for 10,000 records" in out
    assert "The least certain failures: appendicitis to " in " ".join(out.split())
    assert pyarrow.csv.read_csv(clinic / "plan.csv").num_rows == 200
    facts = json.loads(run(*arguments, "--json")[1])
    assert facts["failures"]["records_needed_for_half"] > 10_000
    assert run("plan", clinic / "edges.csv")[0] == 2
    summary = "--summary", clinic / "s.csv"
    assert "give a --network" in run("plan", "clinic", "-o", clinic / "p.plan", *summary)[2]
    assert not (clinic / "p.plan").exists()
    assert "another structure" in run("plan", "figure1", "--network", guess)[2]


def test_a_given_disease_is_taken_into_account_at_every_site(run, tmp_path, monkeypatch):
    """Figure 2 cannot be learned until A is given; plan, plan-triplets and fit must all know it."""
    monkeypatch.chdir(tmp_path)
    network = datasets.figure2(0)
    network.save("figure2.json")
    network.sample(3000, rng=0).to_parquet("records.parquet")
    rows = ["parameter,disease,symptom,value", f"prior,A,,{network.priors[0]}"]
    for edge, (i, j) in enumerate(network.structure.edges.tolist()):
        if i == 0:
            rows.append(f"failure,A,{network.structure.symptoms[j]},{network.failures[edge]}")
    (tmp_path / "known.csv").write_text("\n".join(rows) + "\n")
    fixed = "--fixed", "known.csv"
    records = "figure2.json", "records.parquet"
    for command in (
        ("count", *records, "-o", "all.moments"),
        ("plan-triplets", "all.moments", "-o", "triplets.plan", *fixed),
        ("count", *records, "--plan", "triplets.plan", "-o", "all.moments", "--force"),
        ("fit", "figure2.json", "all.moments", "-o", "learned.json", *fixed),
        ("plan", "figure2.json", "--method", "sequential", "-o", "study.plan", *fixed),
        ("count", *records, "--plan", "study.plan", "-o", "study.moments"),
        ("fit", "figure2.json", "study.moments", "-o", "one.json", "--method", "sequential",
         *fixed),
    ):  # fmt: skip
        arguments = [part for part in command if part != "--force"]
        code, _, err = run(*arguments, "-q")
        assert code == 0, err
    for file in "learned.json", "one.json":
        learned = NoisyOrNetwork.load(file)
        assert np.abs(learned.failures - network.failures).max() < 0.3
