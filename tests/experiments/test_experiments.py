"""The paper's experiments: a tiny version of each, resumed where it stopped."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from noisyor import NoisyOrError, datasets
from noisyor.experiments import (
    EXPERIMENTS,
    Settings,
    experiment,
    figure3,
    figure4,
    reproduce,
    scoreboard,
    table1,
    timings,
)
from noisyor.experiments.measures import coverage, posterior_error, sums_of_errors, timed
from noisyor.experiments.networks import network_named, real_networks
from noisyor.experiments.provenance import Provenance, sentence_of
from noisyor.experiments.results import Cell, Results

QUICK = Settings(quick=True)


@pytest.fixture
def tiny(monkeypatch):
    """Make every experiment a matter of seconds."""
    monkeypatch.setattr(table1, "size", lambda settings: 7)
    monkeypatch.setattr(figure3, "sizes", lambda settings: (200, 2000))
    monkeypatch.setattr(figure3, "RESTARTS", {})
    all_cells = figure3.cells
    monkeypatch.setattr(figure3, "cells", lambda s: [c for c in all_cells(s) if c.seed < 2])
    monkeypatch.setattr(figure4, "networks", lambda settings: ["figure1"])
    monkeypatch.setattr(figure4, "sizes", lambda settings: (500, 2000))
    monkeypatch.setattr(timings, "NETWORK", "figure1")
    monkeypatch.setattr(timings, "n_records", lambda settings: 500)
    monkeypatch.setattr(scoreboard, "networks", lambda settings: ["figure1", "figure2"])
    monkeypatch.setattr(scoreboard, "sizes", lambda settings: (500,))
    monkeypatch.setattr(scoreboard, "METHODS", ("pooled", "observed", "uniform"))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_tiny_version_of_each(name, tiny, tmp_path):
    done = []
    page = reproduce(name, tmp_path, QUICK, progress=done.append)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "nan" not in text
    assert f"noisyor reproduce {name} --quick" in text
    pictures = [line for line in text.splitlines() if line.startswith("![")]
    assert pictures
    for picture in pictures:
        stem = picture.split("](")[1].removesuffix(".png)")
        for ending in ".png", ".svg":
            assert 1000 < (tmp_path / f"{stem}{ending}").stat().st_size < 300_000
    # A second run has nothing left to measure, and writes the same page.
    n_cells = len(done)
    assert n_cells > 0
    reproduce(name, tmp_path, QUICK, progress=done.append)
    assert len(done) == n_cells
    assert page.read_text(encoding="utf-8") == text


def test_table_1_is_that_of_the_paper(tmp_path):
    text = reproduce("table1", tmp_path, QUICK).read_text(encoding="utf-8")
    assert "49 of its 49 entries are the same" in text
    assert "**Where they differ:** Nowhere." in text


def test_what_is_finished_is_kept(tiny, tmp_path, monkeypatch):
    measure, n_done = figure3.measure, []

    def interrupted(cell, settings):
        if len(n_done) == 5:
            raise KeyboardInterrupt
        n_done.append(cell)
        return measure(cell, settings)

    monkeypatch.setattr(figure3, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce("figure3", tmp_path, QUICK)
    assert not (tmp_path / "figure3.md").exists()
    missing = experiment.missing_cells("figure3", tmp_path, QUICK)
    assert len(missing) == len(figure3.cells(QUICK)) - 5
    assert not set(missing) & set(n_done)


def test_several_processes_find_the_same(tmp_path):
    cells = [cell for cell in table1.cells(QUICK) if cell.network in ("1 x 3", "2 x 4", "4 x 5")]
    found = dict(experiment._measured("table1", cells, QUICK, jobs=2))
    assert [found[cell]["order"] for cell in sorted(cells)] == [3.0, 3.0, 4.0]


def test_the_full_run_is_as_large_as_the_papers():
    cells = figure3.cells(Settings())
    assert {cell.n_records for cell in cells} >= {100, 1000, 10_000, 100_000}
    for method, n in (("sequential", 64), ("variational_em", 64), ("exact_em", 16)):
        assert len({cell.seed for cell in cells if cell.method == method}) == n
    assert figure3.RESTARTS["variational_em"] == 64
    assert figure3.RESTARTS["exact_em"] == 4
    sizes = {cell.n_records for cell in figure4.cells(Settings())}
    assert sizes >= {10_000, 100_000, 1_000_000, 10_000_000}


def test_moments_of_many_records_add_up(monkeypatch):
    monkeypatch.setattr(figure4, "CHUNK", 1000)
    network = datasets.figure1(0)
    learned = figure4._learn(network, Cell("figure1", 4000, 0, "sequential"))
    once = figure4._learn(network, Cell("figure1", 1000, 0, "sequential"))
    assert np.abs(learned.failures - network.failures).sum() < 2.0
    assert not np.array_equal(learned.failures, once.failures)


def test_seeds_and_methods_do_not_mix(tmp_path):
    results = Results(tmp_path / "x.csv")
    results.add(Cell("a", 10, 0, "m"), {"error": 1.0})
    results.add(Cell("a", 10, 1, "m"), {"error": 3.0})
    results.add(Cell("a", 10, 1, "n"), {"error": 7.0})
    again = Results(tmp_path / "x.csv")
    assert again.mean("a", 10, "m", "error") == 2.0
    assert again.spread("a", 10, "m", "error") == pytest.approx(np.sqrt(2.0))
    assert np.isnan(again.mean("a", 11, "m", "error"))
    with (tmp_path / "x.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "was not written by"),
        ("network,records,seed,method,quantity,value\nx,y,0,m,q,1\n", "line 2"),
    ],
)
def test_other_files_are_not_taken_for_results(content, message, tmp_path):
    (tmp_path / "table1.csv").write_text(content)
    with pytest.raises(NoisyOrError, match=message):
        reproduce("table1", tmp_path, QUICK)


def test_measures():
    network = datasets.figure1(0)
    assert sums_of_errors(network, network) == {"l1": 0.0, "l1_with_leaks": 0.0}
    other = datasets.figure1(1)
    assert sums_of_errors(network, other)["l1"] == pytest.approx(
        np.abs(network.priors - other.priors).sum()
        + np.abs(network.failures - other.failures).sum()
    )
    same = posterior_error(network, network, 50, seed=0, budget=0.1)
    assert same == {"posterior": 0.0, "same_top": 1.0}
    assert posterior_error(network, other, 50, seed=0, budget=0.1)["posterior"] > 0.01
    _, found = timed(lambda: np.ones(20_000_000).sum())
    assert found["seconds"] > 0.0
    assert found.get("megabytes", 153.0) > 100.0


def test_coverage_counts_sound_intervals_only():
    from noisyor import NoisyOrLearner

    network = datasets.figure1(0)
    estimate = NoisyOrLearner(network.structure).fit(network.sample(20_000, seed=1)).estimate_
    found = coverage(network, estimate)
    assert 0.0 <= found["flagged"] <= 1.0
    assert found["covered"] > 0.6


def test_real_networks_are_found(real_structures, tmp_path):
    assert list(real_networks(real_structures)) == [
        "tcc4e", "plants", "ddxplus", "health_knowledge_graph", "orphanet570",
    ]  # fmt: skip
    assert list(real_networks(real_structures / "plants")) == ["plants"]
    assert network_named("plants", 0, real_structures).structure.n_diseases == 8
    with pytest.raises(NoisyOrError, match="no edges.csv"):
        real_networks(tmp_path)
    with pytest.raises(NoisyOrError, match="--structures"):
        network_named("plants", 0, None)
    with pytest.raises(NoisyOrError, match="there is no experiment 'figure9'"):
        reproduce("figure9", tmp_path, QUICK)


def test_results_of_other_settings_are_not_mixed(tmp_path):
    Provenance("table1", tmp_path, QUICK).keep(7.0)
    Results(tmp_path / "table1.csv").add(Cell("1 x 1", 0, 0, "rank"), {"order": -1.0})
    kept = json.loads((tmp_path / "table1.json").read_text(encoding="utf-8"))
    assert kept["settings"] == {"quick": True, "seed": 0, "structures": []}
    assert kept["seconds"] == 7.0
    assert "--quick --out DIR` in 7 s" in Provenance("table1", tmp_path, QUICK).sentence()
    with pytest.raises(NoisyOrError, match=r"other settings .*quick True.*quick False"):
        reproduce("table1", tmp_path, Settings())
    (tmp_path / "table1.json").unlink()
    with pytest.raises(NoisyOrError, match="cannot be read"):
        reproduce("table1", tmp_path, QUICK)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_pages_in_the_docs_come_from_the_numbers_beside_them(name, real_structures, tmp_path):
    folder = Path(__file__).parents[2] / "docs" / "results"
    settings = Settings(structures=real_structures)
    assert experiment.missing_cells(name, folder, settings) == []
    module, results = experiment.experiment_named(name), Results(folder / f"{name}.csv")
    pictures = module.draw(results, settings, tmp_path)
    content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    provenance = sentence_of(content)
    page = experiment.assembled(module.page(results, settings), pictures, provenance)
    assert page == (folder / f"{name}.md").read_text(encoding="utf-8")
