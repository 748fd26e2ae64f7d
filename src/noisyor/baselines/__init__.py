"""The methods people would use instead, through the same interface, for comparison."""

from noisyor.baselines.exact_em import learn_exact_em
from noisyor.baselines.maximum_likelihood import learn_maximum_likelihood
from noisyor.baselines.observed import learn_observed
from noisyor.baselines.uniform import learn_uniform
from noisyor.baselines.variational_em import learn_variational_em

__all__ = [
    "learn_exact_em",
    "learn_maximum_likelihood",
    "learn_observed",
    "learn_uniform",
    "learn_variational_em",
]
