"""Whose records they are."""

import numpy as np
import pytest

from noisyor.em.cells import Cells
from noisyor.network import Covariate
from noisyor.network.design import Design


def test_people_of_whom_something_is_unknown_are_like_all_others():
    rows = np.array([[0.0, 1.0], [1.0, 1.0], [np.nan, 1.0], [0.0, 1.0]])
    cells = Cells.of(Design((Covariate("age"), Covariate("dose")), rows))
    assert cells.design.tolist() == [[0.0, 1.0], [1.0, 1.0]]
    assert cells.kinds[0] == cells.kinds[3]
    people = cells.of_kinds(cells.kinds)
    assert np.diff(people.starts).tolist() == [1, 1, 2, 1]
    assert people.weights[2:4] == pytest.approx([2 / 3, 1 / 3])


def test_people_of_whom_nothing_is_known_are_alike():
    people = Cells.nothing(3).of_kinds(np.zeros(3, dtype=np.int64))
    assert people.starts.tolist() == [0, 1, 2, 3]
    assert people.cells.tolist() == [0, 0, 0]
