"""What people know already: what labels, codes and beliefs do to the errors of learning."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from noisyor.beliefs import Beliefs
from noisyor.experiments.measures import coverage, timed
from noisyor.experiments.results import Cell, Floats, Quantities, Results, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import markdown_table
from noisyor.findings import Findings
from noisyor.inference import posteriors
from noisyor.learning import Codes, EMSettings, Estimate, Flag, fit
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Parameters, log_odds
from noisyor.structure import Structure

LASTS = "five hours"
SENSITIVITY, SPECIFICITY = 0.8, 0.995
N_LABELLED = {"clinic": 300, "equal": 200}
SHARE_LABELLED = 0.01
"""Of the records of the other networks."""
LABELLING = ("unlabelled", "labels alone", "labels")
KNOWING = (*LABELLING, "codes", "labels and codes")
REAL = {"tcc4e": 5, "health_knowledge_graph": 5}
"""And how many samples: of the second each takes 20 minutes of a processor."""
WORTH = 100
"""The weight of beliefs, in cases."""
MATTERS = 4.28
"""A belief that is wrong by so many standard deviations is 3 off or more in 90% of samples."""
N_TESTED = 5000


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List what is known, network by network, the quickest first."""
    seeds = settings.seeds(settings.pick(5, 1))
    many = settings.seeds(settings.pick(40, 2))
    found = cells_of(["equal"], [10_000], many, ("unlabelled", "labels"))
    found += cells_of(["figure1"], [1000], settings.seeds(settings.pick(200, 2)), ("worth",))
    if settings.quick:
        return found
    found += cells_of(["clinic"], [20_000], seeds, (*KNOWING, "all labelled"))
    found += cells_of(["clinic"], [5000], seeds, ("wrong beliefs",))
    found += cells_of(["clinic"], [20_000], settings.seeds(20)[5:], LABELLING)
    for name in settings.available(*REAL):
        found += cells_of([name], [100_000], settings.seeds(REAL[name]), LABELLING)
    return found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample and what is known of it."""
    network = network_named(cell.network, cell.seed, settings)
    if cell.method == "worth":
        return worth(network, cell)
    if cell.method == "wrong beliefs":
        return told(network, cell)
    if cell.method == "all labelled":
        return all_labelled(network, cell)
    sample = Sample.drawn(network, cell)
    estimate, found = timed(sample.learn, cell.method)
    found |= sample.errors(estimate.network) | coverage(estimate, sample.network_of(estimate))
    swappable = (estimate.flags.priors & Flag.SWAPPABLE) != 0
    found["swappable"] = float(swappable.mean())
    return found | (sample.of_codes(estimate) if "codes" in cell.method else {})


def network_named(name: str, seed: int, settings: ExperimentSettings) -> NoisyOrNetwork:
    """Return a network; `equal` has two diseases with the same four symptoms."""
    if name != "equal":
        return settings.network(name, seed)
    structure = Structure.from_matrix(np.ones((2, 4)), diseases=["A", "B"])
    failures = [0.2, 0.3, 0.6, 0.7, 0.7, 0.6, 0.3, 0.2]
    return NoisyOrNetwork(structure, [0.1, 0.2], failures, [0.02] * 4)


@dataclass(frozen=True)
class Sample:
    """A sample with its diseases, labels of some records, and a code for each disease."""

    network: NoisyOrNetwork
    findings: Findings
    diseases: Booleans
    is_labelled: Booleans
    codes: Booleans
    seed: int

    @classmethod
    def drawn(cls, network: NoisyOrNetwork, cell: Cell) -> "Sample":
        """Draw a sample."""
        findings, diseases = network.sample(cell.n_records, rng=cell.seed + 1, return_diseases=True)
        rng = np.random.default_rng([cell.seed, 24])
        is_labelled = np.zeros(cell.n_records, dtype=np.bool_)
        n_labelled = N_LABELLED.get(cell.network, round(SHARE_LABELLED * cell.n_records))
        is_labelled[rng.choice(cell.n_records, n_labelled, replace=False)] = True
        return cls(network, findings, diseases, is_labelled, coded(diseases, rng), cell.seed)

    def learn(self, what: str) -> Estimate:
        """Learn from findings and labels, from the labelled records alone, or with codes."""
        structure = self.network.structure
        if what == "labels alone":
            seen = self.findings.chosen(self.is_labelled)
            return fit(seen, structure, labels=self.diseases[self.is_labelled])
        labels = np.where(self.is_labelled[:, np.newaxis], self.diseases, np.nan)
        known = labels if what.startswith("labels") else None
        if "codes" not in what:
            return fit(self.findings, structure, labels=known)
        codes = codes_of(structure)
        array = np.column_stack([self.findings.to_numpy(), self.codes])
        return fit(Findings.from_numpy(array, codes.structure), codes.structure, labels=known)

    def network_of(self, estimate: Estimate) -> NoisyOrNetwork:
        """Return the truth, with codes where these were learned."""
        if estimate.structure == self.network.structure:
            return self.network
        return with_codes(self.network)

    def errors(self, learned: NoisyOrNetwork) -> Quantities:
        """Return mean absolute errors, of all parameters but those of codes."""
        structure, known = learned.structure, self.network.structure
        names = zip(*known.edge_names().values(), strict=True)
        edges = [structure.edge_index(*each) for each in names]
        return {
            "priors": float(np.abs(learned.priors - self.network.priors).mean()),
            "failures": float(np.abs(learned.failures[edges] - self.network.failures).mean()),
            "leaks": float(np.abs(learned.leaks[: known.n_symptoms] - self.network.leaks).mean()),
        }

    def of_codes(self, estimate: Estimate) -> Quantities:
        """Return how often intervals of the codes' rates hold, and how well diseases are found."""
        codes = codes_of(self.network.structure)
        rates = codes.summary(estimate).to_arrow().to_pydict()
        found: Quantities = {"n codes": float(len(codes.codes))}
        for kind, truth in (("sensitivity", SENSITIVITY), ("specificity", SPECIFICITY)):
            lower, upper = (np.array(rates[f"{kind}_{end}"], float) for end in ("lower", "upper"))
            found[f"held {kind}"] = float(((lower <= truth) & (truth <= upper)).sum())
            found[kind] = float(np.mean(rates[kind]))
        findings, diseases = self.network.sample(
            N_TESTED, rng=10**6 + self.seed, return_diseases=True
        )
        seen = coded(diseases, np.random.default_rng(10**6 + self.seed))
        array = np.column_stack([findings.to_numpy(), seen])
        both = posteriors(estimate.network, Findings.from_numpy(array, codes.structure))
        found["auc of posteriors"] = mean_auc(diseases, both.probabilities)
        found["auc of codes"] = mean_auc(diseases, seen.astype(float))
        return found


def coded(diseases: Booleans, rng: np.random.Generator) -> Booleans:
    """Draw a code for each disease of each record."""
    random = rng.random(diseases.shape)
    return np.where(diseases, random < SENSITIVITY, random < 1.0 - SPECIFICITY)


def codes_of(structure: Structure) -> Codes:
    """Return a code for each disease."""
    return Codes(structure, {f"code of {name}": name for name in structure.diseases})


def with_codes(network: NoisyOrNetwork) -> NoisyOrNetwork:
    """Return a network with a code for each disease."""
    structure = codes_of(network.structure).structure
    n_before = network.structure.n_symptoms
    failure = (1.0 - SENSITIVITY) / SPECIFICITY
    names = zip(*structure.edge_names().values(), strict=True)
    known = network.structure
    failures = [
        failure if symptom >= n_before else network.failures[known.edge_index(*name)]
        for name, symptom in zip(names, structure.edges[:, 1].tolist(), strict=True)
    ]
    leaks = np.append(network.leaks, np.full(structure.n_diseases, 1.0 - SPECIFICITY))
    return NoisyOrNetwork(structure, network.priors, failures, leaks)


def mean_auc(diseases: Booleans, scores: Floats) -> float:
    """Return the mean area under the curve of the diseases that some records have."""
    which = np.flatnonzero(diseases.any(axis=0) & ~diseases.all(axis=0))
    return float(np.mean([roc_auc_score(diseases[:, i], scores[:, i]) for i in which]))


# --- all labelled ---


def all_labelled(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Compare learning from labels of all records with learning from diseases that were seen."""
    findings, diseases = network.sample(cell.n_records, rng=cell.seed + 1, return_diseases=True)
    tight = EMSettings(n_init=1, tol=1e-15, max_iter=5000, rng=cell.seed)
    structure = network.structure
    labelled, seen = (
        fit(findings, structure, method, tight, labels=diseases).values.vector
        for method in ("exact_em", "observed_likelihood")
    )
    return {"largest difference": float(np.abs(labelled - seen).max())}


# --- beliefs ---


def worth(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Compare beliefs in priors that so many cases led to with labels of as many cases.

    A case of a prior is a record of which nothing but the label of the disease is known.
    """
    rng, structure = np.random.default_rng([cell.seed, 7]), network.structure
    findings = network.sample(cell.n_records, rng=cell.seed + 1)
    seen = rng.random((WORTH, structure.n_diseases)) < network.priors
    shares = np.clip(seen.mean(axis=0), 0.5 / WORTH, 1.0 - 0.5 / WORTH)
    beliefs = {"priors": dict(zip(structure.diseases, ((p, WORTH) for p in shares), strict=True))}
    nothing = np.full((WORTH, structure.n_symptoms), np.nan)
    more = Findings.from_numpy(np.vstack([findings.to_numpy(), nothing]), structure)
    labels = np.vstack([np.full((cell.n_records, structure.n_diseases), np.nan), seen])
    learned = {
        "alone": fit(findings, structure, "exact_em"),
        "beliefs": fit(findings, structure, "exact_em", beliefs=beliefs),
        "cases": fit(more, structure, "exact_em", labels=labels),
    }
    found: Quantities = {}
    for name, estimate in learned.items():
        found[f"square of priors, {name}"] = float(
            ((estimate.values.priors - network.priors) ** 2).mean()
        )
        found[f"square of failures, {name}"] = float(
            ((estimate.values.failures - network.failures) ** 2).mean()
        )
    return found


def told(network: NoisyOrNetwork, cell: Cell) -> Quantities:
    """Believe priors three times as large of every second disease, and right ones of the others."""
    structure = network.structure
    findings = network.sample(cell.n_records, rng=cell.seed + 1)
    rng = np.random.default_rng([cell.seed, 8])
    is_wrong = np.arange(structure.n_diseases) % 2 == cell.seed % 2
    means = np.where(is_wrong, np.minimum(3.0 * network.priors, 0.9), network.priors)
    drawn = np.clip(rng.binomial(WORTH, means) / WORTH, 0.5 / WORTH, 1.0 - 0.5 / WORTH)
    believed = np.where(is_wrong, means, drawn)
    beliefs = Beliefs(
        structure,
        priors=dict(zip(structure.diseases, ((p, WORTH) for p in believed), strict=True)),
    )
    alone = fit(findings, structure)
    found = fit(findings, structure, beliefs=beliefs).without_beliefs()
    is_told = Parameters.split(structure, found.is_contradicted).priors
    matters = is_wrong & (_distances(network, alone, believed) > MATTERS)
    return {
        "wrong": float(is_wrong.sum()),
        "matter": float(matters.sum()),
        "told of those": float((is_told & matters).sum()),
        "right": float((~is_wrong).sum()),
        "told of right": float((is_told & ~is_wrong).sum()),
    }


def _distances(network: NoisyOrNetwork, alone: Estimate, believed: Any) -> Floats:
    """Return how far beliefs are from the truth, in standard deviations of what is found."""
    p = network.priors
    errors = alone.standard_errors.priors / (p * (1.0 - p))
    spread = np.sqrt(errors**2 + 1.0 / (WORTH * believed * (1.0 - believed)))
    return np.asarray(np.nan_to_num(np.abs(log_odds(believed) - log_odds(p)) / spread))


# --- the page ---


class Ratio(NamedTuple):
    """Errors of one way to learn over those of another, on the same samples."""

    value: float
    """Of the means."""
    error: float
    """By the delta method."""
    n_worse: int
    n: int

    @classmethod
    def of(cls, one: dict[int, float], other: dict[int, float]) -> "Ratio":
        """Compare the samples that both have."""
        seeds = sorted(one.keys() & other.keys())
        over, under = (np.array([each[seed] for seed in seeds]) for each in (one, other))
        if len(seeds) < 2:
            return cls(np.nan, np.nan, 0, len(seeds))
        value = float(over.mean() / under.mean())
        spread = (over - value * under).std(ddof=1) / np.sqrt(len(seeds)) / under.mean()
        return cls(value, float(spread), int((over > under).sum()), len(seeds))

    def __str__(self) -> str:
        if not np.isfinite(self.value):
            return ""
        return f"{self.value:.3f} +- {self.error:.3f} ({self.n_worse} of {self.n} worse)"


def ratios(results: Results) -> str:
    """Return a table of errors with labels over those without, and those of labels alone."""
    rows = [["network", "records", "labelled", "error of", "of unlabelled", "of labels alone"]]
    for name, n_records, method in results.runs("labels"):
        for kind in "priors", "failures":
            errors = {
                each: results.by_seed(name, n_records, each, kind)
                for each in (method, "unlabelled", "labels alone")
            }
            found = [
                str(Ratio.of(errors[method], errors[each]))
                for each in ("unlabelled", "labels alone")
            ]
            n_labelled = N_LABELLED.get(name, round(SHARE_LABELLED * n_records))
            rows.append([name, f"{n_records:,}", f"{n_labelled:,}", kind, *found])
    return markdown_table(rows)


def page(results: Results) -> dict[str, object]:
    """Return the tables, and ratios of errors."""
    worths = [("figure1", 1000, "worth")]

    def root(what: str) -> float:
        return float(np.sqrt(results.mean(*worths[0], what)))

    wrong = results.runs("wrong beliefs")
    shares = {
        name: sum(results.all(*run, over).sum() for run in wrong)
        / max(sum(results.all(*run, under).sum() for run in wrong), 1.0)
        for name, over, under in (
            ("told", "told of those", "matter"),
            ("false", "told of right", "right"),
        )
    }
    complete = results.runs("all labelled")
    largest = max((results.all(*run, "largest difference").max() for run in complete), default=0.0)
    return {
        "n_matter": int(sum(results.all(*run, "matter").sum() for run in wrong)),
        **{name: f"{value:.1%}" for name, value in shares.items()},
        "largest": f"{largest:.1e}",
        "alone": f"{root('square of priors, alone'):.4f}",
        "beliefs": f"{root('square of priors, beliefs'):.4f}",
        "cases": f"{root('square of priors, cases'):.4f}",
        "ratio": f"{root('square of priors, beliefs') / root('square of priors, cases'):.3f}",
        "n_worth": len(results.all(*worths[0], "square of priors, alone")),
        "ratios": ratios(results),
        "runs": results.runs(*KNOWING),
        "codes": results.runs("codes", "labels and codes"),
    }
