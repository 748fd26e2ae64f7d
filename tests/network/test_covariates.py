import json

import numpy as np
import pandas as pd
import pytest

from noisyor import NoisyOrError
from noisyor.errors import FileError, NoisyOrWarning
from noisyor.network import Covariate, Effects, Independent

AGE, SEX = Covariate("age", (), 50.0, 20.0), Covariate("sex", ("f", "m"))


def test_rows_of_people():
    effects = Effects(
        [AGE, SEX], np.zeros((2, 3)), [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [0.25, 0.75]
    )
    assert effects.names == ["age", "sex=f", "sex=m"]
    assert effects.row({"age": 70, "sex": "m"}).tolist() == [1.0, 0.0, 1.0]
    row = effects.row({"sex": "f", "age": pd.NA})
    assert np.isnan(row[0])
    assert row[1:].tolist() == [1.0, 0.0]
    cells, weights = effects.cells_like(row)
    assert cells.tolist() == [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    assert weights.tolist() == [0.25, 0.75]


def test_whole_numbers_are_levels_whatever_their_type():
    site = Covariate("site", ("1", "2"))
    assert site.columns(2).tolist() == site.columns(2.0).tolist() == site.columns("2").tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"sex": "x"}, "'sex' is 'x', a category that was not learned from; known are 'f', 'm'"),
        ({"age": "old"}, "'age' is 'old', not a number"),
        ({"age": np.inf}, "not a number"),
        ({"agee": 3}, "no covariate 'agee'; the network has 'age', 'sex'; did you mean 'age'"),
    ],
)
def test_what_is_wrong_with_a_person_is_named(values, message):
    effects = Effects([AGE, SEX], np.zeros((1, 3)), [[0.0, 1.0, 0.0]], [1.0])
    with pytest.raises(NoisyOrError, match=message):
        effects.row(values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.0]], [[0.0]], [1.0]), "take 3 columns"),
        ((np.zeros((1, 3)), np.zeros((0, 3)), []), "shares of people"),
        ((np.full((1, 3), np.nan), np.zeros((1, 3)), [1.0]), "coefficients must be finite"),
        (("x", np.zeros((1, 3)), [1.0]), "must be numbers"),
    ],
)
def test_what_is_wrong_with_effects_is_named(arguments, message):
    with pytest.raises(NoisyOrError, match=message):
        Effects([AGE, SEX], *arguments)


def test_documents_there_and_back():
    effects = Effects([AGE, SEX], [[0.5, -1.0, 2.0]], [[0.0, 1.0, 0.0]], [1.0])
    document = json.loads(json.dumps(effects.to_document()))
    assert Effects.from_document(document, "x.json") == effects
    document["covariates"][0]["scale"] = 0.0
    with pytest.raises(NoisyOrError, match=r"x\.json.*does not describe a covariate"):
        Effects.from_document(document, "x.json")


def effects_of_ages(lowest, highest):
    age = AGE._replace(lowest=lowest, highest=highest)
    return Effects([SEX, age], np.zeros((1, 3)), [[1.0, 0.0, 0.0]], [1.0])


def test_numbers_outside_of_what_was_learned_from_are_told():
    effects = effects_of_ages(20.0, 80.0)
    for value in (20, 50, 80, None):
        Independent([0.1], effects).given({"age": value, "sex": "f"})  # a warning is an error
    with pytest.warns(NoisyOrWarning, match="'age' is 81, outside .* from, 20 to 80: "):
        Independent([0.1], effects).given({"age": 81, "sex": "f"})
    rows = np.array([effects.row({"age": age}) for age in (300, 30, -4, None)])
    with pytest.warns(NoisyOrWarning, match="'age' is -4 to 300 in 2 of 4 records"):
        effects.tell_outside(rows)
    effects_of_ages(None, None).tell_outside(rows)  # of a network that was not learned


def test_what_a_number_was_learned_from_is_kept_in_files():
    age = AGE._replace(lowest=20.0, highest=0.0)
    assert Covariate.from_document(age.to_document(), "file") == age
    assert Covariate.from_document(AGE.to_document(), "file") == AGE
    for wrong in ({"lowest": "young"}, {"lowest": 3.0, "highest": None}):
        with pytest.raises(FileError, match="does not describe a covariate"):
            Covariate.from_document(AGE.to_document() | wrong, "file")
