"""Diagnosis: how fast, how exact, how well calibrated, and what learning costs it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.experiments.drawing import curve, label_curves, picture
from noisyor.experiments.learners import fit
from noisyor.experiments.measures import seconds, timed
from noisyor.experiments.results import Cell, Results
from noisyor.experiments.settings import Settings
from noisyor.experiments.tables import Column, Run, markdown_table, runs_of, shown, span, table
from noisyor.inference import best_questions, most_probable, posterior, posteriors
from noisyor.inference.bounds import BoundSettings, bound_record
from noisyor.inference.flat import block_records, flat_network
from noisyor.inference.record_kernels import listed
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]

LASTS = "half an hour"
OTHERS = ("absent", "unknown")
"""What all findings are that are not among the present ones."""
KINDS = {"exact": (5, 8, 12, 16, 20), "gibbs": (8, 16)}
"""Ways of inference, and numbers of present findings."""
DIVISIONS = ((1, -1.0), (1, 1e7), (8, 1e4), (32, 1e4))
"""Into how many leaves the states are divided, and how many operations are exact in each."""
ASKED = ("8 present, others unknown", "whole record")
LEARNED_FROM = (2000, 20_000)
IN_DOUBT = (0.05, 0.95)


def cells(settings: Settings) -> list[Cell]:
    """List questions by network; the records of a cell are those that are diagnosed."""
    names = settings.available("clinic", "qmr_shaped", "orphanet570")
    pick = settings.pick
    found = []
    for name in names:
        for kind, count in (("exact", pick(200, 5)), ("gibbs", pick(100, 5))):
            kinds = [_kind(kind, n, others) for n in KINDS[kind] for others in OTHERS]
            found += [Cell(name, count, 0, each) for each in kinds]
        found.append(Cell(name, pick(200, 5), 0, "whole records"))
        if name != "clinic":
            found += [Cell(name, pick(30, 2), 0, _division(*each)) for each in DIVISIONS]
        found += [Cell(name, pick(40, 2), 0, f"questions, {asked}") for asked in ASKED]
        found.append(Cell(name, pick(1_000_000, 10_000), 0, "learned"))
    found.append(Cell("clinic", pick(200_000, 5000), 0, "calibration"))
    return found + [Cell("clinic", n, 0, "intervals") for n in LEARNED_FROM]


def _kind(kind: str, n_present: int, others: str) -> str:
    return f"{kind}, {n_present} present, others {others}"


def _division(n_leaves: int, operations: float) -> str:
    work = "no exact work" if operations < 0 else f"{operations:.0e} operations"
    return f"leaves {n_leaves}, {work}"


def measure(cell: Cell, settings: Settings) -> dict[str, float]:
    """Diagnose records of one kind."""
    network = settings.network(cell.network)
    measures: dict[str, Callable[[NoisyOrNetwork, Cell, Settings], dict[str, float]]] = {
        "exact": _exact, "gibbs": _gibbs, "whole records": _whole, "questions": _questions,
        "learned": _learned, "calibration": _calibration, "intervals": _intervals,
    }  # fmt: skip
    return measures.get(cell.method.partition(", ")[0], _divided)(network, cell, settings)


def records_with(network: NoisyOrNetwork, n_present: int, count: int, seed: int) -> Floats:
    """Return records with so many present findings, some findings of larger ones left out.

    Which makes them hard: few diseases explain them all.
    """
    rng = np.random.default_rng(seed)
    rows: list[Floats] = []
    while len(rows) < count:
        sample = network.sample(max(10 * count, 2000), rng=int(rng.integers(2**62)))
        for row in sample.to_numpy():
            present = np.flatnonzero(row)
            if len(present) >= n_present and len(rows) < count:
                kept = np.zeros(len(row))
                kept[rng.permutation(present)[:n_present]] = 1.0
                rows.append(kept)
    return np.array(rows)


def _records_of(network: NoisyOrNetwork, cell: Cell, seed: int) -> Floats:
    """Return the records of a cell that names the number of present findings."""
    n_present = int(cell.method.split()[1])
    records = records_with(network, n_present, cell.n_records, seed + n_present)
    return np.where(records == 0.0, np.nan, 1.0) if cell.method.endswith("unknown") else records


def _doubtful(truth: Floats) -> NDArray[np.bool_]:
    return (truth > IN_DOUBT[0]) & (truth < IN_DOUBT[1])


def _exact(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Time single calls and batches of what is solved exactly within 0.1 s."""
    records = _records_of(network, cell, seed=0)
    found = posteriors(network, records, method="exact", budget=0.1)
    solved = records[found.is_exact]
    if not len(solved):
        return {"exact": 0.0}
    times = []
    for row in solved:
        present, absent = np.flatnonzero(row == 1).tolist(), np.flatnonzero(row == 0).tolist()
        if len(absent) > 1000:  # listing thousands of absent findings takes longer than the rest
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


def _gibbs(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
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


def _whole(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
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


def _divided(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Bound whole records with the states of the diseases divided into leaves."""
    [division] = [each for each in DIVISIONS if _division(*each) == cell.method]
    flat = flat_network(network)
    records = block_records(network.sample(cell.n_records, rng=31).blocks[0])

    def work() -> list[Any]:
        bounding = BoundSettings(*division, 0.0)
        evidences = (listed(records, record) for record in range(cell.n_records))
        return [bound_record(flat, evidence, bounding) for evidence in evidences]

    bounds, of_run = timed(work)
    return {
        "log evidence within": float(
            np.median([each.log_upper - each.log_lower for each in bounds])
        ),
        "error": float(np.median([each.error for each in bounds])),
        "s a record": of_run["seconds"] / cell.n_records,
    }


def _questions(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Ask for the next question and for the most probable sets of diseases."""
    is_whole = cell.method.endswith(ASKED[1])
    if is_whole:
        records = network.sample(cell.n_records, rng=12).to_numpy().astype(float)
    else:
        records = records_with(network, 8, cell.n_records, seed=5)
    asking, searching, proven = [], [], []
    for row in (records[0], *records):  # the first one compiles
        present = np.flatnonzero(row == 1.0).tolist()
        absent = np.flatnonzero(row == 0.0).tolist() if is_whole else []
        asking.append(seconds(best_questions, network, present, absent))
        sets, of_run = timed(most_probable, network, present, absent)
        searching.append(of_run["seconds"])
        proven.append(sets.is_proven)
    return {
        "next question": float(np.median(asking[1:])),
        "5 best sets": float(np.median(searching[1:])),
        "proven": float(np.mean(proven[1:])),
    }


def _learned(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Compare posteriors under the learned and the true network, on new records."""
    is_small = cell.network == "clinic"
    method = "refined" if is_small else "pooled"
    learned = fit(network.sample(cell.n_records, rng=21), network.structure, method).network
    held_out = network.sample(settings.pick(5000 if is_small else 100, 10), rng=22)
    truth = posteriors(network, held_out, budget=1.0).probabilities
    found = posteriors(learned, held_out, budget=1.0).probabilities
    wrong, doubtful = np.abs(found - truth), _doubtful(truth)
    same = (found.argmax(axis=1) == truth.argmax(axis=1)).mean()
    quantities = {"mean difference": float(wrong.mean()), "same top disease": float(same)}
    return quantities | (
        {"where in doubt": float(wrong[doubtful].mean())} if doubtful.any() else {}
    )


def _calibration(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Bin posteriors; see how often the disease was there."""
    findings, diseases = network.sample(cell.n_records, rng=13, return_diseases=True)
    found = posteriors(network, findings).probabilities
    quantities: dict[str, float] = {}
    for number in range(10):
        chosen = (found >= number / 10) & (found < (number + 1) / 10)
        if not chosen.any():
            continue
        mean, share, n = found[chosen].mean(), diseases[chosen].mean(), chosen.sum()
        deviation = np.sqrt((found[chosen] * (1.0 - found[chosen])).sum())
        quantities |= {
            f"cases {number}": float(n), f"mean {number}": float(mean),
            f"share {number}": float(share), f"off {number}": float((share - mean) * n / deviation),
        }  # fmt: skip
    return quantities


def _intervals(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """See how often intervals that follow from standard errors hold the true posterior."""
    covered: list[bool] = []
    widths: list[float] = []
    for seed in range(4):
        estimate = fit(network.sample(cell.n_records, rng=seed), network.structure, "refined")
        for row in records_with(network, 5, settings.pick(50, 5), seed=seed):
            present = np.flatnonzero(row == 1.0).tolist()
            truth = posterior(network, present).probabilities
            found = posterior(estimate, present)
            doubtful = _doubtful(truth)
            assert found.interval_lower is not None
            assert found.interval_upper is not None
            lower, upper = found.interval_lower[doubtful], found.interval_upper[doubtful]
            covered += ((lower <= truth[doubtful]) & (truth[doubtful] <= upper)).tolist()
            widths += (upper - lower).tolist()
    return {
        "in doubt": float(len(covered)), "covered": float(np.mean(covered)),
        "median width": float(np.median(widths)),
    }  # fmt: skip


def draw(results: Results, folder: Path) -> list[str]:
    """Draw how long exact inference takes with more present findings, and the calibration."""
    with picture(folder / "diagnosis", 2, (9.0, 3.2)) as (left, right):
        colours = "pooled", "refined", "sequential"
        for name, colour in zip(results.networks(), colours, strict=False):
            methods = [_kind("exact", n, "absent") for n in KINDS["exact"]]
            sizes = [run for each in methods for run in runs_of(results, each) if run[0] == name]
            times = [results.mean(*run, "median, s") * 1e3 for run in sizes]
            at = [int(run[2].split()[1]) for run in sizes]
            curve(left, at, times, colour)
            if sizes:
                left.get_lines()[-1].set_label(name)
        left.set(yscale="log", xlabel="present findings", ylabel="ms, exact, median")
        label_curves(left)
        bins = results.numbers("clinic", "off")
        [run] = runs_of(results, "calibration")
        means, shares = (
            [results.mean(*run, f"{what} {k}") for k in bins] for what in ("mean", "share")
        )
        curve(right, means, shares, "refined")
        right.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        right.set(xlabel="posterior", ylabel="share with the disease", title="clinic")
    return ["diagnosis"]


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    share, small = "{:.0%}", "{:.1e}"
    columns: dict[str, dict[str, Column]] = {
        "exact": {
            "exact": share, "median, s": small, "99%, s": small,
            "records/s": "{:,.0f}",
        },
        "gibbs": {
            "in doubt": "{:,.0f}", "mean error": "{:.4f}",
            "largest": "{:.3f}", "within the 95% stated": "{:.1%}",
        },
        "whole": {
            "present": "{:.0f}", "exact": share,
            "variational": share, "gibbs": share,
            "error stated: median": small, "90%": small,
            "below 0.01": share, "log evidence within": small,
            "s a record": "{:.4f}",
        },
        "divided": {
            "log evidence within": "{:.2g}", "error": "{:.2g}",
            "s a record": "{:.3f}",
        },
        "questions": {
            "next question": "{:.3f}", "5 best sets": "{:.3f}", "proven": share,
        },
        "learned": {
            "mean difference": "{:.5f}", "where in doubt": "{:.4f}", "same top disease": "{:.1%}",
        },
        "intervals": {
            "in doubt": "{:,.0f}", "covered": "{:.1%}", "median width": "{:.3f}",
        },
    }  # fmt: skip

    def rows_of(kind: str, label: str, methods: list[str]) -> str:
        runs = [
            ([run[0], name.removeprefix(f"{kind}, ")], run)
            for name in methods
            for run in runs_of(results, name)
        ]
        runs.sort(key=lambda each: results.networks().index(each[1][0]))
        return table(results, ["network", label], columns[kind], runs)

    [calibrated] = runs_of(results, "calibration")
    return {
        **{
            kind: rows_of(kind, "findings", [_kind(kind, n, o) for n in sizes for o in OTHERS])
            for kind, sizes in KINDS.items()
        },
        "whole": rows_of("whole", "findings", ["whole records"]),
        "divided": rows_of("divided", "division", [_division(*each) for each in DIVISIONS]),
        "questions": rows_of("questions", "findings", [f"questions, {asked}" for asked in ASKED]),
        "n_calibrated": calibrated[1],
        "off": span(
            (results.mean(*calibrated, f"off {k}") for k in results.numbers("clinic", "off")),
            "{:+.1f}",
        ),
        "calibration": _calibration_table(results, calibrated),
        **{
            kind: table(
                results, ["network", "learned from"], columns[kind],
                [([run[0], f"{run[1]:,} records"], run) for run in runs_of(results, kind)],
            )
            for kind in ("learned", "intervals")
        },
    }  # fmt: skip


def _calibration_table(results: Results, run: Run) -> str:
    titles = {"cases": "{:,.0f}", "mean": "{:.4f}", "share": "{:.4f}", "off": "{:+.1f}"}
    rows = [["posterior", "cases", "mean posterior", "share with the disease", "deviations off"]]
    for k in results.numbers("clinic", "off"):
        cells_of_row = [
            shown(results.mean(*run, f"{what} {k}"), form) for what, form in titles.items()
        ]
        rows.append([f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *cells_of_row])
    return markdown_table(rows)
