"""The paper's learner: exact moments, records, flags, standard errors."""

import numpy as np
import pytest

import naive
from conftest import random_network
from noisyor import (
    Findings,
    Fixed,
    MomentPlan,
    Moments,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
    find_schedule,
)
from noisyor.errors import ParameterError, StructureError
from noisyor.experiments.settings import real_network
from noisyor.learning import Flag, learn_sequential
from noisyor.learning.learned import NEUTRAL_VALUES


def assert_recovered(network, depth_0=1e-9, deeper=1e-6, **options):
    """Learn from exact moments; return the schedule. Every learned parameter must be right."""
    schedule = find_schedule(network.structure, **options)
    estimate = learn_sequential(Moments.exact(network, schedule.plan()), schedule, cleanup=None)
    assert (estimate.failures.depths == schedule.depths).all()
    assert (estimate.priors.depths == schedule.prior_depths).all()
    truth = {"prior": network.priors, "failure": network.failures, "leak": network.leaks}
    for name, part in estimate.parts.items():
        wrong = np.abs(part.values - truth[name])
        assert wrong[part.depths > 0].max(initial=0) <= deeper
        assert wrong[part.depths == 0].max(initial=0) <= depth_0
        assert not (part.flags[part.is_learned] & Flag.COMPLEX).any()
    return schedule


@pytest.mark.parametrize("seed", range(5))
def test_figure_1_is_recovered_from_exact_moments(seed):
    assert assert_recovered(datasets.figure1(seed)).is_complete


@pytest.mark.parametrize("options", [{}, {"choice": "rarest"}, {"pairs": False}])
def test_qmr_shaped_is_recovered_from_exact_moments(options):
    schedule = assert_recovered(datasets.qmr_shaped(0), **options)
    assert (schedule.depths >= 0).sum() == 45_470 - 122


def test_orphanet570_is_recovered_from_exact_moments(real_structures):
    assert_recovered(real_network(real_structures / "orphanet570"))


def test_random_networks_are_recovered_from_exact_moments(rng):
    """Parameters are kept from the edges: there every moment is nearly zero."""
    n_learned = 0
    for _ in range(300):
        shape = random_network(rng, 4, 10).structure
        sizes = shape.n_diseases, shape.n_edges, shape.n_symptoms
        network = NoisyOrNetwork(shape, *(rng.uniform(0.1, 0.7, size) for size in sizes))
        schedule = assert_recovered(network)
        n_learned += int((schedule.depths >= 0).sum())
    assert n_learned > 300


def steps_of(schedule):
    return [(step.round, step.disease, step.symptoms, step.removed) for step in schedule.steps()]


def test_learning_from_records_agrees_with_the_literal_algorithm(rng):
    """Few records: tensors that are not decomposable, clipping, and what rests on them."""
    seen = np.zeros(256, dtype=int)
    n_compared = 0
    while n_compared < 100:
        network = random_network(rng, 4, 8)
        structure = network.structure
        records = network.sample(int(rng.choice([1000, 5000])), rng=rng).to_numpy().astype(int)
        schedule = find_schedule(structure)
        moments = count_moments(Findings.from_numpy(records, structure), schedule.plan())
        estimate = learn_sequential(moments, schedule, standard_errors=False, cleanup=None)
        parents = {j: structure.parents(j).tolist() for j in range(structure.n_symptoms)}
        try:
            priors, failures, leaks = naive.learn(records.tolist(), parents, steps_of(schedule))
        except ArithmeticError:
            continue  # a slice of a tensor is singular, or rounding decides
        if any(prior > 0.999 for prior in priors.values()):
            continue  # removing a disease that is always there blows rounding up
        n_compared += 1
        edges = [tuple(edge) for edge in structure.edges.tolist()]
        for part, expected, keys in (
            (estimate.priors, priors, range(structure.n_diseases)),
            (estimate.failures, failures, edges),
            (estimate.leaks, leaks, range(structure.n_symptoms)),
        ):
            assert part.is_learned.tolist() == [key in expected for key in keys]
            values = [float(expected[key]) for key in keys if key in expected]
            assert part.values[part.is_learned] == pytest.approx(values, rel=1e-6, abs=1e-8)
            seen += np.bincount(part.flags, minlength=256)
    for flag in Flag.CLIPPED, Flag.COMPLEX, Flag.RESTS_ON_UNLEARNED, Flag.NOT_SCHEDULED:
        assert seen[flag] > 0, flag


def errors_of_figure_1(n_records, networks):
    schedule = find_schedule(datasets.figure1(0).structure)
    errors = []
    for seed in networks:
        network = datasets.figure1(seed)
        moments = count_moments(network.sample(n_records, rng=seed + 10**6), schedule.plan())
        learned = learn_sequential(moments, schedule, standard_errors=False, cleanup=None).network
        errors.append(
            np.abs(learned.priors - network.priors).sum()
            + np.abs(learned.failures - network.failures).sum()
        )
    return float(np.mean(errors))


@pytest.mark.parametrize(("n_records", "most"), [(1000, 0.80), (10_000, 0.25), (100_000, 0.075)])
def test_figure_1_errors_fall_with_the_records_as_they_should(n_records, most):
    """64 networks; between sets of 64 the mean varies by 0.045, 0.014 and 0.004."""
    assert errors_of_figure_1(n_records, range(64)) <= most


def test_standard_errors_tell_the_spread_over_samples():
    network = datasets.figure1(3)
    schedule = find_schedule(network.structure)
    plan = schedule.plan()
    estimates = [
        learn_sequential(count_moments(network.sample(20_000, rng=seed), plan), schedule)
        for seed in range(60)
    ]
    for name in "priors", "failures", "leaks":
        learned = [getattr(each, name) for each in estimates]
        values = np.array([each.values for each in learned])
        told = np.sqrt(np.nanmean([each.standard_errors**2 for each in learned], axis=0))
        use = (np.array([each.flags for each in learned]) == 0).all(axis=0)
        assert told[use] == pytest.approx(values.std(axis=0)[use], rel=0.45)
    assert use.any()


def test_moments_in_one_group_have_no_standard_errors():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    moments = count_moments(network.sample(1000, rng=0), schedule.plan(), n_groups=1)
    estimate = learn_sequential(moments, schedule)
    assert all(np.isnan(part.standard_errors).all() for part in estimate.parts.values())


def test_more_moments_than_needed_change_nothing():
    network = datasets.clinic()
    schedule = find_schedule(network.structure)
    findings = network.sample(5000, rng=0)
    exactly = learn_sequential(count_moments(findings, schedule.plan()), schedule)
    more = count_moments(findings, schedule.plan() | MomentPlan.coupled(network.structure))
    assert learn_sequential(more, schedule).network == exactly.network


def test_unknown_findings_are_left_out_of_each_moment():
    """Missing completely at random: the estimate is another one, but as right."""
    network = datasets.figure1(1)
    schedule = find_schedule(network.structure)
    rng = np.random.default_rng(0)
    records = network.sample(100_000, rng=1).to_numpy().astype(float)
    records[rng.random(records.shape) < 0.1] = np.nan
    moments = count_moments(Findings.from_numpy(records, network.structure), schedule.plan())
    learned = learn_sequential(moments, schedule).network
    assert np.abs(learned.failures - network.failures).sum() < 0.3


def test_what_was_not_learned_holds_neutral_values_and_says_why():
    network = datasets.figure2(0)
    schedule = find_schedule(network.structure)
    moments = count_moments(network.sample(1000, rng=0), schedule.plan())
    with pytest.warns(NoisyOrWarning, match="no schedule learns 'A', 'B'"):
        estimate = learn_sequential(moments, schedule)
    assert not estimate.is_complete
    assert (estimate.priors.values == NEUTRAL_VALUES[0]).all()
    assert (estimate.failures.values == NEUTRAL_VALUES[1]).all()
    assert (estimate.leaks.values == NEUTRAL_VALUES[2]).all()
    assert (estimate.failures.flags == Flag.NOT_SCHEDULED).all()
    assert (estimate.leaks.flags == Flag.RESTS_ON_UNLEARNED).all()
    for part in estimate.parts.values():
        assert np.isnan(part.standard_errors).all()
        assert (part.depths == -1).all()
    rows = estimate.summary().to_pylist()
    assert rows[0]["flags"] == "not learned: neither a schedule nor the clean-up teaches it"
    assert rows[0]["standard_error"] is None
    assert rows[0]["depth"] is None


def three_symptoms(records):
    structure = Structure.from_edges([("D", x) for x in "abc"])
    schedule = find_schedule(structure)
    moments = count_moments(Findings.from_numpy(np.array(records), structure), schedule.plan())
    return learn_sequential(moments, schedule)


def test_each_way_to_fail_has_its_flag():
    always = three_symptoms([[1, 0, 0], [1, 1, 1], [1, 0, 1], [1, 1, 0]])
    assert (always.failures.flags == Flag.NO_MOMENT).all()
    never = three_symptoms([[0, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0]])
    assert (never.failures.flags == Flag.DEGENERATE).all()
    opposed = three_symptoms([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert (opposed.priors.flags == Flag.COMPLEX).all()
    assert (opposed.leaks.flags == Flag.RESTS_ON_UNLEARNED).all()


def test_clipped_values_are_at_the_bounds_and_flagged():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    parts = []
    for seed in range(20):
        moments = count_moments(network.sample(300, rng=seed), schedule.plan())
        parts += learn_sequential(moments, schedule).parts.values()
    values = np.concatenate([part.values for part in parts])
    flags = np.concatenate([part.flags for part in parts])
    errors = np.concatenate([part.standard_errors for part in parts])
    clipped = (flags & Flag.CLIPPED) != 0
    assert clipped.any()
    assert set(np.unique(values[clipped])) <= {1e-6, 1 - 1e-6}
    assert np.isnan(errors[clipped]).all()


def test_what_varies_between_clipped_and_learned_is_unstable():
    network = datasets.clinic()
    schedule = find_schedule(network.structure)
    moments = count_moments(network.sample(2000, rng=0), schedule.plan())
    part = learn_sequential(moments, schedule).failures
    assert part.count(Flag.UNSTABLE) > 0
    assert np.isnan(part.standard_errors[(part.flags & Flag.UNSTABLE) != 0]).all()
    without = [
        learn_sequential(leaving_out(moments, group), schedule, standard_errors=False).failures
        for group in range(moments.n_groups)
    ]
    doubtful = Flag.CLIPPED | Flag.NOT_LEARNED
    varies = np.any([(each.flags & doubtful) != 0 for each in without], axis=0)
    told = (part.flags & Flag.UNSTABLE) != 0
    assert (told == (varies & part.is_learned)).all()


def leaving_out(moments, group):
    kept = np.delete(np.arange(moments.n_groups), group)
    counts = tuple(each[kept] for each in moments.present)
    return Moments(moments.plan, moments.group_records[kept], counts)


def test_leaks_that_rest_on_clipped_failures_say_so():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    edges = network.structure.edges
    n_seen = 0
    for seed in range(30):
        moments = count_moments(network.sample(300, rng=seed), schedule.plan())
        estimate = learn_sequential(moments, schedule)
        doubtful = Flag.CLIPPED | Flag.RESTS_ON_CLIPPED
        of_edges = (estimate.failures.flags | estimate.priors.flags[edges[:, 0]]) & doubtful
        for symptom in range(5):
            rests = bool(of_edges[edges[:, 1] == symptom].any())
            flag = estimate.leaks.flags[symptom]
            if not flag & Flag.NOT_LEARNED:
                assert bool(flag & Flag.RESTS_ON_CLIPPED) is rests
                n_seen += rests
    assert n_seen > 0


def test_the_first_failure_gives_the_reason():
    """B's two triplets both fail, the first because d is always there, the second also."""
    structure = datasets.figure1(0).structure
    schedule = find_schedule(structure)
    rows = [[0, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    records = np.array(rows)
    records[:, 2] = 0  # c is never there: (c, d, e) would be degenerate, (b, d, e) has no moment
    moments = count_moments(Findings.from_numpy(records, structure), schedule.plan())
    flags = learn_sequential(moments, schedule).priors.flags
    assert flags[1] == Flag.NO_MOMENT


def test_few_groups_give_no_standard_errors():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    for n_groups, told in (9, False), (10, True):
        moments = count_moments(network.sample(5000, rng=0), schedule.plan(), n_groups=n_groups)
        estimate = learn_sequential(moments, schedule)
        assert np.isfinite(estimate.standard_errors.priors).all() == told


def test_an_estimate_cannot_be_changed():
    estimate = three_symptoms([[0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]])
    with pytest.raises(ValueError, match="read-only"):
        estimate.failures.values[0] = 0.1


def test_hidden_cells_are_flagged():
    network = datasets.clinic()
    schedule = find_schedule(network.structure)
    moments = count_moments(network.sample(3000, rng=0), schedule.plan()).suppressed(5)
    estimate = learn_sequential(moments, schedule)
    assert 0 < estimate.failures.count(Flag.NO_MOMENT) < network.structure.n_edges
    assert estimate.failures.is_learned.any()


def test_moments_that_do_not_fit_the_schedule_are_refused():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    pairs = count_moments(network.sample(100, rng=0), MomentPlan.coupled(network.structure))
    with pytest.raises(ParameterError, match="lack 3 of the 3 triplets .* `noisyor plan"):
        learn_sequential(pairs, schedule)
    with pytest.raises(StructureError, match="different structures"):
        learn_sequential(pairs, find_schedule(datasets.figure2(0).structure))
    with pytest.raises(ParameterError, match="not NoisyOrNetwork and Schedule"):
        learn_sequential(network, schedule)
    nothing = count_moments(network.sample(0, rng=0), schedule.plan())
    with pytest.raises(ParameterError, match="no records"):
        learn_sequential(nothing, schedule)


def test_a_given_disease_opens_what_it_had_hidden():
    """No triplet of Figure 2 is singly coupled; without A every one of B's is."""
    network = datasets.figure2(0)
    structure = network.structure
    a = structure.disease_index("A")
    fixed = Fixed(
        structure,
        priors={"A": network.priors[a]},
        failures={
            ("A", int(j)): network.failures[structure.edge_index("A", int(j))]
            for j in structure.children("A")
        },
    )
    assert not find_schedule(structure).is_complete
    schedule = find_schedule(structure, fixed=fixed)
    schedule.validate()
    assert schedule.is_complete
    moments = Moments.exact(network, schedule.plan())
    learned = learn_sequential(moments, schedule, fixed=fixed).network
    assert learned.failures == pytest.approx(network.failures, abs=1e-9)
    assert learned.leaks == pytest.approx(network.leaks, abs=1e-9)


def test_a_known_prior_changes_the_failures_of_every_method():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    moments = Moments.exact(network, schedule.plan())
    fixed = Fixed.of(network, "priors")
    learned = learn_sequential(moments, schedule, fixed=fixed).network
    assert learned.failures == pytest.approx(network.failures, abs=1e-9)
    other = Fixed(network.structure, priors=0.8 * network.priors)
    moved = learn_sequential(moments, schedule, fixed=other).network.failures - network.failures
    assert np.abs(moved).mean() > 0.02
