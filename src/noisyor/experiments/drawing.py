"""One style for all pictures: few lines, labels at the curves, colours for the colour-blind."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

COLOURS = {
    "refined": "#0072B2",
    "pooled": "#009E73",
    "sequential": "#D55E00",
    "variational_em": "#CC79A7",
    "exact_em": "#E69F00",
    "maximum_likelihood": "#56B4E9",
    "observed": "#555555",
    "observed_likelihood": "#888888",
    "uniform": "#999999",
}
LABELS = {
    "variational_em": "variational EM",
    "exact_em": "exact EM",
    "maximum_likelihood": "maximum likelihood",
    "observed": "diseases seen",
    "observed_likelihood": "diseases seen: maximum likelihood",
    "sequential": "sequential (the paper's)",
}
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e8e8e8",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "noisyor",
}


@contextmanager
def picture(path: Path, n_axes: int, size: tuple[float, float], n_rows: int = 1) -> Iterator[Any]:
    """Give axes to draw on, in rows; write PNG and SVG when that is done."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        n_columns = -(-n_axes // n_rows)
        drawing, grid = plt.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
        )
        axes = grid.ravel()
        for unused in axes[n_axes:]:
            unused.remove()
        yield axes[:n_axes]
        # Without a date in it, the same results give the same file.
        drawing.savefig(path.with_suffix(".png"), dpi=120, metadata={"Software": None})
        drawing.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        plt.close(drawing)


def curve(
    axis: Any,
    x: Sequence[float],
    y: Sequence[float],
    method: str,
    *,
    spread: Sequence[float] | None = None,
    style: str = "-",
) -> None:
    """Draw a method's curve with markers, and standard deviations as a shade."""
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = np.isfinite(ys)
    if not known.any():
        return
    colour = COLOURS.get(method, "#000000")
    label = LABELS.get(method, method)
    axis.plot(xs[known], ys[known], style, color=colour, marker="o", markersize=3, label=label)
    if spread is not None:
        margin = np.nan_to_num(np.asarray(spread, dtype=float))[known]
        low = np.maximum(ys[known] - margin, ys[known] / 10.0)
        axis.fill_between(xs[known], low, ys[known] + margin, color=colour, alpha=0.12, linewidth=0)


def records_axis(axis: Any, at: Sequence[int]) -> None:
    """Let the numbers of records be the marks of an axis."""
    axis.set(xscale="log", xlabel="records")
    axis.set_xticks(list(at), [f"{n // 10**6}M" if n >= 10**6 else f"{n:,}" for n in at])
    axis.minorticks_off()


def line_of(method: str) -> str:
    """Return dashes for methods that do not compete: they see the diseases, or nothing."""
    return "--" if method in ("observed", "observed_likelihood", "uniform") else "-"


def names_of_curves(axis: Any) -> set[str]:
    """Return the names of all curves."""
    return {line.get_label() for line in axis.get_lines() if not line.get_label().startswith("_")}


def label_curves(axis: Any, names: set[str] | None = None) -> None:
    """Write the names of curves at their right ends, in their colours, one above the other."""
    wanted = names_of_curves(axis) if names is None else names
    lines = [line for line in axis.get_lines() if line.get_label() in wanted]
    if not lines:
        return
    axis.figure.canvas.draw()
    ends = [line.get_xydata()[-1] for line in lines]
    heights = [axis.transData.transform(end)[1] for end in ends]
    order = np.argsort(heights)
    step = 11.0 * axis.figure.dpi / 72.0
    placed: list[float] = []
    for number in order:
        at = heights[number]
        if placed and at < placed[-1] + step:
            at = placed[-1] + step
        placed.append(at)
    right = max(end[0] for end in ends)
    for number, at in zip(order, placed, strict=True):
        y = axis.transData.inverted().transform((0.0, at))[1]
        axis.annotate(
            lines[number].get_label(), (right, y), (6, 0), textcoords="offset points",
            color=lines[number].get_color(), fontsize=8, va="center", annotation_clip=False,
        )  # fmt: skip
