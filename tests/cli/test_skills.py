"""`noisyor skills`."""

import json

import numpy as np
import pandas as pd
import pytest

from noisyor import NoisyOrNetwork, Structure
from noisyor.network import Joint

STRUCTURE = Structure.from_edges(
    [(skill, f"item {skill}{x}") for skill in ("adding", "dividing") for x in range(4)]
)


@pytest.fixture
def folder(tmp_path):
    """A folder with a Q-matrix, and answers of which 1 is right."""
    items = list(STRUCTURE.symptoms)
    needs = pd.DataFrame({"item": items})
    for i, skill in enumerate(STRUCTURE.diseases):
        needs[skill] = [int(j in STRUCTURE.edges[STRUCTURE.edges[:, 0] == i, 1]) for j in range(8)]
    needs.to_csv(tmp_path / "q.csv", index=False)
    network = NoisyOrNetwork(
        STRUCTURE, None, [0.3] * 8, [0.05] * 8, causes=Joint([0.5, 0.1, 0.1, 0.3])
    )
    right = 1 - network.sample(700, rng=1).to_numpy().astype(int)
    frame = pd.DataFrame(right, columns=items)
    frame.insert(0, "record", [f"p{i}" for i in range(700)])
    frame.to_csv(tmp_path / "answers.csv", index=False)
    return tmp_path


def test_from_a_q_matrix_to_persons(run, folder):
    code, _, err = run("convert", folder / "q.csv", folder / "needs.json", "--from", "q-matrix")
    assert code == 0, err
    call = "skills", folder / "needs.json", folder / "answers.csv", "--invert"
    code, out, err = run(
        *call, "--json", "--persons", folder / "p.csv", "--items", folder / "i.csv"
    )
    assert code == 0, err
    facts = json.loads(out)
    shares = {row["pattern"]: row["share"] for row in facts["classes"]}
    assert shares["11"] == pytest.approx(0.5, abs=0.06)
    assert shares["00"] == pytest.approx(0.3, abs=0.06)
    assert facts["correlations"][0]["correlation"] > 0.5
    persons = pd.read_csv(folder / "p.csv", dtype={"pattern": str})
    assert list(persons.columns) == ["record", "pattern", "probability", "adding", "dividing"]
    assert persons.record[0] == "p0"
    right = pd.read_csv(folder / "answers.csv").iloc[:, 1:5].sum(axis=1).to_numpy()
    assert np.corrcoef(right, persons.adding)[0, 1] > 0.8
    items = pd.read_csv(folder / "i.csv")
    assert items[items.parameter == "pi*"].value.mean() == pytest.approx(0.95, abs=0.03)
    code, out, _ = run(*call)
    assert code == 0
    for text in ("Skill classes", "adding + dividing", "Tetrachoric", "all skills", "SRMSR 0.0"):
        assert text in out
    code, out, _ = run(*call, "--quiet", "--persons", folder / "p.csv")
    assert (code, out) == (0, "")


def test_what_cannot_be_done_is_said(run, folder):
    STRUCTURE.save(folder / "needs.json")
    call = "skills", folder / "needs.json", folder / "answers.csv", "--invert"
    code, _, err = run(*call, "--causes", "both")
    assert code == 2
    assert "causes" in err
    code, _, err = run(*call, "--persons", folder / "p.txt")
    assert code == 2
    assert "p.txt" in err
    code, _, err = run(*call, "--persons", folder / "answers.csv")
    assert code == 2


def test_it_is_said_what_a_1_was_taken_for(run, folder):
    assert run("convert", folder / "q.csv", folder / "needs.json", "--from", "q-matrix")[0] == 0
    call = "skills", folder / "needs.json", folder / "answers.csv"
    said = "1 was taken for a wrong answer. If it stands for a right one, say --invert."
    assert said in run(*call)[1]
    assert said not in run(*call, "--invert")[1]
    json.loads(run(*call, "--json")[1])
