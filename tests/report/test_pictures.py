"""Pictures of a page: as many bars and points as there are values, where they belong."""

import re

import numpy as np
import pytest

from noisyor.flags import Flag
from noisyor.report.content import Reported
from noisyor.report.pictures import FAR, MARGIN, MOST_POINTS, SIZE, depth_histogram, scatter


def reported(values, true_values=None, depths=None, flags=None):
    n = len(values)
    return Reported(
        np.array(values, dtype=float),
        np.full(n, np.nan),
        np.zeros(n, dtype=np.int64) if depths is None else np.array(depths),
        np.zeros(n, dtype=np.uint16) if flags is None else np.array(flags, dtype=np.uint16),
        true_values=None if true_values is None else np.array(true_values, dtype=float),
    )


def dots(picture):
    return [
        (float(x), float(y)) for x, y in re.findall(r'<circle [^>]*cx="(.*?)" cy="(.*?)"', picture)
    ]


def test_a_bar_for_each_depth_and_the_unlearned_last():
    flags = [0, Flag.WEAKLY_IDENTIFIED, 0, 0, Flag.CLIPPED]
    picture = depth_histogram(reported([0.5] * 5, depths=[1, -1, 0, 0, 0], flags=flags))
    titles = re.findall("<title>(.*?)</title>", picture)
    assert titles == [
        "0: 3 failures, 1 flagged", "1: 1 failure, 0 flagged", "none: 1 failure, 1 flagged",
    ]  # fmt: skip
    heights = [float(each) for each in re.findall(r'class="bar" [^>]*height="(.*?)"', picture)]
    assert heights[0] == pytest.approx(3 * heights[1], abs=0.2)
    assert picture.count('class="bar flagged"') == 2


def test_no_failures_make_an_empty_histogram():
    assert "<rect" not in depth_histogram(reported([]))


def test_points_stand_where_their_values_are():
    picture = scatter(
        reported([0.0, 1.0, 0.5], [0.0, 1.0, 0.25], flags=[0, 0, Flag.CLIPPED]),
        "<failure>",
        logarithmic=False,
    )
    quarter, half = MARGIN + (FAR - MARGIN) / 4, MARGIN + (FAR - MARGIN) / 2
    assert dots(picture) == [(MARGIN, SIZE - MARGIN), (quarter, SIZE - half), (FAR, SIZE - FAR)]
    assert picture.count("dot flagged") == 1
    assert "<failure>" not in picture
    assert "true &lt;failure&gt;" in picture


def test_logarithmic_axes_run_over_powers_of_ten():
    picture = scatter(reported([0.01, 1e-9], [0.1, 0.001]), "prior", logarithmic=True)
    decade = (FAR - MARGIN) / 5
    # From a millionth on, where smaller values are drawn, to a tenth.
    assert dots(picture)[0] == pytest.approx((MARGIN + 3 * decade, SIZE - MARGIN), abs=0.06)
    assert dots(picture)[1] == pytest.approx((FAR, SIZE - MARGIN - 4 * decade), abs=0.06)
    assert "10⁻⁶" in picture
    assert "on logarithmic axes" in picture


def test_of_many_points_some_are_drawn_and_it_says_so():
    n = 5 * MOST_POINTS
    values = np.linspace(0.0, 1.0, n)
    picture = scatter(reported(values, values[::-1]), "leak", logarithmic=False)
    assert len(dots(picture)) == MOST_POINTS
    assert f"{n:,} learned leaks over true ones; {MOST_POINTS:,} of them shown." in picture
