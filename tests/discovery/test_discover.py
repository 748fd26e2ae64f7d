"""discover: causes from records alone."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discovery.test_suggestions import CLINIC
from noisyor import Findings, NoisyOrNetwork, Structure, datasets
from noisyor.discovery import Discovery, DiscoverySettings, discover, match_causes
from noisyor.discovery.dense_em import CauseMatrix
from noisyor.discovery.discover import _Finder, _Start, stability_of
from noisyor.errors import ParameterError

QUICK = DiscoverySettings(n_init=2, standard_errors=False)
RECORDS = CLINIC.sample(4000, rng=0)
OVERCOMPLETE = Path(__file__).parents[3] / "shared" / "records" / "overcomplete"


@pytest.fixture(scope="module")
def found() -> Discovery:
    return discover(RECORDS.to_numpy(), 7, rng=1, settings=DiscoverySettings(n_init=2))


def test_causes_are_found_with_their_symptoms(found):
    matching = match_causes(CLINIC, found.network)
    assert (matching.n_found, matching.n_false) == (5, 0)
    assert found.structure.n_edges == CLINIC.structure.n_edges
    assert found.is_complete
    assert found.estimate.network.structure == found.structure
    assert (found.stability >= 0.5).all()
    assert not found.is_given.any()
    assert repr(found).startswith("Discovery(5 causes, 30 edges; BIC ")


def test_names_are_those_of_the_strongest_symptoms(found):
    row = found.table().to_pylist()[0]
    strongest = row["symptoms"].split(", ")[:3]
    assert row["cause"] == " + ".join(strongest) + " ..."
    assert row["n_symptoms"] == 6


def test_the_same_seed_gives_the_same(found):
    again = discover(RECORDS.to_numpy(), 7, rng=1, settings=DiscoverySettings(n_init=2))
    np.testing.assert_array_equal(again.network.failures, found.network.failures)


def test_known_causes_keep_their_edges_and_hidden_ones_are_found():
    structure = CLINIC.structure
    known = structure.subset(diseases=[0, 3])
    known = Structure(
        known.diseases, structure.symptoms,
        [[i, j] for i, d in enumerate((0, 3)) for j in structure.children(d).tolist()],
    )  # fmt: skip
    found = discover(RECORDS, 7, structure=known, rng=0, settings=QUICK)
    assert found.structure.diseases[:2] == known.diseases
    assert found.is_given.tolist() == [True, True, False, False, False]
    for i in range(2):
        assert found.structure.children(i).tolist() == known.children(i).tolist()
    assert match_causes(CLINIC, found.network).n_found == 5


def test_frames_and_files_bring_their_names(tmp_path):
    frame = pd.DataFrame(RECORDS.to_numpy(), columns=[f"symptom {j}" for j in range(20)])
    frame.to_csv(tmp_path / "records.csv", index=False)
    one, other = (
        discover(each, 6, settings=QUICK._replace(n_init=1))
        for each in (frame, tmp_path / "records.csv")
    )
    assert one.structure.symptoms[3] == "symptom 3"
    assert one.network == other.network


def test_independent_symptoms_have_no_cause():
    array = np.random.default_rng(0).random((2000, 12)) < 0.2
    found = discover(array, 4, settings=QUICK)
    assert found.structure.n_diseases == 0
    assert found.estimate is None


def test_an_interruption_keeps_what_was_found(monkeypatch):
    started = _Finder._started
    calls = []

    def interrupted(finder, n_causes, rng):
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        return started(finder, n_causes, rng)

    monkeypatch.setattr(_Finder, "_started", interrupted)
    settings = QUICK._replace(n_jobs=1, standard_errors=True)
    found = discover(RECORDS, 6, settings=settings)
    assert not found.is_complete
    assert found.estimate is None  # who interrupts does not wait for standard errors
    assert found.n_starts == 1
    assert "not complete" in repr(found)


def test_stability_is_the_share_of_starts():
    truth = CauseMatrix.of(CLINIC)
    starts = [truth, truth.at(np.arange(3))]
    assert stability_of(truth, starts).tolist() == [1.0, 1.0, 1.0, 0.5, 0.5]
    assert np.isnan(stability_of(truth, starts[:1])).all()  # one start says nothing of itself


def test_misuse_is_refused():
    array = RECORDS.to_numpy()
    with pytest.raises(ParameterError, match="max_causes must be"):
        discover(array, 0)
    with pytest.raises(ParameterError, match="structure must be a Structure"):
        discover(array, structure=CLINIC)
    with pytest.raises(ParameterError, match="has 5 causes already"):
        discover(array, 3, structure=CLINIC.structure)
    with pytest.raises(ParameterError, match="n_init"):
        discover(array, settings=DiscoverySettings(n_init=0))
    for few in array[:, :2], array[:1], np.where(array > 0, 1.0, np.nan):
        with pytest.raises(ParameterError, match="causes show in 3 or more symptoms .* [02] vary"):
            discover(few)
    with pytest.raises(ParameterError, match="no records"):
        discover(array[:0])
    alone = np.full((60, 6), np.nan)
    alone[np.arange(60), np.arange(60) % 6] = np.arange(60) % 4 < 2
    with pytest.raises(ParameterError, match="no record knows two symptoms"):
        discover(alone)
    with pytest.raises(ParameterError, match="records x symptoms"):
        discover(np.zeros(4))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["IMG", "CON8", "IMG-FLIP"])
def test_all_causes_of_records_that_others_drew(name):
    folder = OVERCOMPLETE / name
    if not folder.exists():
        pytest.skip(f"{folder} is not there")
    truth = datasets.from_folder(folder)
    records = Findings.read(folder / "records.csv", truth.structure)
    found = discover(records, rng=0, settings=DiscoverySettings(standard_errors=False))
    matching = match_causes(truth, found.network)
    assert matching.n_found >= 7
    if name != "IMG-FLIP":
        assert matching.n_false <= 1


def test_what_starts_have_missed_is_found_afterwards(monkeypatch):
    """It was not, where they had one cause less than they might: no more than that one came."""
    rng = np.random.default_rng(0)
    matrix = np.array([rng.permutation(30) < 6 for _ in range(6)])
    truth = NoisyOrNetwork(Structure.from_matrix(matrix), [0.1] * 6, [0.3] * 36, [0.02] * 30)
    few = CauseMatrix.of(truth).at(np.arange(3))
    starts = [_Start(few, np.zeros(3, dtype=np.bool_), 0.0)]
    module = importlib.import_module("noisyor.discovery.discover")
    monkeypatch.setattr(module, "FIRST_CAUSES", 4)
    monkeypatch.setattr(module, "MOST_CAUSES", 4)
    monkeypatch.setattr(_Finder, "_starts", lambda *_: (starts, True))
    found = _Finder(truth.sample(3000, rng=0), None, 0, QUICK).run(None)
    assert match_causes(truth, found.network).n_found == 6
    assert found.structure.n_diseases == 6
