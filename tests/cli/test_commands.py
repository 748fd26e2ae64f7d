import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from noisyor import Findings, NoisyOrNetwork, __version__, datasets


def test_help_and_version(run):
    code, out, _ = run("--help")
    assert code == 0
    for command in (
        "info",
        "sample",
        "schedule",
        "plan",
        "count",
        "plan-triplets",
        "merge",
        "fit",
        "demo",
    ):
        assert command in out
        assert "Example: noisyor" in run(command, "--help")[1]
    assert run("--version") == (0, f"noisyor {__version__}\n", "")


@pytest.mark.parametrize("name", ["records.parquet", "records.csv"])
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_sample_writes_what_python_would_sample(run, tmp_path, name, layout):
    path, network = tmp_path / name, datasets.clinic()
    code, out, err = run("sample", "clinic", "-n", 500, "--seed", 3, "--layout", layout, "-o", path)
    assert (code, err) == (0, "")
    assert str(path) in out
    assert Findings.read(path, network.structure) == network.sample(500, seed=3)


def test_sample_can_tell_diseases_and_network(run, tmp_path):
    code, out, _ = run(
        "sample", "figure1", "--records", 100, "--seed", 5, "--quiet", "-o",
        tmp_path / "records.parquet", "--diseases", tmp_path / "diseases.parquet",
        "--save-network", tmp_path / "network.json",
    )  # fmt: skip
    assert (code, out) == (0, "")
    network = NoisyOrNetwork.load(tmp_path / "network.json")
    assert network == datasets.figure1(5)
    _, diseases = network.sample(100, seed=5, return_diseases=True)
    table = pq.read_table(tmp_path / "diseases.parquet")
    assert table.column_names == ["A", "B"]
    assert table.to_pandas().to_numpy().tolist() == diseases.tolist()
    again = run(
        "sample", tmp_path / "network.json", "-n", 100, "--seed", 5, "-o", tmp_path / "2.parquet"
    )
    assert again[0] == 0
    assert Findings.read(tmp_path / "2.parquet", network.structure) == network.sample(100, 5)


def test_info_tells_every_kind_of_file(run, tmp_path):
    network = datasets.clinic()
    findings = network.sample(300, seed=0)
    network.save(tmp_path / "network.json")
    network.structure.save(tmp_path / "structure.json")
    network.structure.to_csv(tmp_path / "edges.csv")
    findings.to_parquet(tmp_path / "wide.parquet")
    findings.to_csv(tmp_path / "long.csv", layout="long")
    for name, facts in {
        "network.json": {"kind": "network", "diseases": 20, "edges": 120},
        "structure.json": {"kind": "structure", "symptoms": 60},
        "edges.csv": {"kind": "structure", "symptoms": 60},
        "wide.parquet": {"records": 300, "symptoms": 60, "unknown_findings": 0},
        "long.csv": {"records": 300, "kind": "records, long (a row per finding)"},
    }.items():
        code, out, _ = run("info", tmp_path / name, "--json")
        assert code == 0
        assert json.loads(out).items() >= facts.items()
        assert run("info", tmp_path / name)[0] == 0
    assert json.loads(run("info", "qmr-shaped", "--json")[1])["edges"] == 45470


def test_info_reads_the_folders_of_real_structures(run, real_structures):
    code, out, _ = run("info", real_structures / "tcc4e", "--json")
    assert (code, json.loads(out)["edges"]) == (0, 186)


def test_demo_tells_its_story(run, tmp_path):
    small = "demo", "--records", 2000, "--network", "clinic", "-o", tmp_path / "demo"
    code, out, _ = run(*small)
    assert code == 0
    for part in "20 diseases", "Had the diseases been seen", "The most frequent diseases":
        assert part in out
    assert "What no record tells: the patient had" in " ".join(out.split())
    learned = NoisyOrNetwork.load(tmp_path / "demo" / "learned.json")
    truth = NoisyOrNetwork.load(tmp_path / "demo" / "truth.json")
    facts = json.loads(run(*small, "--json")[1])
    wrong = np.abs(learned.failures - truth.failures)
    assert facts["learned"] <= facts["failures"] == 120
    assert facts["error"] == pytest.approx(wrong.mean(), abs=0.05)
    assert 0.8 < facts["covered"] <= 1.0
    assert run(*small, "--quiet")[:2] == (0, "")


@pytest.mark.slow
def test_demo_at_the_size_of_qmr(run, tmp_path):
    facts = json.loads(run("demo", "-o", tmp_path, "--json")[1])
    assert facts["error"] < 1.3 * facts["error_diseases_seen"]
    assert 0.93 < facts["covered"] < 0.97


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nothing.json"], "nothing.json does not exist"),
        (["info", "."], "edges.csv does not exist"),
        (["info", "damaged.json"], "damaged.json, line 1, column 2: not valid JSON"),
        (
            ["info", "other.json"],
            "other.json is not a noisyor.structure or noisyor.network or noisyor.schedule",
        ),
        (["info", "damaged.parquet"], "damaged.parquet is not a readable Parquet file"),
        (["sample", "nothing", "-o", "r.csv"], "nothing does not exist. Give a network file"),
        (["sample", "clinic", "-o", "records.txt"], "the ending must be .csv or .parquet"),
        (["sample", "clinic", "-o", "none/r.csv"], "the directory none does not exist"),
        (["sample", "clinic", "-o", "r.csv", "-n", "-5"], "greater than or equal"),
        (["sample", "clinic", "-o", "r.csv", "--layout", "tall"], "tall"),
        (["sample", "clinic"], "--output"),
        (["unknown"], "unknown"),
    ],
)
def test_errors_are_one_sentence_and_exit_code_2(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.json").write_text("{")
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "damaged.parquet").write_text("PAR1")
    before = set(tmp_path.iterdir())
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert set(tmp_path.iterdir()) == before


def test_notices_go_to_standard_error(run, tmp_path):
    import warnings

    from noisyor.cli import app
    from noisyor.errors import NoisyOrWarning

    def warn():
        warnings.warn("mind the gap", NoisyOrWarning, stacklevel=1)

    registered = list(app.app.registered_commands)
    app.app.command("warn")(app.ending_kindly(warn))
    try:
        assert run("warn") == (0, "", "noisyor: note: mind the gap\n")
    finally:
        app.app.registered_commands[:] = registered


def test_ctrl_c_ends_with_a_word_and_code_130(run, monkeypatch, tmp_path):
    from noisyor.network import NoisyOrNetwork as Network

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Network, "iter_sample", interrupt)
    code, out, err = run("sample", "clinic", "-o", tmp_path / "r.parquet")
    assert code == 130
    assert out == ""
    assert err.strip().splitlines()[-1] == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_the_installed_command_runs():
    command = [str(Path(sys.executable).parent / "noisyor"), "info", "figure1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["edges"] == 7
    assert done.stderr == ""


def test_a_reader_who_has_had_enough_is_no_error(tmp_path):
    noisyor = Path(sys.executable).parent / "noisyor"
    small = f"demo --network figure1 --records 100 -o {tmp_path}"
    script = f"set -o pipefail; {noisyor} {small} | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("option", ["--diseases", "--save-network"])
def test_outputs_do_not_overwrite_each_other(run, tmp_path, option):
    path = tmp_path / "x.csv"
    code, _, err = run("sample", "clinic", "-o", path, option, path)
    assert code == 2
    assert "is given for two different outputs" in err
    code, _, err = run("sample", "clinic", "-o", path, option, tmp_path / "none" / "x.csv")
    assert code == 2
    assert list(tmp_path.iterdir()) == []


def test_drawn_numbers_are_told(run, tmp_path):
    (tmp_path / "edges.csv").write_text("disease,symptom,probability\nflu,fever,0.5\n")
    code, _, err = run("info", tmp_path)
    assert code == 0
    assert "has no priors and no leaks: they are drawn at random" in err


@pytest.mark.parametrize("name", ["only.csv", "only.parquet"])
def test_a_file_of_ids_alone(run, tmp_path, name):
    import pyarrow as pa

    (tmp_path / "only.csv").write_text("record\n1\n2\n")
    pq.write_table(pa.table({"record": [1, 2]}), tmp_path / "only.parquet")
    code, _, err = run("info", tmp_path / name)
    assert code == 2
    assert "has no columns of symptoms" in err


def test_ctrl_c_in_the_middle_of_real_work(tmp_path):
    import signal
    import time

    script = "from noisyor.cli import main; main()"
    arguments = ["sample", "qmr_shaped", "-n", "100000000", "-o", str(tmp_path / "r.parquet")]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".r.parquet.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.strip() == "noisyor: interrupted"
    assert list(tmp_path.iterdir()) == []
