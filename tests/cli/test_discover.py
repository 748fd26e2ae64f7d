"""`noisyor discover`."""

import json

from discovery.test_suggestions import CLINIC
from noisyor import NoisyOrNetwork


def test_causes_are_found_and_written(run, tmp_path):
    CLINIC.sample(3000, rng=0).to_parquet(tmp_path / "records.parquet")
    call = "discover", tmp_path / "records.parquet", "-o", tmp_path / "found.json"
    code, out, err = run(*call, "--max-causes", "7", "--starts", "1", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    assert len(facts["causes"]) == 5
    network = NoisyOrNetwork.load(tmp_path / "found.json")
    assert network.structure.n_edges == facts["edges"]
    code, out, _ = run(*call, "--max-causes", "7", "--starts", "1")
    assert code == 0
    assert "stability" in out
    assert str(tmp_path / "found.json") in out


def test_misuse_is_refused(run, tmp_path):
    CLINIC.sample(50, rng=0).to_parquet(tmp_path / "records.parquet")
    call = "discover", tmp_path / "records.parquet"
    code, _, err = run(*call, "-o", tmp_path / "found.csv")
    assert code == 2
    assert "must end in .json" in err
    code, _, err = run(*call, "-o", tmp_path / "f.json", "--structure", "clinic")
    assert code == 2
