"""Lambdas, hence priors: which triplets are chosen, and what they and fixed failures say."""

import itertools

import numpy as np
import pytest

from noisyor import Fixed, MomentPlan, Moments, datasets, find_schedule
from noisyor.learning import learn_pooled, plan_triplets
from noisyor.learning.decompose import Influences, lambdas_of, priors_of
from noisyor.learning.lambdas import (
    LambdaFit,
    choose_triplets,
    triplet_table,
    with_fixed_failures,
)
from noisyor.learning.pairs import pair_table


@pytest.fixture(scope="module")
def clinic():
    return datasets.clinic()


@pytest.fixture(scope="module")
def pairs(clinic):
    return pair_table(MomentPlan.coupled(clinic.structure), find_schedule(clinic.structure))


@pytest.fixture(scope="module")
def truth(clinic):
    return Influences.of(clinic.structure.edges[:, 0], clinic.priors, clinic.failures)


def odds_of(network):
    return 1.0 / (1.0 - network.marginals()) - 1.0


def test_exact_moments_and_known_failures_give_exact_priors():
    network = datasets.clinic()
    fixed = Fixed.of(network, "failures")
    schedule = find_schedule(network.structure, fixed=fixed)
    pairs = Moments.exact(network, MomentPlan.coupled(network.structure))
    moments = Moments.exact(network, plan_triplets(pairs, schedule, fixed=fixed))
    estimate = learn_pooled(moments, schedule, fixed=fixed)
    assert estimate.priors.values == pytest.approx(network.priors, rel=1e-3)


def test_triplets_are_the_worthiest_of_those_that_are_ready(clinic, pairs, truth):
    structure, odds = clinic.structure, odds_of(clinic)
    chosen = {tuple(each) for each in choose_triplets(pairs, truth.strengths, odds).tolist()}
    ready = {
        tuple(pairs.plan.pairs[row].tolist())
        for disease in range(structure.n_diseases)
        for row in pairs.rows_of(disease)
        if pairs.is_ready[row]
    }
    for disease in range(structure.n_diseases):
        children = structure.children(disease).tolist()
        worth = {
            j: truth.strengths[structure.edge_index(disease, j)] / np.sqrt(odds[j])
            for j in children
        }
        all_ready = [
            each
            for each in itertools.combinations(children, 3)
            if all(pair in ready for pair in itertools.combinations(each, 2))
        ]
        if len(children) <= 20:
            by_worth = sorted(all_ready, key=lambda each: -np.prod([worth[j] for j in each]))
            assert set(by_worth[:119]) <= chosen
    assert chosen


def test_exact_moments_tell_every_lambda(clinic, pairs, truth):
    structure = clinic.structure
    triplets = choose_triplets(pairs, truth.strengths, odds_of(clinic))
    plan = pairs.plan | MomentPlan(structure, triplets=triplets)
    table = triplet_table(structure, plan, pairs)
    for disease, row in zip(table.diseases, table.rows, strict=True):
        assert set(plan.triplets[row]) <= set(structure.children(int(disease)))
    moments = Moments.exact(clinic, plan)
    third = LambdaFit(moments, table, Fixed(structure))
    found = third.run(truth.strengths, rounds=30)
    assert (third.n_triplets > 0).all()
    assert found == pytest.approx(truth.lambdas, rel=1e-6)
    fixed = Fixed(structure, priors={0: 0.3})
    given = LambdaFit(moments, table, fixed).run(truth.strengths)
    assert given[0] == pytest.approx(float(lambdas_of(np.array([0.3]))[0]))


def test_a_fixed_failure_tells_the_prior_where_no_triplet_does(clinic, truth):
    structure = clinic.structure
    nothing = Influences(np.empty((0, structure.n_edges)), np.empty((0, structure.n_diseases)))
    untold = truth._replace(lambdas=np.full(structure.n_diseases, np.nan))
    sizes = np.empty(0, dtype=np.int64)
    edge = structure.edges_of(3).start
    fixed = Fixed(
        structure, failures=np.where(np.arange(structure.n_edges) == edge, clinic.failures, np.nan)
    )
    whole, _ = with_fixed_failures(fixed, untold, nothing, sizes)
    assert priors_of(whole.lambdas)[3] == pytest.approx(clinic.priors[3], rel=1e-6)
    assert np.isnan(np.delete(whole.lambdas, 3)).all()
    # A prior that is fixed is not fitted, and without fixed failures nothing changes.
    known = Fixed(structure, priors=clinic.priors, failures=fixed.values.failures)
    for unneeded in Fixed(structure), known:
        assert with_fixed_failures(unneeded, untold, nothing, sizes) == (untold, nothing)
