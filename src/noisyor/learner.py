"""NoisyOrLearner: an estimator in the manner of scikit-learn, from records to a network."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.em.expected import BetaPriors
from noisyor.em.runs import EMSettings
from noisyor.errors import ParameterError, give_notice
from noisyor.findings.reading import ReadOptions, record_format
from noisyor.gpu import DEVICES
from noisyor.inference import Posteriors, posteriors
from noisyor.learning.brought import check_same_index, check_width, names_brought, structure_of
from noisyor.learning.codes import as_codes
from noisyor.learning.draws import Draws
from noisyor.learning.estimate import Estimate
from noisyor.learning.methods import (
    METHODS,
    LearningSettings,
    check_labels,
    find_method,
    fit,
    plan_for,
)
from noisyor.learning.sources import RecordSource
from noisyor.learning.together import Together
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.groups import N_GROUPS
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import KINDS_OF_CAUSES
from noisyor.schedule import Schedule
from noisyor.schedule.search import Choice
from noisyor.structure import Structure

Progress = Callable[[int], None]

N_AVERAGED = 50
"""Drawn networks over which diagnoses are averaged."""


class NoisyOrLearner(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learns a network of known structure from records in which the diseases were never seen.

    Parameters
    ----------
    structure
        The diseases, symptoms and edges. None: one hidden disease over all columns, which is a
        mixture of two kinds of records.
    method
        "refined": all pairs and the best triplets, then the maximum of the likelihood of the
        records, or stochastic EM where they cannot be summed up exactly; from moments alone it is
        "pooled". "pooled": all pairs and the best triplets. "sequential": the paper's
        Algorithm 1, one triplet or pair for each edge. "bayesian": from "refined" on, draws from
        the posterior distribution, for intervals that are honest also where records tell little.
        Baselines for comparison: "exact_em",
        "variational_em", "maximum_likelihood"; "observed" and "observed_likelihood", which see all
        diseases (`y` of `fit`); "uniform", which looks at nothing.
    causes
        How diseases occur together: "independent"; "joint", by any distribution of up to 12 of
        them, or of blocks; "trait", by hidden traits of a person.
    n_traits
        How many traits, with causes="trait": 1 to 3.
    blocks
        With causes="joint", lists of diseases that occur together; the others are independent.
        None: all are in one.
    pairs
        Also learn from pairs next to a learned edge (Section 3.3).
    choice
        Which triplet an edge is learned from by "sequential": the "first", or the "rarest".
    shrink
        Keep what the records say little of near the other parameters of its kind ("refined" and
        "pooled"); without, such values can be extreme.
    robust
        Standard errors that hold even if the network is not how the records came about (the
        sandwich), never smaller than the usual ones; for "refined", "exact_em" and
        "maximum_likelihood", of records that can be summed up exactly and up to 1,500 parameters.
        It takes two passes over records for each parameter.
    max_iter
        Steps at most of "refined" over all records, after some that come near, and of a run of the
        baselines; where "refined" samples, rounds over all records at most; by "bayesian" so
        many rounds are made. None: as many as suit the method.
    tol
        A run ends when the likelihood rises, or can rise, by less than this part of it; None: as
        suits the method.
    n_init
        Random starts of "exact_em", "variational_em" and "maximum_likelihood"; the best is kept.
    n_groups
        Groups of records for standard errors.
    n_chains
        Chains of draws of "bayesian", which must agree.
    pseudo_counts
        The Beta priors of "bayesian": a dictionary of "priors", "failures" and "leaks" to (a, b),
        or `noisyor.learning.BetaPriors`; None: (1, 4), (2, 2) and (1, 20).
    random_state
        For "refined" and "bayesian", which sample, and for random starts; the same number gives
        the same network. None: another one each time.
    n_jobs
        Threads; None or -1: as many as there are cores.
    device
        Where to count, and to sample diseases: "cpu"; "gpu", the graphics card; or "auto", what is
        expected to be faster. Estimates do not depend on it.
    verbose
        1: say after learning how it went; 0: say nothing.

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
    draws_
        What "bayesian" has drawn.
    moments_
        The counts that it was learned from.
    codes_
        The sensitivity and specificity of each code of `fit`, as a table; None without codes.
    n_iter_
        Rounds of "refined", or steps of the run that was kept; 1 for methods that solve at once.
    skipped_
        The files that were left out because they cannot be read, with `skip_broken` on a cluster.
    schedule_
        What of the structure can be learned, and in which order.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets
    >>> clinic = datasets.clinic()
    >>> learner = NoisyOrLearner(clinic.structure).fit(clinic.sample(3000, rng=0))
    >>> learner.network_  # doctest: +ELLIPSIS
    NoisyOrNetwork(20 diseases, 60 symptoms, 120 edges; ... findings a record)
    >>> learner.estimate_
    Estimate(refined: 20 of 20 priors, 120 of 120 failures, 60 of 60 leaks learned)
    """

    _estimate: Estimate | None
    _fixed: Beliefs
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "structure": [Structure, None],
        "method": [StrOptions(set(METHODS))],
        "causes": [StrOptions(set(KINDS_OF_CAUSES))],
        "n_traits": [Interval(Integral, 1, 3, closed="both")],
        "blocks": [list, tuple, None],
        "pairs": ["boolean"],
        "choice": [StrOptions({"first", "rarest"})],
        "shrink": ["boolean"],
        "robust": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, 1, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_groups": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "pseudo_counts": [dict, BetaPriors, None],
        "random_state": ["random_state", Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "device": [StrOptions(set(DEVICES))],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        structure: Structure | None = None,
        *,
        method: str = "refined",
        causes: str = "independent",
        n_traits: int = 1,
        blocks: Any = None,
        pairs: bool = True,
        choice: Choice = "first",
        shrink: bool = True,
        robust: bool = False,
        max_iter: int | None = None,
        tol: float | None = None,
        n_init: int = 4,
        n_groups: int = N_GROUPS,
        n_chains: int = 4,
        pseudo_counts: BetaPriors | dict[str, tuple[float, float]] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.method = method
        self.causes = causes
        self.n_traits = n_traits
        self.blocks = blocks
        self.pairs = pairs
        self.choice = choice
        self.shrink = shrink
        self.robust = robust
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.n_groups = n_groups
        self.n_chains = n_chains
        self.pseudo_counts = pseudo_counts
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def find_plan(self, *, fixed: Any = None) -> MomentPlan:
        """Return what can be counted in one pass, for counting elsewhere; `fit` takes the moments.

        For "pooled" these are all coupled pairs and the triplets of a schedule. More accurate
        triplets follow from the counts of the pairs (`plan_triplets`), for a second pass.
        """
        settings = self._settings()
        if self.structure is None:
            raise ParameterError("a plan needs a structure: NoisyOrLearner(structure).find_plan().")
        return plan_for(self.method, self.structure, settings, fixed=fixed)

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        covariates: Any = None,
        unknown_covariates: str = "refuse",
        fixed: Any = None,
        beliefs: Any = None,
        codes: Any = None,
        progress: Progress | None = None,
        client: Any = None,
        skip_broken: bool = False,
        **options: Unpack[ReadOptions],
    ) -> Self:
        """Learn from records, or from moments that were counted for `find_plan()`.

        Records are `Findings`, an array or sparse matrix of records x symptoms, a pandas, polars,
        pyarrow or duckdb table, a path or a list of paths; options as in `count_moments`. The
        method "refined" keeps them in memory, a bit a finding, and so do the baselines. `progress`
        is called with numbers of records, as often as they are looked at.

        `y` says which diseases records were seen to have, where that is known: 1, 0 or missing, an
        array of records x diseases, or a table or file with a column for each of some diseases,
        which is joined to the records by their ids. All methods learn from it but "sequential" and
        "uniform"; "observed" and "observed_likelihood" need all of it.

        `covariates`, numbers and categories such as age and sex, are a table with a column for each
        and a row per record, joined by ids where both have some, or a list of columns of X (a
        column of numbers that are none: "site:category"). The log odds of the diseases depend on
        them. Where one is not known, `unknown_covariates` "refuse"s, or "keep"s the record.

        `fixed` keeps parameters at their values: a `Fixed`, or a mapping such as
        `{"leaks": {"fever": 0.01}, "failures": {("flu", "fever"): 0.2}}`. `beliefs` are the same
        with a weight for each value, how many cases it is worth: `{"priors": {"flu": (0.02, 50)}}`;
        what records contradict is told, and `estimate_.summary()` shows both.

        `codes` are columns that say of a disease whether a record has it, and can be wrong: a
        mapping from columns to diseases, `{"J45": "asthma"}`, or `noisyor.learning.Codes`. They
        join the structure as further symptoms, and `codes_` has their sensitivities.

        With a `client` (a `distributed.Client` of Dask) the records, files or a Dask DataFrame,
        are looked at on its cluster, and stay there; with `skip_broken` files that cannot be read
        are left out, of all passes: a warning names them, and `skipped_` lists them.
        """
        settings, form = self._settings(), record_format(options)
        structure = self.structure or structure_of(X, form)
        known_codes = as_codes(codes, structure)
        structure = known_codes.structure if known_codes else structure
        check_same_index(X, y, structure, form)
        source = RecordSource(X, structure, form, progress, client, skip_broken)
        known = as_beliefs(fixed, structure, beliefs)
        if known_codes:
            known = known.and_also(known_codes.beliefs)
        together = self._together(covariates, unknown_covariates)
        estimate = fit(
            source, structure, self.method, settings, fixed=known, labels=y, together=together
        )
        assert estimate.moments is not None
        self._keep(X, estimate.schedule, known, estimate.moments)
        self._estimate = estimate
        self.codes_ = None if known_codes is None else known_codes.summary(estimate)
        self.n_iter_ = estimate.n_iter
        self.skipped_ = [each.source for each in source.skipped]
        if self.verbose:
            told = estimate.trace or estimate.draws
            print(f"{estimate!r}." + (f" {told}" if told else ""))
        return self

    def partial_fit(
        self, X: Any, y: Any = None, *, fixed: Any = None, **options: Unpack[ReadOptions]
    ) -> Self:
        """Learn from more records, besides those of earlier calls: their moments add up.

        Records are not kept, so "refined" learns as "pooled" does, and both from the triplets of a
        schedule: those that say most follow from all pairs, for a second pass that only `fit`
        makes. Labels `y` are counted, too, for "pooled" to use them. `fixed` as in `fit`; what was
        fixed in the first call is fixed in the next ones. Solving waits until `network_` or
        `estimate_` is asked for, so that many calls are cheap.
        """
        if self.method in METHODS and not METHODS[self.method].from_counts:
            raise ParameterError(
                f"method {self.method!r} cannot learn bit by bit: call fit with all records."
            )
        check_labels(find_method(self.method), y)
        if self.causes != "independent":
            raise ParameterError(
                f"causes={self.causes!r} cannot be learned bit by bit: call fit with all records."
            )
        settings, form, is_fitted = self._settings(), record_format(options), self._is_fitted
        structure = self.structure or (self.structure_ if is_fitted else structure_of(X, form))
        known = as_beliefs(self._fixed if fixed is None and is_fitted else fixed, structure)
        if is_fitted and known != self._fixed:
            raise ParameterError(
                "the first records were learned with other fixed values; begin anew with "
                "partial_fit on a clone, or leave fixed out to keep them."
            )
        if is_fitted:
            check_width(X, structure.n_symptoms)
        source = RecordSource(X, structure, form)
        if y is not None:
            source.label(y, complete=False)
        more = source.moments
        if more is None:
            plan = plan_for(self.method, structure, settings, fixed=known)
            more = source.count(plan, self.n_groups, self.n_jobs, self.device)
        schedule = settings.schedule(structure, known)
        if is_fitted:
            asked = schedule.structure, self.pairs, self.choice, more.plan
            before = self.schedule_
            if asked != (before.structure, before.pairs, before.choice, self.moments_.plan):
                raise ParameterError(
                    "the first records were counted for something else (fit in two passes, or "
                    "another structure, method, pairs or choice); begin anew with partial_fit on a "
                    "clone, or call fit with all records."
                )
            more = self.moments_ + more
        self._keep(X, schedule, known, more)
        return self

    @property
    def estimate_(self) -> Estimate:
        """What was learned, with standard errors, depths and flags."""
        if not self._is_fitted:
            raise NotFittedError("this NoisyOrLearner has not learned yet: call fit first.")
        if self._estimate is None:
            self._estimate = fit(
                self.moments_, self.structure_, self.method, self._settings(), fixed=self._fixed
            )
        return self._estimate

    @property
    def network_(self) -> NoisyOrNetwork:
        """The learned network."""
        return self.estimate_.network

    @property
    def draws_(self) -> Draws:
        """What was drawn from the posterior distribution, by "bayesian"."""
        draws = self.estimate_.draws
        if draws is None:
            raise AttributeError(
                f"method {self.method!r} draws nothing: learn with method='bayesian'."
            )
        return draws

    # --- what it can do once it has learned ---

    def posteriors(
        self,
        X: Any,
        *,
        method: str = "auto",
        budget: float = 0.1,
        covariates: Any = None,
        progress: Progress | None = None,
        **options: Unpack[ReadOptions],
    ) -> Posteriors:
        """Return what the learned network says of each record, with methods and errors.

        Parameters as in `noisyor.posteriors`; records as in `fit`. After "bayesian" it is what the
        network of the posterior means says; `predict_proba` averages over draws.
        """
        network = self.network_
        check_width(X, network.structure.n_symptoms)
        return posteriors(
            network, X, method=method, budget=budget, rng=self._seed(), n_jobs=self.n_jobs,
            device=self.device,
            progress=progress, covariates=covariates, **options,
        )  # fmt: skip

    def predict_proba(
        self, X: Any, *, covariates: Any = None, **options: Unpack[ReadOptions]
    ) -> NDArray[np.float64]:
        """Return P(disease | findings), records x diseases; NaN where a record is impossible.

        After "bayesian" it is the mean over some of the drawn networks.
        """
        draws = self.estimate_.draws
        if draws is None:
            return self.posteriors(X, covariates=covariates, **options).probabilities
        check_width(X, draws.structure.n_symptoms)
        findings = RecordSource(X, draws.structure, record_format(options)).findings()
        total = np.zeros((findings.n_records, draws.structure.n_diseases))
        networks = draws.networks(N_AVERAGED)
        for network in networks:
            total += posteriors(
                network, findings, rng=self._seed(), n_jobs=self.n_jobs
            ).probabilities
        return total / len(networks)

    def transform(self, X: Any, **options: Unpack[ReadOptions]) -> NDArray[np.float64]:
        """Return the posteriors of the diseases as new columns, as `predict_proba` does.

        After `set_output(transform="pandas")` as a frame with the names of the diseases.
        """
        return self.predict_proba(X, **options)

    def fit_transform(self, X: Any, y: Any = None, **options: Any) -> NDArray[np.float64]:
        """Learn from records, as `fit` does, and return their posteriors.

        In a pipeline `y` is the target of a later step, in one column, and no disease: methods that
        see no diseases do not learn from it. A table of labels they refuse, as `fit` does.
        """
        is_target = np.asarray(y).ndim == 1 and not find_method(self.method).needs_labels
        return self.fit(X, None if is_target else y, **options).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` gives: the diseases."""
        return np.array(self.network_.structure.diseases, dtype=object)

    def predict(self, X: Any, **options: Unpack[ReadOptions]) -> NDArray[np.bool_]:
        """Return which diseases are more probable than not, records x diseases.

        Nothing is known of records that are impossible under the network: they get False, and a
        warning says so.
        """
        probabilities = self.predict_proba(X, **options)
        n_unknown = int(np.isnan(probabilities).any(axis=1).sum())
        if n_unknown:
            give_notice(
                f"{n_unknown:,} records are impossible under the learned network: no disease is "
                "predicted for them.",
                stacklevel=2,
            )
        return np.asarray(np.nan_to_num(probabilities) > 0.5)

    def score(
        self, X: Any, y: Any = None, *, covariates: Any = None, **options: Unpack[ReadOptions]
    ) -> float:
        """Return the mean log likelihood of records, in which no disease needs to be seen.

        Exact where each record can be solved exactly; otherwise a lower bound, and a warning says
        of how many records, and how much higher it can be. `y` is not used.
        """
        found = self.posteriors(X, covariates=covariates, **options)
        if not len(found):
            raise ParameterError("there is nothing to score: there are no records.")
        n_bounded = int((found.log_evidence_uppers > found.log_evidences).sum())
        mean = float(found.log_evidences.mean())
        if n_bounded:
            upper = float(found.log_evidence_uppers.mean())
            give_notice(
                f"the score is a lower bound: {n_bounded:,} of {len(found):,} records are too much "
                f"work for exact inference. It is at most {upper:.6g}.",
                stacklevel=2,
            )
        return mean

    # --- scikit-learn's manners ---

    @property
    def _is_fitted(self) -> bool:
        return hasattr(self, "moments_")

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # unknown findings
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True  # 0 and 1
        tags.target_tags.multi_output = True  # a column for each disease
        tags.target_tags.required = self.method in METHODS and METHODS[self.method].needs_labels
        return tags

    def _settings(self) -> LearningSettings:
        """Return the settings; refuse what is out of its range, the most frequent with advice."""
        if self.structure is not None and not isinstance(self.structure, Structure):
            raise ParameterError(
                f"structure must be a Structure, not {type(self.structure).__name__}; see "
                "Structure.from_edges, from_matrix, from_csv and load."
            )
        find_method(self.method)
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise ParameterError(str(error)) from None
        em = EMSettings(
            self.max_iter, self.tol, self.n_init, self._seed(), self.n_jobs, robust=self.robust,
            device=self.device,
        )  # fmt: skip
        return LearningSettings(
            self.pairs, self.choice, self.n_groups, self.shrink, em, self.n_chains,
            self.pseudo_counts,
        )  # fmt: skip

    def _together(self, covariates: Any, unknown_covariates: str) -> Together:
        """Return what is to be learned of how diseases occur together."""
        return Together(self.causes, self.n_traits, self.blocks, covariates, unknown_covariates)

    def _seed(self) -> int:
        state = self.random_state
        return int(
            state if isinstance(state, Integral) else check_random_state(state).randint(2**31)
        )

    def _keep(self, X: Any, schedule: Schedule, fixed: Beliefs, moments: Moments) -> None:
        """Keep what was counted for which schedule, and what the columns were, for scikit-learn."""
        self._fixed, self._estimate = fixed, None
        self.structure_, self.schedule_ = schedule.structure, schedule
        self.moments_ = moments
        self.n_features_in_ = self.structure_.n_symptoms
        names = names_brought(X)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
