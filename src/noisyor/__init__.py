"""Learn large bipartite noisy-or networks from records in which the diseases were never seen.

Public names are imported when they are first used, so that `import noisyor` is cheap. More stand in
the rooms: the learners of single methods in `noisyor.learning`, the types of answers in
`noisyor.inference`, other packages' models in `noisyor.exchange`.

>>> import noisyor
>>> network = noisyor.datasets.clinic()
>>> network.sample(1000, rng=0)  # doctest: +ELLIPSIS
Findings(1,000 records, ... symptoms, ... present)
"""

import importlib
from typing import TYPE_CHECKING, Any

from noisyor._version import __version__

if TYPE_CHECKING:
    from noisyor import datasets
    from noisyor.beliefs import Beliefs, Fixed
    from noisyor.comparison import compare_models
    from noisyor.education import analyse_skills
    from noisyor.errors import NoisyOrError, NoisyOrWarning
    from noisyor.evaluation import evaluate, evaluate_diagnoses
    from noisyor.exchange import read_model, write_model
    from noisyor.findings import Findings
    from noisyor.flags import Flag
    from noisyor.identifiability import check_identifiability
    from noisyor.inference import (
        best_questions,
        explain,
        most_probable,
        posterior,
        posteriors,
        sensitivity,
    )
    from noisyor.io.result_tables import ResultTable
    from noisyor.learner import NoisyOrLearner
    from noisyor.learning import Estimate
    from noisyor.moments import MomentPlan, Moments, count_moments
    from noisyor.network import NoisyOrNetwork
    from noisyor.parameters import Parameters
    from noisyor.report import write_report
    from noisyor.schedule import Schedule, find_schedule
    from noisyor.structure import Structure
    from noisyor.vocabulary import Vocabulary

_HOMES = {
    "Estimate": "noisyor.learning",
    "Findings": "noisyor.findings",
    "Beliefs": "noisyor.beliefs",
    "Fixed": "noisyor.beliefs",
    "Flag": "noisyor.flags",
    "MomentPlan": "noisyor.moments",
    "Moments": "noisyor.moments",
    "NoisyOrError": "noisyor.errors",
    "NoisyOrLearner": "noisyor.learner",
    "NoisyOrNetwork": "noisyor.network",
    "NoisyOrWarning": "noisyor.errors",
    "Parameters": "noisyor.parameters",
    "ResultTable": "noisyor.io.result_tables",
    "Schedule": "noisyor.schedule",
    "Structure": "noisyor.structure",
    "Vocabulary": "noisyor.vocabulary",
    "analyse_skills": "noisyor.education",
    "best_questions": "noisyor.inference",
    "check_identifiability": "noisyor.identifiability",
    "compare_models": "noisyor.comparison",
    "count_moments": "noisyor.moments",
    "evaluate": "noisyor.evaluation",
    "evaluate_diagnoses": "noisyor.evaluation",
    "explain": "noisyor.inference",
    "find_schedule": "noisyor.schedule",
    "most_probable": "noisyor.inference",
    "posterior": "noisyor.inference",
    "posteriors": "noisyor.inference",
    "read_model": "noisyor.exchange",
    "sensitivity": "noisyor.inference",
    "write_model": "noisyor.exchange",
    "write_report": "noisyor.report",
}

__all__ = [
    "Beliefs",
    "Estimate",
    "Findings",
    "Fixed",
    "Flag",
    "MomentPlan",
    "Moments",
    "NoisyOrError",
    "NoisyOrLearner",
    "NoisyOrNetwork",
    "NoisyOrWarning",
    "Parameters",
    "ResultTable",
    "Schedule",
    "Structure",
    "Vocabulary",
    "__version__",
    "analyse_skills",
    "best_questions",
    "check_identifiability",
    "compare_models",
    "count_moments",
    "datasets",
    "evaluate",
    "evaluate_diagnoses",
    "explain",
    "find_schedule",
    "most_probable",
    "posterior",
    "posteriors",
    "read_model",
    "sensitivity",
    "write_model",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return importlib.import_module("noisyor.datasets")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'noisyor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
