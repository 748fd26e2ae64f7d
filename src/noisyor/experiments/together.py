"""Diseases that occur together: what a trait and covariates change, on simulated and real records.

Networks: `qmr_trait`, QMR-shaped, with a trait that gives pairs of diseases correlations up to 0.3
and an effect of age; `qmr_plain`, the same without both; `trait20`, of 20 diseases that have a
strong trait in common.
"""

from pathlib import Path

import numpy as np

from noisyor import datasets
from noisyor.comparison import compare_models
from noisyor.em.cause_models import LogisticModel, marginals_of
from noisyor.em.cells import Cells
from noisyor.em.people import PeopleSampler
from noisyor.em.sampled import RecordSampler
from noisyor.experiments.drawing import COLOURS, picture
from noisyor.experiments.learners import fit
from noisyor.experiments.measures import timed
from noisyor.experiments.results import Cell, Floats, Quantities, Results, cells_of
from noisyor.experiments.settings import ExperimentSettings
from noisyor.experiments.tables import span
from noisyor.findings import Findings
from noisyor.inference import posteriors
from noisyor.learner import NoisyOrLearner
from noisyor.learning import Estimate
from noisyor.network import Covariate, Effects, NoisyOrNetwork, Trait
from noisyor.network.design import Design, make_design
from noisyor.structure import Structure

LASTS = "an hour"
SIZES = (
    ("trait20", 3000, 5),
    ("qmr_trait", 20_000, 3),
    ("qmr_plain", 20_000, 3),
    ("qmr_trait", 100_000, 2),
)
"""Networks, records and samples."""
OF_ECPE = ("independent", "unshrunk", "trait", "joint")
"""Kinds of causes; "unshrunk" are independent ones without weak priors."""
AGES = np.arange(20.0, 90.0)
CENTRE, SCALE = 54.5, 20.2
STRONGEST, AGE_EFFECT = 2.4, 0.4
"""Loadings reach up to the one; effects of age, in its standard deviation, are about the other."""
N_BOUNDED, N_TEST, N_BINS = 1000, 5000, 10
"""Records whose evidence is bounded; records that calibration is measured with, in so many bins."""
MOST_CANDIDATES, N_LOOKS = 7, 3
"""Plausible diseases of records whose evidence is taken for its bound, looked at so many times."""
SHOWN_FINDINGS = 6
"""Findings that are known of each of these, so that there is something left to doubt."""


def cells(settings: ExperimentSettings) -> list[Cell]:
    """List samples, the smallest networks first."""
    found = []
    if _ecpe(settings) is not None:
        found += [Cell("ecpe", 2922, 0, kind) for kind in OF_ECPE]
    for name, n_records, n_samples in SIZES:
        found += cells_of([name], [n_records], settings.seeds(n_samples), ["trait"])
    return [cell for cell in found if cell.network == "trait20"][:1] if settings.quick else found


def measure(cell: Cell, settings: ExperimentSettings) -> Quantities:
    """Learn from one sample with a trait, with independent diseases, and where they are seen."""
    if cell.network == "ecpe":
        return _measure_ecpe(cell.method, settings)
    network, rng = network_named(cell.network, cell.seed), np.random.default_rng(cell.seed)
    ages = rng.choice(AGES, cell.n_records)
    import pandas as pd

    people = pd.DataFrame({"age": ages})
    known = {} if network.causes.effects is None else {"covariates": people}
    records, diseases = network.sample(
        cell.n_records, rng=cell.seed + 1, return_diseases=True, **known
    )
    structure = network.structure
    seen = fit(records, structure, "observed", diseases=diseases)
    plain, plainly = timed(fit, records, structure, "refined")
    design = make_design(people, records)
    learner = NoisyOrLearner(structure, causes="trait")
    learner, found = timed(learner.fit, records, covariates=people)
    estimate = learner.estimate_
    found |= {f"{name} plain": value for name, value in plainly.items()}
    for name, each in (("seen", seen), ("plain", plain), ("trait", estimate)):
        found[f"error failure {name}"] = float(
            np.abs(each.failures.values - network.failures).mean()
        )
        found[f"error prior {name}"] = float(np.abs(each.priors.values - network.priors).mean())
    found |= _held_items(estimate, network) | _held_causes(estimate, network)
    if cell.network == "trait20":
        return found | _calibration(network, estimate.network, plain.network)
    return found | _gain(records, design, plain.network, estimate.network)


def network_named(name: str, seed: int) -> NoisyOrNetwork:
    """Return a network of this experiment.

    >>> network_named("trait20", 0).causes
    Trait(20 diseases, 1 trait)
    """
    rng = np.random.default_rng([seed, len(name)])
    if name == "trait20":
        return _trait20(rng)
    base = datasets.qmr_shaped(rng=seed)
    if name == "qmr_plain":
        return base
    n = base.structure.n_diseases
    loadings = rng.uniform(0.0, STRONGEST, n) * rng.choice([1.0, 1.0, 1.0, -0.5], n)
    cells = ((AGES - CENTRE) / SCALE)[:, np.newaxis]
    coefficients = rng.normal(0.0, AGE_EFFECT, (n, 1))
    shares = np.full(len(AGES), 1.0 / len(AGES))
    effects = Effects((Covariate("age", (), CENTRE, SCALE),), coefficients, cells, shares)
    # A trait makes a disease more frequent; what it adds on average is taken off again.
    intercepts = np.log(base.priors) - np.log1p(-base.priors) - 0.2 * loadings**2
    return NoisyOrNetwork(
        base.structure, None, base.failures, base.leaks,
        causes=Trait(intercepts, loadings[:, np.newaxis], effects),
    )  # fmt: skip


def _trait20(rng: np.random.Generator) -> NoisyOrNetwork:
    matrix = np.zeros((20, 60), dtype=np.int8)
    for number, row in enumerate(matrix):
        row[3 * number : 3 * number + 3] = 1
        row[rng.choice(60, 3, replace=False)] = 1
    structure = Structure.from_matrix(matrix)
    return NoisyOrNetwork(
        structure, None, rng.uniform(0.2, 0.7, structure.n_edges), rng.uniform(0.01, 0.05, 60),
        causes=Trait(rng.uniform(-4.0, -2.0, 20), rng.uniform(1.0, 2.5, (20, 1))),
    )  # fmt: skip


def _held_items(estimate: Estimate, network: NoisyOrNetwork) -> Quantities:
    """Count the unflagged intervals of priors, failures and leaks that hold the truth."""
    found: Quantities = {}
    for kind, part in estimate.parts.items():
        truth, (lower, upper) = getattr(network, f"{kind}s"), part.intervals()
        is_told = (part.flags == 0) & np.isfinite(lower)
        found |= _held(kind, truth[is_told], lower[is_told], upper[is_told])
        found[f"flagged {kind}"] = float((~is_told).mean())
    return found


def _held(kind: str, truth: Floats, lower: Floats, upper: Floats) -> Quantities:
    held = (lower <= truth) & (truth <= upper)
    return {f"held {kind}": float(held.sum()), f"n {kind}": float(len(truth))}


def _held_causes(estimate: Estimate, network: NoisyOrNetwork) -> Quantities:
    """Count the intervals of loadings, effects of age and prevalence by age that hold the truth."""
    learned = estimate.learned_causes
    assert learned is not None
    loadings, coefficients = _truth(network)
    table = learned.table().to_pandas()
    found: Quantities = {}
    for kind, truth in (("loading", loadings), ("effect", coefficients)):
        part = table[table.parameter == kind]
        is_told = part.lower.notna().to_numpy()
        if len(part):
            ends = part.lower.to_numpy()[is_told], part.upper.to_numpy()[is_told]
            found |= _held(kind, truth[is_told], *ends)
            found[f"flagged {kind}"] = float((~is_told).mean())
            found[f"error {kind}"] = float(np.sqrt(np.mean((part.value - truth) ** 2)))
    if network.causes.effects is not None:
        for _, part in learned.prevalence(network.structure).to_pandas().groupby("value"):
            age = (float(part.value.iloc[0]) - CENTRE) / SCALE
            truth, _ = marginals_of(network.causes, np.array([[age]]), np.ones(1))
            here = _held("prevalence", truth, part.lower.to_numpy(), part.upper.to_numpy())
            found |= {name: found.get(name, 0.0) + value for name, value in here.items()}
    return found


def _truth(network: NoisyOrNetwork) -> tuple[Floats, Floats]:
    """Return loadings and effects of age as they should have been learned."""
    n, causes = network.structure.n_diseases, network.causes
    loadings, coefficients = np.zeros(n), np.zeros(n)
    if isinstance(causes, Trait):
        loadings = causes.loadings[:, 0]
    if causes.effects is not None:
        coefficients = causes.effects.coefficients[:, 0] / SCALE
    return loadings, coefficients


def _gain(
    records: Findings, design: Design, plain: NoisyOrNetwork, network: NoisyOrNetwork
) -> Quantities:
    """Return what the trait gains on independence, in log likelihood and by BIC.

    Of some of the records, and of these of those for which few diseases are plausible: there the
    sums over all states of the most plausible ones, which bound evidences from below, leave out
    next to nothing. Of the others they would leave out more with the one network than the other.
    """
    n, structure = records.n_records, network.structure
    chosen = np.arange(n) % max(n // N_BOUNDED, 1) == 0
    some, rows = records.chosen(chosen), design.rows[chosen]
    has_few = np.ones(len(rows), dtype=np.bool_)
    sampler = _people(some, Design(design.covariates, rows), structure)
    for seed in range(N_LOOKS):
        sampler.expect(network, len(sampler.starts), must_screen=True, n_sweeps=2, seed=seed)
        has_few &= np.bitwise_count(sampler.candidates).sum(axis=1) <= MOST_CANDIDATES
    few = some.chosen(has_few)
    with_trait = _people(few, Design(design.covariates, rows[has_few]), structure)
    one = with_trait.bound(network, 1).total[0]
    other = RecordSampler(structure, few.blocks).bound(plain, 1).total[0]
    gain, more = float(one - other) * n / len(rows), network.causes.n_parameters
    more -= plain.causes.n_parameters
    share = float(has_few.mean())
    return {"gain": gain, "bic": 2.0 * gain - more * np.log(n), "share few": share}


def _people(records: Findings, design: Design, structure: Structure) -> PeopleSampler:
    model, cells = LogisticModel.of(structure.n_diseases, 1, design), Cells.of(design)
    return PeopleSampler(structure, records.blocks, model, cells)


def _calibration(
    truth: NoisyOrNetwork, network: NoisyOrNetwork, plain: NoisyOrNetwork
) -> Quantities:
    """Compare posteriors of new people, of whom some findings are known, with what they have."""
    records, diseases = truth.sample(N_TEST, rng=10**6, return_diseases=True)
    rng, values = np.random.default_rng(0), records.to_numpy().astype(np.float64)
    for row in values:
        row[rng.permutation(len(row))[SHOWN_FINDINGS:]] = np.nan
    some, found = Findings.from_numpy(values, truth.structure), Quantities()
    told = {
        name: posteriors(each, some).probabilities
        for name, each in (("trait", network), ("plain", plain))
    }
    for name, probabilities in told.items():
        bins = np.minimum((probabilities * N_BINS).astype(int), N_BINS - 1).ravel()
        for what, weights in (("n", np.ones(bins.size)), ("p", probabilities), ("d", diseases)):
            sums = np.bincount(bins, np.ravel(weights).astype(float), minlength=N_BINS)
            found |= {f"{what} {name} {b}": float(x) for b, x in enumerate(sums)}
        p = np.clip(probabilities, 1e-9, 1.0 - 1e-9)
        found[f"loss {name}"] = float(-np.log(np.where(diseases, p, 1.0 - p)).sum(axis=1).mean())
    return found


def _ecpe(settings: ExperimentSettings) -> Path | None:
    """Return the folder of the ECPE test beside the real networks, if it is there."""
    if settings.structures is None:
        return None
    folder = settings.structures.parent / "records" / "ecpe"
    return folder if folder.is_dir() else None


def _measure_ecpe(kind: str, settings: ExperimentSettings) -> Quantities:
    """Learn a test of 28 items and three skills, of 2,922 persons."""
    folder = _ecpe(settings)
    assert folder is not None
    import pandas as pd

    needs = pd.read_csv(folder / "q_matrix.csv", index_col="item")
    structure = Structure.from_matrix(
        needs.to_numpy().T, diseases=list(needs.columns), symptoms=list(needs.index)
    )
    records = Findings.read(folder / "responses.csv", structure, invert=True)
    learner = NoisyOrLearner(structure, causes=kind if kind != "unshrunk" else "independent")
    learner.set_params(shrink=kind != "unshrunk")
    comparison, found = timed(compare_models, {kind: learner}, records, held_out=0.0)
    row = comparison.rows[0]
    columns = ("log_likelihood", "parameters", "aic", "bic", "srmsr", "largest_residual")
    return found | {column: float(row[column]) for column in columns}


def shares(results: Results, method: str) -> tuple[Floats, Floats]:
    """Return, for each bin of probabilities, their mean and the share of those who are ill."""
    runs = results.runs("trait", network="trait20")
    n, p, d = (
        np.array(
            [
                sum(results.all(*run, f"{what} {method} {b}").sum() for run in runs)
                for b in range(N_BINS)
            ]
        )
        for what in ("n", "p", "d")
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return p / n, d / n


def draw(results: Results, folder: Path) -> list[str]:
    """Draw how often people are ill of whom it is said with some probability."""
    with picture(folder / "together", 2, (6.4, 3.0)) as axes:
        for axis, (method, title) in zip(
            axes, (("plain", "independent diseases"), ("trait", "a trait")), strict=True
        ):
            said, true = shares(results, method)
            axis.plot([0.0, 1.0], [0.0, 1.0], color="#888888", linewidth=1.0)
            axis.plot(said, true, marker="o", markersize=4, color=COLOURS["refined"])
            axis.set(xlabel="posterior", ylabel="share who have the disease", title=title)
    return ["together"]


def page(results: Results) -> dict[str, object]:
    """Return the tables, and how far posteriors are from the diagonal."""
    found: dict[str, object] = {}
    for method in ("plain", "trait"):
        said, true = shares(results, method)
        found[f"off_{method}"] = f"{np.nanmax(np.abs(said - true)):.3f}"
    runs = [run for run in results.runs("trait") if run[0] != "ecpe"]
    large = [run for run in runs if run[0].startswith("qmr")]
    bics = {
        name: np.array([x for run in large if run[0] == name for x in results.all(*run, "bic")])
        for name in ("qmr_trait", "qmr_plain")
    }
    return found | {
        "runs": runs,
        "correlated": [run for run in runs if run[0] != "qmr_plain"],
        "large": large,
        "ecpe": [run for run in results.runs(*OF_ECPE) if run[0] == "ecpe"],
        "bic_trait": span(bics["qmr_trait"], "{:,.0f}"),
        "bic_plain": span(bics["qmr_plain"], "{:,.0f}"),
    }
