"""Table 1: from moments of which order fully connected networks can be identified."""

from pathlib import Path

import numpy as np

from noisyor.experiments.drawing import markdown_table, picture
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.identifiability import smallest_order

PAPER = np.array(
    [
        [-1, -1, 3, 3, 3, 3, 3],
        [-1, -1, -1, 3, 3, 3, 3],
        [-1, -1, -1, -1, 3, 3, 3],
        [-1, -1, -1, -1, 4, 3, 3],
        [-1, -1, -1, -1, -1, 3, 3],
        [-1, -1, -1, -1, -1, 4, 3],
        [-1, -1, -1, -1, -1, 4, 3],
    ]
)
"""As printed: rows are diseases, columns symptoms, from 1."""
HIGHEST_ORDER = 5
FILLS = {-1: "#eeeeee", 3: "#0072B2", 4: "#56B4E9", 5: "#F0E442"}


def size(settings: Settings) -> int:
    """Return the largest number of diseases and symptoms."""
    return 7 if settings.quick else 10


def cells(settings: Settings) -> list[Cell]:
    """List all sizes of networks."""
    numbers = range(1, size(settings) + 1)
    return [Cell(f"{i} x {j}", 0, 0, "rank") for i in numbers for j in numbers]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Find the smallest sufficient order."""
    n_diseases, n_symptoms = map(int, cell.network.split(" x "))
    highest = min(n_symptoms, HIGHEST_ORDER) if n_symptoms > len(PAPER) else n_symptoms
    return {"order": float(smallest_order(n_diseases, n_symptoms, highest))}


def _orders(results: Results, n: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(
        [
            [int(results.mean(f"{i} x {j}", 0, "rank", "order")) for j in range(1, n + 1)]
            for i in range(1, n + 1)
        ]
    )


def draw(results: Results, settings: Settings, folder: Path) -> list[str]:
    """Draw the table with a colour for each order."""
    n = size(settings)
    orders = _orders(results, n)
    with picture(folder / "table1", 1, (4.4, 4.0)) as (axis,):
        for i in range(n):
            for j in range(n):
                order = int(orders[i, j])
                left, right, top, bottom = j + 0.53, j + 1.47, i + 0.53, i + 1.47
                corners = [left, right, right, left], [top, top, bottom, bottom]
                axis.fill(*corners, color=FILLS[order])
                text, colour = ("-", "#999999") if order < 0 else (str(order), "black")
                colour = "white" if order == 3 else colour
                axis.text(j + 1, i + 1, text, ha="center", va="center", color=colour, fontsize=8)
        axis.set(xlabel="symptoms", ylabel="diseases", xlim=(0.4, n + 0.6), ylim=(n + 0.6, 0.4))
        axis.set_xticks(range(1, n + 1))
        axis.set_yticks(range(1, n + 1))
        axis.grid(False)
    return ["table1"]


def page(results: Results, settings: Settings) -> str:
    """Return the table, compared with the printed one."""
    n = size(settings)
    orders = _orders(results, n)
    rows = [["diseases / symptoms", *map(str, range(1, n + 1))]]
    rows += [[str(i + 1), *map(str, orders[i])] for i in range(n)]
    same = int((orders[: len(PAPER), : len(PAPER)] == PAPER).sum())
    differ = (
        "Nowhere." if same == PAPER.size else f"In {PAPER.size - same} of {PAPER.size} entries."
    )
    return "\n\n".join(
        [
            "# Table 1: identifiability of fully connected networks",
            "**The paper:** the order of moments that makes a fully connected network locally "
            "identifiable, by the rank of the Jacobian, for up to 7 diseases and 7 symptoms; -1: "
            "no order.",
            f"**Here:** {same} of its {PAPER.size} entries are the same. The rank is found "
            "exactly, modulo a prime, at random parameters"
            + (f"; beyond 7 symptoms up to order {HIGHEST_ORDER}." if n > len(PAPER) else "."),
            markdown_table(rows),
            f"**Where they differ:** {differ}",
        ]
    )
