"""Misfits: p-values on right networks, and how often what is wrong is noticed and named."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from noisyor.experiments.learners import fit, sample_plainly
from noisyor.experiments.results import Cell, Quantities, Results, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import span
from noisyor.findings import Findings
from noisyor.learning import Misfits
from noisyor.learning.misfit_causes import DEPENDENCE, EDGE, HIDDEN
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

LASTS = "fifteen minutes"
RIGHT = (
    ("figure1", "pooled", 100), ("figure1", "refined", 100), ("clinic", "pooled", 100),
    ("clinic", "refined", 200), ("tcc4e", "pooled", 40), ("tcc4e", "refined", 20),
    ("ddxplus", "pooled", 20), ("ddxplus", "refined", 10),
)  # fmt: skip
WRONG = ("edge deleted", "disease deleted", "diseases dependent")
N_RECORDS = 3000
LEVEL = 0.05
CORRELATION = 0.5
"""Of the normal variables behind two dependent diseases."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List samples of right networks, and of wrong ones."""
    known = settings.available(*dict.fromkeys(name for name, *_ in RIGHT))
    found = cells_of(["clinic"], [N_RECORDS], settings.seeds(settings.pick(40, 2)), WRONG)
    for name, method, n in RIGHT:
        if name in known:
            seeds = settings.seeds(settings.pick(n, 2))
            found += cells_of([name], [N_RECORDS], seeds, [f"right, {method}"])
    return found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample and look at the verdict."""
    network = settings.network(cell.network, cell.seed)
    if cell.method in WRONG:
        return _wrong(network, cell)
    records = network.sample(cell.n_records, rng=cell.seed + 1)
    misfits = fit(records, network.structure, cell.method.removeprefix("right, ")).misfits()
    found = {f"{name}: rejected": float(p < LEVEL) for name, p in misfits.tests.items()}
    found |= {
        "all: rejected": float(misfits.fits is False),
        "undecided": float(misfits.fits is None),
    }
    quarter = min(int(4.0 * misfits.p_value), 3)
    return found | {f"quarter {number}": float(number == quarter) for number in range(4)}


def _wrong(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Learn with a wrong structure, or from dependent diseases."""
    rng = np.random.default_rng(cell.seed)
    structure = network.structure
    edges, (i, j) = structure.edges, rng.choice(structure.n_diseases, 2, replace=False).tolist()
    records = network.sample(cell.n_records, rng=cell.seed + 1).to_numpy()
    if cell.method == "edge deleted":
        number = int(rng.integers(structure.n_edges))
        kind, members = EDGE, set(edges[number].tolist())
        cut = Structure(structure.diseases, structure.symptoms, np.delete(edges, number, axis=0))
    elif cell.method == "disease deleted":
        kind, members = HIDDEN, set(structure.children(i).tolist())
        left = edges[edges[:, 0] != i]
        diseases = [name for k, name in enumerate(structure.diseases) if k != i]
        renumbered = np.column_stack([left[:, 0] - (left[:, 0] > i), left[:, 1]])
        cut = Structure(diseases, structure.symptoms, renumbered)
    else:
        kind, members, cut = DEPENDENCE, {i, j}, structure
        records = _sample_dependent(network, cell.n_records, (i, j), rng)
    misfits = fit(Findings.from_numpy(records, cut), cut, "pooled").misfits()
    return _judged(misfits, kind, members)


def _judged(misfits: Misfits, kind: str, members: set[int]) -> Quantities:
    first = misfits.causes[:1]
    is_kind = any(cause.kind == kind for cause in first)
    # Of a disease's symptoms some show too little: most of those named must be its own.
    needed = 0.7 if kind == HIDDEN else 1.0
    shares = [len(members & set(cause.members)) / len(set(cause.members)) for cause in first]
    return {
        "noticed": float(misfits.fits is False),
        "kind": float(is_kind),
        "named": float(is_kind and shares[0] >= needed),
    }


def _sample_dependent(
    network: NoisyOrNetwork, n_records: int, two: tuple[int, int], rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Sample records in which two diseases depend on each other; the priors stay as they are."""
    latent = rng.normal(size=(n_records, network.structure.n_diseases))
    first, second = two
    latent[:, second] *= np.sqrt(1.0 - CORRELATION**2)
    latent[:, second] += CORRELATION * latent[:, first]
    return sample_plainly(network, latent < ndtri(network.priors), rng)


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    methods = [f"right, {method}" for method in ("pooled", "refined")]
    right, wrong = results.runs(*methods), results.runs(*WRONG)
    return {
        "n_records": f"{N_RECORDS:,}",
        "correlation": CORRELATION,
        "rejected": span((results.mean(*run, "all: rejected") for run in right), "{:.0%}"),
        "noticed": span((results.mean(*run, "noticed") for run in wrong), "{:.0%}"),
        "named": span((results.mean(*run, "named") for run in wrong), "{:.0%}"),
        "right": right,
        "wrong": wrong,
    }
