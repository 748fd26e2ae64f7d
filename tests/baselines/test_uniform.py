"""The guess that looks at nothing."""

from noisyor import datasets, learn_uniform


def test_uniform_looks_at_nothing():
    network = datasets.figure1(0)
    estimate = learn_uniform(network.sample(50, seed=0), network.structure)
    assert (estimate.network.failures == 0.5).all()
    assert (estimate.network.priors == 0.5).all()
    assert (estimate.network.leaks == 1e-6).all()
    assert not estimate.failures.is_learned.any()
