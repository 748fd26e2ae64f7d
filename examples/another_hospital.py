"""Another hospital has other patients: relearn how frequent diseases are, and nothing else.

What a disease does is much the same everywhere; how many have it is not. With failures and leaks
fixed at what the first hospital has shown, few records are enough for the priors.
"""

import numpy as np

from noisyor import Fixed, NoisyOrLearner, NoisyOrNetwork, datasets


def main() -> None:
    """Learn at a large hospital, then only the priors at a small one."""
    large = datasets.clinic()
    learned = NoisyOrLearner(large.structure).fit(large.sample(20_000, rng=0)).network_

    factors = np.random.default_rng(0).uniform(0.4, 2.0, large.structure.n_diseases)
    small = NoisyOrNetwork(
        large.structure, np.minimum(large.priors * factors, 0.5), large.failures, large.leaks
    )
    records = small.sample(1_000, rng=1)
    all_anew = NoisyOrLearner(large.structure).fit(records).estimate_
    fixed = Fixed.of(learned, "failures", "leaks")
    only_priors = NoisyOrLearner(large.structure).fit(records, fixed=fixed).estimate_

    print("1,000 records of another hospital; mean absolute errors")
    for title, network in (
        ("as at the first hospital", learned),
        ("everything learned anew", all_anew.network),
        ("only the priors", only_priors.network),
    ):
        priors = np.abs(network.priors - small.priors).mean()
        failures = np.abs(network.failures - small.failures).mean()
        print(f"{title:25} priors {priors:.4f}  failures {failures:.4f}")


if __name__ == "__main__":
    main()
