"""From moments and records to an Estimate: Algorithm 1's second pass, and beyond it."""

from noisyor.em.runs import EMSettings, Trace
from noisyor.learning.adjust import remove_influence
from noisyor.learning.decompose import decompose_triplet
from noisyor.learning.estimate import Estimate, Flag, Learned
from noisyor.learning.likelihood import (
    learn_exact_em,
    learn_maximum_likelihood,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)
from noisyor.learning.misfits import Misfits
from noisyor.learning.pooled.learn import learn_pooled, plan_triplets
from noisyor.learning.precision import Precision, predict_precision
from noisyor.learning.refined import learn_refined
from noisyor.learning.sequential import learn_sequential

__all__ = [
    "EMSettings",
    "Estimate",
    "Flag",
    "Learned",
    "Misfits",
    "Precision",
    "Trace",
    "decompose_triplet",
    "learn_exact_em",
    "learn_maximum_likelihood",
    "learn_observed",
    "learn_pooled",
    "learn_refined",
    "learn_sequential",
    "learn_uniform",
    "learn_variational_em",
    "plan_triplets",
    "predict_precision",
    "remove_influence",
]
