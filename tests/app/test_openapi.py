from noisyor import NoisyOrNetwork, Structure
from noisyor.app import Model, schemas
from noisyor.app.openapi import examples_of, openapi_document
from noisyor.app.records import records_reply
from noisyor.app.replies import REPLIES


def conforms(value, schema):
    """The part of JSON Schema that answers are described with."""
    if "anyOf" in schema:
        return any(conforms(value, each) for each in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types = {
        "object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
        "boolean": bool, "null": type(None),
    }  # fmt: skip
    if not any(isinstance(value, types[kind]) for kind in kinds):
        return False
    if isinstance(value, list):
        return all(conforms(each, schema["items"]) for each in value)
    if not isinstance(value, dict):
        return True
    members, others = schema.get("properties", {}), schema.get("additionalProperties")
    is_whole = all(name in value for name in schema.get("required", ()))
    return is_whole and all(
        conforms(each, members[name]) if name in members else not others or conforms(each, others)
        for name, each in value.items()
    )


def document():
    return openapi_document({**REPLIES, "records": (records_reply, schemas.RECORDS)}, {})


def test_every_address_is_described():
    assert set(document()["paths"]) == {
        *(f"/api/{name}" for name in REPLIES), "/api/records", "/api/models", "/api/model",
    }  # fmt: skip


def test_answers_are_as_described(ask, client):
    described = document()["paths"]

    def check(path, verb, answer):
        schema = described[path][verb]["responses"]["200"]["content"]["application/json"]["schema"]
        assert conforms(answer, schema), path
        assert not conforms([], schema)

    for name in REPLIES:
        body = (
            {"cases": [{"present": ["fever"]}, {"present": ["x"]}]} if name == "posteriors" else {}
        )
        check(f"/api/{name}", "post", ask(name, **body))
    for path in "/api/models", "/api/model":
        check(path, "get", client.get(path).json())
    error = client.post("/api/posterior", json={"x": 1}).json()
    problem = described["/api/posterior"]["post"]["responses"]["400"]
    assert conforms(error, problem["content"]["application/json"]["schema"])


def test_examples_are_answered(client):
    for path, operations in client.get("/api/openapi.json").json()["paths"].items():
        if "post" in operations:
            example = operations["post"]["requestBody"]["content"]["application/json"]["example"]
            assert client.post(path, json=example).status_code == 200, path


def test_there_are_no_examples_of_nothing():
    nothing = NoisyOrNetwork(Structure([], [], []), [], [], [])
    assert examples_of(Model("nothing", nothing)) == {}


def test_questions_are_held_to_what_is_described():
    described = document()["paths"]["/api/posterior"]["post"]["requestBody"]
    assert described["content"]["application/json"]["schema"] is schemas.POSTERIOR
