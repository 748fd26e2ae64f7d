"""Model files: what was learned is written and read back, whole; old files stay readable."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noisyor import (
    Estimate,
    Fixed,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Schedule,
    Structure,
    datasets,
    find_schedule,
    posterior,
    read_model,
)
from noisyor._version import __version__
from noisyor.errors import FileError, ParameterError
from noisyor.flags import Flag
from noisyor.learning.estimate import load_learned
from noisyor.learning.verdicts import Verdict
from noisyor.parameters import Parameters

OLD = Path(__file__).parents[1] / "old_files"
NETWORK = datasets.figure2(rng=0)
RECORDS = NETWORK.sample(3000, rng=1)


def round_trip(estimate, folder):
    estimate.save(folder / "learned.json")
    return Estimate.load(folder / "learned.json")


@pytest.mark.parametrize("method", ["refined", "pooled", "sequential", "exact_em", "uniform"])
def test_every_method_comes_back_equal(method, tmp_path):
    learner = NoisyOrLearner(NETWORK.structure, method=method, random_state=3).fit(RECORDS)
    estimate = learner.estimate_
    again = round_trip(estimate, tmp_path)
    assert again == estimate
    assert again.summary() == estimate.summary()
    assert again.network == estimate.network
    assert again.network.flags == estimate.flags
    assert again.schedule == estimate.schedule
    assert again.verdict == Verdict.of(estimate.misfits())
    assert again.lineage == estimate.lineage
    assert again.lineage.seed == 3
    assert again.lineage.version == __version__
    assert again.lineage.settings["pairs"] is True
    assert again.lineage.date.endswith("+00:00")


def test_saving_twice_gives_the_same_file(tmp_path):
    estimate = NoisyOrLearner(NETWORK.structure, method="pooled").fit(RECORDS).estimate_
    again = round_trip(estimate, tmp_path)
    again.save(tmp_path / "twice.json")
    assert (tmp_path / "twice.json").read_bytes() == (tmp_path / "learned.json").read_bytes()


def test_draws_leave_their_intervals(tmp_path):
    learner = NoisyOrLearner(NETWORK.structure, method="bayesian", max_iter=200).fit(RECORDS)
    again = round_trip(learner.estimate_, tmp_path)
    assert again == learner.estimate_
    assert again.draws is None
    assert again.interval_ends == learner.estimate_.interval_ends
    assert json.loads((tmp_path / "learned.json").read_text())["learned"]["draws"]["chains"] == 4


def test_how_diseases_occur_together_comes_back(tmp_path):
    structure = Structure.from_edges([(d, f"{d}{k}") for d in "xyz" for k in range(3)])
    truth = NoisyOrNetwork(structure, [0.2, 0.3, 0.25], [0.3] * 9, [0.02] * 9)
    frame = truth.sample(2000, rng=1).to_arrow().to_pandas()
    frame["age"] = np.random.default_rng(0).normal(50, 10, len(frame)).round(1)
    frame["site"] = np.random.default_rng(1).choice(["north", "south"], len(frame))
    learner = NoisyOrLearner(structure, causes="trait")
    with pytest.warns(NoisyOrWarning, match="cannot be told from none"):
        learner.fit(frame, covariates=["age", "site"])
    again = round_trip(learner.estimate_, tmp_path)
    assert again == learner.estimate_
    assert again.learned_causes == learner.estimate_.learned_causes
    assert again.lineage.settings["causes"] == "trait"
    assert again.lineage.settings["covariates"] == ["age", "site"]
    person = {"age": 70, "site": "north"}
    found = [posterior(each, ["x0"], covariates=person) for each in (again, learner.estimate_)]
    assert found[0] == found[1]


def test_fixed_values_and_other_schedules(tmp_path):
    clinic = datasets.clinic()
    fixed = Fixed(clinic.structure, priors={0: 0.06}, failures={("influenza", "fever"): 0.1})
    learner = NoisyOrLearner(clinic.structure, method="pooled")
    estimate = learner.fit(clinic.sample(1000, rng=0), fixed=fixed).estimate_
    assert round_trip(estimate, tmp_path).schedule == estimate.schedule
    document = json.loads((tmp_path / "learned.json").read_text())
    assert document["learned"]["schedule"] == {"pairs": True, "choice": "first"}
    # A schedule of one's own is kept step by step.
    whole = find_schedule(clinic.structure)
    fewer = replace(estimate, schedule=_without_last_step(whole))
    assert round_trip(fewer, tmp_path).schedule == fewer.schedule
    assert "steps" in json.loads((tmp_path / "learned.json").read_text())["learned"]["schedule"]


def _without_last_step(schedule):
    listed = [list(map(list_of, step)) for step in schedule.steps()][:-1]
    return Schedule.from_steps(
        schedule.structure, listed, {"pairs": schedule.pairs, "choice": schedule.choice}
    )


def list_of(each):
    return list(each) if isinstance(each, tuple) else each


def test_edges_in_any_order(tmp_path):
    estimate = NoisyOrLearner(NETWORK.structure, method="pooled").fit(RECORDS).estimate_
    estimate.save(tmp_path / "learned.json")
    document = json.loads((tmp_path / "learned.json").read_text())
    of_edges = [document["edges"], document["failures"], document["flags"]["failures"]]
    learned = document["learned"]
    of_edges += [each["failures"] for each in learned.values()
                 if isinstance(each, dict) and "failures" in each]  # fmt: skip
    for each in of_edges:
        each.reverse()
    (tmp_path / "reversed.json").write_text(json.dumps(document))
    assert Estimate.load(tmp_path / "reversed.json") == estimate


def test_a_network_is_read_from_it(tmp_path):
    estimate = NoisyOrLearner(NETWORK.structure, method="pooled").fit(RECORDS).estimate_
    estimate.save(tmp_path / "learned.json")
    assert NoisyOrNetwork.load(tmp_path / "learned.json") == estimate.network
    assert read_model(tmp_path / "learned.json") == estimate.network
    assert Structure.load(tmp_path / "learned.json") == NETWORK.structure
    assert json.loads((tmp_path / "learned.json").read_text())["version"] == 4


# --- old files ---


def test_files_of_older_versions_are_read():
    assert NoisyOrNetwork.load(OLD / "network_1.json") == datasets.figure1(rng=0)
    second = NoisyOrNetwork.load(OLD / "network_2.json")
    assert second.flags is not None
    third = NoisyOrNetwork.load(OLD / "network_3.json")
    assert third.causes.kind == "trait"
    assert [each.name for each in third.causes.effects.covariates] == ["age", "sex"]
    for version in (1, 2, 3):
        path = OLD / f"network_{version}.json"
        assert json.loads(path.read_text())["version"] == version
        assert load_learned(path) == NoisyOrNetwork.load(path)
    assert Schedule.load(OLD / "schedule_1.json").is_complete
    assert Structure.load(OLD / "structure_1.json") == datasets.figure1(rng=0).structure


@pytest.mark.parametrize("version", [1, 2, 3])
def test_networks_that_were_not_learned_are_written_as_before(version, tmp_path):
    old, again = OLD / f"network_{version}.json", tmp_path / "again.json"
    NoisyOrNetwork.load(old).save(again)
    old_values, new_values = (json.loads(each.read_text()) for each in (old, again))
    if (
        version == 3
    ):  # marginals of dependent diseases are sums, whose last digit a processor rounds
        assert new_values["priors"] == pytest.approx(old_values.pop("priors"), rel=1e-14, abs=0)
        del new_values["priors"]
    assert new_values == old_values
    assert list(new_values) == list(old_values)


# --- what is refused ---


def test_a_network_alone_is_no_estimate():
    with pytest.raises(FileError, match="holds a network alone"):
        Estimate.load(OLD / "network_2.json")


def test_an_estimate_is_json(tmp_path):
    estimate = NoisyOrLearner(NETWORK.structure, method="uniform").fit(RECORDS).estimate_
    with pytest.raises(FileError, match=r"an estimate is written as \.json"):
        estimate.save(tmp_path / "learned.xdsl")
    again = round_trip(estimate, tmp_path)
    with pytest.raises(ParameterError, match="is its verdict"):
        again.misfits()


DAMAGES = {
    "learned": lambda learned: [],
    "no method": lambda learned: {k: v for k, v in learned.items() if k != "method"},
    "short": lambda learned: learned | {"depths": learned["depths"] | {"priors": [0]}},
    "text": lambda learned: learned | {"depths": learned["depths"] | {"priors": ["a", "b"]}},
    "errors": lambda learned: learned | {"standard_errors": {}},
    "records": lambda learned: learned | {"n_records": "many"},
    "misfits": lambda learned: learned | {"misfits": {"n_found": 0, "pairs": [3]}},
    "fits": lambda learned: learned | {"misfits": {"n_found": 0, "pairs": [], "fits": "yes"}},
    "lineage": lambda learned: learned | {"lineage": {"settings": 3}},
    "explained": lambda learned: learned | {"explained": [{}]},
    "schedule": lambda learned: learned | {"schedule": {"pairs": True, "choice": "nonsense"}},
    "sources": lambda learned: learned | {"sources": {"texts": [1], **learned["depths"]}},
    "causes": lambda learned: learned | {"causes": {"names": []}},
    "trace": lambda learned: learned | {"trace": 3},
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_refused_by_name(name, tmp_path):
    estimate = NoisyOrLearner(NETWORK.structure, method="pooled").fit(RECORDS).estimate_
    path = tmp_path / "learned.json"
    estimate.save(path)
    document = json.loads(path.read_text())
    document["learned"] = DAMAGES[name](document["learned"])
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match=r"learned\.json: 'learned' is damaged"):
        Estimate.load(path)


# --- what a diagnosis makes of it ---


def test_what_rests_on_flagged_parameters_has_no_interval(tmp_path):
    """The first disease has only two symptoms: no record tells its prior from its failures."""
    edges = [("flu", "fever"), ("flu", "cough"), *(("cold", f"c{k}") for k in range(3))]
    structure = Structure.from_edges(edges)
    truth = NoisyOrNetwork(structure, [0.2, 0.3], [0.3] * 5, [0.02] * 5)
    estimate = NoisyOrLearner(structure).fit(truth.sample(3000, rng=0)).estimate_
    again = round_trip(estimate, tmp_path)
    found = posterior(again, present=["fever", "c0"])
    rows = {row["disease"]: row for row in found}
    assert "uncertified" in rows["flu"]["flags"]
    assert np.isnan(rows["flu"]["interval_lower"])
    assert rows["cold"]["flags"] == ""
    assert rows["cold"]["interval_upper"] > rows["cold"]["interval_lower"] + 0.01


def test_a_flagged_leak_marks_the_diseases_of_a_present_finding_only():
    structure = Structure.from_edges([("flu", "fever"), ("cold", "cough")])
    none = np.zeros(2, dtype=np.uint16)
    flags = Parameters(none, none, np.array([Flag.WEAK, 0], dtype=np.uint16))
    network = NoisyOrNetwork(structure, [0.1, 0.1], [0.2, 0.2], [0.05, 0.05], flags)
    assert posterior(network, present=["fever"]).is_flagged.tolist() == [True, False]
    assert posterior(network, absent=["fever"]).is_flagged.tolist() == [False, False]
    assert posterior(network, present=["cough"]).is_flagged.tolist() == [False, False]


def test_beliefs_come_back_with_what_the_records_say(tmp_path):
    name = NETWORK.structure.diseases[0]
    edge = NETWORK.structure.edge_names()
    first = edge["disease"][0], edge["symptom"][0]
    beliefs = {"priors": {name: (0.9, 50)}, "failures": {first: (0.5, 20)}}
    fixed = {"leaks": {NETWORK.structure.symptoms[0]: 0.01}}
    with pytest.warns(NoisyOrWarning, match="contradicted by the records"):
        learner = NoisyOrLearner(NETWORK.structure).fit(RECORDS, beliefs=beliefs, fixed=fixed)
    estimate = learner.estimate_
    again = round_trip(estimate, tmp_path)
    assert again.beliefs == estimate.beliefs
    assert again.summary() == estimate.summary()
    assert again.contradiction == estimate.contradiction != ""
    rows = [row for row in again.summary() if row["belief"] is not None]
    assert [row["weight"] for row in rows] == [50, 20]
    document = json.loads((tmp_path / "learned.json").read_text())
    document["learned"]["beliefs"]["weights"]["priors"][0] = -1
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(FileError, match="'learned' is damaged: 'beliefs' has values that"):
        Estimate.load(tmp_path / "wrong.json")
    del document["learned"]["beliefs"]  # as older versions wrote it
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert Estimate.load(tmp_path / "old.json").beliefs is None
