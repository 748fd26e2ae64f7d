"""Refined learning: how good it is, and what it does not claim."""

import numpy as np
import pytest

from noisyor import (
    Findings,
    Fixed,
    NoisyOrLearner,
    NoisyOrNetwork,
    Parameters,
    Structure,
    datasets,
)
from noisyor.em.exact import ExactExpectation
from noisyor.errors import ParameterError, StructureError
from noisyor.evaluation import check_intervals
from noisyor.experiments.settings import real_network
from noisyor.learning import Flag, learn_refined
from noisyor.learning.pooled import PooledFit
from noisyor.schedule import find_schedule


def test_refining_beats_pooling_and_its_intervals_cover():
    learned, start, inside = [], [], []
    for seed in range(12):
        network = datasets.figure1(seed)
        findings = network.sample(2000, rng=seed + 50)
        refined = NoisyOrLearner(network.structure).fit(findings).estimate_
        pooled = NoisyOrLearner(network.structure, method="pooled").fit(findings).estimate_
        learned.append(np.abs(refined.failures.values - network.failures).mean())
        start.append(np.abs(pooled.failures.values - network.failures).mean())
        lower, upper = refined.failures.intervals()
        inside.append((lower <= network.failures) & (network.failures <= upper))
    assert np.mean(learned) < 0.9 * np.mean(start)
    assert 0.88 < np.mean(inside) < 0.99


@pytest.mark.slow
def test_large_networks_are_refined_disease_by_disease():
    network = datasets.qmr_shaped(0)
    findings, diseases = network.sample(5000, rng=1, return_diseases=True)
    estimate = NoisyOrLearner(network.structure).fit(findings).estimate_
    assert estimate.method == "refined"
    assert (estimate.failures.depths == estimate.schedule.n_rounds).sum() == 122  # cleaned up
    often = np.flatnonzero(diseases.sum(axis=0) > 100)
    seen = diseases.mean(axis=0)[often]
    assert estimate.priors.values[often] == pytest.approx(seen, rel=0.25)
    unflagged = estimate.failures.flags == 0
    lower, upper = estimate.failures.intervals()
    inside = (lower <= network.failures) & (network.failures <= upper)
    assert 0.90 < inside[unflagged].mean() < 0.99


def test_the_same_seed_gives_the_same_network():
    network = datasets.clinic()
    findings = network.sample(2000, rng=0)
    one, same = (NoisyOrLearner(network.structure, random_state=1).fit(findings) for _ in range(2))
    assert one.network_ == same.network_


def test_unknown_findings_are_left_out():
    network = datasets.figure1(2)
    rng = np.random.default_rng(0)
    records = network.sample(5000, rng=1).to_numpy().astype(float)
    records[rng.random(records.shape) < 0.1] = np.nan
    learned = NoisyOrLearner(network.structure).fit(records).network_
    assert np.abs(learned.failures - network.failures).mean() < 0.06


@pytest.mark.parametrize("method", ["refined", "pooled", "sequential"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_disease_without_symptoms_changes_nothing_else(method, seed):
    network = datasets.clinic()
    own = network.structure
    diseases = *own.diseases[:3], "causes nothing", *own.diseases[3:]
    edges = own.edges + np.column_stack([own.edges[:, 0] >= 3, np.zeros(len(own.edges), int)])
    records = network.sample(1000, rng=seed).to_numpy()
    without, with_it = (
        NoisyOrLearner(structure, method=method).fit(records).estimate_
        for structure in (own, Structure(diseases, own.symptoms, edges))
    )
    for kind in "values", "standard_errors", "flags":
        one, other = getattr(without, kind), getattr(with_it, kind)
        assert Parameters(np.delete(other.priors, 3), other.failures, other.leaks) == one
    assert with_it.priors.values[3] == 0.5
    assert with_it.priors.flags[3] == Flag.NOT_SCHEDULED
    assert np.isnan(with_it.priors.standard_errors[3])


def test_a_disease_without_symptoms_can_be_fixed_and_be_alone():
    structure = Structure(["flu", "nothing"], ["a", "b", "c"], [[0, 0], [0, 1], [0, 2]])
    network = NoisyOrNetwork(structure, [0.3, 0.1], [0.2, 0.3, 0.4], [0.05] * 3)
    records = network.sample(500, rng=0)
    fixed = {"priors": {"nothing": 0.1}}
    estimate = NoisyOrLearner(structure).fit(records, fixed=fixed).estimate_
    assert estimate.priors.values[1] == 0.1
    assert estimate.priors.flags.tolist() == [0, Flag.FIXED]
    alone = Structure(["nothing"], ["a", "b", "c"], [])
    estimate = NoisyOrLearner(alone).fit(records.to_numpy()).estimate_
    assert estimate.priors.flags[0] & Flag.DOUBTFUL
    assert np.isnan(estimate.priors.standard_errors[0])
    assert estimate.leaks.values == pytest.approx(records.to_numpy().mean(axis=0), rel=0.05)


def test_few_records_are_flagged_as_weak():
    network = datasets.clinic()
    estimate = NoisyOrLearner(network.structure).fit(network.sample(3, rng=0)).estimate_
    assert (estimate.priors.flags & Flag.WEAK).any()
    values = np.concatenate([part.values for part in estimate.parts.values()])
    assert ((values > 0) & (values < 1)).all()


def test_wrong_inputs_are_refused():
    network, other = datasets.figure1(0), datasets.clinic()
    schedule = find_schedule(network.structure)
    with pytest.raises(StructureError, match="different structures"):
        learn_refined(other.sample(10, rng=0), schedule, network)
    with pytest.raises(ParameterError, match="no records"):
        learn_refined(network.sample(0, rng=0), schedule, network)


def hardly_any_records(kind):
    network = datasets.figure1(0)
    if kind == "unknown":
        return np.full((500, 5), np.nan)
    if kind == "absent":
        return np.zeros((500, 5), dtype=np.uint8)
    if kind == "one record":
        return network.sample(1, rng=0).to_numpy()
    records = network.sample(500, rng=0).to_numpy()
    records[:, 1] = 1  # b is always present
    return records


@pytest.mark.parametrize("kind", ["unknown", "absent", "one record", "always"])
def test_what_the_records_do_not_tell_is_flagged(kind):
    structure = datasets.figure1(0).structure
    records = hardly_any_records(kind)
    if kind == "unknown":
        records = Findings.from_numpy(records, structure)
    estimate = NoisyOrLearner(structure).fit(records).estimate_
    of_b = structure.edges[:, 1] == 1
    failures = estimate.failures.flags[of_b] if kind == "always" else estimate.failures.flags
    assert (failures & Flag.WEAK).all()
    if kind in ("unknown", "one record"):
        assert (estimate.priors.flags & Flag.WEAK).all()
        assert (estimate.leaks.flags & Flag.WEAK).all()


@pytest.mark.parametrize("method", ["refined", "pooled"])
def test_shrinking_can_be_switched_off(method):
    network = datasets.clinic()
    records = network.sample(1000, rng=0)
    spreads = [
        NoisyOrLearner(network.structure, method=method, shrink=shrink)
        .fit(records)
        .network_.failures.std()
        for shrink in (True, False)
    ]
    assert spreads[1] > 1.05 * spreads[0]


@pytest.mark.parametrize("method", ["refined", "pooled", "sequential"])
def test_without_records_nothing_is_learned(method):
    network = datasets.figure1(0)
    with pytest.raises(ParameterError, match="nothing to learn from"):
        NoisyOrLearner(network.structure, method=method).fit(network.sample(0, rng=0))


def test_wrong_values_are_held_and_the_others_make_the_best_of_it():
    """The likelihood of the other parameters is as high as direct maximisation makes it."""
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    network = datasets.figure1(2)
    structure = network.structure
    records = network.sample(5000, rng=0)
    counts = np.bincount(records.to_numpy() @ (1 << np.arange(5)), minlength=32)
    wrong = {"priors": {"A": 0.35}, "failures": {("B", "d"): 0.5}}
    fixed = Fixed(structure, **wrong)
    held = fixed.mask.vector
    given = fixed.values.vector[held]

    def log_likelihood(values):
        joint = NoisyOrNetwork(structure, *np.split(values, [2, 9])).joint(list(range(5)))
        return counts @ np.log(joint.transpose(4, 3, 2, 1, 0).ravel())

    def whole(position):
        values = np.empty(14)
        values[held], values[~held] = given, expit(position)
        return values

    truth = np.concatenate([network.priors, network.failures, network.leaks])
    best = minimize(
        lambda position: -log_likelihood(whole(position)), logit(truth[~held]), method="L-BFGS-B",
        bounds=[(-12, 12)] * int((~held).sum()),
    )  # fmt: skip
    learned = NoisyOrLearner(structure).fit(records, fixed=fixed).network_
    found = log_likelihood(np.concatenate([learned.priors, learned.failures, learned.leaks]))
    assert found > -best.fun - 3.0  # the weak priors cost a little


def test_a_fixed_prior_leaves_nothing_weakly_identified(monkeypatch):
    """On large networks, whose information is inverted disease by disease."""
    monkeypatch.setattr("noisyor.learning.refined.is_small", lambda _: False)
    network = datasets.clinic()
    records = network.sample(3000, rng=0)
    fixed = Fixed.of(network, "priors")
    estimate = NoisyOrLearner(network.structure).fit(records, fixed=fixed).estimate_
    assert not estimate.failures.count(Flag.WEAKLY_IDENTIFIED)


def test_large_networks_count_what_diseases_share(monkeypatch):
    """Two that cause nearly the same were known well, each as if the other had been seen."""
    for module in "em.stochastic", "learning.refined":
        monkeypatch.setattr(f"noisyor.{module}.MOST_TOGETHER", 1)
    edges = [(d, s) for d in ("A", "B") for s in "abcdef"] + [("C", s) for s in "fghij"]
    structure = Structure.from_edges([*edges, ("A", "k"), ("B", "l")])
    failures = np.where(structure.edges[:, 1] < 10, 0.4, 0.9)
    network = NoisyOrNetwork(structure, [0.1, 0.1, 0.1], failures, np.full(12, 0.01))
    estimate = NoisyOrLearner(structure).fit(network.sample(4000, rng=0)).estimate_
    assert ((estimate.priors.flags & Flag.WEAKLY_IDENTIFIED) != 0).tolist() == [True, True, False]
    errors = estimate.priors.standard_errors
    assert (errors[:2] > 2.0 * errors[2]).all()


def test_what_is_learned_is_as_probable_as_the_truth_and_its_trace_never_falls(real_structures):
    """On tcc4e the learner ended 89 below the truth with 10,000 records."""
    network = real_network(real_structures / "tcc4e")
    findings = network.sample(3000, rng=1)
    estimate = NoisyOrLearner(network.structure).fit(findings).estimate_
    exact = ExactExpectation(findings)
    learned, truth = (exact.expect(each).log_likelihood for each in (estimate.network, network))
    assert learned > truth + 50.0
    assert estimate.trace.is_settled
    assert (np.diff(estimate.trace.values) >= 0.0).all()
    assert "penalised log likelihood" in str(estimate.trace)
    found = check_intervals(estimate, network)
    for kind in "prior", "failure", "leak":
        assert found[kind].holds[found[kind].is_sound].mean() > 0.85


@pytest.mark.parametrize("shrink", [True, False])
def test_what_is_learned_is_not_below_its_start(shrink):
    """Without shrinking it was, on these records."""
    network = datasets.figure1(0)
    findings, schedule = network.sample(5000, rng=0), find_schedule(network.structure)
    start = NoisyOrLearner(network.structure, method="pooled", shrink=shrink).fit(findings).network_
    exact = ExactExpectation(findings)
    for begin in start, network:
        learned = learn_refined(findings, schedule, begin, shrink=shrink).network
        heights = [exact.expect(each).log_likelihood for each in (begin, learned)]
        assert heights[1] >= heights[0] - (0.5 if shrink else 0.01)


def test_steps_are_counted_and_what_has_not_settled_says_so():
    network = datasets.clinic()
    findings = network.sample(1000, rng=0)
    estimate = NoisyOrLearner(network.structure, max_iter=1).fit(findings).estimate_
    assert estimate.n_iter == 1
    assert not estimate.trace.is_settled
    assert "has not settled" in str(estimate.trace)


def test_where_pairs_and_triplets_tell_nothing_all_is_flagged(monkeypatch):
    """On health_knowledge_graph with 10,000 records 78% of the unflagged priors were covered."""
    network = datasets.clinic()
    records, diseases = network.sample(1000, rng=1, return_diseases=True)
    learner = NoisyOrLearner(network.structure)
    assert not learner.fit(records).estimate_.is_all_doubtful
    everything = Parameters.full(network.structure, True)
    found = PooledFit.estimate
    monkeypatch.setattr(
        PooledFit, "estimate", lambda fit: found(fit).flagging(Flag.WEAK, everything)
    )
    assert learner.fit(records).estimate_.is_all_doubtful
    assert not learner.fit(records, diseases).estimate_.is_all_doubtful  # labels do tell
    many = network.sample(5000, rng=1)  # so do many records: of Figure 2, half was flagged
    assert not learner.fit(many).estimate_.is_all_doubtful
