"""Pictures of what was measured, in the style of the experiments."""

from noisyor.experiments.drawing import COLOURS, curve, label_curves, line_of, picture

METHODS = ("refined", "pooled", "sequential", "observed", "seen")


def accuracy(figures, folder):
    """Draw error against records for each network, and error against time."""
    sizes = sorted({cell.n_records for cell in figures.cells if cell.network == "qmr_shaped"})
    _errors(figures, sizes, folder / "accuracy")
    _times(figures, sizes, folder / "accuracy-time")


def _errors(figures, sizes, path):
    names = ["qmr_shaped", "orphanet570", "health_knowledge_graph"]
    with picture(path, len(names), (10.5, 3.4)) as axes:
        for axis, name in zip(axes, names, strict=True):
            for method in METHODS:
                errors = [figures.mean(name, n, method, "failures") for n in sizes]
                curve(axis, sizes, errors, method, style=line_of(method))
            axis.set(xscale="log", yscale="log", xlabel="records", title=name)
        axes[0].set_ylabel("mean error of failures")
        label_curves(axes[-1])


def _times(figures, sizes, path):
    with picture(path, 2, (8.5, 3.2)) as (left, right):
        for method in "refined", "pooled", "sequential":
            curve(
                left,
                sizes,
                [figures.mean("qmr_shaped", n, method, "seconds") for n in sizes],
                method,
            )
        left.set(xscale="log", yscale="log", xlabel="records", ylabel="seconds", title="qmr_shaped")
        label_curves(left)
        of_rounds = [
            (figures.mean(*cell[:2], cell.method, "seconds"),
             figures.mean(*cell[:2], cell.method, "failures"), cell.method.split()[1])
            for cell in figures.cells
            if cell.method.startswith("refined, ")
        ]  # fmt: skip
        seconds, errors, _ = zip(*sorted(of_rounds), strict=True)
        right.plot(seconds, errors, color=COLOURS["refined"], marker="o", markersize=3)
        for x, y, rounds in of_rounds:
            right.annotate(rounds, (x, y), (3, 4), fontsize=8, textcoords="offset points")
        right.set(xlabel="seconds", ylabel="mean error of failures", title="rounds of EM")
