"""Quantities of a cell, against sums written out; tables of them; settings."""

import numpy as np
import pytest

from noisyor import NoisyOrError, datasets, evaluate
from noisyor.experiments import Settings
from noisyor.experiments.learners import fit, fit_chunks
from noisyor.experiments.measures import (
    best_of,
    coverage,
    in_new_process,
    mean_errors,
    sums_of_errors,
    timed,
)
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.tables import SAMPLES, span, table


def test_errors():
    network, other = datasets.figure1(0), datasets.figure1(1)
    same = evaluate(network, network, n_records=0)
    assert sums_of_errors(same) == {"l1": 0.0, "l1_with_leaks": 0.0}
    found = evaluate(network, other, n_records=0)
    assert sums_of_errors(found)["l1"] == pytest.approx(
        np.abs(network.priors - other.priors).sum()
        + np.abs(network.failures - other.failures).sum()
    )
    means = mean_errors(found)
    wrong = np.abs(network.failures - other.failures)
    assert means["failures"] == means["failures reached"] == pytest.approx(wrong.mean())
    assert means["failures of depth 0"] <= wrong.max()


def test_coverage_counts_sound_intervals_only():
    network = datasets.figure1(0)
    estimate = fit(network.sample(20_000, seed=1), network.structure, "refined")
    found = coverage(estimate, network)
    assert 0.0 <= found["flagged"] <= 1.0
    assert found["covered"] > 0.6
    kinds = "prior", "failure", "leak"
    held, sound = (sum(found[f"{what} {kind}"] for kind in kinds) for what in ("held", "sound"))
    assert held / sound == pytest.approx(found["covered"])
    assert sound <= 14


def test_time_and_memory():
    total, found = timed(lambda n: np.ones(n).sum(), 20_000_000)
    assert total == 20_000_000
    assert found["seconds"] > 0.0
    assert found.get("megabytes", 153.0) > 100.0
    assert 0.0 <= best_of(3, sum, [1, 2]) < 1.0
    elapsed, peak = in_new_process("def work():\n    return bytearray(b'x') * 200_000_000")
    assert elapsed < 5.0
    assert peak > 190.0


def test_moments_of_many_records_add_up():
    network = datasets.figure1(0)

    def chunks():
        return (network.sample(1000, seed=seed) for seed in range(4))

    for method in "sequential", "pooled":
        learned = fit_chunks(chunks, network.structure, method).network
        once = fit(network.sample(1000, seed=0), network.structure, method).network
        assert np.abs(learned.failures - network.failures).sum() < 2.0
        assert not np.array_equal(learned.failures, once.failures)


def test_tables():
    results = Results()
    results.add(Cell("a", 10, 0, "m"), {"error": 1.0})
    results.add(Cell("a", 10, 1, "m"), {"error": 3.0, "time": 2.0})
    columns = {"error": "{:.1f}", "s": ("time", "{:.0f}"), "samples": ("error", SAMPLES)}
    runs = [(["one"], ("a", 10, "m")), (["none"], ("a", 11, "m"))]
    text = table(results, ["run"], columns, runs)
    assert text.splitlines() == ["| run | error | s | samples |", "|---|---|---|---|",
                                 "| one | 2.0 | 2 | 2 |"]  # fmt: skip
    assert table(results, ["run"], columns, runs[1:]) == ""
    assert span([0.871, float("nan"), 0.95]) == "0.87 to 0.95"
    assert span([0.871, 0.872]) == "0.87"


def test_real_networks_are_found(real_structures, tmp_path):
    settings = Settings(structures=real_structures)
    assert list(settings.real_networks()) == [
        "tcc4e", "plants", "ddxplus", "health_knowledge_graph", "orphanet570",
    ]  # fmt: skip
    assert list(Settings(structures=real_structures / "plants").real_networks()) == ["plants"]
    assert settings.network("plants").structure.n_diseases == 8
    assert Settings().available("figure1", "plants") == ["figure1"]
    with pytest.raises(NoisyOrError, match="no edges.csv"):
        Settings(structures=tmp_path).real_networks()
    with pytest.raises(NoisyOrError, match="--structures"):
        Settings().network("plants")
