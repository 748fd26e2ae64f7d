"""Diagnosis: how fast, how exact, how well calibrated, and what learning costs it."""

import time

import numpy as np

from benchmarks.accuracy import STRUCTURES
from benchmarks.measuring import print_table
from noisyor import (
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    best_questions,
    datasets,
    most_probable,
    posterior,
    posteriors,
)
from noisyor.inference.bounds import Settings, bound_record
from noisyor.inference.records import block_records, flat_network

SIZES = (5, 8, 12, 16, 20)


def run(scale):
    networks = {"clinic": datasets.clinic(), "qmr_shaped": datasets.qmr_shaped(0)}
    if (STRUCTURES / "orphanet570").is_dir():
        networks["orphanet570"] = datasets.from_folder(STRUCTURES / "orphanet570", 0)
    one_symptom()
    exact_times(networks, max(int(200 * scale), 20))
    whole_records(networks, max(int(200 * scale), 10))
    dividing(networks, max(int(30 * scale), 5))
    gibbs_errors(networks, max(int(100 * scale), 10))
    questions(networks, max(int(40 * scale), 5))
    calibration(int(200_000 * scale))
    learned(networks, scale)
    intervals(max(int(200 * scale), 20))


def one_symptom():
    """A symptom with 24 parents, present: see also `python -m benchmarks peers`."""
    structure = Structure.from_matrix(np.ones((24, 1)))
    network = NoisyOrNetwork(structure, np.full(24, 0.05), np.full(24, 0.4), [0.01])
    posterior(network, [0])
    times = []
    for _ in range(1000):
        start = time.perf_counter()
        posterior(network, [0])
        times.append(time.perf_counter() - start)
    rows = [["median, ms", "99th percentile, ms"]]
    rows.append([f"{q * 1e3:.3f}" for q in np.percentile(times, [50, 99])])
    print_table("A symptom with 24 parents, present: one call of posterior, 1,000 times", rows)


def records_with(network, n_present, count, seed):
    """Return records with so many present findings, some findings of larger ones left out."""
    rng = np.random.default_rng(seed)
    rows = []
    while len(rows) < count:
        for row in network.sample(max(10 * count, 2000), seed=rng.integers(2**62)).to_numpy():
            present = np.flatnonzero(row)
            if len(present) >= n_present and len(rows) < count:
                kept = np.zeros(len(row))
                kept[rng.permutation(present)[:n_present]] = 1.0
                rows.append(kept)
    return np.array(rows)


def exact_times(networks, count):
    rows = [
        ["network", "present", "others", "exact", "median, ms", "99th percentile, ms", "records/s"]
    ]
    for name, network in networks.items():
        for n_present in SIZES:
            absent = records_with(network, n_present, count, seed=n_present)
            for others in "absent", "unknown":
                records = np.where(absent == 0.0, np.nan, 1.0) if others == "unknown" else absent
                found = posteriors(network, records, method="exact")
                solved = np.flatnonzero(found.is_exact)
                times = [seconds_of(network, records[r]) for r in solved]
                at_least = 2000 if n_present <= 12 else 1
                many = np.tile(records[solved], (max(1, at_least // max(len(solved), 1)), 1))
                start = time.perf_counter()
                posteriors(network, many)
                rate = len(many) / (time.perf_counter() - start)
                quantiles = [f"{q * 1e3:.2f}" for q in np.percentile(times, [50, 99])]
                share = f"{found.is_exact.mean():.0%}"
                rows.append([name, str(n_present), others, share, *quantiles, f"{rate:,.0f}"])
    print_table(
        f"Exact inference within a budget of 0.1 s: {count} records each; times of one call "
        "(findings given by number), and records a second in batches, both of those solved exactly",
        rows,
    )


def seconds_of(network, row):
    present, absent = np.flatnonzero(row == 1).tolist(), np.flatnonzero(row == 0).tolist()
    if len(absent) > 1000:  # as a batch of one: listing thousands of absent findings takes longer
        start = time.perf_counter()
        posteriors(network, row[np.newaxis])
        return time.perf_counter() - start
    start = time.perf_counter()
    posterior(network, present, absent, budget=0.1)
    return time.perf_counter() - start


def whole_records(networks, count):
    """Records as they are sampled, all findings known: about 90 present ones in the large ones."""
    rows = [
        ["network", "present", "exact", "variational", "gibbs", "error stated: median", "90%",
         "below 0.01", "log evidence within (median)", "ms a record"],
    ]  # fmt: skip
    for name, network in networks.items():
        findings = network.sample(count, seed=11)
        posteriors(network, network.sample(4, seed=1), budget=1.0)
        start = time.perf_counter()
        found = posteriors(network, findings, budget=1.0)
        elapsed = time.perf_counter() - start
        shares = [
            f"{np.mean([each == method for each in found.method_names]):.0%}"
            for method in ("exact", "variational", "gibbs")
        ]
        gaps = found.log_evidence_uppers - found.log_evidences
        median_present = np.median(findings.to_numpy().sum(axis=1))
        rows.append(
            [name, f"{median_present:.0f}", *shares, f"{np.median(found.errors):.1e}",
             f"{np.quantile(found.errors, 0.9):.1e}", f"{np.mean(found.errors < 0.01):.0%}",
             f"{np.median(gaps):.1e}", f"{elapsed / count * 1e3:.1f}"]
        )  # fmt: skip
    print_table(f"Whole records, budget 1 s, {count} of them", rows)


def dividing(networks, count):
    """Bounds on whole records with the states undivided, and divided into leaves."""
    rows = [["network", "leaves", "exact work a leaf", "log evidence within (median)",
             "error (median)", "ms a record"]]  # fmt: skip
    for name, network in networks.items():
        net, records = (
            flat_network(network),
            block_records(network.sample(count, seed=31).blocks[0]),
        )
        for n_leaves, operations in ((1, -1.0), (1, 1e7), (8, 1e4), (32, 1e4)):
            gaps, errors = [], []
            start = time.perf_counter()
            for record in range(count):
                here = slice(records.offsets[record], records.offsets[record + 1])
                symptoms, is_present = records.symptoms[here], records.is_present[here]
                settings = Settings(n_leaves, operations, 0.0)
                found = bound_record(net, symptoms, is_present, False, settings)
                gaps.append(found.log_upper - found.log_lower)
                errors.append(found.error)
            elapsed = (time.perf_counter() - start) / count
            work = "none" if operations < 0 else f"{operations:.0e} operations"
            rows.append([name, str(n_leaves), work, f"{np.median(gaps):.2g}",
                         f"{np.median(errors):.2g}", f"{elapsed * 1e3:.0f}"])  # fmt: skip
    print_table(f"Dividing the states of the diseases: bounds on {count} whole records", rows)


def gibbs_errors(networks, count):
    rows = [["network", "present", "others", "probabilities in doubt", "mean error", "largest",
             "within the 95% stated"]]  # fmt: skip
    for name, network in networks.items():
        for n_present in (8, 16):
            absent = records_with(network, n_present, count, seed=100 + n_present)
            for others in "absent", "unknown":
                records = np.where(absent == 0.0, np.nan, 1.0) if others == "unknown" else absent
                exact = posteriors(network, records, method="exact", budget=1.0)
                solved = exact.is_exact
                truth = exact.probabilities[solved]
                sampled = posteriors(network, records[solved], method="gibbs")
                wrong = np.abs(sampled.probabilities - truth)
                in_doubt = (truth > 0.05) & (truth < 0.95)
                within = (wrong <= sampled.errors[:, np.newaxis])[in_doubt]
                cells = ["-"] * 3
                if in_doubt.any():
                    cells = [f"{wrong[in_doubt].mean():.4f}", f"{wrong[in_doubt].max():.3f}",
                             f"{within.mean():.1%}"]  # fmt: skip
                rows.append([name, str(n_present), others, f"{in_doubt.sum():,}", *cells])
    print_table(
        f"Gibbs sampling against exact posteriors between 0.05 and 0.95, {count} records each", rows
    )


def questions(networks, count):
    rows = [["network", "findings", "next question, ms", "5 best sets, ms", "proven"]]
    for name, network in networks.items():
        for what, n_present in (("8 present, others unknown", 8), ("whole record", None)):
            asking, searching, proven = [], [], []
            sampled = network.sample(count, seed=12).to_numpy().astype(float)
            records = records_with(network, 8, count, seed=5) if n_present else sampled
            for row in records:
                present = np.flatnonzero(row == 1.0).tolist()
                absent = [] if n_present else np.flatnonzero(row == 0.0).tolist()
                if row is records[0]:
                    best_questions(network, present, absent)
                    most_probable(network, present, absent)
                start = time.perf_counter()
                best_questions(network, present, absent)
                asking.append(time.perf_counter() - start)
                start = time.perf_counter()
                proven.append(most_probable(network, present, absent).is_proven)
                searching.append(time.perf_counter() - start)
            cells = [f"{np.median(times) * 1e3:.0f}" for times in (asking, searching)]
            rows.append([name, what, *cells, f"{np.mean(proven):.0%}"])
    print_table(f"The next question, and the most probable sets (medians of {count})", rows)


def calibration(n_records):
    """Posteriors binned, against how often the disease was there."""
    clinic = datasets.clinic()
    findings, diseases = clinic.sample(n_records, seed=13, return_diseases=True)
    found = posteriors(clinic, findings).probabilities
    rows = [
        ["posterior", "cases", "mean posterior", "share with the disease", "standard errors off"]
    ]
    for low in np.arange(0.0, 1.0, 0.1):
        chosen = (found >= low) & (found < low + 0.1)
        mean, share, n = found[chosen].mean(), diseases[chosen].mean(), chosen.sum()
        off = (share - mean) / np.sqrt((found[chosen] * (1.0 - found[chosen])).sum()) * n
        cells = [f"{n:,}", f"{mean:.4f}", f"{share:.4f}", f"{off:+.1f}"]
        rows.append([f"{low:.1f} to {low + 0.1:.1f}", *cells])
    print_table(f"Calibration: clinic, {n_records:,} records of 20 diseases", rows)


def learned(networks, scale):
    """What learning costs the diagnosis: posteriors under the learned and the true network."""
    rows = [["network", "learned from", "method", "mean difference", "where in doubt",
             "same top disease"]]  # fmt: skip
    n_records = int(1_000_000 * scale)
    for name, network in networks.items():
        method = "refined" if name == "clinic" else "pooled"
        findings = network.sample(n_records, seed=21)
        learner = NoisyOrLearner(network.structure, method=method).fit(findings)
        held_out = network.sample(5000 if name == "clinic" else max(int(100 * scale), 10), seed=22)
        truth = posteriors(network, held_out, budget=1.0).probabilities
        found = learner.posteriors(held_out, budget=1.0).probabilities
        different = np.abs(found - truth)
        in_doubt = (truth > 0.05) & (truth < 0.95)
        same = (found.argmax(axis=1) == truth.argmax(axis=1)).mean()
        rows.append([name, f"{n_records:,} records", method, f"{different.mean():.5f}",
                     f"{different[in_doubt].mean():.4f}", f"{same:.1%}"])  # fmt: skip
    print_table("Posteriors under the learned network against those under the truth", rows)


def intervals(count):
    """How often the interval that follows from standard errors holds the posterior of the truth."""
    clinic = datasets.clinic()
    rows = [["learned from", "probabilities in doubt", "covered", "median width"]]
    for n_records in (2000, 20_000):
        covered, widths = [], []
        for seed in range(4):
            learner = NoisyOrLearner(clinic.structure).fit(clinic.sample(n_records, seed=seed))
            records = records_with(clinic, 5, count // 4, seed=seed)
            for row in records:
                present = np.flatnonzero(row == 1.0).tolist()
                truth = posterior(clinic, present).probabilities
                found = posterior(learner.estimate_, present)
                in_doubt = (truth > 0.05) & (truth < 0.95)
                lower, upper = found.interval_lower[in_doubt], found.interval_upper[in_doubt]
                covered += ((lower <= truth[in_doubt]) & (truth[in_doubt] <= upper)).tolist()
                widths += (upper - lower).tolist()
        cells = [f"{len(covered):,}", f"{np.mean(covered):.1%}", f"{np.median(widths):.3f}"]
        rows.append([f"{n_records:,} records", *cells])
    print_table("95% intervals of posteriors, clinic, 4 networks learned by refined", rows)
