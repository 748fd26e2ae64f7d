import json

from noisyor.io.json_text import json_text


def test_what_json_does_not_have_is_null_at_any_depth():
    facts = {"a": [1.5, float("inf"), (float("nan"), {"b": -float("inf")})], "c": None, "d": True}
    assert json.loads(json_text(facts)) == {
        "a": [1.5, None, [None, {"b": None}]],
        "c": None,
        "d": True,
    }


def test_halves_of_letters_are_escaped():
    assert json_text("\ud800") == '"\\ud800"'
