"""What `fit` says of what was learned, of what was not, and how well it fits."""

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from noisyor import NoisyOrNetwork, Structure, datasets


def test_fit_says_what_was_not_learned(run, tmp_path):
    structure = Structure.from_matrix(np.ones((2, 3)))
    network = NoisyOrNetwork(structure, [0.3, 0.4], np.full(6, 0.5), np.full(3, 0.01))
    network.sample(1000, rng=0).to_parquet(tmp_path / "r.parquet")
    structure.save(tmp_path / "s.json")
    code, out, err = run(
        "fit", tmp_path / "s.json", tmp_path / "r.parquet", "-o", tmp_path / "n.json",
        "--method", "sequential",
    )  # fmt: skip
    assert code == 0
    assert "no prior was learned" in err
    words = " ".join(out.split())
    assert "2 priors, 6 failures: not learned: neither a schedule nor the clean-up" in words
    assert "3 leaks: not learned: it rests on a parameter that was not learned" in words
    assert "neutral value: 0.5 for priors, 0.5 for failures, 0.000001 for leaks" in words


@pytest.mark.parametrize("method", ["exact_em", "variational_em"])
def test_fit_with_a_baseline_tells_how_it_converged(run, tmp_path, method):
    datasets.figure1(0).sample(500, rng=0).to_parquet(tmp_path / "r.parquet")
    learn = "fit", "figure1", tmp_path / "r.parquet", "-o", tmp_path / "l.json", "--method", method
    code, out, _ = run(*learn, "--n-init", 2)
    assert code == 0
    assert re.search(r"log likelihood (settled|has not settled) at -", " ".join(out.split()))
    trace = json.loads(run(*learn, "--n-init", 3, "--json")[1])["trace"]
    assert len(trace["ends"]) == 3
    assert trace["value"] == max(trace["ends"])


def test_fit_tells_how_well_a_part_fits_that_no_schedule_learns(run, tmp_path):
    datasets.figure2(0).sample(5000, rng=0).to_parquet(tmp_path / "r.parquet")
    learn = "fit", "figure2", tmp_path / "r.parquet", "-o", tmp_path / "l.json"
    words = " ".join(run(*learn)[1].split())
    assert "No schedule learns 'A', 'B': fitted together to 16 pairs and triplets" in words
    (part,) = json.loads(run(*learn, "--json")[1])["clean_up"]
    assert part["diseases"] == ["A", "B"]
    assert part["moments"] == 16


def test_one_record_teaches_nothing_and_fit_says_so_first(run, clinic, monkeypatch):
    monkeypatch.chdir(clinic)
    datasets.clinic().sample(1, rng=0).to_parquet("one.parquet")
    learn = "fit", "clinic.json", "one.parquet", "-o", "learned.json", "--report", "report.html"
    code, out, _ = run(*learn)
    assert code == 0
    beware = "Beware: all 200 parameters that were to be learned are flagged."
    assert beware in out
    assert out.index(beware) < out.index("Learned from 1 record (refined).")
    assert "explains all" not in out
    assert "says little where so much is flagged" in " ".join(out.split())
    page = (clinic / "report.html").read_text()
    assert f'<p class="verdict bad">Do not rely on its numbers. {beware}' in page
    _, out, _ = run(*learn, "--json")
    assert json.loads(out)["warning"] == beware


def test_the_widest_interval_is_told_of_what_is_not_flagged(run, clinic, monkeypatch):
    monkeypatch.chdir(clinic)
    learn = "fit", "clinic.json", "records.parquet", "-o", "learned.json", "--method", "pooled"
    _, out, _ = run(*learn, "--report", "report.html", "--summary", "summary.parquet")
    rows = [row for row in pq.read_table("summary.parquet").to_pylist() if not row["flags"]]
    worst = max(rows, key=lambda row: row["upper"] - row["lower"])
    name = " on ".join(filter(None, (worst["disease"], worst["symptom"])))
    told = f"not flagged the {worst['parameter']} of {name} is known least: its 95% interval is "
    assert told in " ".join(out.split())
    page = (clinic / "report.html").read_text()
    assert told in page
    assert "with a doubt" not in page
