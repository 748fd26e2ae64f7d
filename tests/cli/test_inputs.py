"""What commands take: built-in names, files, patterns and addresses."""

import pytest

from noisyor import datasets
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
