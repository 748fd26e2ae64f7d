"""Algorithm 1, second pass: from moments to priors, failures and leaks; the Estimate."""

from noisyor.learning.adjust import remove_influence
from noisyor.learning.decompose import decompose_triplet
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.sequential import learn_sequential

__all__ = ["Estimate", "Flag", "decompose_triplet", "learn_sequential", "remove_influence"]
