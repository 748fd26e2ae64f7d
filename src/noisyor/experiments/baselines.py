"""What people would use instead: EM by exact and variational inference, and other packages.

The other packages are an optional extra, `pip install 'noisyor[peers]'`; what is not installed is
not measured. Neither can learn a noisy-or: both learn a table with a row for each combination of a
symptom's parents.
"""

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from noisyor import datasets
from noisyor.datasets.qmr import random_leaks, zipf_priors
from noisyor.evaluation import evaluate
from noisyor.experiments.drawing import COLOURS, note, picture
from noisyor.experiments.learners import fit, fit_sample
from noisyor.experiments.measures import seconds, timed
from noisyor.experiments.results import Cell, Quantities, Results
from noisyor.experiments.settings import ExperimentSettings
from noisyor.findings import Findings
from noisyor.inference import posterior
from noisyor.learning import Trace
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

LASTS = "six minutes"
AGREEMENT = ("exact_em", "maximum_likelihood")
SHAPE = (50, 400)
LARGE = "{} diseases, {} symptoms".format(*SHAPE)
METHODS = ("variational_em", "refined", "pooled", "observed")
PARENTS = (12, 16, 20, 24)


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List likelihoods, a larger network, and the packages that are installed."""
    n_records = settings.pick(10_000, 1000)
    seeds = settings.seeds(settings.pick(16, 2))
    found = [Cell("figure1", n_records, seed, "agreement") for seed in seeds]
    found += [Cell(LARGE, n_records, 0, method) for method in METHODS]
    installed = [name for name in EM if importlib.util.find_spec(name) is not None]
    found += [Cell("figure1", n_records, 0, name) for name in installed]
    if "pyagrum" in installed:
        sizes = settings.pick(PARENTS, PARENTS[:2])
        found += [Cell(f"{n} parents", 0, 0, "pyagrum") for n in sizes]
    return found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Run two methods, or two packages, on the same."""
    if cell.method == "agreement":
        return _agreement(cell)
    if cell.network == LARGE:
        return _large(cell)
    return _em(cell) if cell.network == "figure1" else _diagnosis(int(cell.network.split()[0]))


def _timed_fit(
    network: NoisyOrNetwork, findings: Findings, method: str, **options: Any
) -> tuple[Trace, float]:
    """Run a method of EM, compiled; return its trace and its seconds."""
    fit(findings, network.structure, method, n_init=1)  # compile
    estimate, found = timed(fit, findings, network.structure, method, **options)
    assert estimate.trace is not None
    return estimate.trace, found["seconds"]


def _agreement(cell: Cell) -> Quantities:
    """Reach the same maximum in two ways."""
    network = datasets.figure1(cell.seed)
    findings = network.sample(cell.n_records, rng=cell.seed + 10**6)
    runs = [_timed_fit(network, findings, each, random_state=cell.seed) for each in AGREEMENT]
    ours, theirs = (trace.values[-1] for trace, _ in runs)
    times = {method: elapsed for method, (_, elapsed) in zip(AGREEMENT, runs, strict=True)}
    return {"difference": abs(ours - theirs) / abs(theirs), **times}


def _large(cell: Cell) -> Quantities:
    """Learn where exact EM is out of reach."""
    rng = np.random.default_rng(0)
    structure = Structure.from_matrix(rng.random(SHAPE) < 0.1)
    priors, failures = zipf_priors(SHAPE[0], rng), rng.uniform(0.2, 0.9, structure.n_edges)
    network = NoisyOrNetwork(structure, priors, failures, random_leaks(SHAPE[1], rng))
    fit_sample(network, cell.method, 100, seed=0, n_init=1)  # compile
    estimate, of_run = fit_sample(network, cell.method, cell.n_records, seed=1, n_init=1)
    error = evaluate(estimate.network, network, n_records=0).failures.mean
    found = {"seconds": of_run["seconds"], "error": error}
    if estimate.trace is not None:
        found |= {"steps": len(estimate.trace.values), "settled": estimate.trace.is_settled}
    return found


def _em(cell: Cell) -> Quantities:
    """Run EM by another package and by `exact_em`, from one start."""
    network = datasets.figure1(0)
    findings = network.sample(cell.n_records, rng=1)
    trace, ours = _timed_fit(network, findings, "exact_em", n_init=1)
    n_steps = 3 * (len(trace.values) - 1)  # each has two steps of EM and a leap
    its_em, its_steps = EM[cell.method]
    its = seconds(its_em(network.structure, findings, its_steps))
    return {
        "its steps": float(its_steps), "its seconds": its, "our steps": float(n_steps),
        "our seconds": ours, "times as long": its / ours,
        "times as long, a step": its / ours * n_steps / its_steps,
    }  # fmt: skip


def _pgmpy_em(structure: Structure, findings: Findings, n_steps: int) -> Callable[[], object]:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.estimators import ExpectationMaximization
        from pgmpy.models import DiscreteBayesianNetwork

    names = [(structure.diseases[i], structure.symptoms[j]) for i, j in structure.edges]
    model = DiscreteBayesianNetwork(names, latents=set(structure.diseases))
    rows = findings.to_numpy().astype(int)
    table = pd.DataFrame(rows, columns=list(structure.symptoms))

    def work() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ExpectationMaximization(model, table).get_parameters(
                latent_card=dict.fromkeys(structure.diseases, 2), max_iter=n_steps, atol=0.0,
                seed=0, init_cpds="random", show_progress=False,
            )  # fmt: skip

    return work


def _pyagrum_em(structure: Structure, findings: Findings, n_steps: int) -> Callable[[], object]:
    import pandas as pd
    import pyagrum

    model = pyagrum.BayesNet()
    names = [*structure.diseases, *structure.symptoms]
    for name in names:
        model.add(pyagrum.LabelizedVariable(name, "", ["0", "1"]))
    for i, j in structure.edges.tolist():
        model.addArc(structure.diseases[i], structure.symptoms[j])
    pyagrum.initRandom(0)
    model.generateCPTs()
    rows = findings.to_numpy().astype(int).astype(str)
    hidden = np.full((len(rows), structure.n_diseases), "?")
    table = pd.DataFrame(np.hstack([hidden, rows]), columns=names)
    learner = pyagrum.BNLearner(table, model, ["?"])
    learner.useEM(1e-9)
    learner.EMsetMaxIter(n_steps)
    return lambda: learner.learnParameters(model)


EM = {"pgmpy": (_pgmpy_em, 100), "pyagrum": (_pyagrum_em, 2)}
"""Other packages, and how many steps of theirs are timed."""


def _diagnosis(n: int) -> Quantities:
    """Find the posteriors of all parents of one present finding."""
    structure = Structure.from_matrix(np.ones((n, 1)))
    numbers = np.linspace(0.01, 0.1, n), np.linspace(0.1, 0.9, n), np.array([0.01])
    network = NoisyOrNetwork(structure, *numbers)
    posterior(network, [0])  # compile
    ours = float(np.median([seconds(posterior, network, [0]) for _ in range(100)]))
    theirs, of_run = timed(_pyagrum_posterior, network)
    wrong = np.abs(posterior(network, [0]).probabilities - theirs).max()
    return {
        "our ms": ours * 1e3, "its ms": of_run["seconds"] * 1e3,
        "times as long": of_run["seconds"] / ours, "largest difference": wrong,
    }  # fmt: skip


def _pyagrum_posterior(network: NoisyOrNetwork) -> Any:
    """Make the model and return the posteriors."""
    import pyagrum

    model, diseases = pyagrum.BayesNet(), network.structure.diseases
    symptom = pyagrum.LabelizedVariable("symptom", "", ["0", "1"])
    model.addNoisyORNet(symptom, float(network.leaks[0]))
    for disease, p, f in zip(diseases, network.priors, network.failures, strict=True):
        model.add(pyagrum.LabelizedVariable(disease, "", ["0", "1"]))
        model.cpt(disease)[:] = [1.0 - p, p]
        model.addWeightedArc(disease, "symptom", 1.0 - f)
    engine = pyagrum.LazyPropagation(model)
    engine.setEvidence({"symptom": "1"})
    engine.makeInference()
    return np.array([float(engine.posterior(disease)[1]) for disease in diseases])


def draw(results: Results, folder: Path) -> list[str]:
    """Draw error against time on the larger network."""
    with picture(folder / "baselines", 1, (5.0, 3.2)) as (axis,):
        for run in results.runs(*METHODS, network=LARGE):
            point = results.mean(*run, "seconds"), results.mean(*run, "error")
            axis.plot(*point, "o", color=COLOURS[run[2]])
            note(axis, run[2], point, (6, 4))
        axis.set(xscale="log", xlabel="seconds", ylabel="mean error of failures", title=LARGE)
        axis.margins(0.25)
    return ["baselines"]


def page(results: Results) -> dict[str, object]:
    """Return the tables and what they show."""
    [of_both], packages = results.runs("agreement"), results.runs(*EM, network="figure1")
    return {
        "n_records": of_both[1],
        "shape": LARGE,
        "largest": results.all(*of_both, "difference").max(),
        "agreement": [of_both],
        "large": results.runs(*METHODS, network=LARGE),
        "packages": packages,
        "parents": [(f"{n} parents", 0, "pyagrum") for n in PARENTS],
        "absent": ""
        if len(packages) == len(EM)
        else "Not installed when this page was made: `pip install 'noisyor[peers]'`.",
    }
