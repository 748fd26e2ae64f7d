"""The paper's learner: schedules, recovery from exact moments, errors of one triplet an edge."""

import itertools
from typing import Literal

import numpy as np

from noisyor.experiments.learners import fit_moments
from noisyor.experiments.measures import best_of
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import REAL, Settings
from noisyor.experiments.tables import markdown_table, shown, span
from noisyor.learning import Flag
from noisyor.moments import Moments, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

LASTS = "a minute"
ENLARGED = "4,000 diseases"
CHOICES = ("first", "rarest")
"""Which triplet of an edge is taken: the first, or the one whose symptoms have fewest parents."""
PAIRS = {"with pairs": True, "triplets alone": False}


def cells(settings: Settings) -> list[Cell]:
    """List schedules, recoveries from exact moments, and samples."""
    names = ["qmr_shaped", *settings.real_networks()]
    found = [Cell(name, 0, 0, "schedule") for name in (*names, ENLARGED)]
    found += [Cell(name, 0, 0, "exact moments") for name in ("figure1", *names)]
    return found + [
        Cell(name, n_records, settings.seed, choice)
        for name in settings.available("qmr_shaped", REAL[-1])
        for n_records in settings.pick((100_000, 1_000_000), (10_000, 100_000))
        for choice in CHOICES
    ]


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Find schedules, or learn."""
    if cell.method == "schedule":
        return _schedules(cell.network, settings)
    network = settings.network(cell.network)
    if cell.method == "exact moments":
        return _recovered(network)
    return _learned(network, cell)


def _schedules(name: str, settings: Settings) -> dict[str, float]:
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


def _recovered(network: NoisyOrNetwork) -> dict[str, float]:
    """Learn from exact moments: what is left are errors of rounding."""
    schedule = find_schedule(network.structure)
    estimate = fit_moments(Moments.exact(network, schedule.plan()), schedule)
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


def _learned(network: NoisyOrNetwork, cell: Cell) -> dict[str, float]:
    """Learn from records; errors are those of learned failures, by the depth they have."""
    findings = network.sample(cell.n_records, seed=cell.seed + 1)
    choice: Literal["first", "rarest"] = "rarest" if cell.method == "rarest" else "first"
    schedule = find_schedule(network.structure, choice=choice)
    plan = schedule.plan()
    moments = count_moments(findings, plan)
    part = fit_moments(moments, schedule).failures
    wrong = np.abs(part.values - network.failures)
    known = np.isfinite(part.standard_errors)
    found = {
        "learned": float(part.is_learned.sum()),
        "clipped": float(part.count(Flag.CLIPPED)),
        "intervals": float(known.sum()),
        "covered": float((wrong[known] < 1.96 * part.standard_errors[known]).mean()),
        "count": best_of(3, count_moments, findings, plan),
        "solve": best_of(3, fit_moments, moments, schedule, standard_errors=False),
        "with standard errors": best_of(3, fit_moments, moments, schedule),
    }
    for depth in range(schedule.n_rounds):
        if (part.depths == depth).any():
            found[f"depth {depth}"] = wrong[part.depths == depth].mean()
    return found


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    names = results.networks()
    exact = [
        results.mean(name, 0, "exact moments", quantity)
        for name in names
        for quantity in ("priors", "leaks", *(f"depth {d}" for d in range(20)))
    ]
    covered = [
        share
        for name in names
        for n, choice in itertools.product(results.sizes(name), CHOICES)
        for share in results.all(name, n, choice, "covered")
    ]
    return {
        "worst": np.nanmax(exact),
        "covered": span(covered, "{:.0%}"),
        "schedules": _schedule_table(results),
        "recovery": _recovery_table(results),
        "records": _record_table(results),
    }


def _schedule_table(results: Results) -> str:
    rows = [["structure", "edges", "seconds", *(f"edges a round, {words}" for words in PAIRS)]]
    for name in results.networks():
        run = name, 0, "schedule"
        if not results.all(*run, "edges").size:
            continue
        rounds = []
        for words in PAIRS:
            counts = [results.mean(*run, f"{words} {k}") for k in results.numbers(name, words)]
            left = shown(results.mean(*run, f"left {words}"), "{:,.0f}")
            rounds.append(", ".join(f"{count:.0f}" for count in counts) + f"; {left} left")
        elapsed = shown(results.mean(*run, "seconds"))
        rows.append([name, shown(results.mean(*run, "edges"), "{:,.0f}"), elapsed, *rounds])
    return markdown_table(rows)


def _by_depth(results: Results, run: tuple[str, int, str], form: str) -> str:
    errors = [results.mean(*run, f"depth {d}") for d in results.numbers(run[0], "depth")]
    return ", ".join(filter(None, (shown(error, form) for error in errors)))


def _recovery_table(results: Results) -> str:
    rows = [["network", "learned", "largest error at depth 0, 1, ...", "of priors", "of leaks"]]
    for name in results.networks():
        run = name, 0, "exact moments"
        if results.all(*run, "edges").size:
            n, learned = (results.mean(*run, what) for what in ("edges", "learned"))
            others = [shown(results.mean(*run, kind), "{:.0e}") for kind in ("priors", "leaks")]
            words = f"{learned:,.0f} of {n:,.0f} edges"
            rows.append([name, words, _by_depth(results, run, "{:.0e}"), *others])
    return markdown_table(rows)


def _record_table(results: Results) -> str:
    rows = [
        ["network", "records", "choice", "mean error of failures at depth 0, 1, ...", "learned",
         "clipped", "95% intervals that cover", "count", "solve", "with standard errors"],
    ]  # fmt: skip
    for name in results.networks():
        for n_records in results.sizes(name):
            for choice in CHOICES:
                run = name, n_records, choice
                counts = [shown(results.mean(*run, q), "{:,.0f}") for q in ("learned", "clipped")]
                share, n = (results.mean(*run, what) for what in ("covered", "intervals"))
                times = [
                    shown(results.mean(*run, what), "{:.2f} s")
                    for what in ("count", "solve", "with standard errors")
                ]
                covered = f"{share:.1%} of {n:,.0f}"
                depths = _by_depth(results, run, "{:.3f}")
                rows.append([name, f"{n_records:,}", choice, depths, *counts, covered, *times])
    return markdown_table(rows)
