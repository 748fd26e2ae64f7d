"""Results with a given seed are what they were when they were recorded, digit by digit.

`python tests/test_unchanged.py record` records them anew, in tests/unchanged.npz: only when a
result is meant to change. With titles, or beginnings of them, only those cases.

Integers, flags and words must be equal. Floating-point numbers may differ by a relative
1e-9, so that sums may be taken in another order. What is learned by steps to
an optimum differs by more on another kind of processor or with other libraries (a step more or
less): there these cases are skipped. Long arrays are kept as every n-th number and the sums between
them, long integers as a hash.
"""

import functools
import hashlib
import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import noisyor
from conftest import find_structures
from noisyor import datasets
from noisyor.experiments.settings import real_network

RECORDED = Path(__file__).with_suffix("").with_name("unchanged.npz")

RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""For numbers that are 0 but for rounding."""
FLAT = {"learning-figure2:exact_em", "learning-random:exact_em"}
"""Their likelihoods are flat in some directions, where rounding grows: a relative 1e-8."""
MOST_KEPT = 160
"""Longer arrays are thinned."""


# --- the only calls into the package ---


def sample(network, n_records, seed, return_diseases=False):
    return network.sample(n_records, rng=seed, return_diseases=return_diseases)


def make_network(structure, priors, failures, leaks):
    return noisyor.NoisyOrNetwork(structure, priors, failures, leaks)


def make_structure(matrix):
    return noisyor.Structure.from_matrix(matrix)


def make_findings(array, structure, record_ids=None):
    return noisyor.Findings.from_numpy(array, structure, record_ids=record_ids)


def write_findings(findings, path, layout):
    (findings.to_csv if path.suffix == ".csv" else findings.to_parquet)(path, layout=layout)


def fix(network, *kinds):
    return noisyor.Fixed.of(network, *kinds)


def fix_values(structure, **values):
    return noisyor.Fixed(structure, **values)


def find_schedule(structure, **options):
    return noisyor.find_schedule(structure, **options)


def identify(structure, **options):
    return noisyor.check_identifiability(structure, **options)


def order_table(n_diseases, n_symptoms):
    from noisyor.identifiability import identifiability_table

    return identifiability_table(n_diseases, n_symptoms)


def plan_of(structure, which, schedule=None):
    """The sets to count: "coupled" pairs, "all" pairs, or those of a schedule."""
    if which == "schedule":
        return schedule.plan()
    plans = noisyor.MomentPlan
    return plans.coupled(structure) if which == "coupled" else plans.all_pairs(structure)


def best_triplets(pairs, schedule):
    return noisyor.learning.plan_triplets(pairs, schedule)


def count(source, plan, n_groups=50, n_jobs=None, **options):
    return noisyor.count_moments(source, plan, n_groups=n_groups, n_jobs=n_jobs, **options)


def exact_moments(network, plan):
    return noisyor.Moments.exact(network, plan)


def learn(method, records, structure, *, fixed=None, diseases=None, seed=0, n_jobs=None, **options):
    """Learn as NoisyOrLearner does: records may be findings, arrays or moments."""
    learner = noisyor.NoisyOrLearner(
        structure, method=method, random_state=seed, n_jobs=n_jobs, **options
    )
    return learner.fit(records, diseases, fixed=fixed).estimate_


def learn_in_parts(method, parts, structure):
    learner = noisyor.NoisyOrLearner(structure, method=method)
    for part in parts:
        learner.partial_fit(part)
    return learner.estimate_


def learn_sequential(moments, schedule, cleanup="joint", fixed=None):
    return noisyor.learning.learn_sequential(moments, schedule, cleanup=cleanup, fixed=fixed)


def learn_pooled(moments, schedule, **options):
    return noisyor.learning.learn_pooled(moments, schedule, **options)


def scores_of(misfits):
    """Pairs, symptoms and possible edges: members, residuals, p values and q values of each."""
    return {"pairs": misfits.pairs, "symptoms": misfits.symptoms, "edges": misfits.edges}


def predict_precision(network, n_records, seed):
    return noisyor.learning.predict_precision(network, n_records, rng=seed)


def decompose(tensor):
    return noisyor.learning.decompose_triplet(tensor)


def remove_influence(tensor, prior, failures):
    return noisyor.learning.remove_influence(tensor, prior, failures)


def diagnose(network, present, absent, method, budget=1.0, seed=0):
    return noisyor.posterior(network, present, absent, method=method, budget=budget, rng=seed)


def diagnose_many(network, records, method="auto", budget=0.1, seed=0):
    return noisyor.posteriors(network, records, method=method, budget=budget, rng=seed)


def explain(network, present, absent, method="auto", seed=0):
    return noisyor.explain(network, present, absent, method=method, rng=seed)


def best_questions(network, present, absent, about=None, seed=0):
    return noisyor.best_questions(network, present, absent, about=about, draws=200, rng=seed)


def most_probable(network, present, absent, k):
    return noisyor.most_probable(network, present, absent, k)


def evaluate(learned, truth, n_records, seed):
    return noisyor.evaluate(learned, truth, n_records=n_records, rng=seed)


def parts_of(estimate):
    """Priors, failures and leaks, with what a user sees of each parameter."""
    facts = {
        name: getattr(estimate, name).vector
        for name in ("values", "standard_errors", "depths", "flags")
    }
    steps = estimate.steps
    return facts | {"steps": np.full(len(estimate.values), -1) if steps is None else steps.vector}


# --- networks and records ---


def random_network(seed, n_diseases, n_symptoms, share):
    rng = np.random.default_rng(seed)
    structure = make_structure(rng.random((n_diseases, n_symptoms)) < share)
    return make_network(
        structure,
        rng.uniform(0.05, 0.4, n_diseases),
        rng.uniform(0.1, 0.9, structure.n_edges),
        rng.uniform(0.005, 0.1, n_symptoms),
    )


@functools.cache
def large_network():
    """More than 3,000 parameters and 500 symptoms: learned disease by disease, coupled pairs."""
    rng = np.random.default_rng(7)
    n_diseases, n_own, n_common = 80, 6, 40
    matrix = np.zeros((n_diseases, n_diseases * n_own + n_common), dtype=bool)
    for i in range(n_diseases):
        matrix[i, i * n_own : (i + 1) * n_own] = True
        matrix[i, -n_common:] = rng.random(n_common) < 0.65
    # A near-duplicate: the schedule leaves both to the clean-up.
    matrix[1] = matrix[0]
    matrix[1, 5], matrix[0, n_own] = False, True
    structure = make_structure(matrix)
    assert n_diseases + structure.n_edges + structure.n_symptoms > 3000
    return make_network(
        structure,
        rng.uniform(0.01, 0.06, n_diseases),
        rng.choice([0.2, 0.5, 0.8], structure.n_edges),
        rng.uniform(0.001, 0.01, structure.n_symptoms),
    )


NETWORKS = {
    "figure1": functools.partial(datasets.figure1, 0),
    "figure2": functools.partial(datasets.figure2, 0),
    "clinic": datasets.clinic,
    "random": functools.partial(random_network, 3, 4, 9, 0.4),
    "twins": functools.partial(random_network, 5, 3, 7, 0.8),
    "tcc4e": lambda: real_network(find_structures() / "tcc4e"),
    "large": large_network,
}


def network_of(name):
    return NETWORKS[name]()


def with_unknown(findings, seed, share=0.15):
    """The same records with some findings unknown."""
    array = findings.to_numpy().astype(float)
    array[np.random.default_rng(seed).random(array.shape) < share] = np.nan
    return make_findings(array, findings.structure)


def some_fixed(network, seed):
    """A third of all parameters, at the truth."""
    rng = np.random.default_rng(seed)
    values = {}
    for kind in "priors", "failures", "leaks":
        truth = getattr(network, kind)
        values[kind] = np.where(rng.random(len(truth)) < 1 / 3, truth, np.nan)
    return fix_values(network.structure, **values)


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


# --- what is compared ---

CASES = {}
BY_STEPS = set()
"""Cases that go by steps to an optimum, so that they depend on the machine."""


def case(*names, by_steps=False):
    """Make a function a case for each of some names, by which it chooses what to do."""

    def register(function):
        for name in names or [None]:
            title = function.__name__ + (f"-{name}" if name else "")
            CASES[title] = functools.partial(function, *([name] if name else []))
            if by_steps:
                BY_STEPS.add(title)
        return function

    return register


def estimate_facts(estimate):
    facts = parts_of(estimate)
    facts["method"] = estimate.method
    if estimate.trace is not None:
        facts |= {f"trace_{name}": getattr(estimate.trace, name) for name in ("values", "ends")}
        facts["trace_is_settled"] = estimate.trace.is_settled
    return facts


def prefixed(prefix, facts):
    return {f"{prefix}.{name}": value for name, value in facts.items()}


def moment_facts(moments):
    facts = {"group_records": moments.group_records}
    for order in 1, 2, 3:
        facts[f"counts{order}"] = moments.counts(order)
        facts[f"groups{order}"] = moments.present[order - 1].astype(np.int64)
        facts[f"absent{order}"] = moments.negative_moments(order)
        facts[f"ratios{order}"] = moments.ratios(order)
        facts[f"without{order}"] = moments.ratios(order, without=moments.n_groups // 2)
        facts[f"variances{order}"] = moments.ratio_variances(order)
        if order > 1:
            facts[f"excesses{order}"] = moments.excesses(order)
    if moments.margins is not None:
        for name, margin in moments.margins._asdict().items():
            facts[f"margins_{name}"] = margin.astype(np.int64)
    return facts


def posterior_facts(found):
    names = ("probabilities", "lower", "upper", "method", "error", "log_evidence",
             "log_evidence_upper", "effective_sample_size", "interval_lower", "interval_upper",
             "n_without_error")  # fmt: skip
    facts = {name: getattr(found, name) for name in names}
    return {name: value for name, value in facts.items() if value is not None}


def table_facts(table):
    return {name: table[name].to_pylist() for name in table.column_names}


@case("figure1", "figure2", "clinic", "random", "tcc4e", "large")
def sampling(name):
    network = network_of(name)
    findings, diseases = sample(network, 3000, 11, return_diseases=True)
    again = sample(network, 70_000 if name == "clinic" else 100, 5)
    return {
        "findings": findings.to_numpy().astype(np.int64),
        "diseases": diseases.astype(np.int64),
        "again": again.count_present(),
        "marginals": network.marginals(),
        "joint": network.joint(list(network.structure.symptoms[:4])),
        "moments": network.pair_moments([(0, 1), (1, 3), (2, 4)]),
    }


@case("figure1", "clinic", "tcc4e", "large")
def counting(name):
    network = network_of(name)
    schedule = find_schedule(network.structure)
    plan = plan_of(network.structure, "coupled") | plan_of(network.structure, "schedule", schedule)
    return moment_facts(count(sample(network, 4000, 1), plan))


@case("clinic", "random")
def counting_with_unknown_findings(name):
    network = network_of(name)
    schedule = find_schedule(network.structure)
    plan = plan_of(network.structure, "all") | plan_of(network.structure, "schedule", schedule)
    findings = with_unknown(sample(network, 3000, 1), 2)
    moments = count(findings, plan, n_groups=10)
    facts = moment_facts(moments)
    facts |= prefixed("suppressed", moment_facts(moments.suppressed(20)))
    return facts | prefixed("joined", moment_facts(moments.in_groups(4)))


@case("wide.csv", "long.csv", "wide.parquet", "long.parquet")
def counting_of_files(name):
    network = network_of("clinic")
    schedule = find_schedule(network.structure)
    plan = plan_of(network.structure, "schedule", schedule)
    array = sample(network, 2500, 3).to_numpy()
    ids = [f"record {number}" for number in range(len(array))]
    findings = make_findings(array, network.structure, ids)
    facts = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_findings(findings, path, name.split(".")[0])
        facts |= moment_facts(count(path, plan))
        if name == "long.parquet":
            facts |= prefixed("by id", moment_facts(count(findings, plan, n_groups=7)))
    return facts


@case("figure1", "clinic")
def exact_values(name):
    network = network_of(name)
    schedule = find_schedule(network.structure)
    plan = plan_of(network.structure, "coupled") | plan_of(network.structure, "schedule", schedule)
    moments = exact_moments(network, plan)
    facts = {f"ratios{order}": moments.ratios(order) for order in (1, 2, 3)}
    return facts | prefixed("learned", estimate_facts(learn_sequential(moments, schedule)))


def schedule_facts(schedule):
    names = ("step_rounds", "step_diseases", "step_symptoms", "edge_steps", "removed", "depths",
             "prior_steps", "prior_depths")  # fmt: skip
    facts = {name: getattr(schedule, name) for name in names}
    facts["symptoms_left"] = sum(len(part.symptoms) for part in schedule.unlearned())
    facts["diseases_left"] = [part.diseases for part in schedule.unlearned()]
    plan = schedule.plan()
    return facts | {"pairs": plan.pairs, "triplets": plan.triplets}


@case("figure1", "figure2", "clinic", "random", "twins", "tcc4e", "large")
def schedules(name):
    network = network_of(name)
    structure = network.structure
    facts = {}
    for pairs in True, False:
        for choice in "first", "rarest":
            found = find_schedule(structure, pairs=pairs, choice=choice)
            facts |= prefixed(f"{choice}{pairs}", schedule_facts(found))
    facts |= prefixed(
        "fixed", schedule_facts(find_schedule(structure, fixed=some_fixed(network, 1)))
    )
    if name == "clinic":
        bound = find_schedule(structure).sample_complexity(network, epsilon=0.01, delta=0.05)
        facts |= {"records": bound.log10_records, "growth": bound.log10_error_growth}
    return facts


@case("figure1", "figure2", "random", "twins", "tcc4e")
def identifying(name):
    network = network_of(name)
    facts = {}
    options = {"plain": {}, "fixed": {"fixed": some_fixed(network, 2)}, "pairs": {"max_order": 2}}
    for title, chosen in options.items():
        found = identify(network.structure, **chosen)
        mine = {f"orders{number}": orders for number, orders in enumerate(found.orders)}
        mine["order"] = found.order
        mine["swaps"] = [list(group) for group in found.swaps]
        for number, tradeoff in enumerate(found.tradeoffs):
            mine[f"tradeoff{number}"] = np.concatenate(tradeoff[:3])
            mine[f"freedom{number}"] = tradeoff.freedom
            mine[f"diseases{number}"] = tradeoff.diseases
        if name != "tcc4e":
            mine["repairs"] = [
                [repair.kind, repair.n_needed, [list(each) for each in repair.parameters]]
                for tradeoff in found.tradeoffs
                for repair in found.repairs(tradeoff)
            ]
        facts |= prefixed(title, mine)
    return facts


@case()
def table_of_orders():
    return {"table": order_table(4, 6)}


@case()
def algorithms_2_and_3():
    network = network_of("figure1")
    tensor = network.joint(["b", "d", "e"])
    found = decompose(tensor)
    return {
        "prior": found.prior,
        "with": found.absent_with,
        "without": found.absent_without,
        "removed": remove_influence(tensor, 0.3, [0.4, 1.0, 0.7]),
    }


LEARNED = {
    "figure1": ("sequential", "exact_em", "variational_em",
                "maximum_likelihood", "observed", "observed_likelihood", "uniform"),
    "figure2": ("sequential", "exact_em"),
    "random": ("sequential", "exact_em", "variational_em", "observed",
               "observed_likelihood"),
    "twins": ("sequential",),
    "clinic": ("sequential", "variational_em", "observed",
               "observed_likelihood"),
    "tcc4e": ("sequential", "variational_em", "observed"),
}  # fmt: skip
RECORDS = {"clinic": 800, "tcc4e": 500, "large": 1500}
SLOW = {"exact_em": 150, "maximum_likelihood": 150}


@case(
    *(f"{name}:{method}" for name, methods in LEARNED.items() for method in methods), by_steps=True
)
def learning(title):
    name, method = title.split(":")
    network = network_of(name)
    structure = network.structure
    n_records = SLOW.get(method, RECORDS.get(name, 2000))
    records, diseases = sample(network, n_records, 21, return_diseases=True)
    seen = diseases if method.startswith("observed") else None
    options = {"n_init": 2} if method == "variational_em" else {"n_init": 1}
    estimate = quietly(learn, method, records, structure, diseases=seen, **options)
    facts = estimate_facts(estimate)
    fixed = some_fixed(network, 5)
    held = quietly(learn, method, records, structure, diseases=seen, fixed=fixed, **options)
    facts |= prefixed("fixed", estimate_facts(held))
    if name == "tcc4e":
        return facts
    unknown = with_unknown(records, 4)
    hidden = quietly(learn, method, unknown, structure, diseases=seen, **options)
    facts |= prefixed("unknown", estimate_facts(hidden))
    return facts


@case("figure2", "twins", "tcc4e", by_steps=True)
def cleaning_up(name):
    """What the schedule leaves, from the moments: jointly, on a grid, and not at all."""
    network = network_of(name)
    structure = network.structure
    schedule = find_schedule(structure)
    plan = noisyor.NoisyOrLearner(structure, method="sequential").find_plan()
    moments = count(sample(network, 3000, 6), plan, n_groups=20)
    facts = {"pairs": plan.pairs, "triplets": plan.triplets}
    for cleanup in ("joint", "grid", None) if name == "figure2" else ("joint", None):
        found = quietly(learn_sequential, moments, schedule, cleanup)
        facts |= prefixed(str(cleanup), estimate_facts(found))
    return facts


@case("figure2:sequential", "figure1:exact_em", by_steps=True)
def misfits(title):
    name, method = title.split(":")
    network = network_of(name)
    records = sample(network, 500 if method == "exact_em" else 1500, 31)
    array = records.to_numpy().copy()
    array[:, 1] = array[:, 0]  # something that the network does not explain
    broken = make_findings(array, network.structure)
    found = quietly(learn, method, broken, network.structure, n_init=1).misfits()
    facts = {"p_value": found.p_value, "n_found": found.n_found, "expected": found.expected,
             "observed": found.observed}  # fmt: skip
    for kind, scored in scores_of(found).items():
        facts |= prefixed(kind, scored._asdict())
    facts["found"] = found.pairs.found(0.05)
    return facts


@case("figure1", "clinic")
def precision(name):
    found = predict_precision(network_of(name), 5000, 1)
    return {
        "errors": found.standard_errors.vector,
        "from_records": found.without_weak_priors.vector,
        "needed": found.records_needed(0.02).vector,
    }


@case("clinic", "random", by_steps=True)
def evaluation(name):
    network = network_of(name)
    learned = quietly(learn, "pooled", sample(network, 1500, 2), network.structure).network
    found = evaluate(learned, network, 200, 3)
    kinds = {"priors": found.priors, "failures": found.failures, "leaks": found.leaks}
    kinds |= {f"depth{depth}": part for depth, part in found.by_depth.items()}
    kinds["posteriors"] = found.posteriors
    facts = {}
    for kind, part in kinds.items():
        facts |= prefixed(kind, vars(part))
    return facts


ASKED = {
    "figure1": (["b", "d"], ["a", "e"]),
    "clinic": (["fever", "cough", "fatigue"], ["wheezing", "chest pain"]),
}


def asked(name, network):
    if name in ASKED:
        return ASKED[name]
    symptoms = network.structure.symptoms
    return list(symptoms[::4]), list(symptoms[1::4])


@case("figure1", "clinic", "random", "tcc4e")
def posteriors_of_one(name):
    network = network_of(name)
    present, absent = asked(name, network)
    facts = {}
    for method in ("auto", "exact", "variational", "mean_field", "gibbs"):
        if (name, method) != ("tcc4e", "exact"):
            found = diagnose(network, present, absent, method, budget=0.2, seed=2)
            facts |= prefixed(method, posterior_facts(found))
    found = diagnose(network, absent, [], "auto", budget=0.2)
    return facts | prefixed("absent", posterior_facts(found))


@case("clinic:auto", "clinic:gibbs", "clinic:variational", "clinic:mean_field", "tcc4e:auto",
      "random:exact", "large:auto")  # fmt: skip
def posteriors_of_many(title):
    name, method = title.split(":")
    network = network_of(name)
    facts = {}
    n_records = 60 if (name, method) == ("clinic", "auto") else 12
    records = sample(network, n_records, 41)
    for kind, chosen in {"all": records, "unknown": with_unknown(records, 1, 0.3)}.items():
        found = diagnose_many(network, chosen, method, budget=0.02, seed=5)
        names = ("probabilities", "errors", "log_evidences", "log_evidence_uppers",
                 "effective_sample_sizes", "method_names")  # fmt: skip
        facts |= prefixed(kind, {name: getattr(found, name) for name in names})
    return facts


@case("figure1", "clinic", "tcc4e")
def explaining(name):
    network = network_of(name)
    present, absent = asked(name, network)
    found = explain(network, present[:6], absent[:6], seed=1)
    facts = prefixed("contributions", table_facts(found.contributions))
    facts |= prefixed("causes", table_facts(found.causes))
    sampled = explain(network, present[:3], absent[:2], method="gibbs", seed=1)
    facts |= prefixed("gibbs contributions", table_facts(sampled.contributions))
    return facts | prefixed("gibbs causes", table_facts(sampled.causes))


@case("figure1", "clinic", "tcc4e")
def asking(name):
    network = network_of(name)
    present, absent = asked(name, network)
    facts = {}
    for about in None, network.structure.diseases[1]:
        found = best_questions(network, present[:2], absent[:1], about, seed=6)
        facts |= prefixed(str(about), {"symptoms": found.symptoms, "gains": found.gains,
                                       "probabilities": found.probabilities})  # fmt: skip
    return facts


@case("figure1", "clinic", "tcc4e")
def most_probable_sets(name):
    network = network_of(name)
    present, absent = asked(name, network)
    found = most_probable(network, present[:6], absent[:6], 8)
    return {"sets": [list(names) for names in found.sets], "log_joints": found.log_joints,
            "probabilities": found.probabilities}  # fmt: skip


# --- recording and comparing ---


def packed(facts):
    """Turn what a case gives into arrays: of floats, of integers, or of the bytes of a hash."""
    arrays = {}
    for name, value in facts.items():
        array = np.asarray(value) if not isinstance(value, list) else as_array(value)
        if array.dtype.kind == "b":
            array = array.astype(np.int64)
        if array.dtype.kind in "US":
            array = np.array([hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]])
        elif array.dtype.kind in "iu":
            if array.size > 24:
                content = array.astype(np.int64).tobytes() + str(array.shape).encode()
                array = np.array([hashlib.sha256(content).hexdigest()[:16]])
        else:
            array = thinned(array.astype(np.float64).ravel())
        arrays[name] = array
    return arrays


def as_array(values):
    """Floats stay floats; lists with words or None in them become one word."""
    if values and all(isinstance(value, float) for value in values):
        return np.array(values)
    return np.array(json.dumps(values, default=lambda each: np.asarray(each).tolist()))


def thinned(values):
    """Keep every n-th of many numbers, and the sums of all that are finite between them."""
    if len(values) <= MOST_KEPT:
        return values
    step = -(-len(values) // (MOST_KEPT // 2))
    firsts = np.arange(0, len(values), step)
    finite = np.where(np.isfinite(values), values, 0.0)
    bad = [np.isnan(values).sum(), np.isposinf(values).sum(), np.isneginf(values).sum()]
    return np.concatenate([values[firsts], np.add.reduceat(finite, firsts), bad])


def machine():
    """What the last digits depend on."""
    import llvmlite.binding
    import numba
    import scipy

    versions = np.__version__, scipy.__version__, numba.__version__
    return [llvmlite.binding.get_host_cpu_name(), *versions]


@functools.cache
def recorded():
    with np.load(RECORDED) as arrays:
        kept = json.loads(str(arrays["names"]))
        return kept["cases"], arrays["floats"], arrays["integers"], kept["machine"]


def as_recorded(title):
    """Return what was recorded of a case."""
    names, floats, integers, _ = recorded()
    return {
        name: np.array([kept])
        if isinstance(kept, str)
        else (floats if kept[0] == "f" else integers)[kept[1] : kept[2]]
        for name, kept in names[title].items()
    }


def record(path, beginnings):
    """Write what all cases give: one array of floats, one of integers, and where each stands."""
    assert beginnings == [""] or recorded()[3] == machine(), "the others are of another machine"
    names, floats, integers = {}, [], []
    for title, run in CASES.items():
        names[title] = {}
        is_new = title.startswith(tuple(beginnings))
        for name, array in (packed(run()) if is_new else as_recorded(title)).items():
            if array.dtype.kind == "U":
                names[title][name] = str(array[0])
                continue
            kept = floats if array.dtype.kind == "f" else integers
            start = sum(map(len, kept))
            kept.append(array.ravel())
            names[title][name] = ["fi"[kept is integers], start, start + array.size]
    np.savez_compressed(
        path,
        names=np.array(json.dumps({"machine": machine(), "cases": names}, separators=(",", ":"))),
        floats=np.concatenate(floats),
        integers=np.concatenate(integers).astype(np.int64),
    )


def differences(title):
    """Tell how what a case gives now differs from what it gave."""
    names, floats, integers, _ = recorded()
    found = packed(CASES[title]())
    wrong = [f"{name}: recorded, but not given any more" for name in names[title].keys() - found]
    for name, array in found.items():
        kept = names[title].get(name)
        if kept is None:
            wrong.append(f"{name}: not recorded")
        elif isinstance(kept, str):
            if array.dtype.kind != "U" or array[0] != kept:
                wrong.append(f"{name}: not equal")
        else:
            kind, start, stop = kept
            before = (floats if kind == "f" else integers)[start:stop]
            wrong += compared(name, before, array, 1e-8 if title in FLAT else RELATIVE)
    return wrong


def compared(name, before, now, relative=RELATIVE):
    if now.dtype.kind == "U" or now.size != before.size:
        return [f"{name}: of another size"]
    now = now.ravel()
    if before.dtype.kind == "i":
        same = now == before
    else:
        same = np.isclose(now, before, rtol=relative, atol=ABSOLUTE, equal_nan=True)
    if same.all():
        return []
    first = int(np.argmin(same))
    return [f"{name}: {(~same).sum()} of {same.size}, first {now[first]!r}, was {before[first]!r}"]


def is_the_same_algorithm(title):
    """Variational EM has changed: shares of a finding add up to 1 after each of its steps."""
    return not title.endswith(":variational_em") or title.startswith("learning-figure1")


def is_long(title):
    """Learning on larger networks takes most of the time: `make test-all` compares it."""
    return (
        title in BY_STEPS
        and not title.endswith(("figure1", "figure2", "random"))
        and (not title.startswith(("learning-figure", "learning-random")))
    )


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=[pytest.mark.slow] * is_long(title))
        for title in filter(is_the_same_algorithm, CASES)
    ],
)
def test_results_are_what_they_were(title):
    *_, where = recorded()
    if title in BY_STEPS and machine() != where:
        pytest.skip(f"recorded with {', '.join(where)}; this is {', '.join(machine())}")
    assert not differences(title)


def test_every_case_is_recorded():
    assert recorded()[0].keys() == CASES.keys()


def test_a_changed_number_is_noticed():
    assert not compared("same", np.array([1.0, np.nan]), np.array([1.0 + 1e-10, np.nan]))
    assert compared("other", np.array([1.0, np.nan]), np.array([1.0 + 1e-8, np.nan]))
    assert compared("missing", np.array([1.0]), np.array([np.nan]))
    assert compared("counts", np.array([3]), np.array([4]))
    assert compared("longer", np.array([3]), np.array([3, 3]))


if __name__ == "__main__" and sys.argv[1:2] == ["record"]:
    record(RECORDED, sys.argv[2:] or [""])
