import itertools
import json

import numpy as np
import pytest

from noisyor import NoisyOrNetwork, Parameters, datasets, read_model
from noisyor.flags import Flag


def test_convert_writes_and_tells(run, tmp_path):
    code, out, err = run("convert", "clinic", tmp_path / "clinic.xdsl")
    assert (code, err) == (0, "")
    for word in ("built-in", "network", "clinic.xdsl", "20", "60"):
        assert word in "".join(out.split())  # a long path is folded
    code, out, err = run("convert", tmp_path / "clinic.xdsl", tmp_path / "again.json", "--json")
    facts = json.loads(out)
    assert (facts["read_as"], facts["written_as"], facts["edges"]) == ("xdsl", "json", 120)
    assert NoisyOrNetwork.load(tmp_path / "again.json") == datasets.clinic()


def test_a_chain_of_formats(run, tmp_path):
    names = ["a.json", "b.bif", "folder", "c.xdsl", "d.json"]
    assert run("convert", "figure1", tmp_path / "a.json", "--quiet") == (0, "", "")
    for first, second in itertools.pairwise(names):
        assert run("convert", tmp_path / first, tmp_path / second, "-q") == (0, "", "")
    first, last = (NoisyOrNetwork.load(tmp_path / name) for name in ("a.json", "d.json"))
    assert first.structure == last.structure
    assert first.failures == pytest.approx(last.failures, abs=1e-12)


def test_what_is_lost_is_noted(run, tmp_path):
    code, _, err = run("convert", "figure1", tmp_path / "q.csv", "--to", "q-matrix", "-q")
    assert code == 0
    assert "note: " in err
    assert "priors, failures and leaks: they are lost" in err
    assert read_model(tmp_path / "q.csv", "q-matrix") == datasets.figure1(0).structure
    code, out, err = run(
        "convert", tmp_path / "q.csv", tmp_path / "s.json", "--from", "q-matrix", "--json"
    )
    assert (code, err, json.loads(out)["kind"]) == (0, "", "structure")


def test_flags_are_kept_or_their_loss_is_noted(run, tmp_path):
    network = datasets.figure1(0)
    flags = Parameters.full(network.structure, Flag.WEAK, np.uint16)
    network.with_flags(flags).save(tmp_path / "a.json")
    assert run("convert", tmp_path / "a.json", tmp_path / "b.json", "-q") == (0, "", "")
    assert NoisyOrNetwork.load(tmp_path / "b.json").flags == flags
    for output in "c.xdsl", "c.bif", "folder":
        code, _, err = run("convert", tmp_path / "a.json", tmp_path / output, "-q")
        assert code == 0
        assert "does not hold the flags of 14 parameters: they are lost" in err


def test_the_loss_of_how_it_was_learned_is_noted(run, unidentified):
    """Standard errors and the verdict were lost without a word."""
    for output in "c.xdsl", "c.bif":
        code, _, err = run("convert", "learned.json", output, "-q")
        assert code == 0
        assert "standard errors, method and verdict are lost" in " ".join(err.split())
    assert run("convert", "learned.json", "d.json", "-q") == (0, "", "")


def test_calls_that_cannot_be_done(run, tmp_path):
    run("convert", "figure1", tmp_path / "edges.csv", "-q")
    for arguments, message in [
        (("figure1", tmp_path / "a.docx"), "the ending '.docx' is unknown"),
        (("figur1", tmp_path / "a.json"), "figur1 does not exist; did you mean 'figure1'?"),
        ((tmp_path / "edges.csv", tmp_path / "a.bif"), "has no priors, failures and leaks"),
        ((tmp_path / "edges.csv", tmp_path / "edges.csv"), "is read and cannot be the output"),
        (("figure1", tmp_path / "none" / "a.xdsl"), "does not exist"),
        (("figure1", tmp_path / "none" / "folder"), "cannot be made"),
        ((tmp_path / "edges.csv", tmp_path / "a.json", "--from", "bif"), "edges.csv, line 1"),
    ]:
        code, out, err = run("convert", *arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err
        assert not (tmp_path / "a.bif").exists()


def test_a_folder_is_not_read_and_written(run, tmp_path):
    assert run("convert", "figure1", tmp_path / "folder", "-q")[0] == 0
    code, _, err = run("convert", tmp_path / "folder", tmp_path / "folder")
    assert (code, "is read and cannot be the output" in err) == (2, True)


def test_info_knows_the_formats_of_other_software(run, tmp_path):
    for ending in ("xdsl", "bif", "uai"):
        run("convert", "clinic", tmp_path / f"clinic.{ending}", "-q")
        code, out, _ = run("info", tmp_path / f"clinic.{ending}", "--json")
        assert (code, json.loads(out)["kind"], json.loads(out)["edges"]) == (0, "network", 120)


def test_help_has_an_example(run):
    assert "Example: noisyor convert" in run("convert", "--help")[1]


def test_a_q_matrix_that_is_known_by_its_columns_is_called_one(run, tmp_path):
    (tmp_path / "q.csv").write_text("item,fractions,decimals\nq1,1,0\nq2,1,1\n")
    code, out, err = run("convert", tmp_path / "q.csv", tmp_path / "s.json", "--json")
    assert code == 0, err
    assert json.loads(out)["read_as"] == "q-matrix"
    code, out, err = run("info", tmp_path / "q.csv", "--json")
    assert code == 0, err
    facts = json.loads(out)
    assert (facts["kind"], facts["diseases"], facts["edges"]) == ("structure", 2, 3)
    (tmp_path / "items.csv").write_text("item,parameter,skill,value\nq1,pi*,,0.9\n")
    assert json.loads(run("info", tmp_path / "items.csv", "--json")[1])["kind"] == "items of a test"
    assert "is read as a Q-matrix: its first column holds items" in err


def test_symptoms_without_edges_are_added_to_a_structure(run, tmp_path):
    edges, output = tmp_path / "edges.csv", tmp_path / "structure.json"
    edges.write_text("disease,symptom\nflu,fever\nflu,cough\n")
    more = "--more-symptom", "rash", "--more-symptom", "nausea"
    assert run("convert", edges, output, *more, "-q") == (0, "", "")
    structure = read_model(output)
    assert structure.symptoms == ("fever", "cough", "rash", "nausea")
    assert structure.n_edges == 2
    code, _, err = run("convert", edges, output, "--more-symptom", "fever")
    assert code != 0
    assert "'fever' is a symptom of it already" in err
    code, _, err = run("convert", edges, tmp_path / "again.csv", "--more-symptom", "rash")
    assert code != 0
    assert "only .json holds symptoms without edges" in err
    code, _, err = run("convert", "clinic", tmp_path / "clinic.json", "--more-symptom", "rash")
    assert code != 0
    assert "--more-symptom is for structures" in err
