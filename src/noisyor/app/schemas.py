"""What a request may hold: one description, which is checked and which OpenAPI shows.

The part of JSON Schema that is needed here: types, ranges, lengths, members. Words that are known
to the functions behind (methods, names) are left to these, so that their sentences are the same as
on the command line.
"""

import json
from collections.abc import Mapping
from typing import Any

from noisyor.errors import ParameterError, nearest_name, quoted

Schema = Mapping[str, Any]

MOST_PRESENT = 300
"""Present findings of a case: what is not solved exactly is bounded, at a cost for each."""
MOST_NAMES = 100_000
"""Findings in a list; of the present ones fewer."""
MOST_CASES = 1000
MOST_SECONDS = 10.0
"""The largest budget of a question."""
LONGEST_NAME = 10_000
LARGEST_NUMBER = 1e300

NAME: Schema = {"type": "string", "maxLength": LONGEST_NAME}
CASE: dict[str, Schema] = {
    "present": {
        "type": "array", "items": NAME, "maxItems": MOST_PRESENT,
        "description": "Findings that are present; capitals do not matter, a unique beginning is "
        "enough.",
    },
    "absent": {
        "type": "array", "items": NAME, "maxItems": MOST_NAMES,
        "description": "Findings that are absent. Those not mentioned are unknown.",
    },
    "covariates": {
        "type": "object",
        "additionalProperties": {
            "type": ["number", "string", "null"],
            "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER, "maxLength": LONGEST_NAME,
        },
        "description": "What else is known of the person, such as age; null: unknown.",
    },
}  # fmt: skip
MODEL: Schema = {**NAME, "description": "The model that is asked; the first, if none is named."}
METHOD: Schema = {
    "type": "string",
    "x-known": ["auto", "exact", "variational", "mean_field", "gibbs"],
    "description": "auto, exact, variational, mean_field or gibbs; not all of them fit every model",
}
BUDGET: Schema = {
    "type": "number", "exclusiveMinimum": 0.0, "maximum": MOST_SECONDS,
    "description": "Seconds of work that an exact answer is worth, about; bounds and samples get "
    "less.",
}  # fmt: skip
SEED: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53}


def whole(least: int, most: int, description: str) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": least, "maximum": most, "description": description}


def of_object(members: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """Return the schema of an object that has these members and no others."""
    schema = {"type": "object", "properties": dict(members), "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


TOP = whole(1, 1_000_000, "Rows of the most probable diseases in the answer.")
POSTERIOR = of_object({
    "model": MODEL, **CASE, "method": METHOD, "budget": BUDGET, "seed": SEED, "top": TOP,
    "draws": whole(0, 1000, "Networks drawn for intervals, if the model has standard errors."),
})  # fmt: skip
POSTERIORS = of_object(
    {
        "model": MODEL, "method": METHOD, "budget": BUDGET, "seed": SEED, "top": TOP,
        "cases": {"type": "array", "items": of_object(CASE), "maxItems": MOST_CASES},
    },
    required=("cases",),
)  # fmt: skip
EXPLAIN = of_object({
    "model": MODEL, **CASE, "method": METHOD, "budget": BUDGET, "seed": SEED,
    "diseases": {
        "type": "array", "items": NAME, "maxItems": 20,
        "description": "The diseases that are explained; the most probable, if none is named.",
    },
})  # fmt: skip
QUESTIONS = of_object({
    "model": MODEL, **CASE, "seed": SEED,
    "about": {**NAME, "description": "The disease that is in question; all, if none is named."},
    "top": whole(1, 1000, "How many questions, the best first."),
})  # fmt: skip
SETS = of_object({
    "model": MODEL, **CASE, "budget": BUDGET,
    "k": whole(1, 50, "How many sets of diseases, the most probable first."),
})  # fmt: skip
RECORDS = of_object(
    {
        "model": MODEL,
        "name": {**NAME, "description": "The name of the file: it ends in .csv or .parquet."},
        "content": {"type": "string", "description": "The file, as base64."},
        "labels_name": NAME,
        "labels": {"type": "string", "description": "A table of the diseases, as base64."},
        "unmentioned": {
            "type": "string", "x-known": ["absent", "unknown"],
            "description": "What a finding without a row or a column is.",
        },
        "ignore_unknown": {
            "type": "boolean",
            "description": "Pass over columns, or rows, of what is no symptom of the model.",
        },
    },
    required=("name", "content"),
)  # fmt: skip

_TYPES: dict[str, tuple[str, Any]] = {
    "string": ("a text", str),
    "integer": ("a whole number", int),
    "number": ("a number", (int, float)),
    "array": ("a list", list),
    "object": ("an object", dict),
    "boolean": ("true or false", bool),
    "null": ("null", type(None)),
}


def check(value: Any, schema: Schema, where: str = "the request") -> None:
    """Raise an error that says which part of a request is not as described.

    >>> check({"present": "fever"}, POSTERIOR)
    Traceback (most recent call last):
      ...
    noisyor.errors.ParameterError: 'present' must be a list, not 'fever'.
    """
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is_of(value, kind) for kind in kinds):
        wanted = " or ".join(_TYPES[kind][0] for kind in kinds)
        raise ParameterError(f"{where} must be {wanted}, not {_as_json(value)}.")
    if isinstance(value, dict):
        _check_object(value, schema, where)
    elif isinstance(value, list):
        _check_list(value, schema, where)
    elif isinstance(value, str):
        _check_text(value, schema, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, schema, where)


def _as_json(value: Any) -> str:
    """Return a value for a message, as whoever sent it knows it: null, not None."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return quoted(value)


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool) or kind == "boolean":
        return isinstance(value, bool) and kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind][1])


def _check_object(value: dict[str, Any], schema: Schema, where: str) -> None:
    members, others = schema.get("properties", {}), schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if name not in value:
            raise ParameterError(f"{where} lacks {name!r}.")
    for name, each in value.items():
        if name in members:
            check(each, members[name], quoted(name))
        elif others:
            check(each, others, quoted(name))
        else:
            hint = nearest_name(name, list(members)) or f"; known: {', '.join(members)}."
            raise ParameterError(f"{where} has {quoted(name)}, which is unknown{hint}")


def _check_list(value: list[Any], schema: Schema, where: str) -> None:
    most = schema["maxItems"]
    if len(value) > most:
        raise ParameterError(f"{where} has {len(value):,} entries; at most {most:,} are taken.")
    for number, each in enumerate(value):
        check(each, schema["items"], f"{where}, entry {number}")


def _check_text(value: str, schema: Schema, where: str) -> None:
    if len(value) > schema.get("maxLength", len(value)):
        raise ParameterError(
            f"{where} has {len(value):,} letters; at most {schema['maxLength']:,} are taken."
        )


def _check_number(value: float, schema: Schema, where: str) -> None:
    least, above = schema.get("minimum", -LARGEST_NUMBER), schema.get("exclusiveMinimum")
    most = schema.get("maximum", LARGEST_NUMBER)
    if not least <= value <= most or (above is not None and value <= above):
        wanted = f"from {least:,} to {most:,}"
        if above is not None:
            wanted = f"above {above:g} and at most {most:g}"
        raise ParameterError(f"{where} must be {wanted}, not {quoted(value)}.")
