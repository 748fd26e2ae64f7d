"""Changes of a structure."""

from discovery.test_suggestions import CLINIC, damaged
from noisyor import Structure
from noisyor.discovery.changes import (
    ADD,
    ADD_DISEASE,
    DROP,
    DROP_DISEASE,
    MERGE,
    SPLIT,
    Suggestion,
    changed,
    changes_between,
    compatible,
    new_name,
)

NAN = float("nan")


def test_changes_are_made():
    structure = Structure.from_edges([("a", "x"), ("a", "y"), ("b", "y"), ("b", "z")])
    nan = float("nan")

    def change(kind, disease, *symptoms):
        return Suggestion(kind, disease, symptoms, 1.0, 1.0, 0.01, 0.01, nan)

    made = changed(
        structure,
        [change(ADD, "a", "z"), change(DROP, "b", "y"), change(ADD_DISEASE, "", "x", "z")],
    )
    assert made.diseases == ("a", "b", "x + z")
    assert made.has_edge("a", "z")
    assert not made.has_edge("b", "y")
    assert made.children("x + z").tolist() == [0, 2]
    assert new_name(("x", "z"), ["x + z"]) == "x + z (2)"
    assert new_name(("a", "b", "c", "d"), []) == "a + b + c ..."


def test_changes_between_two_structures_lead_from_one_to_the_other():
    structure, _ = damaged()
    changes = changes_between(structure, CLINIC.structure)
    assert [each.kind for each in changes] == [ADD, DROP]
    assert changed(structure, changes) == CLINIC.structure
    sentences = [each.sentence for each in changes]
    assert all(text.endswith(", given the other changes of this step.") for text in sentences)
    assert "does not seem to cause" in sentences[1]
    assert not any("nan" in text for text in sentences)


def test_changes_that_may_stand_in_for_each_other_wait():
    gains = {("a", "x"): 1.0, ("a", "y"): 3.0, ("b", "y"): 2.0, ("c", "z"): 1.5}

    def chosen(kind):
        nan = float("nan")
        changes = [
            Suggestion(kind, disease, (symptom,), gain, gain, 0.0, 0.0, nan)
            for (disease, symptom), gain in gains.items()
        ]
        return [(each.disease, each.symptoms[0]) for each in compatible(changes)]

    assert chosen(ADD) == [("a", "y"), ("c", "z"), ("a", "x")]
    assert chosen(DROP) == [("a", "y"), ("c", "z")]


def test_diseases_are_divided_made_one_and_left_out():
    structure = Structure.from_edges(
        [("a", "x"), ("a", "y"), ("a", "z"), ("b", "z"), ("b", "u"), ("b", "x")]
    )

    def change(kind, disease, *symptoms, **more):
        return Suggestion(kind, disease, symptoms, NAN, NAN, NAN, NAN, NAN, **more)

    split = changed(structure, [change(SPLIT, "a", "y", "z", shared=("z",))])
    assert split.diseases == ("a", "b", "y + z")
    assert [split.children(i).tolist() for i in range(3)] == [[0, 2], [0, 2, 3], [1, 2]]
    one = changed(structure, [change(MERGE, "a", "x", "z", "u", other="b")])
    assert (one.diseases, one.n_edges) == (("a",), 4)
    less = changed(structure, [change(DROP_DISEASE, "a", "x", "y", "z")])
    assert (less.diseases, less.n_edges, less.n_symptoms) == (("b",), 3, 4)


def test_sentences_say_what_is_known():
    def says(kind, gain, **more):
        return Suggestion(kind, "a", ("x", "y"), gain, NAN, NAN, NAN, NAN, **more).sentence

    assert "(both have y)" in says(SPLIT, 50.0, shared=("y",))
    assert "both have" not in says(SPLIT, 50.0)
    assert "a and b occur together as if" in says(MERGE, 50.0, other="b")
    assert "do not tell a and b apart: as one disease the log likelihood falls by 0.0" in says(
        MERGE, 0.4, other="b"
    )
    assert "rise by about 50.0" in says(ADD_DISEASE, 50.0)
    assert "not needed any more" in says(DROP_DISEASE, NAN)
    edge = Suggestion(ADD, "a", ("x",), 50.0, NAN, NAN, NAN, 0.3, 2)
    assert edge.sentence.endswith("rises by 50.0. The schedule then reaches 2 more parameters.")
    assert "given the other changes" in edge._replace(gain=NAN, kind=DROP).sentence
