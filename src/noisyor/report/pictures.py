"""Pictures of a page that need no script: inline SVG, whose colours are the page's."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.evaluation import LabelScores
from noisyor.evaluation.scores import THRESHOLDS
from noisyor.report.content import Reported
from noisyor.report.markup import counted, text

MOST_POINTS = 1_500
"""Points of a scatter; more would only hide each other, and make the file large."""
LOWEST = 1e-6
"""A logarithmic axis begins no lower; what lies below is drawn there."""
SIZE, MARGIN = 300, 56
FAR = SIZE - 16
"""A scatter and its axes, in the picture's units."""


def depth_histogram(part: Reported) -> str:
    """Return a bar for each depth, the last for what was not learned; flagged ones stand out."""
    width, height, base, top = 640, 240, 196, 26
    depths = part.depths_in_order
    chosen = [part.depths == depth for depth in depths]
    most = max((int(each.sum()) for each in chosen), default=0) or 1
    step = (width - 20) / max(len(depths), 6)
    left = (width - len(depths) * step) / 2
    pieces = [f'<line class="axis" x1="10" x2="{width - 10}" y1="{base}" y2="{base}"/>']
    for index, (depth, here) in enumerate(zip(depths, chosen, strict=True)):
        label = "none" if depth < 0 else str(depth)
        n, n_flagged = int(here.sum()), int((here & part.is_flagged).sum())
        full, flagged = (number * (base - top) / most for number in (n, n_flagged))
        wide = min(step * 0.72, 90.0)
        x = left + index * step + (step - wide) / 2
        says = f"{label}: {counted(n, 'failure')}, {n_flagged:,} flagged"
        pieces.append(
            f"<g><title>{text(says)}</title>"
            f'<rect class="bar" x="{x:.1f}" y="{base - full:.1f}" width="{wide:.1f}" '
            f'height="{full:.1f}" rx="2"/>'
        )
        if n_flagged:
            pieces.append(
                f'<rect class="bar flagged" x="{x:.1f}" y="{base - flagged:.1f}" '
                f'width="{wide:.1f}" height="{flagged:.1f}"/>'
            )
        middle = x + wide / 2
        pieces.append(
            f'<text class="count" x="{middle:.1f}" y="{base - full - 6:.1f}">{n:,}</text>'
            f'<text class="tick" x="{middle:.1f}" y="{base + 16}">{label}</text></g>'
        )
    axis = "depth (none: not learned)"
    pieces.append(f'<text class="axis-title" x="{width // 2}" y="{height - 6}">{axis}</text>')
    label = "Histogram of the failures by the depth at which they are learned."
    return _svg("histogram", width, height, label, pieces)


class Axis(NamedTuple):
    """An axis, or both of a scatter: from the lower left to the upper right corner."""

    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    ends: tuple[float, float]
    """What lies outside is drawn at the end."""
    is_logarithmic: bool

    def positions(self, values: NDArray[np.float64]) -> list[float]:
        """Return where values stand, from the left or from below."""
        inside = np.clip(values, *self.ends)
        low, high = self.ends
        if self.is_logarithmic:
            inside, low, high = np.log10(inside), math.log10(low), math.log10(high)
        positions: list[float] = (MARGIN + (inside - low) / (high - low) * (FAR - MARGIN)).tolist()
        return positions


FROM_0_TO_1 = Axis((0.0, 0.5, 1.0), ("0", "0.5", "1"), (0.0, 1.0), False)


def _axis(part: Reported, logarithmic: bool) -> Axis:
    """Return axes from 0 to 1, or over the powers of ten that the values lie between."""
    if not logarithmic:
        return FROM_0_TO_1
    assert part.true_values is not None
    both = np.clip(np.concatenate([part.values, part.true_values]), LOWEST, 1.0)
    low = math.floor(math.log10(both.min()) + 1e-9)
    high = max(math.ceil(math.log10(both.max()) - 1e-9), low + 1)
    powers = range(low, high + 1)
    # Of many powers every second is written, from 1 downwards.
    every = 2 if len(powers) > 4 else 1
    labels = tuple("" if power % every else _power_of_ten(power) for power in powers)
    return Axis(tuple(10.0**power for power in powers), labels, (10.0**low, 10.0**high), True)


def _power_of_ten(power: int) -> str:
    """Return 10 to a power up to 0 in few letters.

    >>> _power_of_ten(0), _power_of_ten(-2), _power_of_ten(-6)
    ('1', '0.01', '10⁻⁶')
    """
    return f"{10.0**power:.{-power}f}" if power >= -3 else f"10⁻{'⁰¹²³⁴⁵⁶⁷⁸⁹'[-power]}"


def scatter(part: Reported, name: str, *, logarithmic: bool) -> str:
    """Return learned values over true ones; flagged ones stand out."""
    assert part.true_values is not None
    chosen, axis = _thinned(part), _axis(part, logarithmic)
    positions = axis.positions(part.true_values[chosen]), axis.positions(part.values[chosen])
    dots = [
        f'<circle class="dot{" flagged" if flagged else ""}" cx="{x:.1f}" cy="{SIZE - y:.1f}" '
        f'r="{2.6 if len(chosen) < 400 else 1.8}"/>'
        for x, y, flagged in zip(*positions, part.is_flagged[chosen].tolist(), strict=True)
    ]
    pieces = [*_ticks(axis, axis), DIAGONAL, *dots, *_titles(f"true {name}", "learned")]
    thinned = "" if len(chosen) == len(part.values) else f"; {len(chosen):,} of them shown"
    scale = " on logarithmic axes" if logarithmic else ""
    label = f"{len(part.values):,} learned {name}s over true ones{scale}{thinned}."
    return _figure(label, pieces)


def calibration_curve(scores: LabelScores, name: str) -> str:
    """Return how often a disease was seen over its probability, with 95% intervals."""
    curve = scores.calibration
    has_labels = curve.n_labels > 0
    lower, upper = curve.intervals()
    values = curve.mean_probabilities, curve.shares, lower, upper
    positions = zip(*(FROM_0_TO_1.positions(each[has_labels]) for each in values), strict=True)
    dots = [
        f"<g><title>{counted(int(n), 'label')}, {seen:,} say present</title>"
        f'<line class="whisker" x1="{x:.1f}" x2="{x:.1f}" y1="{SIZE - low:.1f}" '
        f'y2="{SIZE - high:.1f}"/><circle class="dot" cx="{x:.1f}" cy="{SIZE - y:.1f}" r="3"/></g>'
        for (x, y, low, high), n, seen in zip(
            positions, curve.n_labels[has_labels], curve.n_present[has_labels], strict=True
        )
    ]
    titles = _titles("probability of the network", "share that was seen")
    label = f"Calibration of {name}: shares with 95% intervals; on the dashed line all is right."
    return _figure(label, [*_ticks(FROM_0_TO_1, FROM_0_TO_1), DIAGONAL, *dots, *titles])


def decision_curve(scores: LabelScores, name: str) -> str:
    """Return the net benefit of acting by the network, on all and on none, over thresholds."""
    most = max(scores.prevalence, 1e-9)
    up = Axis(
        (0.0, most / 2, most), ("0", f"{most / 2:.2g}", f"{most:.2g}"), (-most / 5, most), False
    )
    curves = {"diagonal": scores.treat_all(), "curve": scores.net_benefits}
    zero = SIZE - up.positions(np.zeros(1))[0]
    pieces = [
        *_ticks(FROM_0_TO_1, up),
        f'<line class="axis" x1="{MARGIN}" x2="{FAR}" y1="{zero:.1f}" y2="{zero:.1f}"/>',
        *(_path(kind, up, values) for kind, values in curves.items()),
        *_titles("threshold of the probability", "net benefit"),
    ]
    label = (
        f"Decision curve of {name}: acting by the network's probability; dashed: on all; on none "
        "the benefit is 0."
    )
    return _figure(label, pieces)


def _path(kind: str, up: Axis, values: NDArray[np.float64]) -> str:
    """Return a curve over the thresholds, as far as it is in the picture."""
    inside = values >= up.ends[0]
    xs, ys = FROM_0_TO_1.positions(THRESHOLDS[inside]), up.positions(values[inside])
    points = " ".join(f"{x:.1f},{SIZE - y:.1f}" for x, y in zip(xs, ys, strict=True))
    return f'<path class="{kind}" d="M{points}"/>' if points else ""


DIAGONAL = (
    f'<line class="diagonal" x1="{MARGIN}" y1="{SIZE - MARGIN}" x2="{FAR}" y2="{SIZE - FAR}"/>'
)


def _titles(across: str, up: str) -> list[str]:
    middle = (MARGIN + FAR) // 2
    return [
        f'<text class="axis-title" x="{middle}" y="{SIZE - 8}">{text(across)}</text>',
        f'<text class="axis-title" transform="translate(12 {SIZE - middle}) rotate(-90)">'
        f"{text(up)}</text>",
    ]


def _figure(label: str, pieces: Iterable[str]) -> str:
    picture = _svg("scatter", SIZE, SIZE, label, pieces)
    return f"<figure>{picture}<figcaption>{text(label)}</figcaption></figure>"


def _thinned(part: Reported) -> NDArray[np.int64]:
    """Return which points are drawn: all, or evenly many over the range of the true values."""
    assert part.true_values is not None
    order = np.argsort(part.true_values, kind="stable")
    if len(order) <= MOST_POINTS:
        return order
    return order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(np.int64)]


def _ticks(across: Axis, up: Axis) -> list[str]:
    pieces = []
    for label, x in zip(across.labels, across.positions(np.array(across.ticks)), strict=True):
        pieces.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="12" y2="{SIZE - MARGIN}"/>'
            f'<text class="tick" x="{x:.1f}" y="{SIZE - MARGIN + 14}">{label}</text>'
        )
    for label, position in zip(up.labels, up.positions(np.array(up.ticks)), strict=True):
        y = SIZE - position
        pieces.append(
            f'<line class="grid" x1="{MARGIN}" x2="{FAR}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick end" x="{MARGIN - 4}" y="{y + 4:.1f}">{label}</text>'
        )
    return pieces


def _svg(kind: str, width: int, height: int, label: str, pieces: Iterable[str]) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{text(label)}">'
        f"{''.join(pieces)}</svg>"
    )
