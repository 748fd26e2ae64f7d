"""Lambdas, hence priors: which triplets are chosen, and what they and fixed failures say."""

import pytest

from noisyor import Fixed, MomentPlan, Moments, datasets, find_schedule
from noisyor.learning import learn_pooled, plan_triplets


def test_exact_moments_and_known_failures_give_exact_priors():
    network = datasets.clinic()
    fixed = Fixed.of(network, "failures")
    schedule = find_schedule(network.structure, fixed=fixed)
    pairs = Moments.exact(network, MomentPlan.coupled(network.structure))
    moments = Moments.exact(network, plan_triplets(pairs, schedule, fixed=fixed))
    estimate = learn_pooled(moments, schedule, fixed=fixed)
    assert estimate.priors.values == pytest.approx(network.priors, rel=1e-3)
