"""Table 1 of the paper: moments of which order identify fully connected networks."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisyor.experiments.drawing import picture
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import markdown_table
from noisyor.identifiability.check import smallest_order

LASTS = "10 s"
PAPER = np.array([
    [-1, -1, 3, 3, 3, 3, 3],
    [-1, -1, -1, 3, 3, 3, 3],
    [-1, -1, -1, -1, 3, 3, 3],
    [-1, -1, -1, -1, 4, 3, 3],
    [-1, -1, -1, -1, -1, 3, 3],
    [-1, -1, -1, -1, -1, 4, 3],
    [-1, -1, -1, -1, -1, 4, 3],
])  # fmt: skip
"""As printed: rows are diseases, columns symptoms, from 1."""
HIGHEST_ORDER = 5
FILLS = {3: "#0072B2", 4: "#56B4E9", 5: "#F0E442", -1: "#eeeeee"}


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List all sizes of networks."""
    numbers = range(1, settings.pick(10, 7) + 1)
    return [Cell(f"{i} x {j}", 0, 0, "rank") for i in numbers for j in numbers]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Find the smallest sufficient order."""
    n_diseases, n_symptoms = map(int, cell.network.split(" x "))
    highest = min(n_symptoms, HIGHEST_ORDER) if n_symptoms > len(PAPER) else n_symptoms
    return {"order": float(smallest_order(n_diseases, n_symptoms, highest))}


def _orders(results: Results) -> NDArray[np.int64]:
    numbers = range(1, max(int(name.split(" x ")[0]) for name in results.networks()) + 1)
    return np.array(
        [[int(results.mean(f"{i} x {j}", 0, "rank", "order")) for j in numbers] for i in numbers]
    )


def draw(results: Results, folder: Path) -> list[str]:
    """Draw the table in shades: which order is needed where."""
    orders = _orders(results)
    n = len(orders)
    with picture(folder / "table1", 1, (4.4, 4.5)) as (axis,):
        for (i, j), order in np.ndenumerate(orders):
            axis.bar(j + 1, 0.94, 0.94, i + 0.53, color=FILLS[int(order)])
            text, colour = ("-", "#999999") if order < 0 else (str(order), "black")
            colour = "white" if order == 3 else colour
            axis.text(j + 1, i + 1, text, ha="center", va="center", color=colour, fontsize=8)
        axis.set(xlabel="symptoms", ylabel="diseases", xlim=(0.4, n + 0.6), ylim=(n + 0.6, 0.4))
        axis.set(xticks=range(1, n + 1), yticks=range(1, n + 1))
        axis.grid(False)
        for number, fill in FILLS.items():
            label = f"order {number} identifies" if number > 0 else "none does (-)"
            axis.bar([0], [0], color=fill, label=label)
        axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
    return ["table1"]


def page(results: Results) -> dict[str, object]:
    """Return the table, compared with the printed one."""
    orders = _orders(results)
    n = len(orders)
    rows = [["diseases / symptoms", *map(str, range(1, n + 1))]]
    rows += [[str(i + 1), *map(str, orders[i])] for i in range(n)]
    same = int((orders[: len(PAPER), : len(PAPER)] == PAPER).sum())
    return {
        "same": same,
        "n": PAPER.size,
        "beyond": f"; beyond 7 symptoms up to order {HIGHEST_ORDER}" if n > len(PAPER) else "",
        "orders": markdown_table(rows),
        "differ": "Nowhere." if same == PAPER.size else f"In {PAPER.size - same} entries.",
    }
