import json

import numpy as np
import pytest

from noisyor import NoisyOrNetwork
from noisyor.errors import FileError


def test_the_demo_copes_with_few_records(run, tmp_path):
    code, out, _ = run("demo", "-n", 1, "--network", "figure1", "-o", tmp_path)
    assert code == 0
    assert "nan" not in out
    assert "0 of 7 failures without a flag. More records are needed." in " ".join(out.split())


def test_the_demo_leaves_nothing_where_its_report_fails(run, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise FileError("no room.")

    monkeypatch.setattr("noisyor.write_report", refuse)
    code, _, err = run("demo", "-n", 1, "--network", "figure1", "-o", tmp_path)
    assert code == 2
    assert "no room." in err
    assert list(tmp_path.iterdir()) == []


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
