"""Which fault set off these alarms? A small plant, learned from its alarm log alone.

A fault is a "disease", an alarm a "symptom". A failure is the chance that the alarm misses the
fault; a leak is the chance of a false alarm. Nobody wrote down which faults there were, and sensors
that were out of order are unknown, not silent.
"""

import argparse
from pathlib import Path

import numpy as np

from noisyor import (
    Findings,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    best_questions,
    posterior,
)
from noisyor.experiments.drawing import picture

ALARMS = {
    "pump worn": ["low flow", "pump vibration", "pump hot", "motor current high"],
    "inlet blocked": ["low flow", "suction pressure low", "pump vibration", "cavitation noise"],
    "cooler fouled": ["outlet hot", "coolant hot", "cooler pressure drop"],
    "coolant leak": ["coolant hot", "coolant level low", "floor wet", "outlet hot"],
    "valve stuck": ["low flow", "outlet pressure high", "valve position off", "relief valve open"],
    "bearing dry": ["pump vibration", "bearing hot", "bearing noise", "motor current high"],
    "supply voltage low": ["motor current high", "lights dim", "controller restart", "fan slow"],
}
N_SHIFTS = 20_000
OUT_OF_ORDER = 0.1  # the share of readings for which the sensor did not work


def plant(seed: int) -> NoisyOrNetwork:
    """Return the plant as it is: faults in 1 to 8% of the shifts, alarms that miss some."""
    edges = [(fault, alarm) for fault, alarms in ALARMS.items() for alarm in alarms]
    structure = Structure.from_edges(edges)
    draw = np.random.default_rng(seed)
    priors = draw.uniform(0.01, 0.08, structure.n_diseases)
    missed = draw.uniform(0.05, 0.5, structure.n_edges)
    false_alarms = draw.uniform(0.001, 0.03, structure.n_symptoms)
    return NoisyOrNetwork(structure, priors, missed, false_alarms)


def alarm_log(truth: NoisyOrNetwork, seed: int) -> Findings:
    """Return the log: alarms of each shift, NaN where the sensor was out of order."""
    readings = truth.sample(N_SHIFTS, rng=seed).to_numpy().astype(float)
    is_dead = np.random.default_rng(seed).random(readings.shape) < OUT_OF_ORDER
    readings[is_dead] = np.nan
    return Findings.from_numpy(readings, truth.structure)


def draw_figure(path: Path, truth: NoisyOrNetwork, learner: NoisyOrLearner) -> None:
    """Draw what was learned of missed and of false alarms against the truth."""
    estimate = learner.estimate_
    with picture(path, 2, (8.0, 3.6)) as axes:
        for axis, part, values, title in (
            (axes[0], estimate.failures, truth.failures, "missed alarms (failures)"),
            (axes[1], estimate.leaks, truth.leaks, "false alarms (leaks)"),
        ):
            axis.axline((0, 0), slope=1, color="#bbbbbb", linewidth=1)
            bars = 1.96 * part.standard_errors
            axis.errorbar(values, part.values, bars, fmt="o", ms=3, lw=0.8, color="#0072B2")
            axis.set(title=title, xlabel="truth", ylabel="learned, with 95% interval")


def tell_the_shift(learner: NoisyOrLearner) -> None:
    """Diagnose one shift, and say which reading to take next."""
    seen = {"present": ["low flow", "pump vibration"], "absent": ["valve position off"]}
    found = posterior(learner.estimate_, **seen)
    print("\nlow flow and pump vibration, the valve is where it should be:")
    for row in found.table().slice(0, 3).to_pylist():
        print(f"  {row['disease']:20} {row['probability']:.2f}")
    best = best_questions(learner.network_, **seen).table().slice(0, 3).to_pylist()
    print("look next at:", ", ".join(f"{row['symptom']} ({row['gain']:.2f} bits)" for row in best))


def main() -> None:
    """Learn the plant from its log, then diagnose a shift."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, help="where to draw the result (.png and .svg)")
    arguments = parser.parse_args()

    truth = plant(seed=5)
    log = alarm_log(truth, seed=1)
    learner = NoisyOrLearner(truth.structure).fit(log)
    learned = learner.network_
    print(f"{N_SHIFTS:,} shifts, {OUT_OF_ORDER:.0%} of the readings unknown")
    for fault, share, true_share in zip(
        truth.structure.diseases, learned.priors, truth.priors, strict=True
    ):
        print(f"{fault:20} in {share:.2%} of the shifts (truth {true_share:.2%})")
    missed = np.abs(learned.failures - truth.failures).mean()
    false = np.abs(learned.leaks - truth.leaks).mean()
    print(f"missed alarms, mean error: {missed:.4f}; false alarms: {false:.4f}")
    tell_the_shift(learner)
    if arguments.figure is not None:
        draw_figure(arguments.figure, truth, learner)


if __name__ == "__main__":
    main()
