"""What a network says of records: posteriors, evidence, and what caused each finding."""

from noisyor.inference.explain import Explanation, explain
from noisyor.inference.intervals import LearnedNetwork
from noisyor.inference.most_probable import MostProbable, most_probable
from noisyor.inference.posterior import Posterior, Posteriors, posterior, posteriors
from noisyor.inference.questions import Questions, best_questions
from noisyor.inference.sensitivity import Sensitivity, sensitivity

__all__ = [
    "Explanation",
    "LearnedNetwork",
    "MostProbable",
    "Posterior",
    "Posteriors",
    "Questions",
    "Sensitivity",
    "best_questions",
    "explain",
    "most_probable",
    "posterior",
    "posteriors",
    "sensitivity",
]
