"""Algorithm 1, second pass, and beyond it: from moments and records to an Estimate."""

from noisyor.learning.adjust import remove_influence
from noisyor.learning.decompose import decompose_triplet
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.misfits import Misfits
from noisyor.learning.polish.learn import learn_refined
from noisyor.learning.pooled import learn_pooled, plan_triplets
from noisyor.learning.precision import Precision, predict_precision
from noisyor.learning.sequential import learn_sequential

__all__ = [
    "Estimate",
    "Flag",
    "Misfits",
    "Precision",
    "decompose_triplet",
    "learn_pooled",
    "learn_refined",
    "learn_sequential",
    "plan_triplets",
    "predict_precision",
    "remove_influence",
]
