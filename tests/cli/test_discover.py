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
    assert {cause["stability"] for cause in facts["causes"]} == {None}  # of one start
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
    (tmp_path / "people.csv").write_text("name,fever,cough,rash\nAda,1,0,1\nBo,0,1,0\n")
    code, _, err = run("discover", tmp_path / "people.csv", "-o", tmp_path / "f.json")
    assert code == 2
    assert "every column but that of the ids is taken for a symptom (--record names it)" in err
    (tmp_path / "short.csv").write_text("fever,cough,rash\n1,0,1\n0,1\n")
    code, _, err = run("discover", tmp_path / "short.csv", "-o", tmp_path / "f.json")
    assert code == 2
    assert err.strip().endswith("line 3: 2 values where the header has 3 columns.")
    code, _, err = run(*call, "-o", tmp_path / "f.json", "--structure", "clinic")
    assert code == 2
