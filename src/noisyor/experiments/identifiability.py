"""What real structures allow to be known, and what the clean-up learns of what schedules leave."""

import itertools
from collections import Counter

import numpy as np

from noisyor.evaluation import evaluate
from noisyor.experiments.learners import clean_up_exactly, fit
from noisyor.experiments.measures import sums_of_errors, timed
from noisyor.experiments.results import Cell, Floats, Quantities, Results, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.identifiability import check_identifiability
from noisyor.learning import Flag
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import REACH
from noisyor.schedule import find_schedule

LASTS = "an hour or two"
UNSURE = Flag.WEAK | Flag.WEAKLY_IDENTIFIED | Flag.AMBIGUOUS
DRAWN = "orphanet570, failures drawn"
NETWORKS = ("figure2", "qmr_shaped", "tcc4e", "orphanet570")
FIGURE2 = ("refined", "pooled", "sequential", "maximum_likelihood")
SAMPLES_OF = {
    ("qmr_shaped", 1_000_000): {"refined": 3, "pooled": 3},
    ("tcc4e", 1_000_000): {"pooled": 3},
    ("orphanet570", 100_000): {"refined": 1, "pooled": 1},
    ("orphanet570", 1_000_000): {"pooled": 1},
    (DRAWN, 100_000): {"refined": 3, "pooled": 3},
    (DRAWN, 1_000_000): {"pooled": 1},
}
"""Few where one takes minutes, or where not one value is certain."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List checks, the clean-up from exact moments, and samples."""
    names = settings.available(*NETWORKS)
    found = cells_of(names, [0], [0], ["check"])
    # orphanet570's own frequencies leave a minimum without curvature.
    exact = [DRAWN if name == "orphanet570" else name for name in names]
    found += cells_of(exact, [0], [0], ["clean-up"])
    n_records, n_networks = settings.pick((1_000_000, 64), (1000, 2))
    found += cells_of(["figure2"], [n_records], settings.seeds(n_networks), FIGURE2)
    chosen = settings.pick([*names, *exact], ["tcc4e"] if "tcc4e" in names else [])
    for (name, size), samples in SAMPLES_OF.items():
        for method, n in samples.items() if name in chosen else ():
            seeds = settings.seeds(settings.pick(n, 1))
            found += cells_of([name], [settings.pick(size, 1000)], seeds, [method])
    return found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Check a structure, or learn."""
    network = settings.network("orphanet570" if cell.network == DRAWN else cell.network, cell.seed)
    if cell.network == DRAWN:  # its own frequencies are the very same in subtypes of diseases
        failures = np.random.default_rng(5).uniform(0.1, 0.9, network.structure.n_edges)
        structure = network.structure
        network = NoisyOrNetwork(structure, network.priors, failures, network.leaks)
    if cell.method == "check":
        return _checked(network)
    if cell.method == "clean-up":
        return _cleaned(network)
    if cell.network == "figure2":
        findings = network.sample(cell.n_records, rng=cell.seed + 10**6)
        learned = fit(findings, network.structure, cell.method).network
        return {"l1": sums_of_errors(evaluate(learned, network, n_records=0))["l1"]}
    return _left_and_learned(network, cell)


def _checked(network: NoisyOrNetwork) -> Quantities:
    result, found = timed(check_identifiability, network.structure)
    counts = Counter(result.verdicts()["verdict"].to_pylist())
    for verdict in ("certified", "local", "not identifiable"):
        found[verdict] = float(counts[verdict])
    return found | {f"group {k}": float(len(group)) for k, group in enumerate(result.swaps)}


def _cleaned(network: NoisyOrNetwork) -> Quantities:
    """Learn what the schedule leaves from exact moments, everything else being fixed."""
    left = find_schedule(network.structure).depths < 0
    (failures, cleaned, check), found = timed(clean_up_exactly, network)
    failures = failures[matching_edges(network, check.swaps, failures)]
    wrong = np.abs(failures - network.failures)[cleaned.edges]
    return {
        "left": float(left.sum()),
        "identifiable": float((left & (check.orders.failures >= 0)).sum()),
        "learned": float(wrong.size), "largest error": wrong.max(),
        "weak": float(sum(len(each.weakly_identified) for each in cleaned.explained)),
        "seconds": found["seconds"],
    }  # fmt: skip


def matching_edges(
    network: NoisyOrNetwork, swaps: list[tuple[int, ...]], failures: Floats
) -> Indices:
    """Return for each edge the one that stands for it, in groups that may be swapped."""
    structure = network.structure
    edges = np.arange(structure.n_edges)
    for group in swaps:
        own = np.concatenate([edges[structure.edges_of(disease)] for disease in group])
        orders = [
            np.concatenate([np.r_[structure.edges_of(disease)] for disease in order])
            for order in itertools.permutations(group)
        ]
        distances = [np.abs(failures[each] - network.failures[own]).sum() for each in orders]
        edges[own] = orders[int(np.argmin(distances))]
    return edges


def _left_and_learned(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Learn from records; compare what no schedule learns with what is learned of seen diseases."""
    structure = network.structure
    schedule = find_schedule(structure)
    result = check_identifiability(structure, schedule=schedule)
    findings, diseases = network.sample(cell.n_records, rng=cell.seed + 1, return_diseases=True)
    observed = fit(findings, structure, "observed", diseases=diseases).network
    seen = np.abs(observed.failures - network.failures)
    chosen = (schedule.depths < 0) & (result.orders.failures >= 0)
    estimate, found = timed(fit, findings, structure, cell.method)
    part = estimate.failures
    edges = matching_edges(network, result.swaps, part.values)
    wrong = np.abs(part.values[edges] - network.failures)
    flags, errors = part.flags[edges], part.standard_errors[edges]
    learned = chosen & part.is_learned[edges] & (part.depths[edges] >= 0)
    sure = learned & ((flags & UNSURE) == 0) & np.isfinite(errors)
    return {
        "identifiable": float(chosen.sum()), "learned": float(learned.sum()),
        "sure": float(sure.sum()), "error": wrong[learned].mean(),
        "observed": seen[learned].mean(), "held": float((wrong <= REACH * errors)[sure].sum()),
        "sure error": wrong[sure].sum(), "sure observed": seen[sure].sum(),
        "seconds": found["seconds"],
    }  # fmt: skip


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    groups = {
        name: [results.mean(name, 0, "check", f"group {k}") for k in results.numbers(name, "group")]
        for name in results.networks()
    }
    sentences = [
        f"{name} has groups of {', '.join(f'{size:.0f}' for size in sizes)} diseases with the same "
        "symptoms."
        for name, sizes in groups.items()
        if sizes
    ]
    return {
        "groups": " ".join(sentences),
        "checks": results.runs("check"),
        "cleaned": results.runs("clean-up"),
        "figure2": results.runs(*FIGURE2),
        "learned": results.runs("refined", "pooled"),
    }
