"""Structure: causes found in records alone, and structures that were damaged and repaired."""

from pathlib import Path

import numpy as np

from noisyor.datasets import from_folder
from noisyor.discovery import (
    DiscoverySettings,
    RepairSettings,
    certify,
    discover,
    match_causes,
    repair,
)
from noisyor.experiments.drawing import COLOURS, curve, label_curves, picture, records_axis
from noisyor.experiments.measures import timed
from noisyor.experiments.misgiven import FEWEST_OF_TWO, FREQUENT, MISGIVEN, named
from noisyor.experiments.planted import (
    CORRELATION,
    N_FLIPS,
    PEERS,
    PLANTED,
    causes_by,
    drawn_test,
    ecpe,
    flipped_q_matrix,
    installed_peers,
    planted,
    told_entries,
)
from noisyor.experiments.results import Cell, Quantities, Results, cells_of
from noisyor.experiments.robustness import sample_correlated
from noisyor.experiments.settings import ExperimentSettings
from noisyor.findings import Findings
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

LASTS = "a day"
OVERCOMPLETE = ("CON8", "IMG", "IMG-FLIP")
N_OVERCOMPLETE, N_ECPE = 10_000, 2922
STARTS = {
    "discover": "pairs",
    "discover, start from quartets": "quartets",
    "discover, random start": "random",
}
TOGETHER = "discover, causes that occur together"
SIMULATED = ("discover", "discover, start from quartets")
REPAIRED = ("damaged", "right", "disease deleted")
FLIPPED = {"entries removed": "removed", "entries added": "added", "any entries": "any"}
UNFLIPPED, TOLD = "no entries", "what answers tell"
TESTS = {"test3": (1500, 3000), "test4": (3000,), "test5": (5000,)}
"""Numbers of persons, by the names that have the numbers of skills."""
LARGE = ("orphanet570", "qmr_shaped")
"""Of these no missing diseases are looked for: that would take longer than all else together."""
SHARE = 0.05
"""Of the edges that are deleted, and as many false ones are added."""
STRONG = 0.2
"""1 - f from which an edge of a disease that is `FREQUENT` should be found."""
FEWEST_SYMPTOMS = 5
"""Of a disease that is deleted."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List records that others drew, and samples of networks whose structures are repaired."""
    sizes, few = settings.pick([10_000, 100_000], [10_000]), settings.seeds(2)
    found: list[Cell] = []
    if _records(settings, "overcomplete") is not None:
        ten = settings.seeds(10)  # also in a hurry: the others show by how much starts matter
        found += cells_of(OVERCOMPLETE, [N_OVERCOMPLETE], ten, ["discover"])
        starts = [method for method in STARTS if method != "discover"]
        found += cells_of(OVERCOMPLETE, [N_OVERCOMPLETE], few, [*starts, *installed_peers()])
        ten = settings.seeds(settings.pick(10, 2))
        found += cells_of(OVERCOMPLETE[:2], [N_OVERCOMPLETE], ten, starts[:1])
    found += cells_of(["clinic"], sizes, settings.seeds(settings.pick(10, 2)), REPAIRED)
    found += cells_of(["clinic"], sizes[:1], settings.seeds(settings.pick(10, 1)), MISGIVEN)
    found += _of_real_networks(settings, sizes)
    found += _of_tests(settings)
    found += _of_planted(settings)
    return list(dict.fromkeys(found))


def _of_planted(settings: ExperimentSettings) -> list[Cell]:
    """List simulated causes; many of them take long, and are looked for once."""
    if settings.quick:
        return cells_of(["planted8"], [3000], settings.seeds(1), [*SIMULATED, TOGETHER])
    small, large = ["planted8"], list(PLANTED)[1:]
    at, three = [3000, 10_000, 30_000, 100_000], settings.seeds(3)
    return [
        *cells_of(small, at, three, SIMULATED),
        *cells_of(small, at[1:2], three, [TOGETHER]),
        *cells_of(large, [10_000, 100_000], settings.seeds(1), SIMULATED[:1]),
    ]


def _of_tests(settings: ExperimentSettings) -> list[Cell]:
    """List Q-matrices of which entries are flipped."""
    found: list[Cell] = []
    samples = settings.seeds(settings.pick(5, 2))
    if _records(settings, "ecpe") is not None:
        found += cells_of(["ECPE"], [N_ECPE], [settings.seed], [TOLD])
        found += cells_of(["ECPE"], [N_ECPE], samples, FLIPPED)
    kinds = "entries removed", "entries added", UNFLIPPED
    for name in settings.pick(list(TESTS), ["test3"]):
        found += cells_of([name], TESTS[name], samples, kinds)
    return found


def _of_real_networks(settings: ExperimentSettings, sizes: list[int]) -> list[Cell]:
    """List what is repaired of networks that others made; large ones once."""
    weak, real = settings.available("tcc4e"), settings.available("tcc4e", "ddxplus")
    large = settings.available(*LARGE)
    if settings.quick:
        return cells_of(weak, sizes, settings.seeds(3), REPAIRED[:1])
    return [
        *cells_of(weak, sizes, settings.seeds(5), REPAIRED[:1]),
        *cells_of(weak, sizes[:1], settings.seeds(20), REPAIRED[1:2]),
        *cells_of(real, sizes, settings.seeds(3), REPAIRED[:2]),
        *cells_of(real, sizes[:1], settings.seeds(5), MISGIVEN),
        *cells_of(settings.available("ddxplus"), [100_000], settings.seeds(10), REPAIRED[2:]),
        *cells_of(large, sizes, settings.seeds(1), REPAIRED[:2]),
    ]


def _records(settings: ExperimentSettings, name: str) -> Path | None:
    """Return a folder of records that others made, beside the real networks, if it is there."""
    if settings.structures is None:
        return None
    folder = settings.structures.parent / "records" / name
    return folder if folder.is_dir() else None


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Find causes, or repair a structure."""
    if cell.method in (*STARTS, TOGETHER, *PEERS):
        return _discovered(cell, settings)
    if cell.method in (*FLIPPED, UNFLIPPED, TOLD):
        return _validated(cell, settings)
    network = settings.network(cell.network, cell.seed)
    rng = np.random.default_rng(cell.seed)
    records = network.sample(cell.n_records, rng=cell.seed + 1)
    if cell.method in MISGIVEN:
        return named(network, records, cell.method, rng)
    if cell.method == "disease deleted":
        return _disease_deleted(network, records, rng)
    how = RepairSettings(rng=cell.seed, diseases=cell.network not in LARGE)
    deleted, added = (set[tuple[int, int]](), set[tuple[int, int]]())
    structure = network.structure
    if cell.method == "damaged":
        structure, deleted, added = damaged(network.structure, rng)
    found, quantities = timed(repair, structure, records, settings=how)
    quantities |= judged(network, found.structure, deleted, added)
    if cell.method == "right":
        return quantities
    known = repair(network.structure, records, max_changes=0, settings=how)
    errors = [errors_against(network, each.network) for each in (found, known)]
    bics = [path.steps[path.best].bic for path in (found, known)]
    return quantities | {
        "failures, repaired": errors[0], "failures, true structure": errors[1],
        "as large": errors[0] / errors[1], "BIC above": float(bics[0] - bics[1]),
    }  # fmt: skip


# --- no structure ---


def _discovered(cell: Cell, settings: ExperimentSettings) -> Quantities:
    truth, records = _truth(cell, settings)
    if cell.method in PEERS:
        n_causes = truth.structure.n_diseases
        network, quantities = timed(causes_by, cell.method, records, n_causes, cell.seed)
        return quantities | _matched(truth, network)
    options = DiscoverySettings(standard_errors=False, start=STARTS.get(cell.method, "pairs"))
    found, quantities = timed(discover, records, rng=cell.seed, settings=options)
    certificates = certify(found.network, records)
    return quantities | {
        **_matched(truth, found.network),
        "causes": float(found.structure.n_diseases),
        "stability": float(found.stability.mean()) if len(found.stability) else 0.0,
        "certified": float(sum(each.is_certified is True for each in certificates)),
        "contradicted": float(sum(each.is_certified is False for each in certificates)),
    }


def _truth(cell: Cell, settings: ExperimentSettings) -> tuple[NoisyOrNetwork, Findings]:
    """Return the causes that are to be found, and records of them."""
    if cell.network in PLANTED:
        network = planted(cell.network, cell.seed)
        if cell.method != TOGETHER:
            return network, network.sample(cell.n_records, rng=cell.seed + 1)
        array = sample_correlated(network, cell.n_records, CORRELATION, cell.seed)
        return network, Findings.from_numpy(array, network.structure)
    folder = _records(settings, "overcomplete")
    assert folder is not None
    truth = from_folder(folder / cell.network)
    return truth, Findings.read(folder / cell.network / "records.csv", truth.structure)


def _matched(truth: NoisyOrNetwork, found: NoisyOrNetwork) -> Quantities:
    matching = match_causes(truth, found)
    share = matching.n_found / max(matching.n_counted, 1)
    return {
        "recovered": float(matching.n_found), "share": share, "false": float(matching.n_false),
    }  # fmt: skip


def _validated(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Flip entries of a Q-matrix, of ECPE or of a test that is drawn, and look for them."""
    if cell.network in TESTS:
        test = drawn_test(cell.network, cell.n_records, cell.seed)
    else:
        folder = _records(settings, "ecpe")
        assert folder is not None
        test = ecpe(folder)
    if cell.method == TOLD:
        return told_entries(test)
    return flipped_q_matrix(test, cell.seed, FLIPPED.get(cell.method, "none"))


# --- a structure to repair ---


def damaged(
    structure: Structure, rng: np.random.Generator
) -> tuple[Structure, set[tuple[int, int]], set[tuple[int, int]]]:
    """Delete some edges and add as many false ones; return the structure and both."""
    n = max(round(SHARE * structure.n_edges), 1)
    gone = rng.choice(structure.n_edges, n, replace=False)
    true = {(i, j) for i, j in structure.edges.tolist()}
    added = set[tuple[int, int]]()
    while len(added) < n:
        edge = int(rng.integers(structure.n_diseases)), int(rng.integers(structure.n_symptoms))
        added |= {edge} - true
    kept: Indices = np.delete(structure.edges, gone, axis=0)
    edges = np.concatenate([kept, np.array(sorted(added))])
    deleted = {(i, j) for i, j in structure.edges[gone].tolist()}
    return Structure(structure.diseases, structure.symptoms, edges), deleted, added


def judged(
    network: NoisyOrNetwork, found: Structure, deleted: set[tuple[int, int]],
    added: set[tuple[int, int]],
) -> Quantities:  # fmt: skip
    """Compare a repaired structure with the true one, disease by disease and edge by edge.

    Recall is that of strong edges of frequent diseases, and of false edges of frequent ones.
    """
    structure = network.structure
    names = {name: i for i, name in enumerate(structure.diseases)}
    true = {(i, j) for i, j in structure.edges.tolist()}
    given = (true - deleted) | added
    now = {
        (names.get(found.diseases[i], -1), j) for i, j in found.edges.tolist()
    }  # -1: a disease that is not there
    failures = dict(zip(map(tuple, structure.edges.tolist()), network.failures, strict=True))
    strong = {
        edge for edge in true
        if 1.0 - failures[edge] >= STRONG and network.priors[edge[0]] >= FREQUENT
    }  # fmt: skip
    frequent = {edge for edge in added if network.priors[edge[0]] >= FREQUENT}
    came, went = now - given, given - now
    return {
        "precision of additions": _share(len(came & true), len(came)),
        "recall of additions": _share(len(came & strong), len(deleted & strong)),
        "precision of deletions": _share(len(went - true), len(went)),
        "recall of deletions": _share(len(went & frequent), len(frequent)),
        "false changes": float(len(came - true) + len(went & true)),
        "strong edges lost": float(len(went & strong)),
    }


def errors_against(truth: NoisyOrNetwork, found: NoisyOrNetwork) -> float:
    """Return the mean error of the failures of the true edges; an edge that is lost has 1."""
    structure = found.structure
    failures = dict(
        zip(zip(*structure.edge_names().values(), strict=True), found.failures, strict=True)
    )
    edges = zip(*truth.structure.edge_names().values(), strict=True)
    values = np.array([failures.get(edge, 1.0) for edge in edges])
    return float(np.abs(values - truth.failures).mean())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _disease_deleted(
    network: NoisyOrNetwork, records: Findings, rng: np.random.Generator
) -> Quantities:
    """Delete a disease with some symptoms, and see whether it is proposed."""
    structure = network.structure
    sizes = np.diff(structure.child_offsets)
    gone = int(
        rng.choice(np.flatnonzero((sizes >= FEWEST_SYMPTOMS) & (network.priors >= FREQUENT)))
    )
    kept = [name for i, name in enumerate(structure.diseases) if i != gone]
    edges = [[i - (i > gone), j] for i, j in structure.edges.tolist() if i != gone]
    cut = Structure(kept, structure.symptoms, edges)
    found, quantities = timed(repair, cut, records, settings=RepairSettings(rng=0))
    own = set(structure.children(gone).tolist())
    new = [i for i, name in enumerate(found.structure.diseases) if name not in kept]
    shares = [len(own & set(found.structure.children(i).tolist())) / len(own) for i in new]
    best = max(shares, default=0.0)
    return quantities | {
        "proposed": float(best >= 0.8),
        "symptoms found": best,
        "false diseases": float(len(new) - (best >= 0.8)),
    }


def draw(results: Results, folder: Path) -> list[str]:
    """Draw what is recovered, and what is false, against the records."""
    names = [name for name in PLANTED if name in results.networks()]
    if not names:
        return []
    with picture(folder / "discovery", 2, (8.5, 3.0)) as axes:
        for axis, quantity in zip(axes, ("share", "false"), strict=True):
            at = sorted({n for name in names for n in results.sizes(name)})
            for name, method in zip(names, COLOURS, strict=False):
                label = f"{name.removeprefix('planted')} causes, {PLANTED[name]} symptoms"
                means = [results.mean(name, n, "discover", quantity) for n in at]
                curve(axis, at, means, method, label=label)
            records_axis(axis, at)
            words = "share of the causes recovered" if quantity == "share" else "false causes"
            axis.set(ylabel=words, ylim=(0.0, 1.05 if quantity == "share" else None))
        label_curves(axes[-1])
    return ["discovery"]


def page(results: Results) -> dict[str, object]:
    """Return the tables."""
    planted = [run for run in results.runs(*SIMULATED, TOGETHER) if run[0] in PLANTED]
    others = [run for run in results.runs(*STARTS) if run[0] in OVERCOMPLETE]
    return {
        "n_overcomplete": f"{N_OVERCOMPLETE:,}",
        "share": f"{SHARE:.0%}",
        "strong": STRONG,
        "frequent": FREQUENT,
        "fewest": FEWEST_SYMPTOMS,
        "fewest_of_two": FEWEST_OF_TWO,
        "discovered": others,
        "peers": results.runs(*PEERS),
        "planted": planted,
        "flipped": results.runs(*FLIPPED),
        "unflipped": results.runs(UNFLIPPED),
        "told": results.runs(TOLD),
        "n_flips": N_FLIPS,
        "damaged": results.runs("damaged"),
        "right": results.runs("right"),
        "deleted": results.runs("disease deleted"),
        "misgiven": results.runs(*MISGIVEN),
    }
