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
from noisyor.experiments.tables import Run, markdown_table, shown, span, table
from noisyor.inference import best_questions, most_probable, posterior, posteriors
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]

LASTS = "ten minutes"
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
        for kind, sizes in KINDS.items():
            found += [Cell(name, pick(50, 5), 0, _kind(kind, n, o)) for n in sizes for o in OTHERS]
        found.append(Cell(name, pick(50, 5), 0, "whole records"))
        if name != "clinic":
            found += [Cell(name, pick(10, 2), 0, _division(*each)) for each in DIVISIONS]
        found += [Cell(name, pick(10, 2), 0, f"questions, {asked}") for asked in ASKED]
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
        sample = network.sample(max(10 * count, 2000), seed=int(rng.integers(2**62)))
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
            times.append(seconds(lambda row=row: posteriors(network, row[np.newaxis]), 1))
        else:
            times.append(
                seconds(lambda p=present, a=absent: posterior(network, p, a, budget=0.1), 1)
            )
    at_least = 2000 if np.median(times) < 0.004 else 1
    many = np.tile(solved, (max(1, at_least // len(solved)), 1))
    return {
        "exact": float(found.is_exact.mean()),
        "median": float(np.median(times)),
        "99%": float(np.percentile(times, 99)),
        "rate": len(many) / seconds(lambda: posteriors(network, many), 1),
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
        found |= {"mean": wrong[doubtful].mean(), "largest": wrong[doubtful].max()}
        found["within"] = float(within.mean())
    return found


def _whole(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Diagnose records as they are sampled, all findings known."""
    findings = network.sample(cell.n_records, seed=11)
    posteriors(network, network.sample(4, seed=1), budget=1.0)  # compile
    found, of_run = timed(lambda: posteriors(network, findings, budget=1.0))
    methods = np.array(found.method_names)
    return {
        "present": float(np.median(findings.to_numpy().sum(axis=1))),
        **{name: float((methods == name).mean()) for name in ("exact", "variational", "gibbs")},
        "median": float(np.median(found.errors)),
        "90%": float(np.quantile(found.errors, 0.9)),
        "below 0.01": float((found.errors < 0.01).mean()),
        "gap": float(np.median(found.log_evidence_uppers - found.log_evidences)),
        "seconds": of_run["seconds"] / cell.n_records,
    }


def _divided(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Bound whole records with the states of the diseases divided into leaves."""
    from noisyor.inference.bounds import Settings as Bounding
    from noisyor.inference.bounds import bound_record
    from noisyor.inference.records import block_records, flat_network

    [division] = [each for each in DIVISIONS if _division(*each) == cell.method]
    flat = flat_network(network)
    records = block_records(network.sample(cell.n_records, seed=31).blocks[0])

    def work() -> list[Any]:
        found = []
        for first, last in zip(records.offsets[:-1], records.offsets[1:], strict=True):
            symptoms, is_present = records.symptoms[first:last], records.is_present[first:last]
            found.append(bound_record(flat, symptoms, is_present, False, Bounding(*division, 0.0)))
        return found

    bounds, of_run = timed(work)
    return {
        "gap": float(np.median([each.log_upper - each.log_lower for each in bounds])),
        "error": float(np.median([each.error for each in bounds])),
        "seconds": of_run["seconds"] / cell.n_records,
    }


def _questions(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Ask for the next question and for the most probable sets of diseases."""
    is_whole = cell.method.endswith(ASKED[1])
    if is_whole:
        records = network.sample(cell.n_records, seed=12).to_numpy().astype(float)
    else:
        records = records_with(network, 8, cell.n_records, seed=5)
    asking, searching, proven = [], [], []
    for row in (records[0], *records):  # the first one compiles
        present = np.flatnonzero(row == 1.0).tolist()
        absent = np.flatnonzero(row == 0.0).tolist() if is_whole else []
        asking.append(timed(lambda p=present, a=absent: best_questions(network, p, a))[1])
        sets, of_run = timed(lambda p=present, a=absent: most_probable(network, p, a))
        searching.append(of_run)
        proven.append(sets.is_proven)
    return {
        "asking": float(np.median([each["seconds"] for each in asking[1:]])),
        "searching": float(np.median([each["seconds"] for each in searching[1:]])),
        "proven": float(np.mean(proven[1:])),
    }


def _learned(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Compare posteriors under the learned and the true network, on new records."""
    is_small = cell.network == "clinic"
    method = "refined" if is_small else "pooled"
    learned = fit(network.sample(cell.n_records, seed=21), network.structure, method).network
    held_out = network.sample(settings.pick(5000 if is_small else 50, 10), seed=22)
    truth = posteriors(network, held_out, budget=1.0).probabilities
    found = posteriors(learned, held_out, budget=1.0).probabilities
    wrong, doubtful = np.abs(found - truth), _doubtful(truth)
    same = (found.argmax(axis=1) == truth.argmax(axis=1)).mean()
    quantities = {"mean": float(wrong.mean()), "same top": float(same)}
    return quantities | ({"in doubt": float(wrong[doubtful].mean())} if doubtful.any() else {})


def _calibration(network: NoisyOrNetwork, cell: Cell, settings: Settings) -> dict[str, float]:
    """Bin posteriors; see how often the disease was there."""
    findings, diseases = network.sample(cell.n_records, seed=13, return_diseases=True)
    found = posteriors(network, findings).probabilities
    quantities = {}
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
        estimate = fit(network.sample(cell.n_records, seed=seed), network.structure, "refined")
        for row in records_with(network, 5, settings.pick(50, 5), seed=seed):
            present = np.flatnonzero(row == 1.0).tolist()
            truth = posterior(network, present).probabilities
            found = posterior(estimate, present)
            doubtful = _doubtful(truth)
            lower, upper = found.interval_lower[doubtful], found.interval_upper[doubtful]
            covered += ((lower <= truth[doubtful]) & (truth[doubtful] <= upper)).tolist()
            widths += (upper - lower).tolist()
    return {
        "in doubt": float(len(covered)), "covered": float(np.mean(covered)),
        "width": float(np.median(widths)),
    }  # fmt: skip


def draw(results: Results, folder: Path) -> list[str]:
    """Draw how long exact inference takes with more present findings, and the calibration."""
    with picture(folder / "diagnosis", 2, (9.0, 3.2)) as (left, right):
        colours = "pooled", "refined", "sequential"
        for name, colour in zip(results.networks(), colours, strict=False):
            sizes = [run for n in KINDS["exact"] for run in _runs(results, _kind("exact", n, "absent"))
                     if run[0] == name]  # fmt: skip
            times = [results.mean(*run, "median") * 1e3 for run in sizes]
            at = [int(run[2].split()[1]) for run in sizes]
            curve(left, at, times, colour)
            if sizes:
                left.get_lines()[-1].set_label(name)
        left.set(yscale="log", xlabel="present findings", ylabel="ms, exact, median")
        label_curves(left)
        bins = results.numbers("clinic", "off")
        [run] = _runs(results, "calibration")
        means, shares = (
            [results.mean(*run, f"{what} {k}") for k in bins] for what in ("mean", "share")
        )
        curve(right, means, shares, "refined")
        right.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        right.set(xlabel="posterior", ylabel="share with the disease", title="clinic")
    return ["diagnosis"]


def _runs(results: Results, method: str) -> list[Run]:
    """Return the runs of a method, the small networks first."""
    found = {(cell.network, cell.n_records, cell.method) for cell in results.cells}
    order = results.networks()
    chosen = [run for run in found if run[2] == method]
    return sorted(chosen, key=lambda run: (order.index(run[0]), run[1]))


def _table_of_kinds(results: Results, kind: str, columns: dict[str, tuple[str, str]]) -> str:
    runs = [
        ([run[0], str(n), others], run)
        for n in KINDS[kind]
        for others in OTHERS
        for run in _runs(results, _kind(kind, n, others))
    ]
    runs.sort(key=lambda each: results.networks().index(each[0][0]))
    return table(results, ["network", "present", "others"], columns, runs)


def page(results: Results) -> list[str]:
    """Return the tables and what they show."""
    share, small = "{:.0%}", "{:.1e}"
    [calibrated] = _runs(results, "calibration")
    bins = results.numbers("clinic", "off")
    off = [results.mean(*calibrated, f"off {k}") for k in bins]
    rows = [
        [f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *(
            shown(results.mean(*calibrated, f"{what} {k}"), form)
            for what, form in (("cases", "{:,.0f}"), ("mean", "{:.4f}"), ("share", "{:.4f}"),
                               ("off", "{:+.1f}"))
        )]
        for k in bins
    ]  # fmt: skip
    header = ["posterior", "cases", "mean posterior", "share with the disease", "deviations off"]
    return [
        "# Diagnosis",
        "`clinic` has 20 diseases and 60 symptoms; `qmr_shaped` and `orphanet570` (real; priors "
        "and leaks drawn) have 570 diseases and 4,075 symptoms, and about 90 present findings in a "
        "record. Other packages are on the page of [baselines](baselines.md).",
        "## Exact inference",
        "Records with so many present findings, chosen at random among those of larger records "
        "(which makes them hard: few diseases explain them all), all others absent, or all others "
        "unknown. *Exact*: the share solved within a budget of 0.1 s; the times are of those. Goal: "
        "1,000 records a second with 8 present findings on orphanet570.",
        _table_of_kinds(results, "exact", {
            "exact": ("exact", share), "median, s": ("median", small), "99%, s": ("99%", small),
            "records/s": ("rate", "{:,.0f}"),
        }),
        "## Whole records",
        "As they are sampled, all findings known: `auto` with a budget of 1 s. Where exact "
        "inference is out of reach there are bounds, which cannot be wrong.",
        table(results, ["network"], {
            "present": ("present", "{:.0f}"), "exact": ("exact", share),
            "variational": ("variational", share), "gibbs": ("gibbs", share),
            "error stated: median": ("median", small), "90%": ("90%", small),
            "below 0.01": ("below 0.01", share), "log evidence within": ("gap", small),
            "s a record": ("seconds", "{:.4f}"),
        }, [([run[0]], run) for run in _runs(results, "whole records")]),
        "What dividing the states of the diseases does to the bounds (medians). One leaf without "
        "exact work is Jaakkola and Jordan's bound with every finding replaced, the second row "
        "theirs with about 15 findings solved exactly.",
        table(results, ["network", "division"], {
            "log evidence within": ("gap", "{:.2g}"), "error": ("error", "{:.2g}"),
            "s a record": ("seconds", "{:.3f}"),
        }, [([run[0], _division(*each)], run) for each in DIVISIONS
            for run in _runs(results, _division(*each))]),
        "## Gibbs sampling against exact posteriors",
        f"Posteriors between {IN_DOUBT[0]} and {IN_DOUBT[1]}, default settings. Goal: a mean error "
        "below 0.01.",
        _table_of_kinds(results, "gibbs", {
            "in doubt": ("in doubt", "{:,.0f}"), "mean error": ("mean", "{:.4f}"),
            "largest": ("largest", "{:.3f}"), "within the 95% stated": ("within", "{:.1%}"),
        }),
        "## The next question, and the most probable sets",
        "Median seconds. *Proven*: the search excluded that any other set is better, within its "
        "budget of 1 s; otherwise the sets are the best that were found.",
        table(results, ["network", "findings"], {
            "next question": ("asking", "{:.3f}"), "5 best sets": ("searching", "{:.3f}"),
            "proven": ("proven", share),
        }, [([run[0], asked], run) for asked in ASKED
            for run in _runs(results, f"questions, {asked}")]),
        "## Calibration",
        f"Posteriors of {calibrated[1]:,} records of the clinic, binned, against how often the "
        "disease was there; the difference in standard deviations: "
        f"{span(off, '{:+.1f}')}.",
        markdown_table([header, *rows]),
        "## What learning costs the diagnosis",
        "Posteriors of new records under the network learned without diseases (`clinic` by "
        "refined, the others by pooled), against those under the truth; *in doubt*: where the true "
        "posterior is. Few are, in whole records of the large networks. orphanet570's own "
        "frequencies make subtypes of diseases that have the same symptoms equally often: nothing "
        "tells which is which ([identifiability](identifiability.md)), and the estimate flags them.",
        table(results, ["network", "learned from"], {
            "mean difference": ("mean", "{:.5f}"), "where in doubt": ("in doubt", "{:.4f}"),
            "same top disease": ("same top", "{:.1%}"),
        }, [([run[0], f"{run[1]:,} records"], run) for run in _runs(results, "learned")]),
        "## Intervals from standard errors",
        "How often the 95% interval of a posterior, from networks drawn around the estimate, holds "
        "the posterior of the true network: clinic, 5 present findings, 4 learned networks. They "
        "are somewhat too wide: what the errors of two parameters have in common is left out.",
        table(results, ["learned from"], {
            "in doubt": ("in doubt", "{:,.0f}"), "covered": ("covered", "{:.1%}"),
            "median width": ("width", "{:.3f}"),
        }, [([f"{run[1]:,} records"], run) for run in _runs(results, "intervals")]),
    ]  # fmt: skip
