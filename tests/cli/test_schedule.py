"""The commands schedule and identify, as a user would call them."""

import json

import pyarrow.csv
import pytest

from noisyor import (
    NoisyOrNetwork,
    Schedule,
    Structure,
    datasets,
    find_schedule,
)


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


# --- identify ---


def test_identify_where_diseases_occur_together(run, tmp_path):
    edges = [("adding", "a"), *(("dividing", each) for each in "bcd")]
    Structure.from_edges(edges).save(tmp_path / "s.json")
    call = "identify", tmp_path / "s.json", "--causes", "joint"
    code, out, err = run(*call, "-o", tmp_path / "v.csv")
    assert (code, err) == (0, "")
    assert "Not all parameters can be known" in out
    assert "shares" in out
    assert "add a symptom of its own to 'adding'" in out
    facts = json.loads(run(*call, "--json")[1])
    assert facts["max_order"] == 3
    assert "failure of 'adding' to 'a'" in facts["tradeoffs"][0]["parameters"]
    assert "failure of 'dividing' to 'b'" not in facts["tradeoffs"][0]["parameters"]
    assert facts["verdicts"] == {"local": 6, "not identifiable": 6}
    code, _, err = run("identify", "--table", 2, 2, "--causes", "joint")
    assert code == 2
    assert "nor --causes" in err
    assert "must be one of" in run("identify", tmp_path / "s.json", "--causes", "both")[2]


def test_identify_where_all_is_well(run):
    code, out, err = run("identify", "figure2")
    assert (code, err) == (0, "")
    assert "All parameters can be known, from moments of order 3." in out


def test_what_cannot_be_known_is_said_with_advice(run, tmp_path):
    edges = [("flu", "fever"), ("flu", "cough"), ("cold", "cough"), ("cold", "sneeze")]
    Structure.from_edges(edges).save(tmp_path / "s.json")
    output = tmp_path / "verdicts.csv"
    code, out, _ = run("identify", tmp_path / "s.json", "-o", output)
    assert code == 0
    words = " ".join(out.split())
    assert "Not all parameters can be known from moments up to order 3." in words
    assert "These trade off against each other, in" in words
    assert "add a symptom of its own to" in words
    rows = pyarrow.csv.read_csv(output).to_pylist()
    assert {row["verdict"] for row in rows} == {"not identifiable"}
    facts = json.loads(run("identify", tmp_path / "s.json", "--json")[1])
    assert facts["order"] == -1
    assert facts["tradeoffs"][0]["repairs"]


def test_known_values_help(run, tmp_path):
    Structure.from_edges([("flu", "fever"), ("flu", "cough")]).save(tmp_path / "s.json")
    table = tmp_path / "known.csv"
    table.write_text("parameter,disease,symptom,value\nprior,flu,,0.1\nfailure,flu,fever,0.2\n")
    facts = json.loads(run("identify", tmp_path / "s.json", "--fixed", table, "--json")[1])
    assert facts["order"] == 2
    assert facts["verdicts"]["fixed"] == 2


def test_table_1(run):
    assert json.loads(run("identify", "--table", 2, 4, "--json")[1]) == [
        [-1, -1, 3, 3],
        [-1, -1, -1, 3],
    ]
    assert "4 symptoms" in run("identify", "--table", 2, 4)[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give a structure, or --table"),
        (["clinic", "--table", 2, 2], "give a structure, or --table"),
        (["--table", 0, 2], "1 to 12"),
        (["--table", 2, 2, "-o", "t.csv"], "neither --output nor --fixed"),
        (["nothing.json"], "nothing.json"),
        (["clinic", "-o", "verdicts.txt"], "verdicts.txt"),
    ],
)
def test_wrong_arguments(run, arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("identify", *arguments)
    assert code == 2
    assert says in " ".join(err.split())
