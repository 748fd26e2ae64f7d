"""NoisyOrLearner: an estimator in the manner of scikit-learn, from records to a network."""

import functools
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self, Unpack

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions

from noisyor.baselines import (
    learn_exact_em,
    learn_maximum_likelihood,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)
from noisyor.errors import ParameterError
from noisyor.findings import Findings
from noisyor.findings.reading import ReadOptions, RecordFormat
from noisyor.findings.sources import as_source, read_findings
from noisyor.learner.columns import check_width, in_order, names_brought, structure_of
from noisyor.learner.diagnosing import Diagnosing
from noisyor.learning import Estimate, learn_pooled, learn_refined, learn_sequential
from noisyor.learning.cleanup import plan_for
from noisyor.learning.polish.cluster import learn_refined_on_cluster
from noisyor.learning.pooled import fit_pairs
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.moments.groups import N_GROUPS
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Fixed, as_fixed
from noisyor.schedule import Schedule, find_schedule
from noisyor.schedule.search import Choice
from noisyor.structure import Structure

METHODS = ("refined", "pooled", "sequential")
BASELINES: dict[str, Callable[..., Estimate]] = {
    "exact_em": learn_exact_em,
    "variational_em": learn_variational_em,
    "maximum_likelihood": learn_maximum_likelihood,
}
SEEN: dict[str, Literal["ratio", "likelihood"]] = {
    "observed": "ratio",
    "observed_likelihood": "likelihood",
}
ALL_METHODS = (*METHODS, *BASELINES, *SEEN, "uniform")
MOST_SYMPTOMS_FOR_ALL_PAIRS = 500


class Reading(NamedTuple):
    """How records are read, and where."""

    options: ReadOptions = ReadOptions()
    progress: Callable[[int], None] | None = None
    client: Any = None
    skip_broken: bool = False


class NoisyOrLearner(Diagnosing, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns a network of known structure from records in which the diseases were never seen.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges. None: one hidden disease over all columns, which is a
        mixture of two kinds of records.
    method
        "refined": all pairs and the best triplets, then stochastic EM on the records; from moments
        alone it is "pooled". "pooled": all pairs and the best triplets. "sequential": the paper's
        Algorithm 1, one triplet or pair for each edge. Baselines for comparison: "exact_em",
        "variational_em", "maximum_likelihood"; "observed" and "observed_likelihood", which see the
        diseases (`y` of `fit`); "uniform", which looks at nothing.
    pairs
        Also learn from pairs next to a learned edge (Section 3.3).
    choice
        Which triplet an edge is learned from by "sequential": the "first", or the "rarest".
    n_groups
        Groups of records for standard errors.
    threads
        For counting; None: as many as there are cores.
    seed
        For "refined", which samples, and for random starts; the same seed gives the same network.
    shrink
        Hold what the records hardly tell near the other parameters of its kind ("refined" and
        "pooled"); without, such values can be extreme.
    restarts
        Random starts of "exact_em", "variational_em" and "maximum_likelihood"; the best is kept.

    Attributes
    ----------
    structure_
        The structure that was learned.
    n_features_in_, feature_names_in_
        The number of symptoms, and the names of the columns of a frame given to `fit`.
    network_
        The learned network.
    estimate_
        The network with standard errors, depths and flags of every parameter.
    moments_
        The counts that it was learned from.
    schedule_
        What of the structure can be learned, and in which order.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets
    >>> clinic = datasets.clinic()
    >>> learner = NoisyOrLearner(clinic.structure).fit(clinic.sample(3000, seed=0))
    >>> learner.network_  # doctest: +ELLIPSIS
    NoisyOrNetwork(20 diseases, 60 symptoms, 120 edges; ... findings a record)
    >>> learner.estimate_
    Estimate(refined: 20 of 20 priors, 120 of 120 failures, 60 of 60 leaks learned)
    """

    _estimate: Estimate | None
    _fixed: Fixed
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "structure": [Structure, None],
        "method": [StrOptions(set(ALL_METHODS))],
        "pairs": ["boolean"],
        "choice": [StrOptions({"first", "rarest"})],
        "n_groups": [Interval(Integral, 1, None, closed="left")],
        "threads": [Interval(Integral, 1, None, closed="left"), None],
        "seed": [Interval(Integral, 0, None, closed="left")],
        "shrink": ["boolean"],
        "restarts": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        structure: Structure | None = None,
        *,
        method: str = "refined",
        pairs: bool = True,
        choice: Choice = "first",
        n_groups: int = N_GROUPS,
        threads: int | None = None,
        seed: int = 0,
        shrink: bool = True,
        restarts: int = 4,
    ) -> None:
        self.structure = structure
        self.method = method
        self.pairs = pairs
        self.choice = choice
        self.n_groups = n_groups
        self.threads = threads
        self.seed = seed
        self.shrink = shrink
        self.restarts = restarts

    def find_plan(self, *, fixed: Any = None) -> MomentPlan:
        """Return what can be counted in one pass, for counting elsewhere; `fit` takes the moments.

        For "pooled" these are all coupled pairs and the triplets of a schedule. More accurate
        triplets follow from the counts of the pairs (`plan_triplets`), for a second pass.
        """
        self._check_parameters()
        structure = self.structure
        if structure is None:
            raise ParameterError("a plan needs a structure: NoisyOrLearner(structure).find_plan().")
        return self._find_plan(structure, as_fixed(fixed, structure))

    def _find_plan(self, structure: Structure, held: Fixed) -> MomentPlan:
        if self.method not in METHODS:
            raise ParameterError(
                f"method {self.method!r} learns from records, not from counts: there is no plan."
            )
        if self.method == "sequential":
            schedule = self._find_schedule(structure, held)
            return schedule.plan() | plan_for(schedule, held)
        rarest = find_schedule(structure, pairs=self.pairs, choice="rarest", fixed=held)
        return pairs_to_count(structure) | rarest.plan() | plan_for(rarest, held)

    def fit(
        self,
        records: Any,
        y: Any = None,
        *,
        fixed: Any = None,
        progress: Callable[[int], None] | None = None,
        client: Any = None,
        skip_broken: bool = False,
        **options: Unpack[ReadOptions],
    ) -> Self:
        """Learn from records, or from moments that were counted for `find_plan()`.

        Records are `Findings`, an array or sparse matrix of records x symptoms, a table of pandas,
        polars, pyarrow or duckdb, a path or a list of paths; options as in `count_moments`. The
        method "refined" holds them in memory, a bit a finding, and so do the baselines. `y` is for
        "observed" and "observed_likelihood": the diseases, records x diseases; other methods do
        not use it. `progress` is called with numbers of records, as often as they are looked at.

        `fixed` holds parameters at known values: a `Fixed`, or a mapping such as
        `{"leaks": {"fever": 0.01}, "failures": {("flu", "fever"): 0.2}}`.

        With a `client` (a `distributed.Client` of Dask) the records, files or a DataFrame of Dask,
        are looked at on its cluster, and stay there; with `skip_broken` files that cannot be read
        are left out, and a warning names them.
        """
        self._check_parameters()
        structure = self.structure
        if structure is None:
            structure = structure_of(records, options)
        held = as_fixed(fixed, structure)
        schedule = self._find_schedule(structure, held)
        source = as_source(records, structure)
        reading = Reading(options, progress, client, skip_broken)
        needs_records = self.method not in ("pooled", "sequential")
        if needs_records and not isinstance(source, Moments | Findings) and client is None:
            source = read_findings(source, structure, options)
            reading = reading._replace(options={})
        if self.method not in METHODS:
            self._fit_baseline(source, y, schedule, held, reading)
        elif self.method == "sequential" or isinstance(source, Moments):
            self._set(schedule, held, self._count_once(source, held, reading))
            self._estimate = self._learn()
        else:
            self._fit_in_two_passes(source, schedule, held, reading)
        self._keep_columns(records)
        return self

    def _fit_baseline(
        self,
        source: Any,
        y: Any,
        schedule: Schedule,
        fixed: Fixed,
        reading: "Reading",
    ) -> None:
        """Learn from the records themselves; pairs are counted to check the result with."""
        if isinstance(source, Moments):
            raise ParameterError(
                f"method {self.method!r} learns from records, not from moments; give the records, "
                "or learn with 'pooled' or 'sequential'."
            )
        if reading.client is not None:
            raise ParameterError(
                f"method {self.method!r} learns from records on one machine: leave out the client, "
                "or learn with 'refined', 'pooled' or 'sequential'."
            )
        structure, progress = schedule.structure, reading.progress
        pairs = self._count(source, pairs_to_count(structure), Reading())
        if self.method in BASELINES:
            estimate = BASELINES[self.method](
                source, structure, restarts=self.restarts, seed=self.seed, fixed=fixed,
                progress=progress, threads=self.threads,
            )  # fmt: skip
        elif self.method == "uniform":
            estimate = learn_uniform(source, structure, fixed=fixed)
        else:
            estimate = learn_observed(
                source, structure, in_order(y, structure), how=SEEN[self.method], fixed=fixed,
                progress=progress,
            )  # fmt: skip
        self._set(schedule, fixed, pairs)
        self._estimate = replace(estimate, moments=pairs)

    def _fit_in_two_passes(
        self, source: Any, schedule: Schedule, fixed: Fixed, reading: "Reading"
    ) -> None:
        """Count pairs, choose triplets, count them; then learn, and polish on the records."""
        structure = schedule.structure
        pairs = pairs_to_count(structure)
        self._set(schedule, fixed, self._count(source, pairs, reading))
        if not self.moments_.n_records:
            raise ParameterError("there is nothing to learn from: there are no records.")
        fitted = fit_pairs(self.moments_, schedule, fixed)
        triplets = self._count(source, fitted.best_triplets(), reading)
        if self.method == "pooled":
            pooled = fitted.fit(triplets, n_jobs=self.threads)
            self._estimate = pooled.estimate(self.shrink)
            return
        pooled = fitted.fit(triplets, standard_errors=False, n_jobs=self.threads)
        start = pooled.start()
        if reading.client is None:
            learn: Callable[..., Estimate] = functools.partial(learn_refined, source)
        else:
            form = RecordFormat(**reading.options)
            learn = functools.partial(
                learn_refined_on_cluster, reading.client, source, form,
                skip_broken=reading.skip_broken,
            )  # fmt: skip
        estimate = learn(
            schedule, start, seed=self.seed, progress=reading.progress, fixed=fixed,
            shrink=self.shrink, cleaned=pooled.cleaned,
        )  # fmt: skip
        self._estimate = replace(estimate, moments=self.moments_)

    def partial_fit(
        self, records: Any, y: Any = None, *, fixed: Any = None, **options: Unpack[ReadOptions]
    ) -> Self:
        """Learn from more records, besides those of earlier calls: their moments add up.

        Records are not kept, so "refined" learns as "pooled" does, and both from the triplets of a
        schedule: those that tell most follow from all pairs, for a second pass that only `fit`
        makes. `fixed` as in `fit`; what was held in the first call is held in the next ones.
        Solving waits until `network_` or `estimate_` is asked for, so that many calls are cheap.
        """
        if self.method in ALL_METHODS and self.method not in METHODS:
            raise ParameterError(
                f"method {self.method!r} cannot learn bit by bit: call fit with all records."
            )
        self._check_parameters()
        is_fitted = self.__sklearn_is_fitted__()
        if fixed is None and is_fitted:
            fixed = self._fixed
        structure = self.structure
        if structure is None:
            structure = self.structure_ if is_fitted else structure_of(records, options)
        held = as_fixed(fixed, structure)
        if is_fitted and held != self._fixed:
            raise ParameterError(
                "the first records were learned with other fixed values; begin anew with "
                "partial_fit on a clone, or leave fixed out to keep them."
            )
        schedule = self._find_schedule(structure, held)
        if is_fitted:
            check_width(records, structure.n_symptoms)
        source = as_source(records, structure)
        more = self._count_once(source, held, Reading(options))
        if is_fitted:
            asked = schedule.structure, self.pairs, self.choice, more.plan
            known = self.schedule_
            if asked != (known.structure, known.pairs, known.choice, self.moments_.plan):
                raise ParameterError(
                    "the first records were counted for something else (fit in two passes, or "
                    "another structure, method, pairs or choice); begin anew with partial_fit on a "
                    "clone, or call fit with all records."
                )
            more = self.moments_ + more
        self._set(schedule, held, more)
        self._keep_columns(records)
        return self

    def _learn(self) -> Estimate:
        if self.method == "sequential":
            return learn_sequential(
                self.moments_, self.schedule_, fixed=self._fixed, n_jobs=self.threads
            )
        return learn_pooled(
            self.moments_, self.schedule_, fixed=self._fixed, shrink=self.shrink,
            n_jobs=self.threads,
        )  # fmt: skip

    @property
    def estimate_(self) -> Estimate:
        """What was learned, with standard errors, depths and flags."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this NoisyOrLearner has not learned yet: call fit first.")
        if self._estimate is None:
            self._estimate = self._learn()
        return self._estimate

    @property
    def network_(self) -> NoisyOrNetwork:
        """The learned network."""
        return self.estimate_.network

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "moments_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # unknown findings
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True  # 0 and 1
        tags.target_tags.multi_output = True  # a column for each disease
        tags.target_tags.required = self.method in SEEN
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters out of their range, the most frequent ones with advice."""
        if self.structure is not None and not isinstance(self.structure, Structure):
            raise ParameterError(
                f"structure must be a Structure, not {type(self.structure).__name__}; see "
                "Structure.from_edges, from_matrix, from_csv and load."
            )
        if self.method not in ALL_METHODS:
            raise ParameterError(
                f"there is no method {self.method!r}; known: {', '.join(ALL_METHODS)}."
            )
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise ParameterError(str(error)) from None

    def _keep_columns(self, records: Any) -> None:
        """Remember what the columns were, as scikit-learn wants it."""
        self.n_features_in_ = self.structure_.n_symptoms
        names = names_brought(records)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _find_schedule(self, structure: Structure, fixed: Fixed) -> Schedule:
        return find_schedule(structure, pairs=self.pairs, choice=self.choice, fixed=fixed)

    def _count_once(self, source: Any, fixed: Fixed, reading: "Reading") -> Moments:
        """Return moments as they are, or count what one pass can give."""
        if isinstance(source, Moments):
            return source
        plan = self._find_plan(fixed.structure, fixed)
        return self._count(source, plan, reading)

    def _count(self, source: Any, plan: MomentPlan, reading: "Reading") -> Moments:
        return count_moments(
            source, plan, n_groups=self.n_groups, threads=self.threads, progress=reading.progress,
            client=reading.client, skip_broken=reading.skip_broken, **reading.options,
        )  # fmt: skip

    def _set(self, schedule: Schedule, fixed: Fixed, moments: Moments) -> None:
        self._fixed = fixed
        self.structure_ = schedule.structure
        self.schedule_ = schedule
        self.moments_ = moments
        self._estimate = None


def pairs_to_count(structure: Structure) -> MomentPlan:
    """Return the pairs that share a disease; all, so that misfits show, where they are not many."""
    if structure.n_symptoms <= MOST_SYMPTOMS_FOR_ALL_PAIRS:
        return MomentPlan.all_pairs(structure)
    return MomentPlan.coupled(structure)
