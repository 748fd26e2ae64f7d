"""Draw the pictures of docs/the-method.md from the package's own numbers.

python scripts/draw_method.py
"""

from pathlib import Path
from typing import Any

import numpy as np

from noisyor import NoisyOrLearner, datasets, find_schedule
from noisyor.experiments.drawing import COLOURS, picture

IMAGES = Path(__file__).parents[1] / "docs" / "images"
HIDDEN, SEEN, FAINT = "#D55E00", "#0072B2", "#c8c8c8"
DISEASE_PLACES = {"A": (1.0, 1.0), "B": (3.0, 1.0)}
SYMPTOM_PLACES = {name: (float(place), 0.0) for place, name in enumerate("abcde")}
N_RECORDS = 10_000


def draw_network(axis: Any, disease: str, symptoms: str, gone: str, title: str) -> None:
    """Draw Figure 1 with the edges that a step looks at; those of a removed disease are dashed."""
    structure = datasets.figure1(rng=0).structure
    edges = list(zip(*structure.edge_names().values(), strict=True))
    for parent, child in edges:
        (x, y), (to_x, to_y) = DISEASE_PLACES[parent], SYMPTOM_PLACES[child]
        # A disease with one of the symptoms only cancels out of their ratios.
        ties = sum((parent, symptom) in edges for symptom in symptoms) > 1
        is_used = ties and child in symptoms and parent != gone
        colour = SEEN if is_used and parent == disease else HIDDEN if is_used else FAINT
        style = ":" if parent == gone else "-"
        axis.plot([x, to_x], [y, to_y], style, color=colour, linewidth=2.2 if is_used else 1.0)
    for name, place in (DISEASE_PLACES | SYMPTOM_PLACES).items():
        is_hidden = name in DISEASE_PLACES
        is_lit = name not in gone and (name in symptoms or is_hidden)
        colour = (HIDDEN if is_hidden else SEEN) if is_lit else FAINT
        axis.plot(*place, "o", markersize=20, color="white", markeredgecolor=colour, zorder=3)
        axis.text(*place, name, ha="center", va="center", zorder=4)
    axis.set(xlim=(-0.5, 4.5), ylim=(-0.4, 1.4))
    axis.set_title(title, fontsize=9)
    axis.axis("off")


def draw_schedule() -> None:
    """Show why Figure 1 takes two rounds."""
    schedule = find_schedule(datasets.figure1(rng=0).structure)
    assert schedule.edges_per_round == [4, 3]
    with picture(IMAGES / "method-schedule", 3, (9.0, 2.4)) as axes:
        draw_network(axes[0], "B", "bde", "", "round 0: b, d, e have only B in common")
        draw_network(axes[1], "A", "abc", "", "a, b, c will not do: B also ties b to c")
        draw_network(axes[2], "A", "abc", "B", "round 1: B is known and divided out")


def draw_freedom() -> None:
    """Show that pairs leave one number open, which a triplet tells."""
    prior, failures = 0.2, np.array([0.1, 0.3, 0.5])
    strengths = (1 - failures) / (1 - prior * (1 - failures))
    scaled = np.sqrt(prior * (1 - prior)) * strengths
    priors = np.linspace(0.02, 0.6, 400)
    spread = np.sqrt(priors * (1 - priors))
    with picture(IMAGES / "method-freedom", 2, (8.0, 3.2)) as (left, right):
        for value, name in zip(scaled, "abc", strict=True):
            t = value / spread
            same_pairs = 1 - t / (1 + priors * t)
            left.plot(priors, same_pairs, color=SEEN)
            left.text(priors[-1] + 0.01, same_pairs[-1], f"f_{name}", va="center", color=SEEN)
        left.axvline(prior, color=HIDDEN, linestyle="--", linewidth=1)
        left.plot([prior] * 3, failures, "o", color=HIDDEN)
        left.set(xlabel="prior", ylabel="failures", ylim=(0, 1), title="all with the same pairs")
        triplet = -(1 - 2 * priors) / spread * scaled.prod()
        truth = -prior * (1 - prior) * (1 - 2 * prior) * strengths.prod()
        right.plot(priors, triplet, color=SEEN)
        right.axhline(truth, color=HIDDEN, linestyle="--", linewidth=1)
        right.plot(prior, truth, "o", color=HIDDEN)
        right.set(xlabel="prior", ylabel="third moment k", title="one of them has this triplet")


def draw_methods() -> None:
    """Show what one triplet, all pairs and triplets, and the records themselves tell."""
    truth = datasets.clinic()
    records = truth.sample(N_RECORDS, rng=0)
    with picture(IMAGES / "method-methods", 3, (9.0, 3.2)) as axes:
        for axis, method in zip(axes, ("sequential", "pooled", "refined"), strict=True):
            learned = NoisyOrLearner(truth.structure, method=method).fit(records).network_
            error = np.abs(learned.failures - truth.failures).mean()
            print(f"{method}: mean error of the failures {error:.4f}")
            axis.axline((0, 0), slope=1, color="#bbbbbb", linewidth=1)
            axis.plot(truth.failures, learned.failures, "o", ms=3, color=COLOURS[method])
            axis.set(
                title=f"{method}: {error:.3f}", xlabel="true failure", xlim=(0, 1), ylim=(0, 1)
            )
        axes[0].set(ylabel="learned failure")


def main() -> None:
    """Draw all, as PNG only."""
    draw_schedule()
    draw_freedom()
    draw_methods()
    for path in IMAGES.glob("method-*.svg"):
        path.unlink()


if __name__ == "__main__":
    main()
