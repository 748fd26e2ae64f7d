"""fit: learning by any method, and the table of methods with what each needs and can do.

Records may be in memory, in files or on a cluster, or there may be only their counts. A method asks
its source for counts, for all records in memory or for a sampler of diseases; each gives what it
can.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from noisyor.cluster import Cluster, Skipped
from noisyor.em.information import MOST_TOGETHER
from noisyor.em.observed import check_diseases
from noisyor.em.runs import EMSettings
from noisyor.em.sampled import Sampler
from noisyor.em.sampled_on_cluster import SAMPLES_WIDE_ONLY, ClusterSampler
from noisyor.errors import ParameterError, collected_notices, give_notice, quoted
from noisyor.findings import Findings
from noisyor.findings.cluster_reading import ClusterRecords, split_records
from noisyor.findings.findings import as_source, read_findings
from noisyor.findings.reading import RecordFormat
from noisyor.io.columns import Words
from noisyor.io.manifest import Manifest
from noisyor.learning import cleanup
from noisyor.learning.bayesian import as_pseudo_counts, estimate_of, sample_posterior
from noisyor.learning.estimate import Estimate
from noisyor.learning.likelihood import (
    Progress,
    learn_exact_em,
    learn_maximum_likelihood,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)
from noisyor.learning.pooled import FittedPairs, fit_pairs, learn_pooled
from noisyor.learning.refined import learn_refined
from noisyor.learning.sequential import learn_sequential
from noisyor.learning.together import Together, learn_together
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.counting import CountRequest, count_on_cluster, count_records
from noisyor.moments.groups import N_GROUPS
from noisyor.network.design import CATEGORY
from noisyor.parameters import Fixed, as_fixed
from noisyor.schedule import Schedule, find_schedule
from noisyor.schedule.search import Choice
from noisyor.structure import Structure


@dataclass
class RecordSource:
    """Records of a structure, wherever they are, or moments that were counted before."""

    records: Any
    """Findings, arrays, tables or files as `count_moments` takes them, or Moments."""
    structure: Structure
    form: RecordFormat = field(default_factory=RecordFormat)
    progress: Progress | None = None
    """Called with numbers of records, as often as they are looked at."""
    client: Any = None
    """Of a Dask cluster, if the records are to be looked at there."""
    skip_broken: bool = False
    """On a cluster: leave out files that cannot be read."""
    _manifest: Manifest | None = field(default=None, init=False, repr=False, compare=False)
    _split: ClusterRecords | None = field(default=None, init=False, repr=False, compare=False)
    _told: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.records = as_source(self.records, self.structure)
        if isinstance(self.records, Findings) or hasattr(self.records, "__arrow_c_stream__"):
            self.client = None  # they are here already
        if self.skip_broken and self.client is None:
            raise ParameterError(
                "skip_broken is for files that are read on a cluster: give paths and a client."
            )

    @property
    def moments(self) -> Moments | None:
        """The moments, where they are all there is."""
        return self.records if isinstance(self.records, Moments) else None

    @property
    def skipped(self) -> list[Skipped]:
        """The files that were left out because they cannot be read, with the reasons."""
        return [] if self._split is None else self._split.skipped

    def count(self, plan: MomentPlan, n_groups: int, n_jobs: int | None) -> Moments:
        """Count moments of all records; in each pass they must be the same ones."""
        request = CountRequest(plan, self.form, n_groups)
        if self.client is not None:
            return count_on_cluster(self.on_cluster(), request, self.progress)
        with self._one_pass() as manifest:
            moments = count_records(
                self.records, request, n_jobs=n_jobs, progress=self.progress, client=None,
                skip_broken=False,
            )  # fmt: skip
            manifest.end_pass(moments.n_records)
        return moments

    def findings(self) -> Findings:
        """Return all records, in memory from now on."""
        if self.client is not None:
            raise ParameterError(
                "this method learns from records on one machine: leave out the client, or learn "
                "with 'refined', 'pooled' or 'sequential'."
            )
        if not isinstance(self.records, Findings):
            with self._one_pass() as manifest:
                found = read_findings(self.records, self.structure, self.form)
                manifest.end_pass(found.n_records)
            self.records, self._manifest = found, None
            self.form = RecordFormat()  # what it says of files has been done
        return self.records

    @contextmanager
    def _one_pass(self) -> Iterator[Manifest]:
        """Give what holds the files to be as they were; tell what earlier passes have not told."""
        if self._manifest is None:
            sources = self.records if isinstance(self.records, list | tuple) else [self.records]
            self._manifest = Manifest(sources)
        self._manifest.check_files()
        notices: list[str] = []
        try:
            with collected_notices() as notices:
                yield self._manifest
        finally:
            new = [each for each in dict.fromkeys(notices) if each not in self._told]
            self._told.update(new)
            for notice in new:
                give_notice(notice)

    def on_cluster(self, must_be_wide: str = "") -> ClusterRecords:
        """Return the records as jobs of the cluster, split at the first call.

        Where they must have a column per symptom, `must_be_wide` says why.
        """
        if self._split is None:
            self._split = split_records(
                Cluster(self.client), self.records, self.structure, self.form, self.skip_broken,
                must_be_wide=must_be_wide,
            )  # fmt: skip
        return self._split

    def sampler(self) -> Findings | Sampler:
        """Return the records themselves, or a sampler of those that are on a cluster."""
        return self.findings() if self.client is None else ClusterSampler(self.on_cluster())


@dataclass(frozen=True)
class LearningSettings:
    """Options of all methods; each takes what concerns it (see `NoisyOrLearner`)."""

    pairs: bool = True
    choice: Choice = "first"
    n_groups: int = N_GROUPS
    shrink: bool = True
    em: EMSettings = EMSettings()
    n_chains: int = 4
    """Of "bayesian"."""
    pseudo_counts: Any = None
    """Of the Beta priors of "bayesian"; see `sample_posterior`."""

    def schedule(
        self, structure: Structure, fixed: Fixed, choice: Choice | None = None
    ) -> Schedule:
        """Find the schedule that these settings ask for."""
        return find_schedule(structure, pairs=self.pairs, choice=choice or self.choice, fixed=fixed)


@dataclass(frozen=True)
class Problem:
    """What is to be learned, from what, and how."""

    source: RecordSource
    schedule: Schedule
    fixed: Fixed
    settings: LearningSettings
    labels: Any = None
    """The diseases of each record, records x diseases, where they were seen."""

    @property
    def structure(self) -> Structure:
        """The diseases, symptoms and edges."""
        return self.schedule.structure

    def count(self, plan: MomentPlan) -> Moments:
        """Count moments of all records."""
        return self.source.count(plan, self.settings.n_groups, self.settings.em.n_jobs)


@dataclass(frozen=True)
class Method:
    """A way to learn, what it needs and what it can do."""

    name: str
    learn: Callable[[Problem], Estimate]
    from_counts: bool = False
    """It can learn from counts alone, and so bit by bit, from several sites, and on a cluster."""
    needs_labels: bool = False
    """It learns from records in which the diseases were seen."""
    can_be_robust: bool = False
    """Its standard errors can be those of records that the network does not describe."""


def fit(
    records: RecordSource | Moments | Findings | Any,
    structure: Structure,
    method: str = "refined",
    settings: LearningSettings | EMSettings = LearningSettings(),
    *,
    fixed: Any = None,
    labels: Any = None,
    together: Together | None = None,
) -> Estimate:
    """Learn a network of known structure from records, or from moments, by any method.

    Parameters
    ----------
    records
        As `NoisyOrLearner.fit` takes them, moments counted for `plan_for`, or a `RecordSource`,
        which says how files are read and where.
    structure
        The diseases, symptoms and edges.
    method
        A name of `METHODS`.
    settings
        Options of the method.
    fixed
        Parameters that keep their values: a `Fixed`, or a mapping.
    labels
        The diseases of each record, records x diseases, for methods that see them; the columns of
        a table are matched by name.
    together
        How diseases occur together, and which covariates they depend on; "refined" learns it.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import fit
    >>> network = datasets.figure1(rng=0)
    >>> fit(network.sample(5000, rng=1), network.structure, "pooled")
    Estimate(pooled: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    chosen = find_method(method)
    if isinstance(settings, EMSettings):
        settings = LearningSettings(em=settings)
    if not isinstance(settings, LearningSettings):
        raise ParameterError(
            f"settings must be LearningSettings or EMSettings, not {type(settings).__name__}."
        )
    source = records if isinstance(records, RecordSource) else RecordSource(records, structure)
    fixed = as_fixed(fixed, structure)
    if source.moments is not None and not chosen.from_counts:
        raise ParameterError(
            f"method {quoted(method)} learns from records, not from moments; give the records, or "
            "learn with 'pooled' or 'sequential'."
        )
    check_labels(chosen, labels)
    together = together or Together()
    check_together(together, chosen, source)
    together.check_records(source.records)
    if together.columns is not None:
        bare = tuple(name.removesuffix(CATEGORY) for name in together.columns)
        source.form = replace(source.form, passed_over=bare)
    if settings.em.robust and (source.moments is not None or not chosen.can_be_robust):
        able = [each.name for each in METHODS.values() if each.can_be_robust]
        raise ParameterError(
            "robust errors (robust=True, --robust) follow from records, by the methods "
            f"{', '.join(able)}: give records and learn with one of them, or leave robust out."
        )
    schedule = settings.schedule(structure, fixed)
    records, form = source.records, source.form
    estimate = chosen.learn(Problem(source, schedule, fixed, settings, labels))
    if together.is_plain:
        return estimate
    findings = source.findings()
    design = together.design(findings, records, form)
    return learn_together(
        findings, estimate, together, design, fixed=fixed, shrink=settings.shrink,
        settings=settings.em, progress=source.progress,
    )  # fmt: skip


def check_together(together: Together, method: Method, source: RecordSource) -> None:
    """Refuse to learn how diseases occur together from what does not tell it."""
    if together.is_plain:
        return
    what = "covariates" if together.causes == "independent" else f"causes={together.causes!r}"
    if source.moments is not None:
        raise ParameterError(
            f"{what}: counts of pairs and triplets do not tell how diseases occur together or "
            "depend on covariates; give the records."
        )
    if method.name != "refined":
        raise ParameterError(f"{what} is learned by method 'refined', not {method.name!r}.")
    if source.client is not None:
        raise ParameterError(f"{what} is learned on one machine: leave out the cluster.")


def find_method(name: str) -> Method:
    """Return a method by name, or say which there are."""
    if name not in METHODS:
        raise ParameterError(f"there is no method {quoted(name)}; known: {', '.join(METHODS)}.")
    return METHODS[name]


def check_labels(method: Method, labels: Any) -> None:
    """Refuse labels for a method that would not look at them."""
    if labels is not None and not method.needs_labels:
        seeing = [each.name for each in METHODS.values() if each.needs_labels]
        raise ParameterError(
            f"method {quoted(method.name)} does not use y, which says which diseases each record "
            f"had: leave it out, or learn with {' or '.join(map(repr, seeing))}, which do."
        )


def plan_for(
    method: str,
    structure: Structure,
    settings: LearningSettings = LearningSettings(),
    *,
    fixed: Any = None,
) -> MomentPlan:
    """Return what a method that learns from counts needs, as far as one pass can give it."""
    if not find_method(method).from_counts:
        raise ParameterError(
            f"method {quoted(method)} learns from records, not from counts: there is no plan."
        )
    fixed = as_fixed(fixed, structure)
    is_sequential = method == "sequential"
    schedule = settings.schedule(structure, fixed, None if is_sequential else "rarest")
    plan = schedule.plan() | cleanup.plan_for(schedule, fixed)
    return plan if is_sequential else pairs_to_count(structure) | plan


def pairs_to_count(structure: Structure) -> MomentPlan:
    """Return the pairs that share a disease; all, so that misfits show, where they are not many."""
    are_few = structure.n_symptoms <= 500
    return MomentPlan.all_pairs(structure) if are_few else MomentPlan.coupled(structure)


# --- the methods ---


def _sequential(problem: Problem) -> Estimate:
    moments = problem.source.moments
    if moments is None:
        plan = plan_for("sequential", problem.structure, problem.settings, fixed=problem.fixed)
        moments = problem.count(plan)
    n_jobs = problem.settings.em.n_jobs
    return learn_sequential(moments, problem.schedule, fixed=problem.fixed, n_jobs=n_jobs)


def _pooled(problem: Problem) -> Estimate:
    """Count pairs, choose triplets, count them; from moments, learn from what they have."""
    shrink, n_jobs = problem.settings.shrink, problem.settings.em.n_jobs
    if problem.source.moments is not None:
        return learn_pooled(
            problem.source.moments, problem.schedule, fixed=problem.fixed, shrink=shrink,
            n_jobs=n_jobs,
        )  # fmt: skip
    fitted, triplets = _count_pairs_and_triplets(problem)
    return fitted.fit(triplets, n_jobs=n_jobs).estimate(shrink)


def _count_pairs_and_triplets(problem: Problem) -> tuple[FittedPairs, Moments]:
    """Fit the pairs, and count the triplets that say most given that fit."""
    pairs = problem.count(pairs_to_count(problem.structure))
    if not pairs.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    fitted = fit_pairs(pairs, problem.schedule, problem.fixed)
    return fitted, problem.count(fitted.best_triplets())


def _refined(problem: Problem) -> Estimate:
    """Learn as pooled does, then refine that on the records."""
    if problem.source.moments is not None:
        return _pooled(problem)
    if problem.source.client is None:
        problem.source.findings()  # once, for all passes
    else:
        problem.source.on_cluster(must_be_wide=SAMPLES_WIDE_ONLY)
    fitted, triplets = _count_pairs_and_triplets(problem)
    # The errors say what of it a start can keep; on large networks they take long.
    has_errors = problem.structure.n_parameters <= MOST_TOGETHER
    pooled = fitted.fit(triplets, standard_errors=has_errors, n_jobs=problem.settings.em.n_jobs)
    estimate = learn_refined(
        problem.source.sampler(), problem.schedule, pooled.start(), fixed=problem.fixed,
        shrink=problem.settings.shrink, cleaned=pooled.cleaned, settings=problem.settings.em,
        progress=problem.source.progress,
    )  # fmt: skip
    return replace(estimate, moments=fitted.moments)


def _bayesian(problem: Problem) -> Estimate:
    """Learn as refined does, then draw from the posterior around that."""
    settings, structure, findings = problem.settings, problem.structure, problem.source.findings()
    priors = as_pseudo_counts(settings.pseudo_counts, structure)
    as_suits = replace(settings, em=replace(settings.em, max_iter=None, tol=None))
    start = _refined(replace(problem, settings=as_suits))
    draws = sample_posterior(
        findings, structure, pseudo_counts=priors, fixed=problem.fixed, start=start,
        n_chains=settings.n_chains, settings=settings.em, progress=problem.source.progress,
    )  # fmt: skip
    return estimate_of(draws, start, priors, problem.fixed)


def _from_records(
    name: str,
    learn: Callable[..., Estimate],
    needs_labels: bool = False,
    can_be_robust: bool = False,
) -> Method:
    """Return a method that learns from records in memory; pairs are counted to check it with."""

    def learned(problem: Problem) -> Estimate:
        form = problem.source.form
        words = Words(form.values)  # of labels none are inverted
        findings, progress = problem.source.findings(), problem.source.progress
        silent = replace(problem, source=replace(problem.source, progress=None))
        pairs = silent.count(pairs_to_count(problem.structure))
        seen = (
            [check_diseases(problem.labels, findings, words, form.record)] if needs_labels else []
        )
        options = {"fixed": problem.fixed, "settings": problem.settings.em, "progress": progress}
        estimate = learn(findings, problem.structure, *seen, **options)
        return replace(estimate, moments=pairs, schedule=problem.schedule)

    return Method(name, learned, needs_labels=needs_labels, can_be_robust=can_be_robust)


def _uniform(findings: Findings, structure: Structure, *, fixed: Fixed, **_: Any) -> Estimate:
    return learn_uniform(findings, structure, fixed=fixed)


_TABLE = [
    Method("refined", _refined, from_counts=True, can_be_robust=True),
    Method("pooled", _pooled, from_counts=True),
    Method("sequential", _sequential, from_counts=True),
    Method("bayesian", _bayesian),
    _from_records("exact_em", learn_exact_em, can_be_robust=True),
    _from_records("variational_em", learn_variational_em),
    _from_records("maximum_likelihood", learn_maximum_likelihood, can_be_robust=True),
    _from_records("observed", learn_observed, needs_labels=True),
    _from_records(
        "observed_likelihood", partial(learn_observed, method="likelihood"), needs_labels=True
    ),
    _from_records("uniform", _uniform),
]
METHODS = {method.name: method for method in _TABLE}
