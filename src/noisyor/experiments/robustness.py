"""When assumptions fail: dependent diseases, missing edges, and how often that is noticed."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from noisyor.experiments.drawing import curve, label_curves, picture
from noisyor.experiments.learners import fit, sample_plainly
from noisyor.experiments.results import Cell, Quantities, Results, Run, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import span
from noisyor.findings import Findings
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

LASTS = "ten minutes"
NETWORK = "clinic"
METHODS = ("refined", "pooled", "sequential")
CORRELATIONS = (0.0, 0.2, 0.4, 0.6)
RIGHT = (("pooled", 5000), ("pooled", 20_000), ("refined", 5000), ("sequential", 20_000))
LEVEL = 0.05


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List samples of dependent diseases, of the right network, and with an edge deleted."""
    n_records = settings.pick(20_000, 2000)
    seeds = settings.seeds(settings.pick(3, 1))
    correlated = [f"{method}, correlation {c}" for c in CORRELATIONS for method in METHODS]
    found = cells_of([NETWORK], [n_records], seeds, correlated)
    for method, n_records in RIGHT:
        n = settings.pick(50 if method == "refined" else 100, 5)
        found += cells_of([NETWORK], [n_records], settings.seeds(n), [f"{method}, right"])
    n_edges = settings.network(NETWORK).structure.n_edges
    n = settings.pick(40, 4)
    deleted = np.random.default_rng(settings.seed).choice(n_edges, n, replace=False).tolist()
    return found + cells_of([NETWORK], (2000, 10_000), deleted, ["edge deleted"])


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample; see what is wrong, and what misfits say."""
    network = settings.network(cell.network)
    if cell.method == "edge deleted":
        return _without_edge(network, cell)
    method, _, kind = cell.method.partition(", ")
    if kind == "right":
        findings = network.sample(cell.n_records, rng=cell.seed)
        misfits = fit(findings, network.structure, method).misfits()
        p_values = {"pairs": misfits.p_value, "edges": misfits.edges.p_value}
        return {what: float(p_value < LEVEL) for what, p_value in p_values.items()}
    correlation = float(kind.split()[1])
    records = sample_correlated(network, cell.n_records, correlation, cell.seed)
    estimate = fit(records, network.structure, method)
    misfits = estimate.misfits()
    priors = estimate.priors.values / network.priors - 1.0
    failures = estimate.failures.values - network.failures
    return {
        "bias of priors": float(np.median(priors)),
        "error of priors": float(np.median(np.abs(priors))),
        "bias of failures": failures.mean(),
        "error of failures": np.abs(failures).mean(),
        "noticed": float(misfits.p_value < LEVEL),
        "pairs": float(misfits.n_found),
    }


def sample_correlated(
    network: NoisyOrNetwork, n_records: int, correlation: float, seed: int
) -> NDArray[np.uint8]:
    """Sample records whose diseases depend on each other along a random tree.

    Each disease is a threshold on a normal variable, correlated with that of its parent in the
    tree; the priors stay as they are.
    """
    rng = np.random.default_rng(seed)
    n = network.structure.n_diseases
    latent = np.empty((n_records, n))
    for disease in range(n):
        latent[:, disease] = rng.normal(size=n_records)
        if disease:
            parent = latent[:, rng.integers(disease)]
            latent[:, disease] *= np.sqrt(1 - correlation**2)
            latent[:, disease] += correlation * parent
    return sample_plainly(network, latent < ndtri(network.priors), rng)


def _without_edge(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Delete an edge from the structure, whose number is the seed; learn with what is left."""
    structure = network.structure
    disease, symptom = structure.edges[cell.seed].tolist()
    left = np.delete(structure.edges, cell.seed, axis=0)
    cut = Structure(structure.diseases, structure.symptoms, left)
    records = network.sample(cell.n_records, rng=cell.seed).to_numpy()
    misfits = fit(Findings.from_numpy(records, cut), cut, "pooled").misfits()
    pairs, edges = (each.found(LEVEL) for each in (misfits.pairs, misfits.edges))
    concerned = set(structure.children(disease).tolist())
    first = set(misfits.pairs.members[pairs[0]].tolist()) if len(pairs) else set()
    is_named = len(edges) and misfits.edges.members[edges[0]].tolist() == [disease, symptom]
    return {
        "noticed": float(misfits.n_found > 0 or len(edges) > 0),
        "pair first": float(symptom in first and first <= concerned),
        "edge first": float(bool(is_named)),
    }


def draw(results: Results, folder: Path) -> list[str]:
    """Draw what dependence does to the parameters."""
    with picture(folder / "robustness", 2, (8.5, 3.0)) as axes:
        for axis, quantity in zip(axes, ("error of priors", "error of failures"), strict=True):
            for method in METHODS:
                runs = results.runs(*(f"{method}, correlation {c}" for c in CORRELATIONS))
                at = [float(run[2].split()[-1]) for run in runs]
                curve(axis, at, [results.mean(*run, quantity) for run in runs], method)
            axis.set(xlabel="correlation of diseases", ylabel=quantity, ylim=(0.0, None))
        label_curves(axes[-1])
    return ["robustness"]


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    correlated = results.runs(*(f"{m}, correlation {c}" for c in CORRELATIONS for m in METHODS))
    pooled, refined, sequential = (f"{m}, right" for m in ("pooled", "refined", "sequential"))
    deleted = results.runs("edge deleted")

    def shares(runs: list[Run], *quantities: str) -> str:
        return span((results.mean(*run, what) for run in runs for what in quantities), "{:.0%}")

    return {
        "n_records": correlated[0][1],
        "rejected": shares(results.runs(pooled, refined), "pairs", "edges"),
        "noticed": shares(deleted, "noticed"),
        "named": shares(deleted, "edge first"),
        "dependent": correlated,
        "right": results.runs(pooled, refined, sequential),
        "deleted": deleted,
    }
