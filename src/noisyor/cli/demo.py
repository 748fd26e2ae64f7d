"""`noisyor demo`: what the package does, on built-in data, as a short story."""

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import noisyor
from noisyor.cli import options
from noisyor.cli.inputs import read_network
from noisyor.cli.output import Advance, progress_bar, show, tell, text_table, working
from noisyor.cli.patient import posterior_table
from noisyor.errors import FileError
from noisyor.io.replacing import replaced_together


def demo(
    records: Annotated[
        int,
        typer.Option("--records", "-n", min=1, max=options.MOST_RECORDS, help="How many records."),
    ] = 100_000,
    network: Annotated[
        str, typer.Option(help="What to learn: a built-in network, a .json file or a folder.")
    ] = "qmr_shaped",
    seed: options.Seed = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A folder for the report and the networks.")
    ] = Path("noisyor-demo"),
    quiet: options.Quiet = False,
    as_json: options.AsJson = False,
) -> None:
    """Learn a network of QMR's size from records without diseases; then diagnose a patient.

    Example: noisyor demo --records 20000
    """
    if out.exists() and not out.is_dir():
        raise FileError(f"--out {out} is a file; give a folder.")
    silent = quiet or as_json
    story = _Story(silent)
    truth = read_network(network)
    story.tell(_opening(network, truth))
    with story.timed("sampling"), progress_bar("sampling records", records, silent) as advance:
        findings, diseases = _sample(truth, records, seed, advance)
    story.tell(_of_records(findings, diseases, story.seconds["sampling"]))
    with story.timed("the schedule"), working("the schedule", silent):
        schedule = noisyor.find_schedule(truth.structure)
    story.tell(_of_schedule(schedule, story.seconds["the schedule"]))
    learner = noisyor.NoisyOrLearner(truth.structure, method="pooled")
    with story.timed("learning"), progress_bar("learning", 2 * records, silent) as advance:
        estimate = learner.fit(findings, progress=advance).estimate_
    with working("the same with the diseases seen, to compare", silent):
        facts = _compare(truth, estimate, findings, diseases)
    story.tell(_closing(facts, story.seconds["learning"]), _prior_table(truth, estimate))
    story.tell(*_diagnosis(seed))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"--out {out} cannot be made: {error.strerror}.") from None
    page = out / "report.html"
    # Without its counts, in which misfits would be looked for: minutes at this size.
    learned = replace(estimate, moments=None)
    with replaced_together():
        with working("writing the networks", silent):
            truth.save(out / "truth.json")
            learned.save(out / "learned.json")
            learned.save_summary(out / "learned.csv")
        with story.timed("the report"), working("the report", silent):
            noisyor.write_report(learned, page, truth=truth, title="noisyor demo")
    facts |= {"seconds": story.seconds, "folder": str(out)}
    others = "learned.json, learned.csv and truth.json"
    sentence = (
        f"Look at {page} in a browser; beside it are {others}.\n"
        f"Ask the learned network yourself: {_command()} app {_quoted(out / 'learned.json')}"
    )
    tell(sentence, facts, quiet=quiet, as_json=as_json)


def _command() -> str:
    """Return how this command was called, which may be by a path."""
    called = Path(sys.argv[0])
    return _quoted(called) if called.name == "noisyor" else "noisyor"


def _quoted(path: Path) -> str:
    """Return a path as it is written on a command line."""
    return shlex.quote(str(path))


class _Story:
    """Tells what is done, and keeps how long it took."""

    def __init__(self, silent: bool) -> None:
        self._silent = silent
        self.seconds: dict[str, float] = {}

    def tell(self, *paragraphs: Any) -> None:
        if not self._silent:
            show(*paragraphs)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[what] = round(time.perf_counter() - start, 2)


def _sample(
    network: "noisyor.NoisyOrNetwork", n_records: int, seed: int, advance: Advance
) -> "tuple[noisyor.Findings, Any]":
    """Sample records block by block, with the diseases."""
    import numpy as np

    blocks, diseases = [], []
    for each in network.iter_sample(n_records, seed, keep_diseases=True):
        blocks.append(each.block)
        diseases.append(each.diseases)
        advance(each.block.n_records)
    return noisyor.Findings(network.structure, blocks), np.concatenate(diseases)


def _of_records(findings: "noisyor.Findings", diseases: Any, seconds: float) -> str:
    n = findings.n_records
    return (
        f"Sampled {n:,} records in {seconds:.1f} s: {diseases.sum() / n:.1f} diseases and "
        f"{findings.count_present().sum() / n:.1f} findings each. The diseases are thrown away; "
        "what is left are the findings.\n"
    )


def _opening(name: str, network: "noisyor.NoisyOrNetwork") -> str:
    structure = network.structure
    what = "A network of QMR's size" if name == "qmr_shaped" else f"The network {name}"
    return (
        f"{what}: {structure.n_diseases} diseases, {structure.n_symptoms:,} "
        f"symptoms, {structure.n_edges:,} edges. Known is which disease can cause which symptom; "
        f"unknown are {structure.n_parameters:,} probabilities.\n"
    )


def _of_schedule(schedule: "noisyor.Schedule", seconds: float) -> str:
    rounds = ", then ".join(f"{n:,}" for n in schedule.edges_per_round)
    n_left = schedule.structure.n_edges - sum(schedule.edges_per_round)
    more = f"; the other {n_left:,} are left to a joint fit" if n_left else ""
    return (
        f"In which order they can be learned follows from the edges alone: {rounds} of them{more} "
        f"({seconds:.1f} s, the first time with compiling; for QMR-DT the paper needed 4.5 hours "
        "on 32 processors).\n"
    )


def _compare(
    network: "noisyor.NoisyOrNetwork",
    estimate: "noisyor.Estimate",
    findings: "noisyor.Findings",
    diseases: Any,
) -> dict[str, Any]:
    """Compare with the truth, and with what an estimator finds that sees the diseases."""
    import numpy as np

    from noisyor.evaluation import check_intervals
    from noisyor.learning import learn_observed

    intervals = check_intervals(estimate, network)["failure"]
    counts = findings.n_records, network.structure.n_edges, int((~intervals.is_flagged).sum())
    facts: dict[str, Any] = dict(zip(("records", "failures", "learned"), counts, strict=True))
    if not intervals.is_sound.any():
        return facts
    seen = learn_observed(findings, network.structure, diseases)
    wrong = np.abs(np.array([estimate.failures.values, seen.failures.values]) - network.failures)
    ours, theirs = wrong[:, ~intervals.is_flagged].mean(axis=1).tolist()
    covered = float(intervals.holds[intervals.is_sound].mean())
    return facts | {"error": ours, "error_diseases_seen": theirs, "covered": covered}


def _closing(facts: dict[str, Any], seconds: float) -> str:
    learned = (
        f"Learned in {seconds:.0f} s from {facts['records']:,} records: {facts['learned']:,} of "
        f"{facts['failures']:,} failures without a flag"
    )
    if "error" not in facts:
        return f"{learned}. More records are needed.\n"
    ratio = facts["error"] / facts["error_diseases_seen"]
    return (
        f"{learned}, with a mean error of "
        f"{facts['error']:.4f}.\nHad the diseases been seen, it would be "
        f"{facts['error_diseases_seen']:.4f}: that is {ratio:.2f} times. "
        f"{facts['covered']:.0%} of the 95% intervals hold the truth. (The default method, "
        "refined, also learns from the records themselves, takes longer and does better.)\n"
    )


def _prior_table(network: "noisyor.NoisyOrNetwork", estimate: "noisyor.Estimate") -> object:
    import numpy as np

    rows = []
    lower, upper = estimate.priors.intervals()
    for i in np.argsort(-network.priors)[:5]:
        interval = f"{lower[i]:.4f} to {upper[i]:.4f}" if np.isfinite(lower[i]) else "unknown"
        values = f"{network.priors[i]:.4f}", f"{estimate.priors.values[i]:.4f}"
        rows.append([network.structure.diseases[i], *values, interval])
    titles = "disease", "true prior", "learned", "95% interval"
    title = "The most frequent diseases, true and learned"
    return text_table(titles, rows, left=["disease"], title=title)


def _diagnosis(seed: int) -> list[Any]:
    """Learn the clinic, and ask it about the patient with the most diseases."""
    import numpy as np

    n_patients = 5000  # a small network needs few
    clinic = noisyor.datasets.clinic()
    findings, diseases = clinic.sample(n_patients, rng=seed, return_diseases=True)
    learned = noisyor.NoisyOrLearner(clinic.structure, method="pooled").fit(findings).network_
    record = int(diseases.sum(axis=1).argmax())
    row = findings.to_numpy()[record]
    present, absent = np.flatnonzero(row).tolist(), np.flatnonzero(~row).tolist()
    found = noisyor.posterior(learned, present, absent)
    seen = ", ".join(clinic.structure.symptoms[j] for j in present)
    had = ", ".join(clinic.structure.diseases[i] for i in np.flatnonzero(diseases[record]))
    return [
        f"\nAnd a diagnosis. The built-in clinic ({clinic.structure.n_diseases} diseases) was "
        f"learned from {n_patients:,} records without diseases. Then its most ill patient comes, "
        f"with {seen}. The learned network says:",
        posterior_table(found, found.table().slice(0, 8).to_pylist()),
        f"What no record tells: the patient had {had}.\n",
    ]
