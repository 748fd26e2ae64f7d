"""One style for all pictures: few lines, labels at the curves, colours for the colour-blind."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from noisyor.drawing import STYLE
from noisyor.experiments.results import Results

COLOURS = {
    "refined": "#0072B2", "pooled": "#009E73", "sequential": "#D55E00", "variational_em": "#CC79A7",
    "exact_em": "#E69F00", "maximum_likelihood": "#56B4E9", "observed": "#555555",
    "observed_likelihood": "#888888", "uniform": "#999999",
}  # fmt: skip
LABELS = {
    "variational_em": "variational EM",
    "exact_em": "exact EM",
    "maximum_likelihood": "maximum likelihood",
    "observed": "diseases seen",
    "observed_likelihood": "diseases seen: maximum likelihood",
    "sequential": "sequential (the paper's)",
}


@contextmanager
def picture(path: Path, n_axes: int, size: tuple[float, float], n_rows: int = 1) -> Iterator[Any]:
    """Give axes to draw on, in rows; write PNG and SVG when that is done."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        n_columns = -(-n_axes // n_rows)
        shape: Any = {"figsize": size, "layout": "constrained", "squeeze": False}
        drawing, grid = plt.subplots(n_rows, n_columns, **shape)
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
    label: str = "",
    spread: Sequence[float] | None = None,
    is_below: bool = False,
) -> None:
    """Draw a method's curve with markers, and standard deviations as a shade.

    Methods that do not compete, because they see the diseases, or nothing, have dashes. A curve
    below the others is so wide that it is seen at both sides of one that runs over it.
    """
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = np.isfinite(ys)
    if not known.any():
        return
    xs, ys = xs[known], ys[known]
    colour, label = COLOURS.get(method, "#000000"), label or LABELS.get(method, method)
    style = "--" if method in ("observed", "observed_likelihood", "uniform") else "-"
    wide: Any = {"linewidth": 5.0, "zorder": 1.5} if is_below else {}
    axis.plot(xs, ys, style, color=colour, marker="o", markersize=3, label=label, **wide)
    if spread is not None:
        margin = np.nan_to_num(np.asarray(spread, dtype=float))[known]
        low = np.maximum(ys - margin, ys / 10.0)
        axis.fill_between(xs, low, ys + margin, color=colour, alpha=0.12, linewidth=0)


def curves(axis: Any, results: Results, network: str, methods: Iterable[str], what: str) -> None:
    """Draw the means of a quantity against the records, a curve for each method."""
    at = results.sizes()
    for method in methods:
        curve(axis, at, [results.mean(network, n, method, what) for n in at], method)
    axis.set(yscale="log", title=network)
    plain_numbers(axis.yaxis)
    records_axis(axis, at)


def records_axis(axis: Any, at: Sequence[int]) -> None:
    """Let the numbers of records be the marks of an axis."""
    axis.set(xscale="log", xlabel="records")
    axis.set_xticks(list(at), [f"{n // 10**6}M" if n >= 10**6 else f"{n:,}" for n in at])
    axis.minorticks_off()


def plain_numbers(axis: Any) -> None:
    """Write 0.05 and not a power of ten beside the marks of a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axis.set_minor_formatter(NullFormatter())


def legend_of_all(axes: Sequence[Any]) -> None:
    """Name the curves of all panels once, above them."""
    named: dict[str, Any] = {}
    for axis in axes:
        lines, names = axis.get_legend_handles_labels()
        named |= dict(zip(names, lines, strict=True))
    axes[0].figure.legend(
        named.values(), named, loc="outside upper center", ncols=4, frameon=False, fontsize=9
    )


def label_curves(axis: Any) -> None:
    """Write the names of curves at their right ends, in their colours, one above the other."""
    lines = [line for line in axis.get_lines() if not line.get_label().startswith("_")]
    if not lines:
        return
    axis.figure.canvas.draw()
    ends = [line.get_xydata()[-1] for line in lines]
    heights = [axis.transData.transform(end)[1] for end in ends]
    step, at = 11.0 * axis.figure.dpi / 72.0, -np.inf
    right = max(end[0] for end in ends)
    for number in np.argsort(heights):
        at = max(heights[number], at + step)
        y = axis.transData.inverted().transform((0.0, at))[1]
        axis.annotate(
            lines[number].get_label(), (right, y), (6, 0), textcoords="offset points",
            color=lines[number].get_color(), fontsize=8, va="center", annotation_clip=False,
        )  # fmt: skip


def note(
    axis: Any, text: str, point: tuple[float, float], offset: tuple[int, int], side: str = "left"
) -> None:
    """Write a small text beside a point."""
    axis.annotate(text, point, offset, fontsize=8, textcoords="offset points", ha=side)
