"""Pictures of a page: as many bars and points as there are values, where they belong."""

import re

import numpy as np
import pytest

from noisyor.evaluation import LabelScores
from noisyor.evaluation.scores import THRESHOLDS, auc_of, calibration_of, net_benefits
from noisyor.flags import Flag
from noisyor.report.content import Reported
from noisyor.report.pictures import (
    FAR,
    MARGIN,
    MOST_POINTS,
    SIZE,
    calibration_curve,
    decision_curve,
    depth_histogram,
    scatter,
)


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


def judged(p, y):
    """The parts of scores that are drawn."""
    p, y = np.array(p), np.array(y, dtype=bool)
    nan = float("nan")
    return LabelScores(
        "flu", len(y), int(y.sum()), auc_of(p, y)[0], nan, nan, 0, np.zeros(3, dtype=np.int64),
        float(p.mean()), calibration_of(p, y), nan, net_benefits(p, y),
    )  # fmt: skip


def up(value, low=0.0, high=1.0):
    """Where a value stands in a picture."""
    return SIZE - (MARGIN + (value - low) / (high - low) * (FAR - MARGIN))


def test_shares_stand_over_their_probabilities():
    picture = calibration_curve(judged([0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1]), "<flu>")
    quarter, three = (MARGIN + share * (FAR - MARGIN) for share in (0.25, 0.75))
    assert dots(picture) == [(quarter, up(0.5)), (three, up(1.0))]
    assert re.findall("<title>(.*?)</title>", picture) == [
        "2 labels, 1 say present", "2 labels, 2 say present",
    ]  # fmt: skip
    whiskers = re.findall(r'whisker" .*?y1="(.*?)" y2="(.*?)"', picture)
    assert all(float(low) > float(high) for low, high in whiskers)  # y counts from above
    assert len(whiskers) == 2
    assert "&lt;flu&gt;" in picture
    assert "<flu>" not in picture


def test_net_benefits_stand_over_their_thresholds():
    scores = judged([0.9, 0.2, 0.1, 0.4], [1, 0, 0, 1])
    picture = decision_curve(scores, "flu")
    all_, curve = re.findall(r'<path class="(?:curve|diagonal)" d="M(.*?)"', picture)
    points = [tuple(map(float, point.split(","))) for point in curve.split()]
    low, high = -0.5 / 5, 0.5
    inside = scores.net_benefits >= low
    assert len(points) == inside.sum()
    right = [up(value, low, high) for value in scores.net_benefits[inside]]
    assert [y for _, y in points] == pytest.approx(right, abs=0.06)
    assert [x for x, _ in points] == pytest.approx(
        [MARGIN + t * (FAR - MARGIN) for t in THRESHOLDS[inside]], abs=0.06
    )
    assert len(all_.split()) == (scores.treat_all() >= low).sum()
