"""What is answered to each kind of question, as facts for JSON.

Questions are checked, names are understood, and refusals are worded as on the command line.
"""

import threading
from collections.abc import Mapping
from typing import Any

from noisyor.app import schemas
from noisyor.app.models import Model
from noisyor.errors import NoisyOrError, ParameterError
from noisyor.inference import Posterior, best_questions, explain, most_probable, posterior
from noisyor.inference.explain import explain_nearest
from noisyor.inference.posterior_tables import facts_of

Facts = dict[str, Any]
Body = Mapping[str, Any]

SECONDS_OF_A_DRAW = 0.05
"""Work that the posterior of a drawn network may take; 200 of them are drawn for intervals."""
SECONDS_OF_A_BATCH = 60.0
MOST_LEFT_OUT = 12
"""Findings of a case that is not solved exactly whose part in it is told."""


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
    draws = int(body.get("draws", 200))
    if not model.has_errors or not draws:
        return posterior(model.network, **case, **_request(body)), None
    if body.get("method", "auto") in ("auto", "exact"):
        try:
            request = {**_request(body), "method": "exact", "budget": SECONDS_OF_A_DRAW}
            return posterior(model.source, **case, **request, draws=draws), None
        except ParameterError:  # refused; what is wrong in the case itself is raised below
            pass
    found = posterior(model.network, **case, **_request(body))
    return found, "the case is too much work to be solved exactly for every drawn network"


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
            found = posterior(model.network, **case_of(model, each), **request)
        except NoisyOrError as error:
            answers.append({"refused": str(error)})
        else:
            answers.append(facts_of(found, top) | {"probabilities": _by_disease(found)})
    return {"model": model.name, "answers": answers}


def explain_reply(model: Model, body: Body, stop: threading.Event) -> Facts:
    """Return what each finding adds to diseases, and what has caused it."""
    case, request = case_of(model, body), _request(body)
    diseases = [model.disease(name) for name in body.get("diseases", [])] or 1
    n_left = 0
    if request["method"] == "auto" and not _is_quick(model, case):
        budget = request["budget"] / MOST_LEFT_OUT
        found, n_left = explain_nearest(
            model.network, **case, diseases=diseases, most=MOST_LEFT_OUT, budget=budget
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
    }


def _is_quick(model: Model, case: Facts) -> bool:
    """Return True if a case is solved exactly in no time, and so would be parts of it."""
    try:
        posterior(model.network, **case, method="exact", budget=SECONDS_OF_A_DRAW)
    except ParameterError:  # refused; what is wrong in the case itself is raised by others
        return False
    return True


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
    budget, k = float(body.get("budget", 1.0)), int(body.get("k", 5))
    best = most_probable(model.network, **case_of(model, body), k=k, budget=budget)
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


REPLIES = {
    "posterior": (posterior_reply, schemas.POSTERIOR),
    "posteriors": (posteriors_reply, schemas.POSTERIORS),
    "explain": (explain_reply, schemas.EXPLAIN),
    "questions": (questions_reply, schemas.QUESTIONS),
    "sets": (sets_reply, schemas.SETS),
}
"""What answers each address below /api, and what a question to it may hold."""
