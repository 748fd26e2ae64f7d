"""Other packages on the same work: EM on Figure 1, and a diagnosis with a symptom of many parents.

An optional extra: `pip install -e '.[peers]'`. Neither can learn a noisy-or: both learn a table
with a row for each combination of a symptom's parents.
"""

import importlib.util
import time
import warnings

import numpy as np

from benchmarks.measuring import print_table
from noisyor import NoisyOrNetwork, Structure, datasets, learn_exact_em, posterior

PGMPY_STEPS = 100
PYAGRUM_STEPS = 2


def run(scale):
    diagnosis([12, 16, 20, 24] if scale == 1 else [12, 16])
    em(scale)


def diagnosis(sizes):
    """One finding present, with so many parents: the posteriors of all of them."""
    rows = [["parents", "noisyor, ms", "pyagrum, ms", "times ours", "largest difference"]]
    for n in sizes:
        structure = Structure.from_matrix(np.ones((n, 1)))
        network = NoisyOrNetwork(
            structure, np.linspace(0.01, 0.1, n), np.linspace(0.1, 0.9, n), [0.01]
        )
        posterior(network, [0])  # compile
        times = []
        for _ in range(100):
            start = time.perf_counter()
            ours = posterior(network, [0]).probabilities
            times.append(time.perf_counter() - start)
        cells = ["not installed", "", ""]
        if importlib.util.find_spec("pyagrum") is not None:
            theirs, elapsed = pyagrum_posterior(network)
            wrong = np.abs(ours - theirs).max()
            cells = [f"{elapsed * 1e3:,.0f}", f"{elapsed / np.median(times):,.0f}", f"{wrong:.0e}"]
        rows.append([str(n), f"{np.median(times) * 1e3:.2f}", *cells])
    print_table("Diagnosis: one present finding with many parents", rows)


def pyagrum_posterior(network):
    """Return the posteriors, and the seconds for the model and the inference."""
    import pyagrum

    structure = network.structure
    start = time.perf_counter()
    model = pyagrum.BayesNet()
    leak = float(network.leaks[0])
    model.addNoisyORNet(pyagrum.LabelizedVariable("symptom", "", ["0", "1"]), leak)
    for disease, p, f in zip(structure.diseases, network.priors, network.failures, strict=True):
        model.add(pyagrum.LabelizedVariable(disease, "", ["0", "1"]))
        model.cpt(disease)[:] = [1.0 - p, p]
        model.addWeightedArc(disease, "symptom", 1.0 - f)
    engine = pyagrum.LazyPropagation(model)
    engine.setEvidence({"symptom": "1"})
    engine.makeInference()
    found = [float(engine.posterior(disease)[1]) for disease in structure.diseases]
    return np.array(found), time.perf_counter() - start


def em(scale):
    network = datasets.figure1(0)
    findings = network.sample(int(10_000 * scale), seed=1)
    rows = [["package", "learns", "steps", "seconds", "times ours", "times ours, a step"]]
    learn_exact_em(findings, network.structure, restarts=1)  # compile
    start = time.perf_counter()
    trace = learn_exact_em(findings, network.structure, restarts=1).trace
    elapsed = time.perf_counter() - start
    n_steps = 3 * (len(trace.values) - 1)  # each has two steps of EM and a leap
    ours = elapsed / n_steps
    ours_in_all = elapsed
    rows.append(["noisyor", "noisy-or, until it settles", str(n_steps), f"{elapsed:.2f}", "1", "1"])
    for name, work in (("pgmpy", pgmpy_em), ("pyagrum", pyagrum_em)):
        if importlib.util.find_spec(name) is None:
            rows.append([name, "not installed (pip install -e '.[peers]')", "", "", "", ""])
            continue
        steps, elapsed = work(network.structure, findings)
        cells = [str(steps), f"{elapsed:.2f}", f"{elapsed / ours_in_all:,.0f}"]
        rows.append([name, "tables", *cells, f"{elapsed / steps / ours:,.0f}"])
    print_table(f"EM on Figure 1, {findings.n_records:,} records, one start", rows)


def pgmpy_em(structure, findings):
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.estimators import ExpectationMaximization
        from pgmpy.models import DiscreteBayesianNetwork

        names = [(structure.diseases[i], structure.symptoms[j]) for i, j in structure.edges]
        model = DiscreteBayesianNetwork(names, latents=set(structure.diseases))
        rows = findings.to_numpy().astype(int)
        table = pd.DataFrame(rows, columns=list(structure.symptoms))
        start = time.perf_counter()
        ExpectationMaximization(model, table).get_parameters(
            latent_card=dict.fromkeys(structure.diseases, 2), max_iter=PGMPY_STEPS, atol=0.0,
            seed=0, init_cpds="random", show_progress=False,
        )  # fmt: skip
        return PGMPY_STEPS, time.perf_counter() - start


def pyagrum_em(structure, findings):
    import pandas as pd
    import pyagrum

    model = pyagrum.BayesNet()
    for name in (*structure.diseases, *structure.symptoms):
        model.add(pyagrum.LabelizedVariable(name, "", ["0", "1"]))
    for i, j in structure.edges.tolist():
        model.addArc(structure.diseases[i], structure.symptoms[j])
    pyagrum.initRandom(0)
    model.generateCPTs()
    rows = findings.to_numpy().astype(int).astype(str)
    hidden = np.full((len(rows), structure.n_diseases), "?")
    names = [*structure.diseases, *structure.symptoms]
    table = pd.DataFrame(np.hstack([hidden, rows]), columns=names)
    learner = pyagrum.BNLearner(table, model, ["?"])
    learner.useEM(1e-9)
    learner.EMsetMaxIter(PYAGRUM_STEPS)
    start = time.perf_counter()
    learner.learnParameters(model)
    return learner.EMnbrIterations(), time.perf_counter() - start
