"""Pictures of results, in one style: few lines, names at what they name, colours for everyone.

Functions here draw plain values on axes of matplotlib; the `.plot()` methods of results call them.
Axes come in (`ax=`) and go out, so that pictures are put together, changed and saved as usual:

    ax = posterior(network, present=["fever"]).plot()
    ax.figure.savefig("posterior.png")
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisyor.errors import ParameterError, printable, quoted

Floats = NDArray[np.float64]

STYLE: Any = {
    "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#e8e8e8", "grid.linewidth": 0.6, "axes.axisbelow": True, "lines.linewidth": 1.6,
    "svg.fonttype": "none", "svg.hashsalt": "noisyor",
}  # fmt: skip
BLUE, GREEN, RED, GREY, PALE = "#0072B2", "#009E73", "#D55E00", "#888888", "#cfd8e3"
"""Of Okabe and Ito's palette, which the colour-blind tell apart; flagged parameters are red."""
LONGEST_NAME = 36
"""Letters of a name on an axis; longer ones are cut."""
ROW_HEIGHT = 0.24
"""Inches of a line of a picture with names beside it."""


@contextmanager
def axes_for(ax: Any, width: float, height: float) -> Iterator[Any]:
    """Give the axes that are drawn on, new ones where there are none, in the style of the house."""
    import matplotlib.pyplot as plt

    if ax is not None and not hasattr(ax, "plot"):
        raise ParameterError(f"ax must be axes of matplotlib, not {type(ax).__name__}.")
    with plt.rc_context(STYLE):
        if ax is None:
            _, ax = plt.subplots(figsize=(width, height), layout="constrained")
        yield ax


def height_of(n_rows: int) -> float:
    """Return the height of a picture with so many named lines, in inches."""
    return 1.1 + ROW_HEIGHT * max(n_rows, 3)


def shown_name(name: str) -> str:
    """Return a name for an axis, cut where it is long; dollars are no formulas.

    >>> shown_name("a" * 40)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'
    """
    text = " ".join(printable(name).split())
    text = text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"
    return text.replace("$", r"\$")


def check_top(top: int) -> int:
    """Return how many lines to draw, or an error."""
    if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
        raise ParameterError(f"top must be a whole number from 1, not {quoted(top)}.")
    return int(top)


def _named_rows(ax: Any, names: Sequence[str]) -> None:
    """Put names beside the lines of a picture, the first on top."""
    ax.set_yticks(range(len(names)), [shown_name(name) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")


def _legend_above(ax: Any) -> None:
    """Put the legend above the picture, where it hides nothing."""
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, fontsize=8)


def draw_intervals(
    ax: Any, names: Sequence[str], values: Floats, lower: Floats, upper: Floats,
    is_flagged: NDArray[np.bool_] | None = None, *, label: str = "", log: bool = False,
) -> None:  # fmt: skip
    """Draw a point and its interval in a line each; what is flagged is red and hollow."""
    rows = np.arange(len(values))
    flagged = np.zeros(len(values), dtype=np.bool_) if is_flagged is None else is_flagged
    has_interval = np.isfinite(lower) & np.isfinite(upper)
    for here, colour in ((~flagged, BLUE), (flagged, RED)):
        both = here & has_interval
        ax.hlines(rows[both], lower[both], upper[both], color=colour, linewidth=2.2, alpha=0.45)
    ax.plot(values[~flagged], rows[~flagged], "o", color=BLUE, markersize=4.5)
    ax.plot(values[flagged], rows[flagged], "o", color=RED, markersize=4.5, markerfacecolor="none")
    if flagged.any():
        ax.plot([], [], "o", color=RED, markerfacecolor="none", label="flagged")
        _legend_above(ax)
    _named_rows(ax, names)
    if log:
        ax.set_xscale("log")
    ax.set_xlabel(label)


def draw_bars(
    ax: Any, names: Sequence[str], values: Floats, *, label: str, before: Floats | None = None,
    lower: Floats | None = None, upper: Floats | None = None,
    is_flagged: NDArray[np.bool_] | None = None,
) -> None:  # fmt: skip
    """Draw a bar in a line each, with intervals, and a mark where it was before."""
    rows = np.arange(len(values))
    flagged = np.zeros(len(values), dtype=np.bool_) if is_flagged is None else is_flagged
    colours = [RED if here else BLUE for here in flagged.tolist()]
    ax.barh(rows, values, height=0.62, color=colours, alpha=0.75)
    if flagged.any():
        # A bar of no length: none at all would leave the legend without its colour.
        ax.barh(0.0, 0.0, color=RED, alpha=0.75, label="rests on flagged parameters")
    if lower is not None and upper is not None:
        known = np.isfinite(lower) & np.isfinite(upper)
        ax.hlines(rows[known], lower[known], upper[known], color="black", linewidth=1.1)
    if before is not None:
        ax.plot(before, rows, "|", color="black", markersize=9, label="before")
    if before is not None or flagged.any():
        _legend_above(ax)
    _named_rows(ax, names)
    ax.set_xlabel(label)


def draw_steps(ax: Any, names: Sequence[str], steps: Floats, *, label: str) -> None:
    """Draw what speaks for something to the right, and what against it to the left."""
    finite = np.abs(steps[np.isfinite(steps)])
    edge = 1.1 * float(finite.max(initial=0.5))
    drawn = np.clip(np.nan_to_num(steps, posinf=edge, neginf=-edge), -edge, edge)
    ax.barh(range(len(drawn)), drawn, height=0.62, alpha=0.8,
            color=[GREEN if step >= 0 else RED for step in drawn.tolist()])  # fmt: skip
    for row, (end, step) in enumerate(zip(drawn.tolist(), steps.tolist(), strict=True)):
        at, side = ((4, 0), "left") if end >= 0 else ((-4, 0), "right")
        ax.annotate(f"{step:+.2f}", (end, row), at, textcoords="offset points", ha=side,
                    va="center", fontsize=8)  # fmt: skip
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.margins(x=0.15)
    _named_rows(ax, names)
    ax.set_xlabel(label)


def draw_swings(
    ax: Any, names: Sequence[str], middle: float, at_lower: Floats, at_upper: Floats, *,
    label: str, colours: tuple[str, str],
) -> None:  # fmt: skip
    """Draw a tornado: bars from a middle to where something goes at two ends."""
    rows = np.arange(len(names))
    for ends, colour, side in ((at_lower, colours[0], "lower"), (at_upper, colours[1], "upper")):
        ax.barh(rows, ends - middle, left=middle, height=0.62, color=colour, alpha=0.75,
                label=f"at the {side} end of its interval")  # fmt: skip
    ax.axvline(middle, color="black", linewidth=0.9)
    _legend_above(ax)
    _named_rows(ax, names)
    ax.set_xlabel(label)


def draw_heat_map(ax: Any, names: Sequence[str], matrix: Floats, *, label: str) -> None:
    """Draw a symmetric matrix with names on both sides; zero is white, NaN is grey."""
    limit = float(np.nanmax(np.abs(matrix), initial=1.0))
    shown = np.ma.masked_invalid(matrix)
    image = ax.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit)
    ax.set_facecolor("#eeeeee")
    texts = [shown_name(name) for name in names]
    ax.set_xticks(range(len(texts)), texts, rotation=90)
    ax.set_yticks(range(len(texts)), texts)
    ax.grid(visible=False)
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)


def draw_layers(
    ax: Any, diseases: Sequence[str], symptoms: Sequence[str], edges: NDArray[np.int64],
    strengths: Floats, chosen: int | None = None,
) -> None:  # fmt: skip
    """Draw diseases on the left, symptoms on the right; the stronger an edge, the darker."""
    heights = [
        np.linspace(1.0, 0.0, len(names)) if len(names) > 1 else np.array([0.5] * len(names))
        for names in (diseases, symptoms)
    ]
    for (i, j), strength in zip(edges.tolist(), strengths.tolist(), strict=True):
        is_chosen = chosen is None or i == chosen
        ax.plot([0.0, 1.0], [heights[0][i], heights[1][j]], color=BLUE if is_chosen else GREY,
                alpha=0.12 + 0.78 * strength, linewidth=0.6 + 1.6 * strength, zorder=1)  # fmt: skip
    for x, names, at, side in ((0.0, diseases, -6, "right"), (1.0, symptoms, 6, "left")):
        height = heights[0] if x == 0.0 else heights[1]
        ax.plot([x] * len(names), height, "o", color="black", markersize=4, zorder=2)
        for number, (name, y) in enumerate(zip(names, height.tolist(), strict=True)):
            weight = "bold" if x == 0.0 and number == chosen else "normal"
            ax.annotate(shown_name(name), (x, y), (at, 0), textcoords="offset points", ha=side,
                        va="center", fontsize=8, fontweight=weight)  # fmt: skip
    ax.set_xlim(-0.9, 1.9)
    ax.set_axis_off()


def draw_trace(
    ax: Any, steps: ArrayLike, values: Floats, ends: Floats, *, label: str, is_settled: bool
) -> None:
    """Draw how a likelihood rose, and where other starts ended."""
    ax.plot(np.asarray(steps), values, "o-", color=BLUE, markersize=3, label="the run that is kept")
    others = np.sort(ends)[:-1]
    for number, end in enumerate(others.tolist()):
        ax.axhline(end, color=GREY, linewidth=0.8, linestyle="--",
                   label="where other starts ended" if not number else None)  # fmt: skip
    ax.set(xlabel="steps", ylabel=label, title="" if is_settled else "has not settled")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(others):
        _legend_above(ax)


def draw_calibration(ax: Any, stated: Floats, seen: Floats, lower: Floats, upper: Floats) -> None:
    """Draw how often something was so, over how probable it was said to be; NaN: no statements."""
    known = np.isfinite(stated) & np.isfinite(seen)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    ax.vlines(stated[known], lower[known], upper[known], color=BLUE, linewidth=1.2, zorder=2)
    ax.plot(stated[known], seen[known], "o", color=BLUE, markersize=5, zorder=3)
    ax.set(xlabel="probability that was stated", ylabel="how often it was so",
           xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))  # fmt: skip
    ax.set_aspect("equal")
