"""The clean-up: what no schedule learns but the moments tell."""

import numpy as np
import pytest

from noisyor import (
    Fixed,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    count_moments,
    datasets,
    find_schedule,
    learn_sequential,
)
from noisyor.learning import Flag
from noisyor.learning.cleanup import clean_up, find_components
from noisyor.learning.cleanup.components import find_clusters, plan_of
from noisyor.learning.cleanup.joint_fit import JointFit
from noisyor.learning.decompose import Influences, edge_strengths, lambdas_of

METHODS = ("refined", "pooled", "sequential")


def without_parts(network, parts):
    """Return strengths and lambdas of a network, with those of the parts wiped out."""
    owners = network.structure.edges[:, 0]
    learned = Influences.of(owners, network.priors, network.failures)
    for part in parts:
        alone = part.alone(network.structure)
        learned.strengths[alone.edges] = 0.0
        learned.lambdas[alone.priors] = np.nan
    return learned


@pytest.mark.parametrize("seed", range(5))
def test_figure_2_is_recovered_from_exact_moments(seed):
    network = datasets.figure2(seed)
    parts, result = find_components(find_schedule(network.structure), Fixed(network.structure))
    assert result.order == 3
    moments = Moments.exact(network, plan_of(network.structure, parts))
    strengths, lambdas = without_parts(network, parts)
    cleaned = clean_up(moments, parts, Influences(strengths, lambdas), {})
    assert cleaned.edges.all()
    assert cleaned.priors.all()
    owners = network.structure.edges[:, 0]
    assert lambdas == pytest.approx(lambdas_of(network.priors), abs=1e-6)
    expected = edge_strengths(network.priors[owners], network.failures)
    assert strengths == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_figure_2(method):
    network = datasets.figure2(0)
    learner = NoisyOrLearner(network.structure, method=method).fit(network.sample(20_000, seed=0))
    estimate = learner.estimate_
    assert estimate.is_complete
    for part, truth in zip(
        estimate.parts.values(), (network.priors, network.failures, network.leaks), strict=True
    ):
        assert np.abs(part.values - truth).max() < 0.12
        known = np.isfinite(part.standard_errors)
        assert (np.abs(part.values - truth) < 5 * part.standard_errors + 0.01)[known].all()
    assert (estimate.failures.depths == 0).all()  # no rounds before it
    assert not estimate.failures.flags.any()


@pytest.mark.parametrize("seed", range(5))
def test_the_papers_grid_search_recovers_figure_2(seed):
    network = datasets.figure2(seed)
    schedule = find_schedule(network.structure)
    plan = NoisyOrLearner(network.structure, method="sequential").find_plan()
    learned = learn_sequential(Moments.exact(network, plan), schedule, cleanup="grid").network
    assert learned.priors == pytest.approx(network.priors, abs=1e-5)
    assert learned.failures == pytest.approx(network.failures, abs=1e-5)


def test_grid_and_joint_fit_agree_on_records():
    network = datasets.figure2(2)
    schedule = find_schedule(network.structure)
    plan = NoisyOrLearner(network.structure, method="sequential").find_plan()
    moments = count_moments(network.sample(200_000, seed=0), plan)
    for method in "grid", "joint":
        learned = learn_sequential(moments, schedule, cleanup=method, standard_errors=False).network
        assert np.abs(learned.failures - network.failures).max() < 0.1


def test_three_diseases_are_no_case_for_the_grid():
    structure = Structure.from_matrix(np.ones((3, 7)))
    network = NoisyOrNetwork(structure, [0.2, 0.3, 0.4], np.full(21, 0.5), np.full(7, 0.01))
    schedule = find_schedule(structure)
    plan = NoisyOrLearner(structure, method="sequential").find_plan()
    moments = count_moments(network.sample(500, seed=0), plan)
    assert not learn_sequential(moments, schedule, cleanup="grid").failures.is_learned.any()


def test_moments_of_sites_can_be_cleaned_up_too():
    network = datasets.figure2(1)
    learner = NoisyOrLearner(network.structure, method="pooled")
    moments = count_moments(network.sample(20_000, seed=0), learner.find_plan())
    assert np.abs(learner.fit(moments).network_.failures - network.failures).max() < 0.12


def problem_of(network):
    """Return the joint fit's problem at exact moments, and the true position in it."""
    structure = network.structure
    parts, _ = find_components(find_schedule(structure), Fixed(structure))
    moments = Moments.exact(network, plan_of(structure, parts))
    problem = JointFit(structure, parts[0], moments)._problem(without_parts(network, parts))
    owners = structure.edges[:, 0]
    strengths = edge_strengths(network.priors[owners], network.failures)[problem.edges]
    return problem, problem.position(strengths, lambdas_of(network.priors)[problem.priors])


def random_network(structure, rng):
    return NoisyOrNetwork(
        structure,
        rng.uniform(0.05, 0.5, structure.n_diseases),
        rng.uniform(0.1, 0.9, structure.n_edges),
        rng.uniform(0.01, 0.1, structure.n_symptoms),
    )


SHAPES = [
    np.ones((2, 5)),
    np.ones((3, 7)),
    np.ones((4, 9)),
    np.array([[1, 1, 1, 1, 0], [0, 1, 1, 1, 1]]),
    # two clusters of twins that share two symptoms
    np.array([[1] * 7 + [0] * 5] * 2 + [[0] * 5 + [1] * 7] * 2),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_truth_predicts_the_moments(shape, rng):
    for _ in range(20):
        network = random_network(Structure.from_matrix(shape), rng)
        problem, truth = problem_of(network)
        derivatives = np.empty(problem.columns.shape)
        assert problem._residuals(truth, derivatives) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_derivatives_agree_with_differences(shape, rng):
    problem, truth = problem_of(random_network(Structure.from_matrix(shape), rng))
    position = truth * rng.uniform(0.7, 1.3, len(truth))
    derivatives, ignored = np.empty(problem.columns.shape), np.empty(problem.columns.shape)
    problem._residuals(position, derivatives)
    offsets, columns = problem.observed.couplings.offsets, problem.columns
    sets = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    for index in range(len(position)):
        step = 1e-5 * (np.arange(len(position)) == index)
        ahead, behind = (problem._residuals(position + by, ignored) for by in (step, -step))
        found = np.zeros(len(offsets) - 1)
        entries, kinds = np.nonzero(columns == index)
        np.add.at(found, sets[entries], derivatives[entries, kinds])
        assert found == pytest.approx((behind - ahead) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_joint_fit_recovers_exact_moments(shape, rng):
    structure = Structure.from_matrix(shape)
    network = random_network(structure, rng)
    parts, result = find_components(find_schedule(structure), Fixed(structure))
    moments = Moments.exact(network, plan_of(structure, parts))
    strengths, lambdas = without_parts(network, parts)
    cleaned = clean_up(moments, parts, Influences(strengths, lambdas), {})
    assert cleaned.edges.all()
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    for group in result.swaps or [(disease,) for disease in range(structure.n_diseases)]:
        found = sorted(strengths[structure.edges_of(disease)].tolist() for disease in group)
        expected = sorted(truth[structure.edges_of(disease)].tolist() for disease in group)
        assert np.array(found) == pytest.approx(np.array(expected), abs=1e-5)


def test_what_is_identifiable_of_a_part_is_learned_and_the_rest_is_not():
    # Twins with five symptoms each, of which one is also that of a disease with one more only.
    shape = np.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0]])
    shape[:2, 5] = [1, 0]
    structure = Structure.from_matrix(shape)
    parts, result = find_components(find_schedule(structure), Fixed(structure))
    known = result.orders.failures >= 0
    assert known.any()
    assert not known.all()
    rng = np.random.default_rng(1)
    network = random_network(structure, rng)
    moments = Moments.exact(network, plan_of(structure, parts))
    strengths, lambdas = without_parts(network, parts)
    cleaned = clean_up(moments, parts, Influences(strengths, lambdas), {})
    assert (cleaned.edges == known).all()
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    assert strengths[known] == pytest.approx(truth[known], abs=1e-5)
    assert (strengths[~known] == 0.0).all()


def test_clusters_are_diseases_with_much_the_same_symptoms():
    structure = Structure.from_matrix(SHAPES[4])
    clusters = find_clusters(structure, np.arange(4))
    assert [cluster.tolist() for cluster in clusters] == [[0, 1], [2, 3]]


def test_near_duplicates_are_fitted_along_and_not_kept():
    # Twins, and a third with the same symptoms that three of its own make known.
    shape = np.zeros((3, 11))
    shape[:2, :8] = 1
    shape[2] = 1
    structure = Structure.from_matrix(shape)
    parts, _ = find_components(find_schedule(structure), Fixed(structure))
    assert parts[0].diseases.tolist() == [0, 1]
    assert parts[0].near_duplicates.tolist() == [2]
    assert not parts[0].kept_priors[parts[0].priors == 2].any()
    network = random_network(structure, np.random.default_rng(0))
    moments = Moments.exact(network, plan_of(structure, parts))
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    strengths, lambdas = without_parts(network, parts)
    wrong = truth[structure.edges_of(2)] * 1.1  # learned, but badly
    strengths[structure.edges_of(2)] = wrong
    cleaned = clean_up(moments, parts, Influences(strengths, lambdas), {})
    assert strengths[structure.edges_of(2)] == pytest.approx(wrong)
    assert not cleaned.priors[2]
    found, expected = (
        sorted(values[structure.edges_of(i)].tolist() for i in (0, 1))
        for values in (strengths, truth)
    )
    assert np.array(found) == pytest.approx(np.array(expected), rel=0.05)


def test_diseases_that_differ_in_nothing_are_called_weakly_identified():
    structure = Structure.from_matrix(np.ones((2, 6)))
    failures = np.tile(np.linspace(0.2, 0.8, 6), 2)
    network = NoisyOrNetwork(structure, [0.05, 0.05], failures, np.full(6, 0.05))
    for method in METHODS:
        learner = NoisyOrLearner(structure, method=method).fit(network.sample(20_000, seed=0))
        part = learner.estimate_.failures
        unsure = (part.flags & (Flag.WEAKLY_IDENTIFIED | Flag.AMBIGUOUS)) != 0
        assert (unsure | ~part.is_learned).all()


def test_an_estimate_tells_how_well_its_parts_fit():
    network = datasets.figure2(0)
    learner = NoisyOrLearner(network.structure, method="pooled").fit(network.sample(5000, seed=0))
    (part,) = learner.estimate_.explained
    assert part.diseases.tolist() == [0, 1]
    assert 0.0 < part.misfit < 10.0 * part.n_moments
    assert part.second > part.misfit


def test_diseases_with_the_same_symptoms_are_marked():
    structure = Structure.from_matrix(np.ones((2, 6)))
    network = NoisyOrNetwork(
        structure, [0.2, 0.4], np.linspace(0.2, 0.8, 12)[::-1], np.full(6, 0.05)
    )
    for method in METHODS:
        learner = NoisyOrLearner(structure, method=method).fit(network.sample(5000, seed=0))
        estimate = learner.estimate_
        assert (estimate.priors.flags & Flag.SWAPPABLE).all()
        assert (estimate.failures.flags & Flag.SWAPPABLE).all()


def test_moments_without_the_triplets_leave_it_unlearned():
    network = datasets.figure2(0)
    schedule = find_schedule(network.structure)
    parts, _ = find_components(schedule, Fixed(network.structure))
    moments = count_moments(network.sample(500, seed=0), schedule.plan())
    assert not parts[0].is_counted(moments)
    strengths, lambdas = without_parts(network, parts)
    with pytest.warns(NoisyOrWarning, match="no schedule learns 'A', 'B', and the moments lack"):
        cleaned = clean_up(moments, parts, Influences(strengths, lambdas), {})
    assert not cleaned.edges.any()
    assert not cleaned.priors.any()
    assert not cleaned.explained


def learned_from_exact(network, method, fixed=None):
    """Learn from exact moments, all that the method could have counted."""
    learner = NoisyOrLearner(network.structure, method=method)
    plan = learner.find_plan(fixed=fixed)
    return learner.fit(Moments.exact(network, plan), fixed=fixed).estimate_


@pytest.mark.parametrize("method", ["sequential", "pooled"])
@pytest.mark.parametrize("seed", range(5))
def test_whole_methods_are_exact_on_exact_moments(method, seed):
    network = datasets.figure2(seed)
    estimate = learned_from_exact(network, method)
    assert estimate.explained[0].misfit == pytest.approx(0.0, abs=1e-6)
    assert estimate.network.failures == pytest.approx(network.failures, abs=1e-6)
    assert estimate.network.priors == pytest.approx(network.priors, abs=1e-6)


@pytest.mark.parametrize("method", ["sequential", "pooled"])
def test_true_values_that_are_fixed_do_not_harm(method):
    structure = Structure.from_matrix(np.ones((2, 6)))
    for seed in range(10):
        network = random_network(structure, np.random.default_rng(seed))
        fixed = Fixed.of(network, "failures")
        held = np.where(np.arange(12) < 1 + seed % 2, fixed.values.failures, np.nan)
        estimate = learned_from_exact(network, method, Fixed(structure, failures=held))
        assert estimate.network.failures == pytest.approx(network.failures, abs=1e-5)
        assert estimate.network.priors == pytest.approx(network.priors, abs=1e-5)


@pytest.mark.parametrize("method", ["sequential", "pooled"])
def test_a_prior_is_learned_from_fixed_failures_of_two_symptoms(method):
    structure = Structure.from_matrix(np.ones((1, 2)))
    network = NoisyOrNetwork(structure, [0.2], [0.4, 0.6], [0.05, 0.1])
    estimate = learned_from_exact(network, method, Fixed.of(network, "failures"))
    assert estimate.network.priors == pytest.approx([0.2], abs=1e-6)
    assert estimate.network.leaks == pytest.approx([0.05, 0.1], abs=1e-6)
    assert estimate.priors.flags == Flag.AMBIGUOUS  # 0.943 gives the same pair


@pytest.mark.parametrize("method", METHODS)
def test_what_only_fixed_leaks_would_tell_is_not_called_certain(method):
    structure = Structure.from_matrix(np.ones((1, 2)))
    network = NoisyOrNetwork(structure, [0.2], [0.4, 0.6], [0.05, 0.1])
    learner = NoisyOrLearner(structure, method=method)
    part = learner.fit(network.sample(5000, seed=0), fixed=Fixed.of(network, "leaks")).estimate_
    for learned in part.priors, part.failures:
        assert (learned.flags != 0).all()


@pytest.mark.parametrize("method", ["sequential", "pooled"])
def test_records_that_tell_nothing_teach_nothing(method):
    network = datasets.figure2(0)
    nothing = np.full((500, network.structure.n_symptoms), np.nan)
    learner = NoisyOrLearner(network.structure, method=method).fit(nothing)
    assert not learner.estimate_.failures.is_learned.any()
    rows = network.sample(5000, seed=0).to_numpy().astype(float)
    rows[:, 0] = np.nan
    part = NoisyOrLearner(network.structure, method=method).fit(rows).estimate_.failures
    of_first = network.structure.edges[:, 1] == 0
    assert (part.flags[of_first] != 0).all()


def test_a_grid_without_a_possible_point_learns_nothing():
    structure = datasets.figure2(0).structure
    network = NoisyOrNetwork(structure, [0.5, 0.5], np.full(8, 0.999), np.full(5, 0.05))
    schedule = find_schedule(structure)
    plan = NoisyOrLearner(structure, method="sequential").find_plan()
    for seed in range(3):
        moments = count_moments(network.sample(300, seed=seed), plan)
        part = learn_sequential(moments, schedule, cleanup="grid").failures
        assert ((part.flags != 0) | np.isfinite(part.standard_errors)).all()


def test_the_grid_does_not_apply_where_failures_are_fixed():
    network = datasets.figure2(0)
    structure = network.structure
    fixed = Fixed(structure, failures={("A", "b"): 0.9})
    schedule = find_schedule(structure, fixed=fixed)
    plan = NoisyOrLearner(structure, method="sequential").find_plan(fixed=fixed)
    moments = count_moments(network.sample(2000, seed=0), plan)
    part = learn_sequential(moments, schedule, cleanup="grid", fixed=fixed).failures
    assert part.is_learned.sum() == 1  # the one that is fixed


def test_two_explanations_with_the_same_misfit_are_noticed():
    # Ten moments for ten parameters: now and then another network has the very same moments.
    structure = Structure.from_matrix(np.ones((2, 4)))
    n_wrong = 0
    for seed in range(8):
        network = random_network(structure, np.random.default_rng(seed))
        estimate = learned_from_exact(network, "pooled")
        wrong = np.abs(np.sort(estimate.network.priors) - np.sort(network.priors)).max() > 0.01
        n_wrong += wrong
        assert (
            not wrong or (estimate.failures.flags & (Flag.AMBIGUOUS | Flag.WEAKLY_IDENTIFIED)).all()
        )
    assert n_wrong  # else the test would show nothing


def test_leaks_share_the_doubts_about_their_parents():
    structure = Structure.from_matrix(np.ones((2, 6)))
    failures = np.tile(np.linspace(0.2, 0.8, 6), 2)
    network = NoisyOrNetwork(structure, [0.05, 0.05], failures, np.full(6, 0.05))
    learner = NoisyOrLearner(structure, method="pooled").fit(network.sample(5000, seed=0))
    estimate = learner.estimate_
    doubt = Flag.AMBIGUOUS | Flag.WEAKLY_IDENTIFIED
    assert (estimate.failures.flags & doubt).any()
    assert (estimate.leaks.flags & doubt).all()


def test_near_duplicates_are_tried_swapped():
    shape = np.ones((2, 9))
    shape[1, 0] = 0  # all that tells the first from the second
    network = random_network(Structure.from_matrix(shape), np.random.default_rng(3))
    problem, truth = problem_of(network)
    (swapped,) = problem._swapped(truth)
    assert problem.misfit(swapped) > problem.misfit(truth)
    (back,) = problem._swapped(swapped)
    assert back == pytest.approx(truth)
    assert swapped[0] == truth[0]  # the edge that has no counterpart stays
