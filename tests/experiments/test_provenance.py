"""Where results come from, kept beside them."""

import json

import pytest

from noisyor import NoisyOrError
from noisyor.experiments import ExperimentSettings, reproduce
from noisyor.experiments.provenance import Provenance, sentence_of
from noisyor.experiments.results import Cell, Results

QUICK = ExperimentSettings(quick=True)


def test_results_of_other_settings_are_not_mixed(tmp_path):
    Provenance("table1", tmp_path, QUICK).keep(7.0)
    Results(tmp_path / "table1.csv").add(Cell("1 x 1", 0, 0, "rank"), {"order": -1.0})
    kept = json.loads((tmp_path / "table1.json").read_text(encoding="utf-8"))
    assert kept["settings"] == {"quick": True, "seed": 0, "structures": []}
    assert kept["seconds"] == 7.0
    kept["date"] = "2026-01-02"
    (tmp_path / "table1.json").write_text(json.dumps(kept))
    sentence = sentence_of(Provenance("table1", tmp_path, QUICK).content)
    assert "--quick --out DIR` in 7 s" in sentence
    assert "begun on 2026-01-02" in sentence
    with pytest.raises(NoisyOrError, match=r"other settings .*quick True.*quick False"):
        reproduce("table1", tmp_path, ExperimentSettings())
    (tmp_path / "table1.json").unlink()
    with pytest.raises(NoisyOrError, match="cannot be read"):
        reproduce("table1", tmp_path, QUICK)
