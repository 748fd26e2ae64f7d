"""The page in a real browser: it renders, sorts, searches, zooms, and complains of nothing.

Skipped where Chromium, node or playwright-core are missing; CONTRIBUTING.md says how to get them.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, datasets, write_report
from noisyor.flags import REASONS
from report.pages import HOSTILE

pytestmark = pytest.mark.slow

BROWSER = os.environ.get("NOISYOR_BROWSER") or shutil.which("chromium")
NODE = shutil.which("node")
DRIVER = Path(__file__).with_name("browse.cjs")


def has_playwright():
    check = [NODE, "-e", "require.resolve('playwright-core')"]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def browse():
    for thing, name in (BROWSER, "chromium (or NOISYOR_BROWSER)"), (NODE, "node"):
        if not thing:
            pytest.skip(f"there is no {name}; CONTRIBUTING.md says how to get it")
    if not has_playwright():
        pytest.skip("node finds no playwright-core: set NODE_PATH as CONTRIBUTING.md says")

    def run(page, disease):
        command = [NODE, str(DRIVER), str(page), BROWSER, disease]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["complaints"] == found["requests"] == []
        return found

    return run


def numbers(texts):
    return [float(text) for text in texts]


def check(found, disease):
    assert numbers(found["ascending"]) == sorted(numbers(found["ascending"]))
    assert numbers(found["descending"]) == sorted(numbers(found["descending"]), reverse=True)
    assert set(found["kinds"]) == {"leak"}
    assert disease in found["searched"]
    assert "Nothing matches" in found["nothing"]
    assert found["page"].startswith("page 2 of")
    assert found["address"] == f"#disease={disease}"
    assert found["linked"] == disease
    for what in "zoomedByButton", "zoomedByKey", "dragged", "printed":
        assert found[what], what
    assert not found["hacked"]


def test_a_learned_clinic(browse, tmp_path):
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, 0))
    write_report(learner.estimate_, tmp_path / "page.html", truth=clinic)
    found = browse(tmp_path / "page.html", "influenza")
    check(found, "influenza")
    assert found["rows"] == 25
    assert found["status"] == "200 of 200 parameters"
    assert found["searched"] == ["influenza"]
    assert found["symptoms"] == len(clinic.structure.children("influenza"))


def test_flagged_estimates(browse, tmp_path):
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="sequential").fit(clinic.sample(500, 0))
    estimate = learner.estimate_
    write_report(estimate, tmp_path / "page.html")
    found = browse(tmp_path / "page.html", "pneumonia")
    check(found, "pneumonia")
    n_flagged = sum(int((part.flags != 0).sum()) for part in estimate.parts.values())
    assert n_flagged
    assert found["flagged"] == f"{n_flagged} of 200 parameters"
    assert set(found["reasons"]) <= set(REASONS.values())


def test_hostile_names(browse, tmp_path):
    names = [name for name in HOSTILE if "\x00" not in name]
    n = len(names)
    edges = [(i, j) for i in range(n) for j in range(12) if i != j]
    structure = Structure(names, [*names, *(f"s{j}" for j in range(n, 12))], edges)
    rng = np.random.default_rng(0)
    sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
    network = NoisyOrNetwork(structure, *(rng.random(size) for size in sizes))
    write_report(network, tmp_path / "page.html", title=names[0], truth=network)
    for name in names:
        check(browse(tmp_path / "page.html", name), name)


def test_a_network_of_qmrs_size_is_quick(browse, tmp_path):
    network = datasets.qmr_shaped(0)
    write_report(network, tmp_path / "page.html")
    disease = network.structure.diseases[100]
    found = browse(tmp_path / "page.html", disease)
    check(found, disease)
    assert found["status"].endswith(f"{network.structure.n_parameters:,} parameters")
    # About a second on two busy cores; the limit only tells when it became another matter.
    assert found["milliseconds"] < 10_000
