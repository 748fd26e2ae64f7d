"""Learn large bipartite noisy-or networks from records in which the diseases were never seen.

Public names are imported when they are first used, so that `import noisyor` is cheap.

>>> import noisyor
>>> network = noisyor.datasets.clinic()
>>> network.sample(1000, seed=0)  # doctest: +ELLIPSIS
Findings(1,000 records, ... symptoms, ... present)
"""

import importlib
from typing import TYPE_CHECKING, Any

from noisyor._version import __version__

if TYPE_CHECKING:
    from noisyor import datasets
    from noisyor.errors import NoisyOrError, NoisyOrWarning
    from noisyor.evaluation import evaluate
    from noisyor.exchange import (
        from_pgmpy,
        from_pyagrum,
        read_model,
        to_pgmpy,
        to_pyagrum,
        write_model,
    )
    from noisyor.findings import Findings
    from noisyor.identifiability import Identifiability, check_identifiability
    from noisyor.inference import (
        Explanation,
        MostProbable,
        Posterior,
        Posteriors,
        Questions,
        best_questions,
        explain,
        most_probable,
        posterior,
        posteriors,
    )
    from noisyor.learner import NoisyOrLearner
    from noisyor.learning import (
        Estimate,
        decompose_triplet,
        learn_pooled,
        learn_refined,
        learn_sequential,
        plan_triplets,
        predict_precision,
        remove_influence,
    )
    from noisyor.moments import MomentPlan, Moments, count_moments
    from noisyor.network import NoisyOrNetwork
    from noisyor.parameters import Fixed
    from noisyor.report import write_report
    from noisyor.schedule import Schedule, find_schedule
    from noisyor.structure import Structure

_HOMES = {
    "Estimate": "noisyor.learning",
    "Explanation": "noisyor.inference",
    "Findings": "noisyor.findings",
    "Fixed": "noisyor.parameters",
    "Identifiability": "noisyor.identifiability",
    "MomentPlan": "noisyor.moments",
    "Moments": "noisyor.moments",
    "MostProbable": "noisyor.inference",
    "NoisyOrError": "noisyor.errors",
    "NoisyOrLearner": "noisyor.learner",
    "NoisyOrNetwork": "noisyor.network",
    "NoisyOrWarning": "noisyor.errors",
    "Posterior": "noisyor.inference",
    "Posteriors": "noisyor.inference",
    "Questions": "noisyor.inference",
    "Schedule": "noisyor.schedule",
    "Structure": "noisyor.structure",
    "best_questions": "noisyor.inference",
    "check_identifiability": "noisyor.identifiability",
    "count_moments": "noisyor.moments",
    "decompose_triplet": "noisyor.learning",
    "evaluate": "noisyor.evaluation",
    "explain": "noisyor.inference",
    "find_schedule": "noisyor.schedule",
    "from_pgmpy": "noisyor.exchange",
    "from_pyagrum": "noisyor.exchange",
    "learn_exact_em": "noisyor.learning",
    "learn_maximum_likelihood": "noisyor.learning",
    "learn_observed": "noisyor.learning",
    "learn_pooled": "noisyor.learning",
    "learn_refined": "noisyor.learning",
    "learn_sequential": "noisyor.learning",
    "learn_uniform": "noisyor.learning",
    "learn_variational_em": "noisyor.learning",
    "most_probable": "noisyor.inference",
    "plan_triplets": "noisyor.learning",
    "posterior": "noisyor.inference",
    "posteriors": "noisyor.inference",
    "predict_precision": "noisyor.learning",
    "read_model": "noisyor.exchange",
    "remove_influence": "noisyor.learning",
    "to_pgmpy": "noisyor.exchange",
    "to_pyagrum": "noisyor.exchange",
    "write_model": "noisyor.exchange",
    "write_report": "noisyor.report",
}

__all__ = [
    "Estimate",
    "Explanation",
    "Findings",
    "Fixed",
    "Identifiability",
    "MomentPlan",
    "Moments",
    "MostProbable",
    "NoisyOrError",
    "NoisyOrLearner",
    "NoisyOrNetwork",
    "NoisyOrWarning",
    "Posterior",
    "Posteriors",
    "Questions",
    "Schedule",
    "Structure",
    "__version__",
    "best_questions",
    "check_identifiability",
    "count_moments",
    "datasets",
    "decompose_triplet",
    "evaluate",
    "explain",
    "find_schedule",
    "from_pgmpy",
    "from_pyagrum",
    "learn_exact_em",
    "learn_maximum_likelihood",
    "learn_observed",
    "learn_pooled",
    "learn_refined",
    "learn_sequential",
    "learn_uniform",
    "learn_variational_em",
    "most_probable",
    "plan_triplets",
    "posterior",
    "posteriors",
    "predict_precision",
    "read_model",
    "remove_influence",
    "to_pgmpy",
    "to_pyagrum",
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
