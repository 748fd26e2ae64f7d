"""The commands schedule, plan and fit, as a user would call them."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from noisyor import (
    MomentPlan,
    NoisyOrLearner,
    NoisyOrNetwork,
    Schedule,
    Structure,
    datasets,
    find_schedule,
)


@pytest.fixture
def clinic(tmp_path):
    """A folder with a network, its structure and some records."""
    network = datasets.clinic()
    network.save(tmp_path / "clinic.json")
    network.structure.to_csv(tmp_path / "edges.csv")
    network.sample(2000, seed=0).to_parquet(tmp_path / "records.parquet")
    return tmp_path


# --- schedule ---


def test_schedule_prints_depths_and_the_certificate(run):
    code, out, err = run("schedule", "clinic")
    assert (code, err) == (0, "")
    assert "20 diseases, 60 symptoms, 120 edges." in out
    assert "edges learned" in out
    assert "(Theorem 1)" in " ".join(out.split())


def test_schedule_tells_what_cannot_be_learned_and_why(run):
    code, out, _ = run("schedule", "figure2")
    assert code == 0
    words = " ".join(out.split())
    assert "Cannot be learned this way: 8 failures and 2 priors." in words
    assert "in the way: 'B' (shares 3 of 4)" in words


def test_schedule_as_json_and_file(run, tmp_path):
    path = tmp_path / "figure1.schedule.json"
    code, out, _ = run("schedule", "figure1", "--json", "-o", path)
    assert code == 0
    facts = json.loads(out)
    assert facts["edges_per_round"] == [4, 3]
    assert facts["complete"] is True
    assert facts["plan"] == {"symptoms": 5, "pairs": 8, "triplets": 3}
    assert Schedule.load(path) == find_schedule(datasets.figure1(0).structure)
    assert json.loads(run("info", path, "--json")[1])["kind"] == "schedule"
    assert str(path) in run("schedule", "figure1", "-o", path)[1].replace("\n", "")


def test_schedule_options_reach_the_search(run):
    alone = json.loads(run("schedule", "qmr_shaped", "--no-pairs", "--json")[1])
    assert len(alone["edges_per_round"]) > 4
    assert not any(alone["pairs_per_round"])
    assert [len(part["diseases"]) for part in alone["unlearned"]] == [2]
    rarest = json.loads(run("schedule", "qmr_shaped", "--choice", "rarest", "--json")[1])
    assert len(rarest["edges_per_round"]) == 4


def test_schedule_asks_theorem_2_about_a_guess(run):
    code, out, _ = run("schedule", "figure1", "--network", "figure1", "--epsilon", 0.1)
    assert code == 0
    words = " ".join(out.split())
    assert "constants that the paper does not print set to 1" in words
    assert "for errors below 0.1 with probability 0.95 it asks for 10^" in words
    facts = json.loads(run("schedule", "figure1", "--network", "figure1", "--json")[1])
    expected = find_schedule(datasets.figure1(0).structure).sample_complexity(datasets.figure1(0))
    assert facts["theorem_2"]["log10_records"] == pytest.approx(expected.log10_records)
    assert facts["theorem_2"]["holds"] is False
    code, _, err = run("schedule", "figure1", "--network", "figure1", "--epsilon", 2)
    assert (code, "epsilon must lie between 0 and 1" in err) == (2, True)
    code, _, err = run("schedule", "figure1", "--network", "clinic")
    assert (code, "different structures" in err) == (2, True)


def test_many_unlearned_parts_are_not_all_listed(run, tmp_path):
    edges = [(f"D{i}", f"S{i}") for i in range(12)]
    Structure.from_edges(edges).to_csv(tmp_path / "edges.csv")
    out = run("schedule", tmp_path / "edges.csv")[1]
    assert "And 2 more parts; --json lists them all." in " ".join(out.split())


def test_names_with_brackets_are_printed_as_they_are(run, tmp_path):
    Structure.from_edges([("[bold]gout", "x:smile:")]).to_csv(tmp_path / "edges.csv")
    assert "'[bold]gout' has only 1 symptom;" in run("schedule", tmp_path / "edges.csv")[1]


# --- fit ---


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
    parts = [network.sample(5000, seed=seed) for seed in (1, 2)]
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
    assert (clinic / "a.json").read_bytes() == (clinic / "b.json").read_bytes()
    assert pq.read_table(clinic / "b.parquet").num_rows == 200


def test_fit_says_what_was_not_learned(run, tmp_path):
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [0.3, 0.4], np.full(6, 0.5), np.full(3, 0.01))
    network.sample(1000, seed=0).to_parquet(tmp_path / "r.parquet")
    structure.save(tmp_path / "s.json")
    code, out, err = run(
        "fit", tmp_path / "s.json", tmp_path / "r.parquet", "-o", tmp_path / "n.json",
        "--method", "sequential",
    )  # fmt: skip
    assert code == 0
    assert "no prior was learned" in err
    words = " ".join(out.split())
    assert "2 priors, 6 failures: not learned: neither a schedule nor the clean-up" in words
    assert "3 leaks: not learned: it rests on a parameter that was not learned" in words
    assert "neutral value: 0.5 for priors, 0.5 for failures, 0.000001 for leaks" in words


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
    network = datasets.qmr_shaped(0)
    sequential = "--method", "sequential"
    plans = {}
    for option in (), ("--no-pairs",), ("--choice", "rarest"):
        path = tmp_path / "qmr.plan"
        assert run("plan", "qmr_shaped", "-o", path, *option, *sequential, "-q")[0] == 0
        plans[option] = MomentPlan.load(path)
    for option, schedule in (
        (("--no-pairs",), find_schedule(network.structure, pairs=False)),
        (("--choice", "rarest"), find_schedule(network.structure, choice="rarest")),
    ):
        needed = schedule.plan()
        assert (plans[option].rows_of(3, needed.triplets) >= 0).all()
        assert len(plans[option].triplets) < len(needed.triplets) + 5000  # with the clean-up's
    network.sample(200, seed=0).to_parquet(tmp_path / "r.parquet")
    run("count", "qmr_shaped", tmp_path / "r.parquet", "-o", tmp_path / "r.moments", "-q",
        "--plan", tmp_path / "qmr.plan")  # fmt: skip
    for option, fits in ((), False), (("--no-pairs",), False), (("--choice", "rarest"), True):
        code, _, err = run(
            "fit", "qmr_shaped", tmp_path / "r.moments", "-o", tmp_path / "n.json", "-q", *option,
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


def test_a_schedule_serves_as_a_structure(run, tmp_path):
    path = tmp_path / "figure1.schedule.json"
    run("schedule", "figure1", "-o", path)
    assert json.loads(run("schedule", path, "--json")[1])["edges_per_round"] == [4, 3]


def test_theorem_2_refuses_parameters_at_the_bounds(run, tmp_path):
    network = datasets.figure1(0)
    for changes, told in (
        ({"priors": [0.0, 0.5]}, "a prior is 0"),
        ({"priors": [1.0, 0.5]}, "a prior is 1"),
        ({"failures": [1.0] * 7}, "a failure is 1"),
        ({"leaks": [1.0] * 5}, "P(present) of a symptom is 1"),
    ):
        parts = {"priors": network.priors, "failures": network.failures, "leaks": network.leaks}
        NoisyOrNetwork(network.structure, **(parts | changes)).save(tmp_path / "n.json")
        code, _, err = run("schedule", "figure1", "--network", tmp_path / "n.json", "--json")
        assert (code, told in err) == (2, True)


def test_the_demo_copes_with_few_records(run, tmp_path):
    code, out, _ = run("demo", "-n", 1, "--network", "figure1", "-o", tmp_path)
    assert code == 0
    assert "nan" not in out
    assert "0 of 7 failures without a doubt. More records are needed." in " ".join(out.split())


def test_fit_does_not_overwrite_its_inputs(run, clinic):
    before = (clinic / "clinic.json").read_bytes()
    code, _, err = run(
        "fit", clinic / "clinic.json", clinic / "records.parquet", "-o", clinic / "clinic.json"
    )
    assert (code, "clinic.json" in err) == (2, True)
    assert (clinic / "clinic.json").read_bytes() == before


# --- known values, misfits, and the plan before there is data ---


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
    assert "1 priors: held at the value that was given." in " ".join(out.split())
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
    assert "pairs of symptoms are not explained" in words
    edge = f"{structure.diseases[first[0]]} to {structure.symptoms[first[1]]}"
    assert f"Edges that would explain most: {edge}" in words
    row = pyarrow.csv.read_csv(table).to_pylist()[0]
    assert structure.symptoms[first[1]] in (row["first"], row["second"])
    whole = run(
        "fit", clinic / "clinic.json", clinic / "records.parquet", "-o", clinic / "new.json",
        "--method", "pooled", "--json",
    )[1]  # fmt: skip
    assert json.loads(whole)["misfits"] == {"tested": 1770, "found": 0, "p_value": 1.0}


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
    network.sample(3000, seed=0).to_parquet("records.parquet")
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


# --- baselines, and what the clean-up says ---


@pytest.mark.parametrize("method", ["exact_em", "variational_em"])
def test_fit_with_a_baseline_tells_how_it_converged(run, tmp_path, method):
    datasets.figure1(0).sample(500, seed=0).to_parquet(tmp_path / "r.parquet")
    learn = "fit", "figure1", tmp_path / "r.parquet", "-o", tmp_path / "l.json", "--method", method
    code, out, _ = run(*learn, "--restarts", 2)
    assert code == 0
    assert "log likelihood is -" in " ".join(out.split())
    trace = json.loads(run(*learn, "--restarts", 3, "--json")[1])["trace"]
    assert len(trace["ends"]) == 3
    assert trace["value"] == max(trace["ends"])


def test_fit_with_the_diseases_seen(run, tmp_path):
    records, diseases = tmp_path / "r.parquet", tmp_path / "d.csv"
    run("sample", "figure1", "-n", 2000, "--seed", 1, "-o", records, "--diseases", diseases)
    learn = "fit", "figure1", records, "-o", tmp_path / "l.json", "--method"
    assert run(*learn, "observed", "--diseases", diseases)[0] == 0
    truth = datasets.figure1(1)  # the seed of the sample is that of the built-in network
    assert np.abs(NoisyOrNetwork.load(tmp_path / "l.json").failures - truth.failures).max() < 0.1
    for wrong in ("observed",), ("refined", "--diseases", diseases):
        code, _, err = run(*learn, *wrong)
        assert code == 2
        assert "--diseases FILE" in err
    diseases.write_text("A,B\n" + "1,\n" * 2000)
    code, _, err = run(*learn, "observed", "--diseases", diseases)
    assert code == 2
    assert "in which all are known" in " ".join(err.split())


def test_fit_tells_how_well_a_part_fits_that_no_schedule_learns(run, tmp_path):
    datasets.figure2(0).sample(5000, seed=0).to_parquet(tmp_path / "r.parquet")
    learn = "fit", "figure2", tmp_path / "r.parquet", "-o", tmp_path / "l.json"
    words = " ".join(run(*learn)[1].split())
    assert "No schedule learns 'A', 'B': fitted together to 16 pairs and triplets" in words
    (part,) = json.loads(run(*learn, "--json")[1])["clean_up"]
    assert part["diseases"] == ["A", "B"]
    assert part["moments"] == 16
