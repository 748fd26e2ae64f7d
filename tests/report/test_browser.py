"""The page in a real browser: it renders, sorts, searches, zooms, and complains of nothing.

Skipped where Chromium, node or playwright-core are missing; CONTRIBUTING.md says how to get them.
"""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from browsers import BROWSER, NODE, need_browser
from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, Vocabulary, datasets, write_report
from noisyor.flags import REASONS
from report.pages import HOSTILE

pytestmark = pytest.mark.slow

DRIVER = Path(__file__).with_name("browse.cjs")


@pytest.fixture(scope="module")
def browse():
    need_browser()

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
    assert found["tooWide"] == [False, False]
    assert all(len(number) < 9 for number in re.findall(r"[\d.]+", found["scale"])), found["scale"]
    assert found["causes"]
    assert found["verdict"]


def test_a_learned_clinic(browse, tmp_path):
    clinic = datasets.clinic()
    learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, 0))
    write_report(learner.estimate_, tmp_path / "page.html", truth=clinic)
    found = browse(tmp_path / "page.html", "influenza")
    check(found, "influenza")
    assert found["rows"] == 25
    assert found["status"] == "200 of 200 parameters"
    assert found["searched"] == ["influenza"]
    lines = found["csv"].split("\r\n")
    assert lines[0].startswith("parameter,disease,symptom,value")
    assert len(lines) == 201
    priors = [line.split(",") for line in lines if line.startswith("prior,")]
    np.testing.assert_allclose(
        sorted(float(line[3]) for line in priors),
        sorted(learner.network_.priors), rtol=1e-3,
    )  # fmt: skip
    symptom = found["symptom"]
    parents = clinic.structure.parents(symptom).tolist()
    assert set(found["causes"]) == {clinic.structure.diseases[i] for i in parents}
    learned = learner.network_
    present = learned.marginals()[clinic.structure.symptom_index(symptom)]
    shown = re.match(r"Present in ([\d.]+)% of records\.", found["symptomSays"])[1]
    assert float(shown) == pytest.approx(100 * present, rel=0.01)
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


def test_the_reader_s_words(browse, tmp_path):
    named = datasets.clinic().with_vocabulary(Vocabulary("fault", "alarm", "log"))
    write_report(named, tmp_path / "page.html")
    found = browse(tmp_path / "page.html", "reflux disease")
    check(found, "reflux disease")
    assert re.search(
        r"Present in .* of logs. Leak: without any of the faults", found["symptomSays"]
    )


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
