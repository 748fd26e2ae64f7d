"""The interface, described for machines: OpenAPI 3.1."""

import base64
import csv
import io
from collections.abc import Mapping
from typing import Any

from noisyor._version import __version__
from noisyor.app.models import Model
from noisyor.app.schemas import Schema

NUMBER: Schema = {"type": ["number", "null"]}
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
ROWS: Schema = {"type": "array", "items": {"type": "object"}}


def _answer(members: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": dict(members), "required": list(members)}


FOUND: dict[str, Schema] = {
    "present": TEXTS,
    "absent": TEXTS,
    "method": TEXT,
    "error": NUMBER,
    "effective_sample_size": NUMBER,
    "parameters_without_error": {"type": "integer"},
    "log_evidence": NUMBER,
    "log_evidence_upper": NUMBER,
    "diseases": ROWS,
    "probabilities": {"type": "object", "additionalProperties": {"type": "number"}},
    "notices": TEXTS,
}
ANSWERS: dict[str, Schema] = {
    "posterior": _answer(
        {"model": TEXT, **FOUND, "without_intervals": {"type": ["string", "null"]}}
    ),
    "posteriors": _answer({
        "model": TEXT,
        "notices": TEXTS,
        "answers": {
            "type": "array",
            "items": {"anyOf": [_answer(FOUND), _answer({"refused": TEXT})]},
        },
    }),
    "explain": _answer({
        "model": TEXT,
        "notices": TEXTS,
        "contributions": ROWS,
        "causes": ROWS,
        "findings_left": {"type": "integer"},
        "priors": {"type": "object", "additionalProperties": {"type": "number"}},
    }),
    "questions": _answer({"model": TEXT, "notices": TEXTS, "questions": ROWS}),
    "sets": _answer(
        {"model": TEXT, "notices": TEXTS, "is_proven": {"type": "boolean"}, "sets": ROWS}
    ),
    "records": _answer({"model": TEXT, "notices": TEXTS, "records": ROWS}),
}  # fmt: skip
SAYS = {
    "posterior": "Which diseases a case may have: probabilities, how they were found, how far off "
    "they can be.",
    "posteriors": "The same of several cases; one that is refused says why in its place.",
    "explain": "What each finding adds to the log odds of diseases, and what has caused it.",
    "questions": "Which unknown finding would tell most, in bits.",
    "sets": "The most probable sets of diseases.",
    "records": "The records of a file as cases, by numbers of findings; nothing of it is kept.",
}
PROBLEMS = {
    "400": "Something in the question is wrong; the sentence says what.",
    "401": "The token is missing.",
    "403": "Another page asked, or another name of this machine was used.",
    "413": "The request is too large.",
    "503": "Too many questions are waiting.",
}


def openapi_document(
    replies: Mapping[str, tuple[Any, Schema]], examples: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the description of the interface; the schemas are those that requests are held to."""
    paths: dict[str, Any] = {
        f"/api/{name}": {"post": _operation(SAYS[name], schema, ANSWERS[name], examples.get(name))}
        for name, (_, schema) in replies.items()
    }
    listed = {"version": TEXT, "read_only": {"type": "boolean"}, "models": ROWS}
    paths["/api/models"] = {
        "get": _operation("The models that can be asked.", None, _answer(listed))
    }
    shown = _operation("A model: names, edges, estimates.", None, {"type": "object"})
    shown["parameters"] = [{"name": "model", "in": "query", "required": False, "schema": TEXT}]
    shown["responses"]["404"] = _problem("There is no such model.")
    paths["/api/model"] = {"get": shown}
    return {
        "openapi": "3.1.0",
        "info": {"title": "noisyor", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def examples_of(model: Model) -> dict[str, Any]:
    """Return a question of each kind that the model answers, if there is anything to ask."""
    structure = model.network.structure
    if not structure.n_symptoms or not structure.n_diseases:
        return {}
    marginals = model.network.marginals()
    likely = structure.symptoms[int(marginals.argmax())]
    case = {"present": [likely], "absent": []} if marginals.max() > 0.0 else {"present": []}
    table = io.StringIO()
    csv.writer(table).writerows([[likely], [1]])
    content = base64.b64encode(table.getvalue().encode()).decode()
    return {
        "posterior": case | {"top": 3},
        "posteriors": {"cases": [case, {}], "top": 3},
        "explain": case | {"diseases": [structure.diseases[0]]},
        "questions": case | {"top": 5},
        "sets": case | {"k": 3},
        "records": {"name": "records.csv", "content": content, "unmentioned": "unknown"},
    }


def _operation(
    summary: str, question: Schema | None, answer: Schema, example: Any = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"summary": summary, "responses": {
        "200": {"description": "The answer.", "content": _as_json(answer)},
        **{status: _problem(text) for status, text in PROBLEMS.items()},
    }}  # fmt: skip
    if question is not None:
        content = _as_json(question)
        if example is not None:
            content["application/json"]["example"] = example
        found["requestBody"] = {"required": True, "content": content}
    return found


def _problem(text: str) -> dict[str, Any]:
    return {"description": text, "content": _as_json(_answer({"refused": TEXT}))}


def _as_json(schema: Schema) -> dict[str, dict[str, Any]]:
    return {"application/json": {"schema": schema}}
