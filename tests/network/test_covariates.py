import json

import numpy as np
import pandas as pd
import pytest

from noisyor import NoisyOrError
from noisyor.network import Covariate, Effects

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
