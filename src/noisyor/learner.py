"""NoisyOrLearner: an estimator in the manner of scikit-learn, from records to a network.

>>> from noisyor import NoisyOrLearner, datasets
>>> clinic = datasets.clinic()
>>> learner = NoisyOrLearner(clinic.structure).fit(clinic.sample(100_000, seed=0))
>>> learner.network_  # doctest: +ELLIPSIS
NoisyOrNetwork(20 diseases, 60 symptoms, 120 edges; ... findings a record)
>>> learner.estimate_
Estimate(sequential: 20 of 20 priors, 120 of 120 failures, 60 of 60 leaks learned)
"""

from typing import Any, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions
from noisyor.learning import Estimate, learn_sequential
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.moments.groups import N_GROUPS
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import Schedule, find_schedule
from noisyor.schedule.search import Choice
from noisyor.structure import Structure

METHODS = ("sequential",)


class NoisyOrLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns a network of known structure from records in which the diseases were never seen.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges.
    method
        "sequential": the paper's Algorithm 1, one triplet or pair for each edge.
    pairs
        Also learn from pairs next to a learned edge (Section 3.3).
    choice
        Which triplet an edge is learned from: the "first" as in the paper, or the "rarest".
    n_groups
        Groups of records for standard errors.
    threads
        For counting; None: as many as there are cores.

    Attributes
    ----------
    network_
        The learned network.
    estimate_
        The network with standard errors, depths, steps and flags of every parameter.
    moments_
        The counts that it was learned from.
    schedule_
        How it was learned.
    """

    _estimate: Estimate | None

    def __init__(
        self,
        structure: Structure,
        *,
        method: str = "sequential",
        pairs: bool = True,
        choice: Choice = "first",
        n_groups: int = N_GROUPS,
        threads: int | None = None,
    ) -> None:
        self.structure = structure
        self.method = method
        self.pairs = pairs
        self.choice = choice
        self.n_groups = n_groups
        self.threads = threads

    def find_plan(self) -> MomentPlan:
        """Return what has to be counted, for counting elsewhere; `fit` takes the moments."""
        return self._find_schedule().plan()

    def fit(self, records: Any, y: Any = None, **options: Unpack[ReadOptions]) -> Self:
        """Learn from records, or from moments that were counted for `find_plan()`.

        Records are `Findings`, an array or sparse matrix of records x symptoms, a table of pandas,
        polars, pyarrow or duckdb, a path or a list of paths; options as in `count_moments`. `y` is
        not used: it is there for scikit-learn.
        """
        schedule = self._find_schedule()
        self._set(schedule, self._count(records, schedule, options))
        self._estimate = learn_sequential(self.moments_, schedule)
        return self

    def partial_fit(self, records: Any, y: Any = None, **options: Unpack[ReadOptions]) -> Self:
        """Learn from more records, besides those of earlier calls: their moments add up.

        Solving waits until `network_` or `estimate_` is asked for, so that many calls are cheap.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(records, **options)
        asked = self.structure, self.pairs, self.choice
        if asked != (self.schedule_.structure, self.schedule_.pairs, self.schedule_.choice):
            raise ParameterError(
                "structure, pairs or choice were changed since the first records were counted; "
                "call fit with all records."
            )
        more = self._count(records, self.schedule_, options)
        self._set(self.schedule_, self.moments_ + more)
        return self

    @property
    def estimate_(self) -> Estimate:
        """What was learned, with standard errors, depths, steps and flags."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this NoisyOrLearner has not learned yet: call fit first.")
        if self._estimate is None:
            self._estimate = learn_sequential(self.moments_, self.schedule_)
        return self._estimate

    @property
    def network_(self) -> NoisyOrNetwork:
        """The learned network."""
        return self.estimate_.network

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "moments_")

    def _find_schedule(self) -> Schedule:
        if self.method not in METHODS:
            raise ParameterError(
                f"there is no method {self.method!r}; known: {', '.join(METHODS)}."
            )
        if not isinstance(self.structure, Structure):
            raise ParameterError(
                f"structure must be a Structure, not {type(self.structure).__name__}; see "
                "Structure.from_edges, from_matrix, from_csv and load."
            )
        return find_schedule(self.structure, pairs=self.pairs, choice=self.choice)

    def _count(self, records: Any, schedule: Schedule, options: ReadOptions) -> Moments:
        if isinstance(records, Moments):
            return records
        return count_moments(
            _as_source(records, self.structure),
            schedule.plan(),
            n_groups=self.n_groups,
            threads=self.threads,
            **options,
        )

    def _set(self, schedule: Schedule, moments: Moments) -> None:
        self.schedule_ = schedule
        self.moments_ = moments
        self._estimate = None


def _as_source(records: Any, structure: Structure) -> Any:
    """Return arrays and sparse matrices as findings; what has names or is a path stays."""
    if hasattr(records, "tocsr"):
        return Findings.from_sparse(records, structure)
    is_rows = isinstance(records, list | tuple) and bool(records)
    if isinstance(records, np.ndarray) or (is_rows and isinstance(records[0], list | tuple)):
        return Findings.from_numpy(records, structure)
    return records
