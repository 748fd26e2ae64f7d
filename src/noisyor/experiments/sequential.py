"""The paper's learner: schedules, recovery from exact moments, errors of one triplet an edge."""

from typing import Literal

import numpy as np

from noisyor.experiments.measures import best_of
from noisyor.experiments.results import Cell, Quantities, Results, cells_of
from noisyor.experiments.settings import REAL, ExperimentSettings
from noisyor.experiments.tables import markdown_table, shown, span
from noisyor.learning import Flag, learn_sequential
from noisyor.moments import Moments, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import REACH
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

LASTS = "three minutes"
ENLARGED = "4,000 diseases"
CHOICES = ("first", "rarest")
"""Which triplet of an edge is taken: the first, or the one whose symptoms have fewest parents."""
PAIRS = {"with pairs": True, "triplets alone": False}


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List schedules, recoveries from exact moments, and samples."""
    names = ["qmr_shaped", *settings.real_networks()]
    found = cells_of([*names, ENLARGED], [0], [0], ["schedule"])
    found += cells_of(["figure1", *names], [0], [0], ["exact moments"])
    sizes = settings.pick((100_000, 1_000_000), (10_000, 100_000))
    large = settings.available("qmr_shaped", REAL[-1])
    return found + cells_of(large, sizes, [settings.seed], CHOICES)


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Find schedules, or learn."""
    if cell.method == "schedule":
        return _schedules(cell.network, settings)
    network = settings.network(cell.network)
    if cell.method == "exact moments":
        return _recovered(network)
    return _learned(network, cell)


def _schedules(name: str, settings: ExperimentSettings) -> Quantities:
    if name == ENLARGED:
        model = settings.available(REAL[-1], "qmr_shaped")[0]
        structure = enlarged(settings.network(model).structure, 4000, 8000, 110_000)
    else:
        structure = settings.network(name).structure
    found = {"edges": float(structure.n_edges)}
    found["seconds"] = best_of(3, find_schedule, structure)
    for words, pairs in PAIRS.items():
        schedule = find_schedule(structure, pairs=pairs)
        found[f"left {words}"] = float((schedule.depths < 0).sum())
        for number, n_edges in enumerate(schedule.edges_per_round):
            found[f"{words} {number}"] = float(n_edges)
    return found


def enlarged(model: Structure, n_diseases: int, n_symptoms: int, n_edges: int) -> Structure:
    """Return a random structure whose degrees are distributed as those of a model."""
    rng = np.random.default_rng(0)
    children = rng.choice(np.diff(model.child_offsets), n_diseases)
    popularity = rng.choice(np.diff(model.parent_offsets), n_symptoms).astype(float)
    children = np.maximum(1, np.round(children * n_edges / children.sum()).astype(int))
    edges = [
        (disease, symptom)
        for disease, size in enumerate(children)
        for symptom in rng.choice(n_symptoms, size, replace=False, p=popularity / popularity.sum())
    ]
    names = [f"D{i}" for i in range(n_diseases)], [f"S{j}" for j in range(n_symptoms)]
    return Structure(*names, np.array(edges))


def _recovered(network: NoisyOrNetwork) -> Quantities:
    """Learn from exact moments: what is left are errors of rounding."""
    schedule = find_schedule(network.structure)
    estimate = learn_sequential(Moments.exact(network, schedule.plan()), schedule)
    found = {"edges": float(network.structure.n_edges)}
    found["learned"] = float(estimate.failures.is_learned.sum())
    wrong = np.abs(estimate.failures.values - network.failures)
    for depth in range(schedule.n_rounds):
        found[f"depth {depth}"] = wrong[estimate.failures.depths == depth].max()
    for kind, part, truth in (
        ("priors", estimate.priors, network.priors),
        ("leaks", estimate.leaks, network.leaks),
    ):
        found[kind] = np.abs(part.values - truth)[part.is_learned].max()
    return found


def _learned(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Learn from records; errors are those of learned failures, by the depth they have."""
    findings = network.sample(cell.n_records, rng=cell.seed + 1)
    choice: Literal["first", "rarest"] = "rarest" if cell.method == "rarest" else "first"
    schedule = find_schedule(network.structure, choice=choice)
    plan = schedule.plan()
    moments = count_moments(findings, plan)
    part = learn_sequential(moments, schedule).failures
    wrong = np.abs(part.values - network.failures)
    known = np.isfinite(part.standard_errors)
    found = {
        "learned": float(part.is_learned.sum()),
        "clipped": float(part.count(Flag.CLIPPED)),
        "intervals": float(known.sum()),
        "covered": float((wrong[known] < REACH * part.standard_errors[known]).mean()),
        "count, s": best_of(3, count_moments, findings, plan),
        "solve, s": best_of(3, learn_sequential, moments, schedule, standard_errors=False),
        "with standard errors, s": best_of(3, learn_sequential, moments, schedule),
    }
    for depth in range(schedule.n_rounds):
        if (part.depths == depth).any():
            found[f"depth {depth}"] = wrong[part.depths == depth].mean()
    return found


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    names = results.networks()
    depths = {depth for name in names for depth in results.numbers(name, "depth")}
    exact = [*(f"depth {depth}" for depth in depths), "priors", "leaks"]
    recoveries, runs = results.runs("exact moments"), results.runs(*CHOICES)
    schedules = [["structure", "edges", "seconds", *(f"edges a round, {words}" for words in PAIRS)]]
    for run in results.runs("schedule"):
        rounds = []
        for words in PAIRS:
            counts = [results.mean(*run, f"{words} {k}") for k in results.numbers(run[0], words)]
            left = shown(results.mean(*run, f"left {words}"), "{:,.0f}")
            rounds.append(", ".join(f"{each:.0f}" for each in counts) + f"; {left} left")
        edges, elapsed = (results.mean(*run, what) for what in ("edges", "seconds"))
        schedules.append([run[0], f"{edges:,.0f}", shown(elapsed), *rounds])
    return {
        "worst": np.nanmax([results.mean(*run, what) for run in recoveries for what in exact]),
        "covered": span((results.mean(*run, "covered") for run in runs), "{:.0%}"),
        "schedules": markdown_table(schedules),
        "recoveries": recoveries,
        "learned": runs,
    }
