"""Plots of what was measured, in one style, with colours that the colour-blind can tell."""

import numpy as np

COLOURS = {
    "refined": "#0072B2",
    "pooled": "#009E73",
    "sequential": "#D55E00",
    "observed": "#555555",
    "seen": "#999999",
}
LABELS = {"observed": "diseases seen: ratio", "seen": "diseases seen: maximum likelihood"}


def accuracy(figures, folder):
    """Draw error against records for each network, and error against time."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    with plt.rc_context(style):
        _errors(plt, figures, folder / "accuracy.png")
        _times(plt, figures, folder / "accuracy-time.png")


def _errors(plt, figures, path):
    names = ["qmr_shaped", "orphanet570", "health_knowledge_graph"]
    sizes = sorted({n for name, n, _, _ in figures.values if name == "qmr_shaped"})
    drawing, axes = plt.subplots(1, 3, figsize=(10, 3.7), sharey=True, layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        for method, colour in COLOURS.items():
            errors = [figures.mean(name, n, method, "failures") for n in sizes]
            if not np.isfinite(errors).any():
                continue
            style = {"linestyle": "--"} if method in LABELS else {}
            label = LABELS.get(method, method) if name == names[0] else None
            axis.plot(sizes, errors, color=colour, marker="o", markersize=3, label=label, **style)
        axis.set(xscale="log", yscale="log", xlabel="records", title=name)
    axes[0].set_ylabel("mean absolute error of failures")
    drawing.legend(loc="outside lower center", ncols=len(COLOURS), frameon=False)
    drawing.savefig(path, dpi=110)
    plt.close(drawing)


def _times(plt, figures, path):
    drawing, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    sizes = sorted({n for name, n, _, _ in figures.values if name == "qmr_shaped"})
    for method in "refined", "pooled", "sequential":
        seconds = [figures.mean("qmr_shaped", n, method, "seconds") for n in sizes]
        left.plot(sizes, seconds, color=COLOURS[method], marker="o", markersize=3)
        left.annotate(
            method, (sizes[-1], seconds[-1]), (-4, 5), color=COLOURS[method], fontsize=8,
            textcoords="offset points", ha="right",
        )  # fmt: skip
    left.set(xscale="log", yscale="log", xlabel="records", ylabel="seconds", title="qmr_shaped")
    runs = sorted(
        (found["seconds"], found["failures"], method.split()[1])
        for (_, _, _, method), found in figures.values.items()
        if method.startswith("refined, ")
    )
    seconds, errors, _ = zip(*runs, strict=True)
    right.plot(seconds, errors, color=COLOURS["refined"], marker="o", markersize=3)
    for x, y, number in runs:
        right.annotate(number, (x, y), (3, 4), fontsize=8, textcoords="offset points")
    right.set(xlabel="seconds", ylabel="mean error of failures", title="rounds of EM")
    drawing.savefig(path, dpi=110)
    plt.close(drawing)


def identifiability(table, path):
    """Draw the smallest sufficient order of fully connected networks, as in Table 1."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    fills = {-1: "#eeeeee", 3: "#0072B2", 4: "#56B4E9", 5: "#F0E442"}
    n_diseases, n_symptoms = table.shape
    drawing, axis = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
    for (row, column), order in np.ndenumerate(table):
        axis.add_patch(plt.Rectangle((column + 0.52, row + 0.52), 0.96, 0.96, color=fills[order]))
        ink = "white" if order == 3 else "black"
        text = "-" if order < 0 else str(order)
        axis.text(column + 1, row + 1, text, ha="center", va="center", color=ink, fontsize=9)
    axis.set(
        xlim=(0.5, n_symptoms + 0.5), ylim=(n_diseases + 0.5, 0.5), aspect="equal",
        xticks=range(1, n_symptoms + 1), yticks=range(1, n_diseases + 1),
        xlabel="symptoms", ylabel="diseases, each with all symptoms",
    )  # fmt: skip
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title("Order of moments that is needed (-: none up to 5)", fontsize=10)
    drawing.savefig(path, dpi=110)
    plt.close(drawing)
