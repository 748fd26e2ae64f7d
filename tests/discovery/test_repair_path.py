"""The steps of a repair as a value: its best step, its changes, a table and a sentence."""

import numpy as np

from noisyor import datasets
from noisyor.discovery import RepairPath, RepairStep
from noisyor.discovery.changes import ADD, DROP, Suggestion

NETWORK = datasets.figure1(rng=0)
ERRORS = np.full(NETWORK.structure.n_edges, 0.1)


def step(*changes, bic):
    return RepairStep(changes, NETWORK, -10.0, bic, None, ERRORS)


def change(kind, symptom):
    return Suggestion(kind, "A", (symptom,), 3.0, 2.0, 0.01, 0.02, 0.4)


def test_changes_and_table_go_up_to_where_they_say():
    steps = step(bic=30.0), step(change(ADD, "a"), bic=20.0), step(change(DROP, "b"), bic=25.0)
    path = RepairPath(steps, 1, True)
    assert path.network == NETWORK
    assert path.structure == NETWORK.structure
    assert [each.kind for each in path.changes] == [ADD]
    rows = path.table().to_pylist()
    assert [(row["step"], row["kind"], row["symptoms"]) for row in rows] == [
        (1, ADD, "a"), (2, DROP, "b"),
    ]  # fmt: skip
    assert rows[0]["sentence"] == steps[1].changes[0].sentence
    assert repr(path) == (
        "RepairPath(1 edges added, 0 dropped, 0 diseases added, 0 split; BIC 30.0 -> 20.0)"
    )
    assert "not complete" in repr(RepairPath(steps, 1, False))


def test_a_path_without_changes_has_an_empty_table():
    path = RepairPath((step(bic=30.0),), 0, True)
    assert path.changes == ()
    assert path.table().num_rows == 0
