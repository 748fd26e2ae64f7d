import pytest

from noisyor import NoisyOrError
from noisyor.app import schemas


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ([], "the request must be an object, not \\[\\]"),
        (None, "must be an object"),
        ({"present": "fever"}, "'present' must be a list, not 'fever'"),
        ({"present": [1]}, "'present', entry 0 must be a text, not 1"),
        ({"present": [None]}, "entry 0 must be a text, not null"),
        ({"presnt": []}, "'presnt', which is unknown; did you mean 'present'"),
        ({"top": 0}, "'top' must be from 1 to 1,000,000"),
        ({"top": 1.5}, "'top' must be a whole number, not 1.5"),
        ({"top": True}, "'top' must be a whole number, not true"),
        ({"budget": 0}, "'budget' must be above 0"),
        ({"seed": -1}, "'seed' must be from 0"),
        ({"covariates": {"age": [1]}}, "'age' must be a number or a text or null"),
        ({"covariates": {"age": 1e301}}, "'age' must be from"),
        ({"model": "x" * 10_001}, "'model' has 10,001 letters"),
    ],
)
def test_what_is_wrong_is_said(body, says):
    with pytest.raises(NoisyOrError, match=says):
        schemas.check(body, schemas.POSTERIOR)


def test_what_is_missing_is_said():
    with pytest.raises(NoisyOrError, match="the request lacks 'cases'"):
        schemas.check({}, schemas.POSTERIORS)


def test_what_is_right_passes():
    schemas.check({"present": ["a"], "top": 3.0, "covariates": {"x": None}}, schemas.POSTERIOR)
