"""The engine of the experiments: a tiny version of each, resumed where it stopped."""

import json
from pathlib import Path

import pytest

from noisyor import NoisyOrError
from noisyor.experiments import (
    EXPERIMENTS,
    ExperimentSettings,
    accuracy,
    baselines,
    discovery,
    experiment,
    figure3,
    figure4,
    reproduce,
    sequential,
    speed,
    table1,
    timings,
)
from noisyor.experiments.provenance import sentence_of
from noisyor.experiments.results import Cell, Results

HERE = [name for name in EXPERIMENTS if name != "gpu"]
"""That of a card has its tests in tests/gpu."""
QUICK = ExperimentSettings(quick=True)
RESULTS = Path(__file__).parents[2] / "docs" / "results"


def cells_of(network, sizes, methods, n_seeds=1):
    return [Cell(network, n, s, m) for n in sizes for m in methods for s in range(n_seeds)]


TINY = {
    "table1": table1.cells(QUICK),
    "figure3": cells_of("figure1", (200, 2000), figure3.METHODS, 2),
    "figure4": cells_of("figure1", [0], figure4.SCHEDULES)
    + cells_of("figure1", (500, 2000), figure4.METHODS),
    "timings": cells_of("figure1", [500], timings.PAPER),
    "scoreboard": cells_of("figure1", [500], ("pooled", "observed", "uniform"))
    + cells_of("figure2", [500], ["pooled"]),
    "accuracy": cells_of("figure1", (300, 3000), (*accuracy.SEEN, *accuracy.METHODS))
    + cells_of("figure1", [3000], accuracy.ROUNDS),
    "maximum": cells_of("figure1", [500], ("refined", "pooled")),
    "draws": cells_of("drawn2", [50], ("bayesian", "refined")),
    "together": cells_of("trait20", [300], ["trait"]),
    "labels": cells_of("equal", [400], ("unlabelled", "labels", "labels and codes"))
    + cells_of("figure1", [1000], ["worth"]) + cells_of("figure1", [500], ["all labelled"])
    + cells_of("figure1", [2000], ["wrong beliefs"]),
    "sequential": cells_of("figure1", [0], ("schedule", "exact moments"))
    + cells_of("figure1", [2000], sequential.CHOICES),
    "identifiability": cells_of("figure2", [0], ("check", "clean-up"))
    + cells_of("figure2", [1000], ("refined", "pooled")),
    "robustness": cells_of("clinic", [2000], ("pooled, correlation 0.4", "edge deleted"))
    + cells_of("clinic", [5000], ["pooled, right"]),
    "misfits": cells_of("clinic", [2000], ("right, pooled", "edge deleted", "diseases dependent")),
    "discovery": cells_of("clinic", [10_000], discovery.REPAIRED)
    + cells_of("planted8", [2000], discovery.SIMULATED),
    "baselines": cells_of("figure1", [300], ["agreement"])
    + cells_of(baselines.LARGE, [300], baselines.METHODS),
    "diagnosis": cells_of("clinic", [5], ("exact, 5 present, others absent", "whole records",
        "gibbs, 8 present, others unknown", "leaves 8, 1e+04 operations",
        "questions, whole record"))
    + cells_of("clinic", [2000], ("learned", "calibration")),
    "app": cells_of("clinic", [6], ("posterior, 12 findings", "200 a second", "memory")),
    "speed": cells_of("clinic", [0], ["import noisyor"]) + cells_of("clinic", [800], ["cluster"])
    + cells_of("qmr_shaped", [1000], ("sample", "count, as the paper"))
    + cells_of("qmr_shaped", [0], ["merge, 9 parts"]),
    "first-minute": cells_of("clinic", [50], ["count a file"]),
    "cores": cells_of("clinic", [500], ("pooled, 1 threads", "pooled, 2 threads")),
}  # fmt: skip


@pytest.fixture
def tiny(monkeypatch):
    """Make every experiment a matter of seconds."""
    for name, cells in TINY.items():
        module = experiment.experiment_named(name)
        monkeypatch.setattr(module, "cells", lambda settings, cells=cells: cells)
    monkeypatch.setattr(figure3, "STARTS", {})
    monkeypatch.setattr(accuracy, "LARGE", ("figure1",))
    monkeypatch.setattr(baselines, "SHAPE", (4, 15))
    times = {"threads, s": 1.0, "cluster, s": 1.2}
    monkeypatch.setitem(speed.WORK, "cluster", lambda *_: dict(times))


LONG = (
    "accuracy",
    "app",
    "baselines",
    "diagnosis",
    "discovery",
    "draws",
    "figure3",
    "identifiability",
    "together",
)
"""Those whose tiny version takes many seconds."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in HERE],
)
def test_a_tiny_version_of_each(name, tiny, tmp_path):
    done = []
    page = reproduce(name, tmp_path, QUICK, progress=done.append)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "nan" not in text
    assert "{" not in text
    assert f"noisyor reproduce {name} --quick" in text
    for picture in (line for line in text.splitlines() if line.startswith("![")):
        stem = picture.split("](")[1].removesuffix(".png)")
        for ending in ".png", ".svg":
            assert 1000 < (tmp_path / f"{stem}{ending}").stat().st_size < 300_000
    # A second run has nothing left to measure, and writes the same page.
    assert len(done) == len(TINY[name])
    reproduce(name, tmp_path, QUICK, progress=done.append)
    assert len(done) == len(TINY[name])
    assert page.read_text(encoding="utf-8") == text
    index = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert f"| [{text.partition(chr(10))[0].removeprefix('# ')}]({name}.md) |" in index


def test_the_index_says_what_each_page_found(tmp_path):
    (tmp_path / "speed.md").write_text("# Speed\n\n**In short:** it is fast.\n\nMore.\n")
    (tmp_path / "table1.md").write_text("# Table 1\n\nNothing in short.\n")
    index = experiment.made_index(tmp_path)
    assert "| [Speed](speed.md) | It is fast. |" in index
    assert index.index("## Does it do what the paper says?") < index.index("## Is it fast?")
    assert "## Does it diagnose?" not in index


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
    assert len(missing) == len(TINY["figure3"]) - 5
    assert not set(missing) & set(n_done)


def test_only_some_cells_are_measured_and_the_page_says_so(tiny, tmp_path):
    with pytest.raises(NoisyOrError, match=r"no cell of misfits is like 'clinic/right'; .*/200"):
        reproduce("misfits", tmp_path, QUICK, only=["clinic/*/right*", "clinic/right"])
    for n_missing, only in enumerate((["*/right*", "*/edge*"], ["clinic/2000/0/right, pooled"])):
        page = reproduce("misfits", tmp_path / str(n_missing), QUICK, only=only)
        words = f"; {n_missing + 1} of its cells were not measured yet"
        assert words in page.read_text(encoding="utf-8")
        assert experiment.missing_cells("misfits", page.parent, QUICK, only) == []
        assert len(experiment.missing_cells("misfits", page.parent, QUICK)) == n_missing + 1
    page = reproduce("misfits", page.parent, QUICK)
    assert "not measured yet" not in page.read_text(encoding="utf-8")


def test_a_page_that_needs_more_cells_says_so(tmp_path):
    with pytest.raises(NoisyOrError, match="has too few cells for a page: 42 were not measured"):
        reproduce("table1", tmp_path, QUICK, only=["2 x */rank"])
    assert not (tmp_path / "table1.md").exists()
    reproduce("table1", tmp_path, QUICK)


def test_several_processes_find_the_same():
    cells = [cell for cell in table1.cells(QUICK) if cell.network in ("1 x 3", "2 x 4", "4 x 5")]
    found = dict(experiment._measured("table1", cells, QUICK, jobs=2))
    assert [found[cell]["order"] for cell in sorted(cells)] == [3.0, 3.0, 4.0]


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(NoisyOrError, match="there is no experiment 'figure9'"):
        reproduce("figure9", tmp_path, QUICK)


def test_every_page_in_the_docs_has_its_experiment():
    pages = {path.stem for path in RESULTS.glob("*.md")}
    # attacks: scripts/attack.py
    assert pages == {"index", "attacks", *EXPERIMENTS}
    index = (RESULTS / "index.md").read_text(encoding="utf-8")
    assert index == experiment.made_index(RESULTS)
    rows = [line for line in index.splitlines() if line.startswith("| [")]
    assert len(rows) == len(pages) - 1
    assert not [row for row in rows if row.endswith("|  |")]  # each says what was found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_pages_in_the_docs_come_from_the_numbers_beside_them(
    name, real_structures, tmp_path, monkeypatch
):
    # Cells of others' learners are listed where these are installed: here those of the pages.
    monkeypatch.setattr(discovery, "installed_peers", lambda: ["restricted Boltzmann machine"])
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    settings = ExperimentSettings(content["settings"]["quick"], structures=real_structures)
    # A page of which some cells are missing says how many.
    n_missing = len(experiment.missing_cells(name, RESULTS, settings))
    assert n_missing == content.get("missing", 0)
    results = Results(RESULTS / f"{name}.csv")
    page = experiment.made_page(name, results, sentence_of(content), tmp_path)
    assert page == (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    drawn = {path.name for path in tmp_path.iterdir()}
    assert all((RESULTS / each).exists() for each in drawn)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("quick", [False, True])
def test_cells_are_distinct(name, quick):
    cells = experiment.experiment_named(name).cells(ExperimentSettings(quick))
    assert len(set(cells)) == len(cells) > 0
