"""What is known of what was learned: kinds of parameters, and doubts."""

import numpy as np

from noisyor.flags import Flag
from noisyor.learning import Explained, Learned
from noisyor.learning.learned import doubt_about


def test_what_is_fixed_is_no_doubt():
    weak, fixed = np.uint16(Flag.WEAK), np.uint16(Flag.FIXED)
    assert doubt_about(np.array([weak] * 9 + [0], np.uint16)).startswith("Beware: 9 of 10 ")
    assert doubt_about(np.array([weak] * 8 + [0] * 2, np.uint16)) == ""
    assert doubt_about(np.array([fixed] * 10, np.uint16)) == ""
    assert doubt_about(np.array([fixed] * 90 + [weak] * 10, np.uint16)).startswith(
        "Beware: all 10 "
    )


def test_intervals_are_by_log_odds_or_even_or_given():
    values, errors = np.array([0.1, 0.5]), np.array([0.1, 0.1])
    known = Learned(values, errors, np.zeros(2, np.int64), np.zeros(2, np.uint16))
    assert known.intervals()[0][0] == 0.0
    assert known._replace(by_log_odds=True).intervals()[0][0] > 0.0
    ends = np.array([0.05, 0.4]), np.array([0.2, 0.6])
    assert known._replace(interval_ends=ends).intervals() is ends


def test_parts_of_the_clean_up_come_back_from_their_document():
    part = Explained(np.array([1, 3]), 12, 8, 3.5, np.inf, np.array([], np.int64))
    assert Explained.from_document(part._asdict()) == part
    assert not part.is_ambiguous
    assert part._replace(second=9.0).is_ambiguous
    assert part._replace(misfit=40.0).is_poor
