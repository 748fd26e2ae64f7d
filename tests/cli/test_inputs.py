"""What commands take: built-in names, files, patterns and addresses."""

import json
import warnings

import numpy as np
import pytest

from noisyor import NoisyOrWarning, datasets, read_model, write_model
from noisyor.cli import inputs
from noisyor.errors import FileError, NoisyOrError, ParameterError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_comes_before_a_built_in_name(here):
    assert inputs.is_built_in("qmr-shaped")
    assert inputs.read_network("figure1", seed=3) == datasets.figure1(3)
    datasets.figure2(0).save("clinic.json")
    (here / "clinic.json").rename("clinic")
    assert not inputs.is_built_in("clinic")
    with pytest.raises(FileError, match="clinic is not a network: give a .json file"):
        inputs.read_network("clinic")


def test_a_table_is_no_network_and_what_it_holds_is_said(here, flu):
    flu.to_csv("edges.csv")
    (here / "records.csv").write_text("record,fever,cough\n1,0,1\n")
    with pytest.raises(FileError, match=r"edges\.csv is not a network: it holds edges alone"):
        inputs.read_network("edges.csv")
    with pytest.raises(FileError, match="it is a table without edges, of records perhaps"):
        inputs.read_network("records.csv")


def test_what_is_missing_is_told_with_what_could_be_meant(here):
    with pytest.raises(FileError, match="clinc does not exist.*clinic.* Give a network file"):
        inputs.read_network("clinc")


def test_structures_are_read_from_anything_that_has_edges(here, flu):
    datasets.clinic().save("network.json")
    assert inputs.read_structure("network.json") == datasets.clinic().structure
    flu.save("flu.json")
    flu.to_csv("edges.csv")
    for source in "flu.json", "edges.csv", ".":
        assert inputs.read_structure(source) == flu


def test_what_a_folder_lacks_is_drawn_and_noted(here, flu, capsys):
    edges = "\n".join(f"{flu.diseases[i]},{flu.symptoms[j]},0.5" for i, j in flu.edges.tolist())
    (here / "edges.csv").write_text(f"disease,symptom,probability\n{edges}\n")
    with pytest.raises(FileError, match=r"\. has no priors\.csv"):
        inputs.read_network(".", seed=1)
    network = inputs.read_network(".", seed=1, may_draw=True)
    assert network.structure == flu
    assert network == inputs.read_network(".", seed=1, may_draw=True)
    assert network != inputs.read_network(".", seed=2, may_draw=True)
    noted = capsys.readouterr().err
    assert "has no priors.csv and no leaks.csv: the numbers are drawn at random" in noted


def test_patterns_name_files_once_and_in_order(here):
    for name in "b.csv", "a.csv", "c[1].csv":
        (here / name).write_text("a\n1\n")
    assert [str(each) for each in inputs.expand_sources(["c[1].csv", "[ab].csv"])] == [
        "c[1].csv", "a.csv", "b.csv",
    ]  # fmt: skip
    assert inputs.expand_sources([str(here / "a*")]) == [here / "a.csv"]
    with pytest.raises(FileError, match=r"a\.csv is named more than once"):
        inputs.expand_sources(["a.csv", "a.csv"])
    (here / "hard.csv").hardlink_to(here / "a.csv")
    (here / "soft.csv").symlink_to(here / "a.csv")
    for link in "hard.csv", "soft.csv", str(here / "a.csv"):
        with pytest.raises(FileError, match=r"a\.csv is named also by the link .*csv; it would be"):
            inputs.expand_sources(["a.csv", link])
    with pytest.raises(FileError, match=r"no file matches x\*"):
        inputs.expand_sources(["x*"])
    with pytest.raises(FileError, match="does not exist"):
        inputs.expand_sources(["x.csv"])


def test_addresses_are_not_files_of_this_machine(here):
    (here / "a.csv").write_text("a\n1\n")
    sources = inputs.expand_sources(["s3://store/b.csv", "a.csv"])
    assert sources[0] == "s3://store/b.csv"
    assert [str(each) for each in inputs.local_files(sources)] == ["a.csv"]
    with pytest.raises(FileError, match=r"s3://store/b\.csv is not on this machine"):
        inputs.expand_files(["s3://store/b.csv"])


def test_outputs_are_checked_before_the_work(here):
    (here / "in.csv").touch()
    inputs.check_files([None, here / "out.csv"], [here / "in.csv"], [here / "t.parquet", None])
    with pytest.raises(FileError, match=r"in\.csv"):
        inputs.check_files([here / "in.csv"], [here / "in.csv"])
    with pytest.raises(FileError, match="directory"):
        inputs.check_files([here / "none" / "out.csv"])
    with pytest.raises(NoisyOrError, match=r"\.csv or \.parquet"):
        inputs.check_files([], tables=[here / "table.txt"])


def test_errors_name_the_files_and_keep_their_kind():
    with (
        pytest.raises(ParameterError, match=r"^'a', 'b': too many$"),
        inputs.errors_naming(["a", "b"]),
    ):
        raise ParameterError("too many")


# --- every format, by one function ---


@pytest.mark.parametrize("ending", [".json", ".xdsl", ".bif", ".uai", ""])
def test_networks_of_every_format_are_read_by_commands(here, run, ending):
    network = datasets.figure1(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyOrWarning)  # uai keeps no names
        write_model(network, f"network{ending}")
    found = inputs.read_network(f"network{ending}")
    np.testing.assert_allclose(found.parameters.vector, network.parameters.vector, atol=1e-12)
    assert inputs.read_structure(f"network{ending}") == found.structure
    code, out, _ = run("diagnose", f"network{ending}", "-p", found.structure.symptoms[0], "--json")
    assert code == 0
    assert len(json.loads(out)["diseases"]) == 2
    assert run("schedule", f"network{ending}", "-q")[0] == 0
    assert run("sample", f"network{ending}", "-n", "10", "-o", "records.csv")[0] == 0
    assert run("evaluate", f"network{ending}", f"network{ending}", "-n", "5", "--json")[0] == 0


def test_structures_of_every_format_are_read(here, flu):
    for name, kind in (
        ("a.json", None),
        ("a.csv", None),
        ("b.parquet", None),
        ("q.csv", "q-matrix"),
    ):
        write_model(flu, name, kind)
    for name in ("a.json", "a.csv", "b.parquet"):
        assert inputs.read_structure(name) == flu
    with pytest.warns(NoisyOrWarning, match="read as a Q-matrix"):
        assert set(inputs.read_structure("q.csv").diseases) == set(flu.diseases)
    with pytest.raises(FileError, match=r"a\.csv is not a network: it holds edges alone"):
        inputs.read_network("a.csv")


@pytest.mark.parametrize("ending", [".xdsl", ".bif"])
def test_what_is_written_is_what_the_ending_says(here, run, ending):
    code, _, _ = run(
        "sample", "figure1", "-n", "1000", "-o", "r.csv", "--save-network", f"n{ending}"
    )
    assert code == 0
    assert not (here / f"n{ending}").read_text().startswith('{\n"format"')
    assert read_model(f"n{ending}") == datasets.figure1(0)
    fitted = run("fit", f"n{ending}", "r.csv", "--method", "pooled", "-o", f"learned{ending}", "-q")
    assert fitted[0] == 0
    assert read_model(f"learned{ending}").structure == datasets.figure1(0).structure


def test_json_is_never_written_under_another_name(here, flu):
    for model in (datasets.figure1(0), flu):
        with pytest.raises(FileError, match="is JSON, and this is the ending of another format"):
            model.save("network.xdsl")
    assert not (here / "network.xdsl").exists()


def test_evidence_files_belong_to_uai(here, run):
    code, _, err = run("diagnose", "clinic", "--evidence", "x.evid")
    assert code == 2
    assert "--evidence names variables by their numbers in a .uai file" in err
