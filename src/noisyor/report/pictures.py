"""Pictures of a page that need no script: inline SVG, whose colours are the page's."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.report.content import Part
from noisyor.report.markup import counted, text

MOST_POINTS = 1_500
"""Points of a scatter; more would only hide each other, and make the file large."""
LOWEST = 1e-4
"""Where a logarithmic axis begins; what lies below is drawn there."""


class Bar(NamedTuple):
    """A bar of a histogram: what it stands for and how many, of them flagged."""

    label: str
    n: int
    n_flagged: int


def histogram(bars: Sequence[Bar], *, label: str, axis: str) -> str:
    """Return bars of which the flagged part stands out."""
    width, height, bottom, top = 640, 240, 44, 26
    most = max((bar.n for bar in bars), default=0) or 1
    step = (width - 20) / max(len(bars), 6)
    pieces = [f'<line class="axis" x1="10" x2="{width - 10}" y1="{height - bottom}" '
              f'y2="{height - bottom}"/>']  # fmt: skip
    for place, bar in enumerate(bars):
        pieces.append(_bar(bar, 10 + place * step, step, (height - bottom - top) / most, height))
    pieces.append(
        f'<text class="axis-title" x="{width / 2:.0f}" y="{height - 6}">{text(axis)}</text>'
    )
    return _svg("histogram", width, height, label, pieces)


def _bar(bar: Bar, left: float, step: float, scale: float, height: int) -> str:
    base, wide = height - 44, min(step * 0.72, 90.0)
    x = left + (step - wide) / 2
    full, flagged = bar.n * scale, bar.n_flagged * scale
    says = f"{bar.label}: {counted(bar.n, 'failure')}, {bar.n_flagged:,} flagged"
    pieces = [
        f"<g><title>{text(says)}</title>",
        f'<rect class="bar" x="{x:.1f}" y="{base - full:.1f}" width="{wide:.1f}" '
        f'height="{full:.1f}" rx="2"/>',
    ]
    if bar.n_flagged:
        pieces.append(
            f'<rect class="bar flagged" x="{x:.1f}" y="{base - flagged:.1f}" '
            f'width="{wide:.1f}" height="{flagged:.1f}"/>'
        )
    middle = x + wide / 2
    pieces += [
        f'<text class="count" x="{middle:.1f}" y="{base - full - 6:.1f}">{bar.n:,}</text>',
        f'<text class="tick" x="{middle:.1f}" y="{base + 16}">{text(bar.label)}</text></g>',
    ]
    return "".join(pieces)


def depth_bars(part: Part) -> list[Bar]:
    """Return a bar for each depth, and a last one for what was not learned."""
    bars = []
    for depth in sorted(np.unique(part.depths).tolist(), key=lambda each: (each < 0, each)):
        here = part.depths == depth
        name = "none" if depth < 0 else str(depth)
        bars.append(Bar(name, int(here.sum()), int((here & part.is_flagged).sum())))
    return bars


def scatter(part: Part, name: str, *, logarithmic: bool) -> str:
    """Return learned values over true ones; flagged ones stand out."""
    assert part.true_values is not None
    size, margin = 300, 44
    chosen = _thinned(part)
    places = (
        _placed(values[chosen], size, margin, logarithmic)
        for values in (part.true_values, part.values)
    )
    dots = [
        f'<circle class="dot{" flagged" if flagged else ""}" cx="{x:.1f}" cy="{size - y:.1f}" '
        f'r="{2.6 if len(chosen) < 400 else 1.8}"/>'
        for x, y, flagged in zip(*places, part.is_flagged[chosen].tolist(), strict=True)
    ]
    lo, hi = margin, size - 12
    pieces = [
        *_ticks(size, margin, logarithmic),
        f'<line class="diagonal" x1="{lo}" y1="{size - lo}" x2="{hi}" y2="{size - hi}"/>',
        *dots,
        f'<text class="axis-title" x="{(lo + hi) / 2}" y="{size - 8}">true {text(name)}</text>',
        f'<text class="axis-title" transform="translate(12 {(size - lo + 12) / 2:.0f}) '
        f'rotate(-90)">learned</text>',
    ]
    thinned = f", {len(chosen):,} of {len(part.values):,} shown" if _is_thinned(part) else ""
    scale = " on logarithmic axes" if logarithmic else ""
    label = f"Learned {name}s over true ones{scale}{thinned}."
    return f"<figure>{_svg('scatter', size, size, label, pieces)}<figcaption>{text(label)}</figcaption></figure>"


def _is_thinned(part: Part) -> bool:
    return len(part.values) > MOST_POINTS


def _thinned(part: Part) -> NDArray[np.int64]:
    """Return which points are drawn: all, or evenly many over the range of the true values."""
    assert part.true_values is not None
    order = np.argsort(part.true_values, kind="stable")
    if not _is_thinned(part):
        return order
    return order[np.linspace(0, len(order) - 1, MOST_POINTS).astype(np.int64)]


def _placed(
    values: NDArray[np.float64], size: int, margin: int, logarithmic: bool
) -> Iterable[float]:
    shares = values
    if logarithmic:
        shares = 1.0 - np.log10(np.clip(values, LOWEST, 1.0)) / math.log10(LOWEST)
    places: list[float] = (margin + shares * (size - 12 - margin)).tolist()
    return places


def _ticks(size: int, margin: int, logarithmic: bool) -> list[str]:
    labels = ("0.0001", "0.001", "0.01", "0.1", "1") if logarithmic else ("0", "0.5", "1")
    numbers = np.array([float(label) for label in labels])
    pieces = []
    for label, at in zip(labels, _placed(numbers, size, margin, logarithmic), strict=True):
        pieces.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="12" y2="{size - margin}"/>'
            f'<line class="grid" x1="{margin}" x2="{size - 12}" y1="{size - at:.1f}" '
            f'y2="{size - at:.1f}"/>'
            f'<text class="tick" x="{at:.1f}" y="{size - margin + 14}">{label}</text>'
            f'<text class="tick end" x="{margin - 4}" y="{size - at + 4:.1f}">{label}</text>'
        )
    return pieces


def _svg(kind: str, width: int, height: int, label: str, pieces: Iterable[str]) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{text(label)}">'
        f"{''.join(pieces)}</svg>"
    )
