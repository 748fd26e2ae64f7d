"""Values that cannot be changed once they are made."""

import copy

import pytest

from noisyor.immutable import Immutable


class Point(Immutable):
    def __init__(self, x):
        self.x = x
        self.x = self.x + 1  # before it is sealed
        self._seal()


def test_nothing_is_set_or_deleted_after_it_was_sealed():
    point = Point(1)
    with pytest.raises(AttributeError, match="a Point cannot be changed: .* instead of setting x"):
        point.x = 3
    with pytest.raises(AttributeError, match="setting y"):
        point.y = 3
    with pytest.raises(AttributeError, match="cannot be changed"):
        del point.x
    assert point.x == 2


def test_a_copy_is_the_value_itself():
    point = Point(1)
    assert copy.copy(point) is point
    assert copy.deepcopy([point])[0] is point
