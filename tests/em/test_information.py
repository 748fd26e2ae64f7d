"""Standard errors from the information of the records."""


from noisyor import datasets
from noisyor.learning import EMSettings, learn_exact_em


def test_intervals_of_exact_em_hold_the_truth():
    held = known = 0
    for seed in range(20):
        network = datasets.figure1(seed)
        estimate = learn_exact_em(
            network.sample(20_000, rng=seed), network.structure, settings=EMSettings(n_init=2)
        )
        for part, truth in zip(
            estimate.parts.values(), (network.priors, network.failures, network.leaks), strict=True
        ):
            lower, upper = part.intervals()
            held += ((lower <= truth) & (truth <= upper)).sum()
            known += len(truth)
    assert 0.90 <= held / known <= 0.99
