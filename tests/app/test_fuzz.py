"""Whatever is asked, the answer is an answer or a sentence: never a defect."""

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.conftest import client_of
from noisyor import NoisyOrNetwork, Structure, datasets
from noisyor.app import Model, schemas
from noisyor.app.replies import REPLIES

NAMES = ["fever", "cough", "Fev", "c", "", " ", "nonsense", "\x00", "\ud800", "runny nose", "ﬁ"]
numbers = st.one_of(st.integers(-5, 20), st.integers(), st.floats(allow_nan=False, width=32))
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=5), st.sampled_from(NAMES)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def values_of(name, schema):
    """Values that are nearly right, and now and then something else."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    right = {
        "string": st.sampled_from([*NAMES, "clinic", "auto", "exact", "gibbs", "x.csv", "influ"]),
        "integer": st.integers(0, 12),
        "number": st.floats(0.001, 0.01),
        "array": st.lists(st.deferred(lambda: values_of("", schema["items"])), max_size=4),
        "object": st.deferred(lambda: bodies_of(schema)),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    if name in ("content", "labels"):
        text = st.sampled_from(["fever\n1\n", "", "a,b\n1", "record,symptom\n1,fever\n", "\x00"])
        return text.map(lambda each: base64.b64encode(each.encode()).decode())
    near = st.one_of(*(right[kind] for kind in kinds))
    return st.one_of(near, near, near, anything) if name else near


def bodies_of(schema):
    members = {name: values_of(name, each) for name, each in schema.get("properties", {}).items()}
    required = {name: members.pop(name) for name in schema.get("required", ())}
    if not members and not required:
        return st.dictionaries(st.sampled_from(["age", "sex", "x"]), anything, max_size=2)
    return st.fixed_dictionaries(required, optional=members)


@pytest.fixture(scope="module")
def fuzzed(aged):
    """A clinic, one with covariates, and networks at the edges of what is possible."""
    structure = Structure.from_edges([("a", "fever"), ("b", "fever"), ("b", "cough")])
    sure = NoisyOrNetwork(structure, [0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0])
    nothing = NoisyOrNetwork(Structure([], [], []), [], [], [])
    models = datasets.clinic(), aged, sure, nothing
    named = [
        Model(name, each) for name, each in zip(("clinic", "x", "c", " "), models, strict=True)
    ]
    return client_of(*named)


HEADERS = {"content-type": "application/json"}
SCHEMAS = {name: schema for name, (_, schema) in REPLIES.items()} | {"records": schemas.RECORDS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_question_brings_about_a_defect(fuzzed, name):
    @settings(max_examples=60)
    @given(bodies_of(SCHEMAS[name]) | anything)
    def ask(body):
        # With what JSON does not have: infinities, and halves of letters.
        found = fuzzed.post(f"/api/{name}", content=json.dumps(body), headers=HEADERS)
        assert found.status_code in (200, 400), (body, found.text)
        assert found.headers["content-type"] == "application/json"
        if found.status_code == 400:
            assert set(found.json()) == {"refused"}
            assert found.json()["refused"].endswith((".", "?"))

    ask()


@settings(max_examples=50)
@given(st.binary(max_size=40), st.sampled_from(["posterior", "session", "records"]))
def test_no_bytes_bring_about_a_defect(content, path):
    client = client_of(Model("clinic", datasets.clinic()))
    found = client.post(f"/api/{path}", content=content, headers=HEADERS)
    assert found.status_code in (200, 400)
