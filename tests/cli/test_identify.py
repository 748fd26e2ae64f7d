"""The command identify, as a user would call it."""

import json

import pyarrow.csv
import pytest

from noisyor import Structure


def test_all_is_well(run):
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
