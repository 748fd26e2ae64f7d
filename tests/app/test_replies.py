"""The interface answers as the functions do, and refuses in the sentences of the command line."""

import math

import numpy as np
import pytest

from app.conftest import client_of
from noisyor import (
    NoisyOrNetwork,
    Parameters,
    Structure,
    best_questions,
    explain,
    most_probable,
    posterior,
)
from noisyor.app import Model, replies
from noisyor.app.replies import FEWEST_LEFT_OUT, MOST_LEFT_OUT, SECONDS_OF_A_BATCH
from noisyor.app.schemas import MOST_CASES, MOST_PRESENT
from noisyor.errors import ParameterError
from noisyor.inference.intervals import NetworkWithErrors
from noisyor.network import Effects, Independent


def random_case(rng, structure):
    chosen = rng.permutation(structure.n_symptoms)[: rng.integers(0, 13)]
    n_present = int(rng.integers(0, len(chosen) + 1))
    names = [structure.symptoms[j] for j in chosen.tolist()]
    return {"present": names[:n_present], "absent": names[n_present:]}


def test_posteriors_are_those_of_the_function(ask, clinic, learned, rng):
    for _ in range(50):
        case = random_case(rng, clinic.structure)
        for name, network in (("clinic", clinic), ("learned", learned.network)):
            answer = ask("posterior", model=name, draws=0, **case)
            found = posterior(network, **case)
            assert list(answer["probabilities"]) == list(network.structure.diseases)
            assert list(answer["probabilities"].values()) == found.probabilities.tolist()
            assert (answer["method"], answer["error"]) == (found.method, found.error)
            assert answer["log_evidence"] == found.log_evidence
            assert answer["diseases"][0] == found.table().slice(0, 1).to_pylist()[0]


def test_intervals_are_those_of_an_estimate(ask, learned):
    case = {"present": ["fever", "cough"], "absent": ["headache"]}
    rows = ask("posterior", model="learned", top=20, **case)["diseases"]
    found = posterior(learned, **case).table().to_pylist()
    assert [row["disease"] for row in rows] == [row["disease"] for row in found]
    for row, expected in zip(rows, found, strict=True):
        for end in "interval_lower", "interval_upper":
            is_known = not math.isnan(expected[end])
            assert row[end] == (expected[end] if is_known else None)
    assert any(row["interval_lower"] is not None for row in rows)
    assert any(row["flags"] for row in rows)


@pytest.fixture(scope="module")
def dense():
    """A network, and so many findings that they are not solved exactly."""
    rng = np.random.default_rng(0)
    structure = Structure.from_matrix(np.ones((26, 26), dtype=bool))
    values = [rng.uniform(0.2, 0.8, size) for size in (26, 676, 26)]
    network = NoisyOrNetwork(structure, *values)
    source = NetworkWithErrors(network, Parameters.full(structure, 0.01))
    return client_of(Model("dense", source)), list(structure.symptoms)


def test_of_a_case_that_is_not_solved_exactly_the_nearest_findings_are_explained(dense):
    client, names = dense
    body = {"present": names, "budget": 0.002}
    answer = client.post("/api/explain", json=body).json()
    assert len(answer["contributions"]) == FEWEST_LEFT_OUT
    assert answer["findings_left"] == len(names) - FEWEST_LEFT_OUT
    assert {row["finding"] for row in answer["causes"]} == set(names)
    refusal = client.post("/api/explain", json={**body, "method": "gibbs"})
    assert "leave method to 'auto'" in refusal.json()["refused"]


def test_of_a_case_that_takes_long_to_solve_more_findings_are_explained(dense, monkeypatch):
    client, names = dense
    monkeypatch.setattr(replies, "SECONDS_OF_A_DRAW", 1e-9)
    answer = client.post("/api/explain", json={"present": names[:14]}).json()
    assert len(answer["contributions"]) == MOST_LEFT_OUT
    assert answer["findings_left"] == 2


def test_what_is_not_solved_exactly_gets_less_of_the_budget(dense, monkeypatch):
    client, names = dense
    budgets = []

    def noted(function):
        def call(*arguments, **options):
            if options.get("method", "auto") == "exact":
                return function(*arguments, **options)
            budgets.append(options["budget"])
            raise ParameterError("it would take long.")

        return call

    for name in "posterior", "explain_nearest", "most_probable":
        monkeypatch.setattr(replies, name, noted(getattr(replies, name)))
    for what in "posterior", "explain", "sets":
        client.post(f"/api/{what}", json={"present": names, "budget": 0.2})
    client.post("/api/posteriors", json={"cases": [{"present": names}], "budget": 0.2})
    assert budgets == [replies.SECONDS_OF_AN_APPROXIMATION] * 4


def test_contributions_lead_from_the_prior_of_anyone(ask, aged):
    case = {"present": ["fever"], "covariates": {"age": 71, "sex": "m"}}
    answer = ask("explain", model="aged", diseases=["influenza"], **case)
    prior = aged.priors[aged.structure.disease_index("influenza")]
    assert answer["priors"] == {"influenza": prior}
    known = ask("posterior", model="aged", top=20, **case)["diseases"]
    [row] = [row for row in known if row["disease"] == "influenza"]
    assert row["prior"] != pytest.approx(prior)  # of a person of this age and sex


def test_a_case_that_is_not_solved_exactly_has_no_intervals_and_says_so(dense):
    client, names = dense
    body = {"present": names, "budget": 0.05}
    answer = client.post("/api/posterior", json=body).json()
    assert answer["method"] != "exact"
    assert "interval_lower" not in answer["diseases"][0]
    assert "too much work" in answer["without_intervals"]


def test_names_are_understood_as_on_the_command_line(ask, refused):
    answer = ask("posterior", present=["FEVER", "cou"], absent=["runny"])
    assert answer["present"] == ["fever", "cough"]
    assert answer["absent"] == ["runny nose"]
    assert refused("posterior", present=["fevr"]) == (
        "there is no symptom named 'fevr'; did you mean 'fever'?"
    )
    assert "can be more than one symptom" in refused("posterior", present=["b"])


def test_the_command_line_refuses_in_the_same_sentences(run, refused):
    for arguments, body in (
        (["-p", "fevr"], {"present": ["fevr"]}),
        (["-p", "fever", "-a", "fever"], {"present": ["fever"], "absent": ["fever"]}),
        (["-p", "fever", "--method", "magic"], {"present": ["fever"], "method": "magic"}),
        (["--given", "age=71"], {"covariates": {"age": 71}}),
    ):
        code, _, err = run("diagnose", "clinic", *arguments)
        assert code == 2
        assert err.strip() == f"noisyor: error: {refused('posterior', **body)}"


def test_covariates_that_were_not_learned_from_are_told(tmp_path, aged):
    effects = aged.causes.effects
    age, sex = effects.covariates
    known = [age._replace(lowest=20.0, highest=80.0), sex]
    learned = Effects(known, effects.coefficients, effects.cells, effects.weights)
    aged.with_causes(Independent(aged.causes.priors, learned)).save(tmp_path / "learned.json")
    client = client_of(Model("learned", NoisyOrNetwork.load(tmp_path / "learned.json")))
    said = "the covariate 'age' is 300, outside of what was learned from, 20 to 80"
    case = {"present": ["fever"], "covariates": {"age": 300, "sex": "f"}}
    inside = {"present": ["fever"], "covariates": {"age": 80, "sex": "f"}}
    for what in ("posterior", "explain", "questions", "sets"):
        (notice,) = client.post(f"/api/{what}", json=case).json()["notices"]
        assert said in notice
        assert client.post(f"/api/{what}", json=inside).json()["notices"] == []
    answers = client.post("/api/posteriors", json={"cases": [inside, case]}).json()["answers"]
    assert [len(each["notices"]) for each in answers] == [0, 1]


def test_covariates(ask, refused, aged):
    case = {"present": ["fever"], "covariates": {"age": 71, "sex": "f"}}
    answer = ask("posterior", model="aged", **case)
    expected = posterior(aged, ["fever"], covariates={"age": 71, "sex": "f"})
    assert list(answer["probabilities"].values()) == expected.probabilities.tolist()
    texts = ask("posterior", model="aged", present=["fever"], covariates={"age": "71", "sex": "f"})
    assert texts["probabilities"] == answer["probabilities"]
    unknown = ask("posterior", model="aged", present=["fever"], covariates={"age": None})
    assert (
        unknown["probabilities"]
        == ask("posterior", model="aged", present=["fever"])["probabilities"]
    )
    for covariates in {"age": "old"}, {"sex": "x"}, {"size": 1}, {"age": 10**400}:
        assert refused("posterior", model="aged", covariates=covariates)


def test_explanations_are_those_of_the_function(ask, clinic):
    case = {"present": ["fever", "cough"], "absent": ["muscle pain"]}
    answer = ask("explain", diseases=["influ"], **case)
    found = explain(clinic, **case, diseases=["influenza"])
    assert answer["contributions"] == found.contributions.to_pylist()
    assert answer["causes"] == found.causes.to_pylist()
    most = ask("explain", **case)["contributions"]
    assert {row["disease"] for row in most} == {"pneumonia"}  # the most probable


def test_questions_are_those_of_the_function(ask, clinic):
    for about in None, "influenza":
        asked = {} if about is None else {"about": about}
        answer = ask("questions", present=["fever"], top=5, **asked)
        expected = best_questions(clinic, ["fever"], about=about).table().slice(0, 5)
        assert answer["questions"] == expected.to_pylist()


def test_sets_are_those_of_the_function(ask, clinic):
    answer = ask("sets", present=["fever", "wheezing"], k=3)
    found = most_probable(clinic, ["fever", "wheezing"], k=3)
    assert answer["sets"] == found.table().to_pylist()
    assert answer["is_proven"] is found.is_proven


def test_a_batch_answers_each_case_and_says_which_it_refuses(ask, clinic):
    cases = [{"present": ["fever"]}, {"present": ["nonsense"]}, {}]
    first, second, third = ask("posteriors", cases=cases, top=1)["answers"]
    found = posterior(clinic, ["fever"]).probabilities.tolist()
    assert list(first["probabilities"].values()) == found
    assert second == {"refused": "there is no symptom named 'nonsense'."}
    assert list(third["probabilities"].values()) == pytest.approx(clinic.priors.tolist())


def test_limits(refused, clinic):
    assert "at most" in refused("posterior", present=["fever"] * (MOST_PRESENT + 1))
    assert "at most" in refused("posteriors", cases=[{}] * (MOST_CASES + 1))
    n = int(SECONDS_OF_A_BATCH / 10) + 1
    assert "s of work" in refused("posteriors", cases=[{}] * n, budget=10)
    assert "at most 10," in refused("posterior", budget=11)


def test_findings_that_are_impossible_are_told(clinic):
    structure = Structure.from_edges([("flu", "fever")])
    network = NoisyOrNetwork(structure, [0.1], [0.0], [1.0])
    client = client_of(Model("sure", network))
    for what in "posterior", "explain", "questions", "sets":
        found = client.post(f"/api/{what}", json={"absent": ["fever"]})
        assert found.status_code == 400
        assert "impossible under the network" in found.json()["refused"]


def test_a_full_record_is_answered(ask, clinic):
    row = np.flatnonzero(clinic.sample(1, 3).to_numpy()[0])
    names = clinic.structure.symptoms
    present = [names[j] for j in row.tolist()]
    absent = [name for name in names if name not in present]
    answer = ask("posterior", present=present, absent=absent)
    expected = posterior(clinic, present, absent).probabilities.tolist()
    assert list(answer["probabilities"].values()) == expected
