"""`noisyor demo`: what the package does, on built-in data, as a short story."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyor.cli.inputs import read_network
from noisyor.cli.options import AsJson, Quiet, Seed
from noisyor.cli.output import progress_bar, show, tell, text_table, working
from noisyor.cli.posterior_tables import posterior_table
from noisyor.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noisyor.findings import Findings
    from noisyor.learning import Estimate
    from noisyor.network import NoisyOrNetwork
    from noisyor.schedule import Schedule

PATIENTS = 5000
"""Records that the clinic is learned from: a small network needs few."""


def demo(
    records: Annotated[
        int, typer.Option("--records", "-n", min=1, help="How many records.")
    ] = 100_000,
    network: Annotated[
        str, typer.Option(help="What to learn: a built-in network, a .json file or a folder.")
    ] = "qmr_shaped",
    seed: Seed = 0,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A folder for the report and the networks.")
    ] = Path("noisyor-demo"),
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn a network of QMR's size from records without diseases; then diagnose a patient.

    Example: noisyor demo --records 20000
    """
    from noisyor.report import write_report
    from noisyor.schedule import find_schedule

    if out.exists() and not out.is_dir():
        raise FileError(f"--out {out} is a file; give a folder.")
    story = _Story(quiet or as_json)
    truth = read_network(network, seed=0)
    story.tell(_opening(network, truth))
    findings, diseases = story.sampled(truth, records, seed)
    schedule = story.step("the schedule", lambda: find_schedule(truth.structure))
    story.tell(_of_schedule(schedule, story.seconds["the schedule"]))
    estimate = story.learned(truth, findings, "pooled")
    facts = _compare(truth, estimate, findings, diseases)
    story.tell(_closing(facts, story.seconds["learning"]), _prior_table(truth, estimate))
    story.tell(*_diagnosis(seed))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"--out {out} cannot be made: {error.strerror}.") from None
    truth.save(out / "truth.json")
    estimate.network.save(out / "learned.json")
    estimate.save_summary(out / "learned.csv")
    page = out / "report.html"
    story.step(
        "the report", lambda: write_report(estimate, page, truth=truth, title="noisyor demo")
    )
    facts |= {"seconds": story.seconds, "folder": str(out)}
    tell(_written(out), facts, quiet=quiet, as_json=as_json)


class _Story:
    """Tells what is done, and keeps how long it took."""

    def __init__(self, silent: bool) -> None:
        self._silent = silent
        self.seconds: dict[str, float] = {}

    def tell(self, *paragraphs: Any) -> None:
        if not self._silent:
            show(*paragraphs)

    def step(self, what: str, work: Any) -> Any:
        """Do something, and take its time."""
        start = time.perf_counter()
        with working(what, self._silent):
            found = work()
        self.seconds[what] = round(time.perf_counter() - start, 2)
        return found

    def sampled(
        self, network: "NoisyOrNetwork", n_records: int, seed: int
    ) -> "tuple[Findings, NDArray[Any]]":
        """Sample records block by block, with the diseases."""
        import numpy as np

        from noisyor.findings import Findings

        start, blocks, diseases = time.perf_counter(), [], []
        with progress_bar("sampling records", n_records, self._silent) as advance:
            for each in network.iter_sample(n_records, seed, keep_diseases=True):
                blocks.append(each.block)
                diseases.append(each.diseases)
                advance(each.block.n_records)
        self.seconds["sampling"] = round(time.perf_counter() - start, 2)
        findings, hidden = Findings(network.structure, blocks), np.concatenate(diseases)
        self.tell(
            f"Sampled {n_records:,} records in {self.seconds['sampling']:.1f} s: "
            f"{hidden.sum() / n_records:.1f} diseases and "
            f"{findings.count_present().sum() / n_records:.1f} findings each. The diseases are "
            "thrown away; what is left are the findings.\n"
        )
        return findings, hidden

    def learned(self, network: "NoisyOrNetwork", findings: "Findings", method: str) -> "Estimate":
        """Learn, with a bar of the records looked at."""
        from noisyor.learner import NoisyOrLearner

        start = time.perf_counter()
        learner = NoisyOrLearner(network.structure, method=method)
        with progress_bar("learning", 2 * findings.n_records, self._silent) as advance:
            estimate = learner.fit(findings, progress=advance).estimate_
        self.seconds["learning"] = round(time.perf_counter() - start, 2)
        return estimate


def _opening(name: str, network: "NoisyOrNetwork") -> str:
    structure = network.structure
    what = "A network of QMR's size" if name == "qmr_shaped" else f"The network {name}"
    return (
        f"{what}: {structure.n_diseases} diseases, {structure.n_symptoms:,} "
        f"symptoms, {structure.n_edges:,} edges. Known is which disease can cause which symptom; "
        f"unknown are {structure.n_diseases + structure.n_edges + structure.n_symptoms:,} "
        "probabilities.\n"
    )


def _of_schedule(schedule: "Schedule", seconds: float) -> str:
    rounds = ", then ".join(f"{n:,}" for n in schedule.edges_per_round)
    n_left = schedule.structure.n_edges - sum(schedule.edges_per_round)
    more = f"; the other {n_left:,} are left to a joint fit" if n_left else ""
    return (
        f"In which order they can be learned follows from the edges alone: {rounds} of them{more} "
        f"({seconds:.1f} s, the first time with compiling; for QMR-DT the paper needed 4.5 hours "
        "on 32 processors).\n"
    )


def _compare(
    network: "NoisyOrNetwork", estimate: "Estimate", findings: "Findings", diseases: Any
) -> dict[str, Any]:
    """Compare with the truth, and with what an estimator finds that sees the diseases."""
    import numpy as np

    from noisyor.learning import learn_observed

    seen = learn_observed(findings, network.structure, diseases)
    sound = estimate.failures.flags == 0
    lower, upper = estimate.failures.intervals()
    covers = (lower <= network.failures) & (network.failures <= upper)
    known = sound & np.isfinite(lower)
    facts: dict[str, Any] = {
        "records": findings.n_records, "failures": len(sound), "learned": int(sound.sum())
    }  # fmt: skip
    if not known.any():
        return facts
    wrong = np.abs(np.array([estimate.failures.values, seen.failures.values]) - network.failures)
    ours, theirs = wrong[:, sound].mean(axis=1).tolist()
    covered = float(covers[known].mean())
    return facts | {"error": ours, "error_diseases_seen": theirs, "covered": covered}


def _closing(facts: dict[str, Any], seconds: float) -> str:
    learned = (
        f"Learned in {seconds:.0f} s from {facts['records']:,} records: {facts['learned']:,} of "
        f"{facts['failures']:,} failures without a doubt"
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


def _prior_table(network: "NoisyOrNetwork", estimate: "Estimate") -> object:
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

    from noisyor import datasets
    from noisyor.inference import posterior
    from noisyor.learner import NoisyOrLearner

    clinic = datasets.clinic()
    findings, diseases = clinic.sample(PATIENTS, rng=seed, return_diseases=True)
    learned = NoisyOrLearner(clinic.structure, method="pooled").fit(findings).network_
    record = int(diseases.sum(axis=1).argmax())
    row = findings.to_numpy()[record]
    present, absent = np.flatnonzero(row).tolist(), np.flatnonzero(~row).tolist()
    found = posterior(learned, present, absent)
    seen = ", ".join(clinic.structure.symptoms[j] for j in present)
    had = ", ".join(clinic.structure.diseases[i] for i in np.flatnonzero(diseases[record]))
    return [
        f"\nAnd a diagnosis. The built-in clinic ({clinic.structure.n_diseases} diseases) was "
        f"learned from {PATIENTS:,} records without diseases. Then its most ill patient comes, "
        f"with {seen}. The learned network says:",
        posterior_table(found, found.table().slice(0, 8).to_pylist()),
        f"What no record tells: the patient had {had}.\n",
    ]


def _written(out: Path) -> str:
    others = "learned.json, learned.csv and truth.json"
    return f"Look at {out / 'report.html'} in a browser; beside it are {others}."
