"""Draws from the posterior: whether intervals of `bayesian` hold the truth as often as they say."""

from pathlib import Path

import numpy as np

from noisyor.experiments.drawing import COLOURS, picture
from noisyor.experiments.learners import fit_sample
from noisyor.experiments.measures import KINDS
from noisyor.experiments.results import Cell, Floats, Quantities, Results, Run, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import span
from noisyor.learning import Estimate
from noisyor.learning.bayesian import as_pseudo_counts
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters
from noisyor.structure import Structure

LASTS = "two hours"
SIZES = {"drawn3": (500, 40), "drawn5": (1000, 10), "drawn8": (1000, 2)}
"""Networks drawn from the Beta priors, by their number of diseases: records, and samples."""
METHODS = ("bayesian", "refined")
N_BINS = 10
"""Of the histogram of ranks."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List networks drawn from the priors, the smallest first."""
    found = []
    for name, (n_records, n_samples) in SIZES.items():
        seeds = settings.seeds(settings.pick(n_samples, 1))
        found += cells_of([name], [n_records], seeds, METHODS)
    return found[: len(METHODS)] if settings.quick else found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample; look where the truth is among the draws."""
    network = drawn_network(int(cell.network.removeprefix("drawn")), cell.seed)
    estimate, found = fit_sample(network, cell.method, cell.n_records, cell.seed + 1)
    for kind, part in estimate.parts.items():
        truth = getattr(network, f"{kind}s")
        lower, upper = part.intervals()
        found[f"n {kind}"] = float(len(truth))
        found[f"held {kind}"] = float(((lower <= truth) & (truth <= upper)).sum())
        found[f"flagged {kind}"] = float((part.flags != 0).sum())
        found[f"error {kind}"] = float(np.abs(part.values - truth).sum())
    return found | _of_draws(estimate, network.parameters)


def _of_draws(estimate: Estimate, truth: Parameters) -> Quantities:
    """Return how chains agree, and the histogram of the truth's ranks among the draws."""
    draws = estimate.draws
    if draws is None:
        return {}
    # In the middle of those that are equal to it: of draws at a bound there are several.
    below, same = ((op(draws.together, truth.vector)).mean(axis=0) for op in (np.less, np.equal))
    bins = np.minimum(((below + same / 2.0) * N_BINS).astype(int), N_BINS - 1)
    ranks = np.bincount(bins, minlength=N_BINS)
    return {
        "rounds": float(draws.n_rounds),
        "r_hat": float(draws.convergence.r_hats.max()),
        "effective": float(draws.convergence.effective_sizes.min()),
        "unmixed": float(draws.is_unmixed.vector.sum()),
        **{f"rank {b}": float(n) for b, n in enumerate(ranks.tolist())},
    }


def drawn_network(n_diseases: int, seed: int) -> NoisyOrNetwork:
    """Return a network drawn from the Beta priors: each disease has four of two symptoms a disease.

    >>> drawn_network(3, seed=0)
    NoisyOrNetwork(3 diseases, 6 symptoms, 12 edges; 1.05 diseases and 2.29 findings a record)
    """
    rng = np.random.default_rng([seed, n_diseases])
    matrix = np.zeros((n_diseases, 2 * n_diseases), dtype=np.int8)
    for row in matrix:
        row[rng.choice(len(row), 4, replace=False)] = 1
    structure = Structure.from_matrix(matrix)
    priors = as_pseudo_counts(None, structure)
    a = (priors.means.vector * priors.sizes.vector).clip(1e-9)
    values = rng.beta(a, priors.sizes.vector - a)
    return NoisyOrNetwork(structure, *Parameters.split(structure, values))


def share(results: Results, runs: list[Run], what: str) -> float:
    """Return the share of the parameters of some runs, of one kind or of all, that are so."""
    kinds = KINDS if what.count(" ") == 0 else (what.split()[1],)
    word = what.split(maxsplit=1)[0]
    held, n = (
        sum(results.all(*run, f"{each} {kind}").sum() for run in runs for kind in kinds)
        for each in (word, "n")
    )
    return float(held / n) if n else float("nan")


def histogram(results: Results, runs: list[Run]) -> Floats:
    """Return the shares of the ranks; all are alike where intervals of any level are right."""
    counts = np.array(
        [sum(results.all(*run, f"rank {b}").sum() for run in runs) for b in range(N_BINS)]
    )
    return np.asarray(counts / max(counts.sum(), 1.0))


def draw(results: Results, folder: Path) -> list[str]:
    """Draw the histogram of ranks."""
    shares = histogram(results, results.runs("bayesian"))
    with picture(folder / "draws", 1, (5.0, 2.6)) as axes:
        edges = np.linspace(0.0, 1.0, N_BINS + 1)
        axes[0].bar(edges[:-1], shares, 1.0 / N_BINS, align="edge", color=COLOURS["refined"])
        axes[0].axhline(1.0 / N_BINS, color="#555555", linewidth=1.0)
        axes[0].set(xlabel="rank of the truth among the draws", ylabel="share of parameters")
    return ["draws"]


def page(results: Results) -> dict[str, object]:
    """Return the tables, and how many intervals hold the truth."""
    runs = results.runs("bayesian")
    others = results.runs("refined")
    return {
        "n_networks": sum(len(results.all(*run, "seconds")) for run in runs),
        "n_parameters": int(sum(results.all(*run, f"n {k}").sum() for run in runs for k in KINDS)),
        "covered": f"{share(results, runs, 'held'):.1%}",
        **{f"covered_{kind}s": f"{share(results, runs, f'held {kind}'):.1%}" for kind in KINDS},
        "refined_covered": f"{share(results, others, 'held'):.1%}",
        "ranks": span(histogram(results, runs), "{:.1%}"),
        "runs": results.runs(*METHODS),
        "chains": results.runs("bayesian"),
    }
