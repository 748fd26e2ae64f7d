"""Which skills does a student lack? A test with a Q-matrix, learned from right and wrong answers.

The reduced reparameterized unified model (reduced RUM) of educational testing is a noisy-or
network, seen from the other side: a "disease" is a skill that is not mastered, a "symptom" an item
answered wrongly. P(right | skills) = pi* times r* for each required skill that is not mastered, so
the leak is 1 - pi* (a slip) and the failure is r* (right all the same).
"""

import argparse
from pathlib import Path

import numpy as np

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure
from noisyor.experiments.drawing import picture

SKILLS = ["common denominator", "whole numbers", "borrowing", "reducing", "signs"]
# Q-matrix: a row an item, a column a skill; 1 where the item needs the skill.
Q_MATRIX = np.array(
    [
        [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0],
        [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1],
        [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 1],
    ]
)  # fmt: skip
N_STUDENTS = 4_000


def fractions_test(seed: int) -> NoisyOrNetwork:
    """Return a test with parameters in the range that is usual in practice."""
    items = [f"item {number + 1}" for number in range(len(Q_MATRIX))]
    structure = Structure.from_matrix(Q_MATRIX.T, diseases=SKILLS, symptoms=items)
    draw = np.random.default_rng(seed)
    not_mastered = draw.uniform(0.2, 0.6, structure.n_diseases)
    right_all_the_same = draw.uniform(0.1, 0.5, structure.n_edges)  # r*
    slips = draw.uniform(0.03, 0.15, structure.n_symptoms)  # 1 - pi*
    return NoisyOrNetwork(structure, not_mastered, right_all_the_same, slips)


def draw_figure(path: Path, truth: NoisyOrNetwork, learner: NoisyOrLearner, mastery, lacks) -> None:
    """Draw learned against true parameters, and whether probabilities of mastery come true."""
    estimate = learner.estimate_
    with picture(path, 2, (8.0, 3.6)) as (left, right):
        left.axline((0, 0), slope=1, color="#bbbbbb", linewidth=1)
        for name, part, values, colour in (
            ("not mastered (prior)", estimate.priors, truth.priors, "#D55E00"),
            ("r* (failure)", estimate.failures, truth.failures, "#0072B2"),
            ("slip, 1 - pi* (leak)", estimate.leaks, truth.leaks, "#009E73"),
        ):
            bars = 1.96 * part.standard_errors
            left.errorbar(
                values, part.values, bars, fmt="o", ms=3, lw=0.8, color=colour, label=name
            )
        left.set(xlabel="truth", ylabel="learned, with 95% interval")
        left.legend(frameon=False, fontsize=8)
        bins = np.clip((mastery * 10).astype(int), 0, 9).ravel()
        counts = np.bincount(bins, minlength=10)
        said = np.bincount(bins, mastery.ravel(), 10) / np.maximum(counts, 1)
        came = np.bincount(bins, ~lacks.ravel(), 10) / np.maximum(counts, 1)
        right.axline((0, 0), slope=1, color="#bbbbbb", linewidth=1)
        right.plot(said[counts > 0], came[counts > 0], "o", color="#0072B2", markersize=4)
        right.set(xlabel="probability of mastery, as diagnosed", ylabel="share that has mastered")


def main() -> None:
    """Simulate a class, forget who has mastered what, learn it from the answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, help="where to draw the result (.png and .svg)")
    arguments = parser.parse_args()

    truth = fractions_test(seed=3)
    answers, lacks = truth.sample(N_STUDENTS, rng=1, return_diseases=True)
    learner = NoisyOrLearner(truth.structure).fit(answers)
    learned = learner.network_
    print(f"{N_STUDENTS:,} students, {len(Q_MATRIX)} items, {len(SKILLS)} skills")
    for skill, share, true_share in zip(SKILLS, learned.priors, truth.priors, strict=True):
        print(f"{skill:20} not mastered by {share:.1%} (truth {true_share:.1%})")
    errors = np.abs(learned.failures - truth.failures).mean()
    print(f"r*, mean error: {errors:.4f}; slips: {np.abs(learned.leaks - truth.leaks).mean():.4f}")
    mastery = 1.0 - learner.predict_proba(answers)
    right = ((mastery > 0.5) == ~lacks).mean()
    print(f"students' skills judged right: {right:.1%}")
    print(
        f"pairs of items that the Q-matrix does not explain: {learner.estimate_.misfits().n_found}"
    )
    if arguments.figure is not None:
        draw_figure(arguments.figure, truth, learner, mastery, lacks)


if __name__ == "__main__":
    main()
