"""Diagnosis: how fast, how exact, how well calibrated, and what learning costs it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisyor.experiments.drawing import curve, label_curves, picture
from noisyor.experiments.learners import fit
from noisyor.experiments.measures import seconds, timed
from noisyor.experiments.results import Cell, Floats, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import markdown_table, shown, span
from noisyor.inference import best_questions, bounds, most_probable, posterior, posteriors
from noisyor.inference.flat import block_records, flat_network
from noisyor.inference.record_kernels import listed
from noisyor.network import NoisyOrNetwork

LASTS = "half an hour"
SIZES = {"exact": (5, 8, 12, 16, 20), "gibbs": (8, 16)}
"""Ways of inference, and numbers of present findings; all others are absent, or unknown."""
DIVISIONS = {
    "leaves 1, no exact work": (1, -1.0), "leaves 1, 1e+07 operations": (1, 1e7),
    "leaves 8, 1e+04 operations": (8, 1e4), "leaves 32, 1e+04 operations": (32, 1e4),
}  # fmt: skip
"""Into how many leaves the states are divided, and how many operations are exact in each."""
CALIBRATION = {
    "cases": ("cases", "{:,.0f}"), "mean": ("mean posterior", "{:.4f}"),
    "share": ("share with the disease", "{:.4f}"), "off": ("deviations off", "{:+.1f}"),
}  # fmt: skip
"""What is measured of a bin of posteriors, with title and format."""
QUESTIONS = ("questions, 8 present, others unknown", "questions, whole record")


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List questions by network; the records of a cell are those that are diagnosed."""
    pick, found = settings.pick, []
    for name in settings.available("clinic", "qmr_shaped", "orphanet570"):
        n_records = {
            f"{kind}, {n} present, others {others}": pick(200 if kind == "exact" else 100, 5)
            for kind, sizes in SIZES.items() for n in sizes for others in ("absent", "unknown")
        }  # fmt: skip
        n_records["whole records"] = pick(200, 5)
        if name != "clinic":
            n_records |= dict.fromkeys(DIVISIONS, pick(30, 2))
        n_records |= dict.fromkeys(QUESTIONS, pick(40, 2)) | {"learned": pick(1_000_000, 10_000)}
        found += [Cell(name, n, 0, method) for method, n in n_records.items()]
    found.append(Cell("clinic", pick(200_000, 5000), 0, "calibration"))
    return found + [Cell("clinic", n, 0, "intervals") for n in (2000, 20_000)]


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Diagnose records of one kind."""
    work = WORK[cell.method.partition(", ")[0].partition(" ")[0]]
    return work(settings.network(cell.network), cell, settings)


def records_with(network: NoisyOrNetwork, n_present: int, count: int, seed: int) -> Floats:
    """Return records with so many present findings, some findings of larger ones left out.

    Which makes them hard: few diseases explain them all.
    """
    rng = np.random.default_rng(seed)
    rows: list[Floats] = []
    while len(rows) < count:
        sample = network.sample(max(10 * count, 2000), rng=int(rng.integers(2**62))).to_numpy()
        for row in sample[sample.sum(axis=1) >= n_present][: count - len(rows)]:
            kept = np.zeros(len(row))
            kept[rng.permutation(np.flatnonzero(row))[:n_present]] = 1.0
            rows.append(kept)
    return np.array(rows)


def _records_of(network: NoisyOrNetwork, cell: Cell, seed: int) -> Floats:
    """Return the records of a cell that names the number of present findings."""
    n_present = int(cell.method.split()[1])
    records = records_with(network, n_present, cell.n_records, seed + n_present)
    return np.where(records == 0.0, np.nan, 1.0) if cell.method.endswith("unknown") else records


def _doubtful(truth: Floats) -> NDArray[np.bool_]:
    return (truth > 0.05) & (truth < 0.95)


def _present_and_absent(row: Floats) -> tuple[list[int], list[int]]:
    return np.flatnonzero(row == 1.0).tolist(), np.flatnonzero(row == 0.0).tolist()


def _exact(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Time single calls and batches of what is solved exactly within 0.1 s."""
    records = _records_of(network, cell, seed=0)
    found = posteriors(network, records, method="exact", budget=0.1)
    solved = records[found.is_exact]
    if not len(solved):
        return {"exact": 0.0}
    times = []
    for row in solved:
        present, absent = _present_and_absent(row)
        if len(absent) > 1000:  # listing thousands of absent findings takes longer than the others
            times.append(seconds(posteriors, network, row[np.newaxis]))
        else:
            times.append(seconds(posterior, network, present, absent, budget=0.1))
    at_least = 2000 if np.median(times) < 0.004 else 1
    many = np.tile(solved, (max(1, at_least // len(solved)), 1))
    return {
        "exact": float(found.is_exact.mean()),
        "median, s": float(np.median(times)),
        "99%, s": float(np.percentile(times, 99)),
        "records/s": len(many) / seconds(posteriors, network, many),
    }


def _gibbs(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Compare sampled posteriors with exact ones, where those are in doubt."""
    records = _records_of(network, cell, seed=100)
    exact = posteriors(network, records, method="exact", budget=1.0)
    truth = exact.probabilities[exact.is_exact]
    sampled = posteriors(network, records[exact.is_exact], method="gibbs")
    wrong = np.abs(sampled.probabilities - truth)
    doubtful = _doubtful(truth)
    found = {"in doubt": float(doubtful.sum())}
    if doubtful.any():
        within = (wrong <= sampled.errors[:, np.newaxis])[doubtful]
        found |= {"mean error": wrong[doubtful].mean(), "largest": wrong[doubtful].max()}
        found["within the 95% stated"] = float(within.mean())
    return found


def _whole(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Diagnose records as they are sampled, all findings known."""
    findings = network.sample(cell.n_records, rng=11)
    posteriors(network, network.sample(4, rng=1), budget=1.0)  # compile
    found, of_run = timed(posteriors, network, findings, budget=1.0)
    methods = np.array(found.method_names)
    return {
        "present": float(np.median(findings.to_numpy().sum(axis=1))),
        **{name: float((methods == name).mean()) for name in ("exact", "variational", "gibbs")},
        "error stated: median": float(np.median(found.errors)),
        "90%": float(np.quantile(found.errors, 0.9)),
        "below 0.01": float((found.errors < 0.01).mean()),
        "log evidence within": float(np.median(found.log_evidence_uppers - found.log_evidences)),
        "s a record": of_run["seconds"] / cell.n_records,
    }


def _divided(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Bound whole records with the states of the diseases divided into leaves."""
    flat, division = flat_network(network), bounds.BoundSettings(*DIVISIONS[cell.method], 0.0)
    records = block_records(network.sample(cell.n_records, rng=31).blocks[0])

    def work() -> list[bounds.Bounded]:
        evidences = (listed(records, record) for record in range(cell.n_records))
        return [bounds.bound_record(flat, evidence, division) for evidence in evidences]

    found, of_run = timed(work)
    return {
        "log evidence within": float(
            np.median([each.log_upper - each.log_lower for each in found])
        ),
        "error": float(np.median([each.error for each in found])),
        "s a record": of_run["seconds"] / cell.n_records,
    }


def _questions(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Ask for the next question and for the most probable sets of diseases."""
    is_whole = cell.method == QUESTIONS[1]
    if is_whole:
        records = network.sample(cell.n_records, rng=12).to_numpy().astype(float)
    else:
        records = records_with(network, 8, cell.n_records, seed=5)
    found = []
    for row in (records[0], *records):  # the first one compiles
        present, absent = _present_and_absent(row)
        asked = network, present, absent if is_whole else []
        asking = seconds(best_questions, *asked)
        sets, of_run = timed(most_probable, *asked)
        found.append((asking, of_run["seconds"], sets.is_proven))
    asking, searching, proven = np.transpose(found[1:])
    return {
        "next question": float(np.median(asking)), "5 best sets": float(np.median(searching)),
        "proven": proven.mean(),
    }  # fmt: skip


def _learned(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Compare posteriors under the learned and the true network, on new records."""
    is_small = cell.network == "clinic"
    method = "refined" if is_small else "pooled"
    learned = fit(network.sample(cell.n_records, rng=21), network.structure, method).network
    held_out = network.sample(settings.pick(5000 if is_small else 100, 10), rng=22)
    truth = posteriors(network, held_out, budget=1.0).probabilities
    found = posteriors(learned, held_out, budget=1.0).probabilities
    wrong, doubtful = np.abs(found - truth), _doubtful(truth)
    same = (found.argmax(axis=1) == truth.argmax(axis=1)).mean()
    in_doubt = {"where in doubt": float(wrong[doubtful].mean())} if doubtful.any() else {}
    return {"mean difference": float(wrong.mean()), "same top disease": float(same), **in_doubt}


def _calibration(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Bin posteriors; see how often the disease was there."""
    findings, diseases = network.sample(cell.n_records, rng=13, return_diseases=True)
    found = posteriors(network, findings).probabilities
    quantities: Quantities = {}
    for number in range(10):
        chosen = (found >= number / 10) & (found < (number + 1) / 10)
        if not chosen.any():
            continue
        mean, share, n = found[chosen].mean(), diseases[chosen].mean(), float(chosen.sum())
        deviation = np.sqrt((found[chosen] * (1.0 - found[chosen])).sum())
        off = float((share - mean) * n / deviation)
        for what, value in zip(CALIBRATION, (n, mean, share, off), strict=True):
            quantities[f"{what} {number}"] = float(value)
    return quantities


def _intervals(network: NoisyOrNetwork, cell: Cell, settings: ExperimentSettings) -> Quantities:
    """See how often intervals that follow from standard errors hold the true posterior."""
    covered: list[bool] = []
    widths: list[float] = []
    for seed in range(4):
        estimate = fit(network.sample(cell.n_records, rng=seed), network.structure, "refined")
        for row in records_with(network, 5, settings.pick(50, 5), seed=seed):
            present = np.flatnonzero(row == 1.0).tolist()
            truth = posterior(network, present).probabilities
            found = posterior(estimate, present)
            assert found.interval_lower is not None
            assert found.interval_upper is not None
            doubtful = _doubtful(truth)
            bounds_of = found.interval_lower, found.interval_upper, truth
            lower, upper, truth = (each[doubtful] for each in bounds_of)
            covered += ((lower <= truth) & (truth <= upper)).tolist()
            widths += (upper - lower).tolist()
    return {
        "in doubt": float(len(covered)), "covered": float(np.mean(covered)),
        "median width": float(np.median(widths)),
    }  # fmt: skip


Work = Callable[[NoisyOrNetwork, Cell, ExperimentSettings], Quantities]
WORK: dict[str, Work] = {
    "exact": _exact, "gibbs": _gibbs, "whole": _whole, "leaves": _divided, "questions": _questions,
    "learned": _learned, "calibration": _calibration, "intervals": _intervals,
}  # fmt: skip


def draw(results: Results, folder: Path) -> list[str]:
    """Draw how long exact inference takes with more present findings, and the calibration."""
    with picture(folder / "diagnosis", 2, (9.0, 3.2)) as (left, right):
        methods = [name for name in results.methods("exact") if name.endswith("absent")]
        colours = "pooled", "refined", "sequential"
        for name, colour in zip(results.networks(), colours, strict=False):
            runs = results.runs(*methods, network=name)
            times = [results.mean(*run, "median, s") * 1e3 for run in runs]
            curve(left, [int(run[2].split()[1]) for run in runs], times, colour, label=name)
        left.set(yscale="log", xlabel="present findings", ylabel="ms, exact, median")
        label_curves(left)
        [run] = results.runs("calibration")
        means, shares = (
            [results.mean(*run, f"{what} {k}") for k in results.numbers("clinic", "off")]
            for what in ("mean", "share")
        )
        curve(right, means, shares, "refined")
        right.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        right.set(xlabel="posterior", ylabel="share with the disease", title="clinic")
    return ["diagnosis"]


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    kinds = "exact", "gibbs", "whole", "leaves", "questions", "learned", "intervals"
    [calibrated] = results.runs("calibration")
    bins = results.numbers("clinic", "off")
    rows = [["posterior", *(title for title, _ in CALIBRATION.values())]]
    for k in bins:
        shares = [results.mean(*calibrated, f"{what} {k}") for what in CALIBRATION]
        forms = [form for _, form in CALIBRATION.values()]
        rows.append([f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *map(shown, shares, forms)])
    return {
        **{kind: results.runs(*results.methods(kind)) for kind in kinds},
        "n_calibrated": calibrated[1],
        "off": span((results.mean(*calibrated, f"off {k}") for k in bins), "{:+.1f}"),
        "calibration": markdown_table(rows),
    }
