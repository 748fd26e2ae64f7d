"""`noisyor evaluate`: the differences that Python finds."""

import json

import pytest

from noisyor import datasets, evaluate
from noisyor.cli import main


def test_the_command(tmp_path, capsys):
    truth, learned = datasets.figure1(0), datasets.figure1(1)
    truth.save(tmp_path / "truth.json")
    learned.save(tmp_path / "learned.json")
    files = [str(tmp_path / "learned.json"), str(tmp_path / "truth.json")]
    with pytest.raises(SystemExit) as exit_:
        main(["evaluate", *files, "--json", "-n", "50"])
    assert not exit_.value.code
    facts = json.loads(capsys.readouterr().out)
    assert facts["failures"]["mean"] == evaluate(learned, truth, n_records=0).failures.mean
    assert facts["posteriors"]["n_records"] == 50
    with pytest.raises(SystemExit):
        main(["evaluate", *files])
    assert "failures of depth 1" in capsys.readouterr().out
    with pytest.raises(SystemExit) as exit_:
        main(["evaluate", files[0], "clinic"])
    assert exit_.value.code == 2
    assert "only the second network has the diseases" in capsys.readouterr().err
