"""What happens when the assumptions fail, and whether it is noticed."""

import numpy as np
from scipy.special import ndtri

from benchmarks.measuring import print_table
from noisyor import Findings, NoisyOrLearner, Structure, datasets

METHODS = ("refined", "pooled", "sequential")


def run(scale):
    correlated_diseases(n_records=int(20_000 * scale), n_samples=3)
    quiet_when_right(n_samples=int(100 * scale))
    deleted_edges(n_edges=int(40 * scale))


def sample_correlated(network, n_records, correlation, seed):
    """Sample records whose diseases depend on each other along a random tree.

    Each disease is a threshold on a normal variable, correlated with that of its parent in the
    tree; the priors stay as they are.
    """
    rng = np.random.default_rng(seed)
    n = network.structure.n_diseases
    latent = np.empty((n_records, n))
    for disease in range(n):
        latent[:, disease] = rng.normal(size=n_records)
        if disease:
            parent = latent[:, rng.integers(disease)]
            latent[:, disease] *= np.sqrt(1 - correlation**2)
            latent[:, disease] += correlation * parent
    diseases = latent < ndtri(network.priors)
    log_failures = np.zeros((n, network.structure.n_symptoms))
    log_failures[*network.structure.edges.T] = np.log(network.failures)
    absent = (1 - network.leaks) * np.exp(diseases @ log_failures)
    return (rng.random(absent.shape) > absent).astype(np.uint8)


def correlated_diseases(n_records, n_samples):
    network = datasets.clinic()
    rows = [
        [
            "correlation", "method", "bias of priors", "error of priors", "bias of failures",
            "error of failures", "samples with misfits", "pairs that deviate",
        ]
    ]  # fmt: skip
    for correlation in 0.0, 0.2, 0.4, 0.6:
        found = {method: [] for method in METHODS}
        for seed in range(n_samples):
            records = sample_correlated(network, n_records, correlation, seed)
            for method in METHODS:
                estimate = NoisyOrLearner(network.structure, method=method).fit(records).estimate_
                priors = estimate.priors.values / network.priors - 1
                failures = estimate.failures.values - network.failures
                misfits = estimate.misfits()
                found[method].append(
                    [
                        np.median(priors), np.median(np.abs(priors)), failures.mean(),
                        np.abs(failures).mean(), misfits.p_value < 0.05, misfits.n_found,
                    ]
                )  # fmt: skip
        for method in METHODS:
            means = np.mean(found[method], axis=0)
            cells = [f"{means[0]:+.1%}", f"{means[1]:.1%}", f"{means[2]:+.3f}", f"{means[3]:.3f}"]
            cells += [f"{means[4]:.0%}", f"{means[5]:.1f}"]
            rows.append([f"{correlation}", method, *cells])
    title = f"Diseases that depend on each other: clinic, {n_records:,} records, "
    print_table(f"{title}{n_samples} samples; medians over the priors", rows)


def quiet_when_right(n_samples):
    network = datasets.clinic()
    rows = [["method", "records", "samples", "pairs: p < 0.05", "missing edges: p < 0.05"]]
    for method, n_records in (
        ("pooled", 5000), ("pooled", 20_000), ("refined", 5000), ("sequential", 20_000),
    ):  # fmt: skip
        n = n_samples if method != "refined" else n_samples // 2
        noticed = []
        for seed in range(n):
            findings = network.sample(n_records, seed=seed)
            learner = NoisyOrLearner(network.structure, method=method).fit(findings)
            misfits = learner.estimate_.misfits()
            noticed.append([misfits.p_value < 0.05, misfits.edges.p_value < 0.05])
        cells = [f"{share:.0%}" for share in np.mean(noticed, axis=0)]
        rows.append([method, f"{n_records:,}", str(n), *cells])
    print_table("Misfits where the network is right: how often the overall tests reject", rows)


def deleted_edges(n_edges):
    network = datasets.clinic()
    structure = network.structure
    rng = np.random.default_rng(0)
    edges = rng.choice(structure.n_edges, n_edges, replace=False)
    rows = [["records", "edges", "noticed", "a pair of it is first", "the edge is first"]]
    for n_records in 2000, 10_000:
        shares = []
        for number in edges:
            disease, symptom = structure.edges[number].tolist()
            rest = np.delete(structure.edges, number, axis=0)
            cut = Structure(structure.diseases, structure.symptoms, rest)
            records = network.sample(n_records, seed=int(number)).to_numpy()
            learner = NoisyOrLearner(cut, method="pooled").fit(Findings.from_numpy(records, cut))
            misfits = learner.estimate_.misfits()
            pairs, found = (each.found(0.05) for each in (misfits.pairs, misfits.edges))
            concerned = set(structure.children(disease).tolist())
            first = set(misfits.pairs.members[pairs[0]].tolist()) if len(pairs) else set()
            shares.append(
                [
                    misfits.n_found > 0 or len(found) > 0,
                    symptom in first and first <= concerned,
                    len(found) > 0
                    and misfits.edges.members[found[0]].tolist() == [disease, symptom],
                ]
            )
        cells = [f"{share:.0%}" for share in np.mean(shares, axis=0)]
        rows.append([f"{n_records:,}", str(n_edges), *cells])
    print_table("An edge deleted from the structure: clinic, learned by pooled", rows)
