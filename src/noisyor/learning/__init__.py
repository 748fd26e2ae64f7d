"""From moments and records to an Estimate: Algorithm 1's second pass, and beyond it."""

from noisyor.em.expected import BetaPriors
from noisyor.em.runs import EMSettings, Trace
from noisyor.learning.adjust import remove_influence
from noisyor.learning.bayesian import sample_posterior
from noisyor.learning.cleanup import Cleaned
from noisyor.learning.codes import Code, Codes
from noisyor.learning.decompose import TripletParameters, decompose_triplet
from noisyor.learning.draws import Draws
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.label_plan import LabelPlan, plan_labels
from noisyor.learning.learned import Explained, Learned
from noisyor.learning.likelihood import (
    learn_exact_em,
    learn_maximum_likelihood,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)
from noisyor.learning.methods import METHODS, LearningSettings, fit, plan_for
from noisyor.learning.misfits import Misfits
from noisyor.learning.pooled import learn_pooled, plan_triplets
from noisyor.learning.population import of_population
from noisyor.learning.precision import Precision, predict_precision
from noisyor.learning.refined import learn_refined
from noisyor.learning.sequential import learn_sequential
from noisyor.learning.sources import RecordSource
from noisyor.learning.verdicts import Lineage, Verdict

__all__ = [
    "METHODS",
    "BetaPriors",
    "Cleaned",
    "Code",
    "Codes",
    "Draws",
    "EMSettings",
    "Estimate",
    "Explained",
    "Flag",
    "LabelPlan",
    "Learned",
    "LearningSettings",
    "Lineage",
    "Misfits",
    "Precision",
    "RecordSource",
    "Trace",
    "TripletParameters",
    "Verdict",
    "decompose_triplet",
    "fit",
    "learn_exact_em",
    "learn_maximum_likelihood",
    "learn_observed",
    "learn_pooled",
    "learn_refined",
    "learn_sequential",
    "learn_uniform",
    "learn_variational_em",
    "of_population",
    "plan_for",
    "plan_labels",
    "plan_triplets",
    "predict_precision",
    "remove_influence",
    "sample_posterior",
]
