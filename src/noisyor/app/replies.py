"""What is answered to each kind of question, as facts for JSON.

Questions are checked, names are understood, and refusals are worded as on the command line.
"""

import threading
from collections.abc import Mapping
from typing import Any

from noisyor.app import schemas
from noisyor.app.models import Model
from noisyor.errors import NoisyOrError, ParameterError, collected_notices
from noisyor.inference import Posterior, best_questions, explain, most_probable, posterior
from noisyor.inference.explain import Explanation, explain_nearest
from noisyor.inference.posterior_tables import facts_of

Facts = dict[str, Any]
Body = Mapping[str, Any]

SECONDS_OF_A_DRAW = 0.05
"""Work that the posterior of a drawn network may take, of which many are drawn for intervals."""
SECONDS_OF_A_BATCH = 60.0
SECONDS_OF_AN_APPROXIMATION = 0.05
"""The budget of what is not solved exactly: on dense networks bounds and samples take about twenty
times as long as their budget says."""
MOST_LEFT_OUT, FEWEST_LEFT_OUT = 12, 4
"""Findings whose part in a large case is told: where it is solved exactly, and where it is not."""


DRAWS = 200
"""Networks that are drawn for intervals, unless another number is asked for."""


class StoppedError(Exception):
    """Nobody waits for the answer any more."""


def posterior_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return which diseases a case may have, as `noisyor.posterior` finds them."""
    case = case_of(model, body)
    found, without = _with_intervals(model, case, body)
    top = int(body.get("top", 10))
    return {
        "model": model.name,
        **facts_of(found, top),
        "probabilities": _by_disease(found),
        "without_intervals": without,
    }


def _by_disease(found: Posterior) -> dict[str, float]:
    return dict(zip(found.structure.diseases, found.probabilities.tolist(), strict=True))


def _with_intervals(model: Model, case: Facts, body: Body) -> tuple[Posterior, str | None]:
    """Return the posterior, and why it has no intervals, if the model could give some."""
    draws = int(body.get("draws", DRAWS))
    if not model.has_errors or not draws:
        return _found(model, case, _request(body)), None
    if body.get("method", "auto") in ("auto", "exact"):
        try:
            request = {**_request(body), "method": "exact", "budget": SECONDS_OF_A_DRAW}
            return posterior(model.source, **case, **request, draws=draws), None
        except ParameterError:  # refused; what is wrong in the case itself is raised below
            pass
    found = _found(model, case, _request(body))
    return found, "the case is too much work to be solved exactly for every drawn network"


def _found(model: Model, case: Facts, request: Facts) -> Posterior:
    """Return the posterior, exactly if the budget suffices; otherwise for less of it."""
    if request["method"] == "auto":
        try:
            return posterior(model.network, **case, **(request | {"method": "exact"}))
        except ParameterError:  # refused; what is wrong in the case itself is raised below
            request = request | {"budget": min(request["budget"], SECONDS_OF_AN_APPROXIMATION)}
    return posterior(model.network, **case, **request)


def posteriors_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return the posteriors of several cases; what is wrong with a case stands in its place."""
    cases = body["cases"]
    request = _request({"budget": 0.1, **body})
    if len(cases) * request["budget"] > SECONDS_OF_A_BATCH:
        raise ParameterError(
            f"{len(cases):,} cases with a budget of {request['budget']:g} s each are more than "
            f"{SECONDS_OF_A_BATCH:g} s of work: ask for fewer, or with a smaller budget."
        )
    top, answers = int(body.get("top", 10)), []
    for each in cases:
        if stop.is_set():
            raise StoppedError
        try:
            with collected_notices() as notices:
                found = _found(model, case_of(model, each), request)
        except NoisyOrError as error:
            answers.append({"refused": str(error)})
        else:
            told = {"probabilities": _by_disease(found), "notices": list(dict.fromkeys(notices))}
            answers.append(facts_of(found, top) | told)
    return {"model": model.name, "answers": answers}


def explain_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return what each finding adds to diseases, and what has caused it."""
    case, request = case_of(model, body), _request(body)
    diseases = [model.disease(name) for name in body.get("diseases", [])] or 1
    n_left = 0
    if request["method"] == "auto" and not _is_solved(model, case, SECONDS_OF_A_DRAW):
        budget = _affordable(model, case, request["budget"])
        most = MOST_LEFT_OUT if budget > SECONDS_OF_AN_APPROXIMATION else FEWEST_LEFT_OUT
        found, n_left = explain_nearest(
            model.network, **case, diseases=diseases, most=most, budget=budget
        )
    elif request["method"] == "gibbs" and len(case["present"]) > MOST_LEFT_OUT:
        raise ParameterError(
            f"explanations are sampled of at most {MOST_LEFT_OUT} present findings here, not "
            f"{len(case['present'])}: leave method to 'auto'."
        )
    else:
        # Every finding is left out in turn, which takes so much of each.
        request["budget"] = min(request["budget"], SECONDS_OF_A_DRAW)
        found = explain(model.network, **case, diseases=diseases, **request)
    return {
        "model": model.name,
        "contributions": found.contributions.to_pylist(),
        "causes": found.causes.to_pylist(),
        "findings_left": n_left,
        "priors": _of_anyone(model, found),
    }


def _of_anyone(model: Model, found: Explanation) -> dict[str, float]:
    """Return P(disease) before anything is known of the person, from which contributions lead."""
    index = model.network.structure.disease_index
    names = dict.fromkeys(found.contributions.column("disease").to_pylist())
    return {name: float(model.network.priors[index(name)]) for name in names}


def _is_solved(model: Model, case: Facts, budget: float) -> bool:
    """Return True if a case is solved exactly for a budget, and so would be parts of it."""
    try:
        posterior(model.network, **case, method="exact", budget=budget)
    except ParameterError:  # refused; what is wrong in the case itself is raised by others
        return False
    return True


def _affordable(model: Model, case: Facts, budget: float) -> float:
    """Return the budget of a case, less where it is not solved exactly."""
    if _is_solved(model, case, budget):
        return budget
    return min(budget, SECONDS_OF_AN_APPROXIMATION)


def questions_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return the findings that would tell most, if asked for next."""
    about = body.get("about")
    asked = best_questions(
        model.network,
        **case_of(model, body),
        about=None if about is None else model.disease(about),
        rng=int(body.get("seed", 0)),
    )
    rows = asked.table().slice(0, int(body.get("top", 10))).to_pylist()
    return {"model": model.name, "questions": rows}


def sets_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return the most probable sets of diseases."""
    case, k = case_of(model, body), int(body.get("k", 5))
    budget = _affordable(model, case, float(body.get("budget", 1.0)))
    best = most_probable(model.network, **case, k=k, budget=budget)
    return {"model": model.name, "is_proven": best.is_proven, "sets": best.table().to_pylist()}


def case_of(model: Model, body: Body) -> Facts:
    """Return the findings and covariates of a case as functions of inference take them."""
    present, absent = (model.symptoms(body.get(key, [])) for key in ("present", "absent"))
    covariates = dict(body.get("covariates", {})) or None
    return {"present": present, "absent": absent, "covariates": covariates}


def _request(body: Body) -> Facts:
    return {
        "method": body.get("method", "auto"),
        "budget": float(body.get("budget", 1.0)),
        "rng": int(body.get("seed", 0)),
    }


def takes_long(reply: Any, model: Model, body: Body) -> bool:
    """Return True for what may take long, so that posteriors need not wait behind it."""
    has_intervals = model.has_errors and body.get("draws", DRAWS) > 0
    return reply is not posterior_reply or has_intervals


REPLIES = {
    "posterior": (posterior_reply, schemas.POSTERIOR),
    "posteriors": (posteriors_reply, schemas.POSTERIORS),
    "explain": (explain_reply, schemas.EXPLAIN),
    "questions": (questions_reply, schemas.QUESTIONS),
    "sets": (sets_reply, schemas.SETS),
}
"""What answers each address below /api, and what a question to it may hold."""
