"""fit: learning by any method, and the table of methods with what each needs and can do.

Records may be in memory, in files or on a cluster, or there may be only their counts. A method asks
its source for counts, for all records in memory or for a sampler of diseases; each gives what it
can.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.em.information import MOST_TOGETHER, blas_threads_for
from noisyor.em.maximum import RECORDS_OF_PARAMETER
from noisyor.em.runs import EMSettings
from noisyor.em.sampled_on_cluster import SAMPLES_WIDE_ONLY
from noisyor.errors import ParameterError, give_notice, quoted
from noisyor.findings import Findings
from noisyor.findings.labels import tell_one_sided
from noisyor.flags import Flag
from noisyor.gpu import check_device
from noisyor.learning import cleanup
from noisyor.learning.bayesian import as_pseudo_counts, estimate_of, sample_posterior
from noisyor.learning.doubtful_labels import check_labelled
from noisyor.learning.estimate import Estimate
from noisyor.learning.labelled import check_labels as check_seen
from noisyor.learning.labelled import untold_swaps
from noisyor.learning.likelihood import (
    learn_exact_em,
    learn_maximum_likelihood,
    learn_observed,
    learn_uniform,
    learn_variational_em,
)
from noisyor.learning.pooled import FittedPairs, fit_pairs, learn_pooled
from noisyor.learning.refined import learn_refined
from noisyor.learning.sequential import learn_sequential
from noisyor.learning.sources import RecordSource
from noisyor.learning.together import Together, check_no_causes, learn_together
from noisyor.learning.verdicts import Lineage
from noisyor.moments import MomentPlan, Moments
from noisyor.moments.groups import N_GROUPS
from noisyor.parameters import MARGIN, Parameters
from noisyor.schedule import Schedule, find_schedule
from noisyor.schedule.search import Choice
from noisyor.structure import Structure

TOGETHER_WIDE_ONLY = (
    "from records with a row per finding a cluster does not learn how diseases occur together, or "
    "depend on covariates: write them with a column per symptom, or leave out the cluster."
)
FEWER_OR_INDEPENDENT = (
    "learn from some of the records, or with independent diseases, which are learned where the "
    "records are"
)


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

    def facts(self) -> dict[str, Any]:
        """Return all of them but the seed and what depends on the machine, for files."""
        em = asdict(self.em)
        own = {key: value for key, value in asdict(self).items() if key != "em"}
        left_out = "rng", "n_jobs", "device", "standard_errors"
        return own | {key: em[key] for key in em if key not in left_out}

    def schedule(
        self, structure: Structure, fixed: Beliefs, choice: Choice | None = None
    ) -> Schedule:
        """Find the schedule that these settings ask for."""
        return find_schedule(structure, pairs=self.pairs, choice=choice or self.choice, fixed=fixed)


@dataclass(frozen=True)
class Problem:
    """What is to be learned, from what, and how."""

    source: RecordSource
    schedule: Schedule
    fixed: Beliefs
    settings: LearningSettings

    @property
    def structure(self) -> Structure:
        """The diseases, symptoms and edges."""
        return self.schedule.structure

    def count(self, plan: MomentPlan) -> Moments:
        """Count moments of all records."""
        em = self.settings.em
        return self.source.count(plan, self.settings.n_groups, em.n_jobs, em.device)


@dataclass(frozen=True)
class Method:
    """A way to learn, what it needs and what it can do."""

    name: str
    learn: Callable[[Problem], Estimate]
    from_counts: bool = False
    """It can learn from counts alone, and so bit by bit, from several sites, and on a cluster."""
    needs_labels: bool = False
    """It learns from records in which all diseases were seen..."""
    uses_labels: bool = False
    """... or from those in which some were."""
    uses_beliefs: bool = False
    """It can learn from beliefs besides the records."""
    can_be_robust: bool = False
    """Its standard errors can be those of records that the network does not describe."""
    is_approximate: bool = False
    """What its network says of a record may be far off, so that labels need not agree with it."""


def fit(
    records: RecordSource | Moments | Findings | Any,
    structure: Structure,
    method: str = "refined",
    settings: LearningSettings | EMSettings = LearningSettings(),
    *,
    fixed: Any = None,
    beliefs: Any = None,
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
    fixed, beliefs
        Parameters that keep their values, and what is believed of others: `Beliefs`, or a mapping
        of kinds to mappings from names to values, or to (value, weight).
    labels
        Which diseases each record was seen to have: 1, 0 or missing, records x diseases; the
        columns of a table are matched by name, and its rows by the records' ids.
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
    if source.client is None:  # on a cluster it is the workers who have cards
        check_device(settings.em.device)
    known = as_beliefs(fixed, structure, beliefs)
    if source.moments is not None and not chosen.from_counts:
        raise ParameterError(
            f"method {quoted(method)} learns from records, not from moments; give the records, or "
            "learn with 'pooled' or 'sequential'."
        )
    check_labels(chosen, labels)
    check_beliefs(chosen, known)
    together = together or Together()
    if together.is_plain:
        check_no_causes(known)
    check_together(together, chosen, source)
    together.check_records(source.records)
    if together.columns is not None:
        source.form = replace(source.form, passed_over=together.bare_columns)
    if settings.em.robust and (source.moments is not None or not chosen.can_be_robust):
        able = [each.name for each in METHODS.values() if each.can_be_robust]
        raise ParameterError(
            "robust errors (robust=True, --robust) follow from records, by the methods "
            f"{', '.join(able)}: give records and learn with one of them, or leave robust out."
        )
    problem = Problem(source, settings.schedule(structure, known), known, settings)
    with blas_threads_for(structure.n_parameters):
        estimate = _learn(chosen, problem, together, labels).flagging_open()
        findings, network = source.in_memory, estimate.network.as_independent()
        swaps = untold_swaps(findings, source.labelled, network, known)
        estimate = estimate.flagging(Flag.SWAPPABLE, swaps)
    if estimate.contradiction:
        give_notice(estimate.contradiction)
    if estimate.label_check is not None and estimate.label_check.sentence:
        give_notice(estimate.label_check.sentence)
    return with_met_rates(estimate, known)


def with_met_rates(estimate: Estimate, fixed: Beliefs) -> Estimate:
    """Flag and tell fixed sensitivities that cannot be: the code is more often there without."""
    structure, values = estimate.structure, fixed.rates.put_in(estimate.values).failures
    is_unmet = fixed.is_rate & fixed.mask.failures
    is_unmet &= np.abs(values - fixed.values.failures) > 10.0 * MARGIN
    if not is_unmet.any():
        return estimate
    disease, code = structure.edges[int(np.argmax(is_unmet))].tolist()
    given = 1.0 - fixed.values.failures[is_unmet][0]
    give_notice(
        f"the sensitivity of {quoted(structure.symptoms[code])} is fixed at {given:g}, but without "
        f"{quoted(structure.diseases[disease])} it is present in {estimate.values.leaks[code]:.3g} "
        "of the records, and a noisy-or cannot make it rarer with its disease. Correct it, or "
        "invert the column."
    )
    nothing = Parameters.full(structure, False)
    found = Parameters(nothing.priors, is_unmet, nothing.leaks)
    return replace(estimate.flagging(Flag.CLIPPED, found), miss_errors=None)


def _learn(method: Method, problem: Problem, together: Together, labels: Any) -> Estimate:
    """Learn, and then how diseases occur together, if that is asked for."""
    source, settings = problem.source, problem.settings
    records, form = source.records, source.form
    if not together.is_plain and source.client is not None:
        source.on_cluster(must_be_wide=TOGETHER_WIDE_ONLY)
        if not together.is_sampled(source.structure):
            source.gather(FEWER_OR_INDEPENDENT)
    if labels is not None:
        source.label(labels, complete=method.needs_labels)
        source.check_labelled(problem.fixed)
    tell_one_sided(source.seen)
    design = None
    if not together.is_plain:  # what is wrong with it is said before anything is learned
        together.check_can(source.structure)
        if together.covariates is not None:
            design = together.design(source.listed(), records, form)
        together.model(source.structure, design, problem.fixed)
        if source.structure.n_parameters > MOST_TOGETHER:
            em = replace(settings.em, is_start=True)
            problem = replace(problem, settings=replace(settings, em=em))
    estimate = replace(method.learn(problem), beliefs=problem.fixed)
    if not together.is_plain:
        estimate = learn_together(
            source.to_sample(), estimate, together, design, fixed=problem.fixed,
            shrink=settings.shrink, settings=settings.em, progress=source.progress,
        )  # fmt: skip
    uses_labels = method.needs_labels or method.uses_labels
    if source.in_memory is not None and uses_labels and not method.is_approximate:
        check = check_labelled(
            estimate.network, source.in_memory, rows=None if design is None else design.rows,
            n_jobs=settings.em.n_jobs,
        )  # fmt: skip
        estimate = replace(estimate, label_check=check)
    facts = settings.facts() | together.facts(estimate.network.causes.effects)
    if source.has_labels:
        facts["labelled_records"] = source.n_labelled
    return replace(estimate, lineage=Lineage.now(facts, settings.em.rng))


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


def find_method(name: str) -> Method:
    """Return a method by name, or say which there are."""
    if name not in METHODS:
        raise ParameterError(f"there is no method {quoted(name)}; known: {', '.join(METHODS)}.")
    return METHODS[name]


def check_labels(method: Method, labels: Any) -> None:
    """Refuse labels for a method that would not look at them."""
    if labels is not None and not (method.needs_labels or method.uses_labels):
        seeing = [each.name for each in METHODS.values() if each.uses_labels]
        raise ParameterError(
            f"method {quoted(method.name)} does not use labels (y, --labels), which say which "
            f"diseases records had: leave them out, or learn with {', '.join(seeing)}, which do."
        )


def check_beliefs(method: Method, beliefs: Beliefs) -> None:
    """Refuse beliefs for a method that would not look at them."""
    if beliefs.has_weighted and not method.uses_beliefs:
        able = [each.name for each in METHODS.values() if each.uses_beliefs]
        raise ParameterError(
            f"method {quoted(method.name)} does not use beliefs, only fixed values: leave out "
            f"their weights, which fixes them, or learn with {', '.join(able)}."
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
    fixed = as_beliefs(fixed, structure)
    check_no_causes(fixed)
    is_sequential = method == "sequential"
    schedule = settings.schedule(structure, fixed, None if is_sequential else "rarest")
    plan = schedule.plan() | cleanup.plan_for(schedule, fixed)
    return plan if is_sequential else pairs_to_count(structure) | plan


def pairs_to_count(structure: Structure) -> MomentPlan:
    """Return the pairs that share a disease; all, so that misfits show, where they are not many."""
    are_few = structure.n_symptoms <= 500
    return MomentPlan.all_pairs(structure) if are_few else MomentPlan.coupled(structure)


# --- the methods ---

MOST_TURNS, LEAST_TURN = 20, 1e-6
"""How often failures follow the leaks that were learned, and by how much leaks still change."""


def _sequential(problem: Problem) -> Estimate:
    moments = problem.source.moments
    if moments is None:
        plan = plan_for("sequential", problem.structure, problem.settings, fixed=problem.fixed)
        moments = problem.count(plan)
    if moments.labelled is not None:
        give_notice(
            "method 'sequential' does not use the labels that were counted: learn with 'pooled'."
        )
    learn = partial(learn_sequential, moments, problem.schedule, n_jobs=problem.settings.em.n_jobs)
    return _at_its_leaks(problem, lambda fixed: learn(fixed=fixed))


def _at_its_leaks(problem: Problem, learn: Callable[[Beliefs], Estimate]) -> Estimate:
    """Learn by what knows of failures only, with those that go with sensitivities and its leaks.

    Other leaks follow from other failures, the less so the fewer records have the code's disease.
    """
    fixed, leaks = problem.fixed, np.zeros(problem.structure.n_symptoms)
    for _ in range(MOST_TURNS):
        estimate, before = learn(fixed.at_leaks(leaks)), leaks
        leaks = np.nan_to_num(estimate.values.leaks)
        if not fixed.rates.any or np.abs(leaks - before)[fixed.rates.symptoms].max() < LEAST_TURN:
            break
    return estimate.fixing(fixed) if fixed.rates.any else estimate


def _pooled(problem: Problem) -> Estimate:
    """Count pairs, choose triplets, count them; from moments, learn from what they have."""
    shrink, n_jobs = problem.settings.shrink, problem.settings.em.n_jobs
    moments = problem.source.moments
    first: FittedPairs | None = None
    triplets: Moments | None = None
    if moments is None:
        first, triplets = _count_pairs_and_triplets(problem)
        moments = first.moments
    check_seen(problem.source.seen, problem.fixed)

    def learn(fixed: Beliefs) -> Estimate:
        if first is not None and triplets is not None and first.fixed == fixed:
            found = first.fit(triplets, n_jobs=n_jobs).estimate(shrink)
        else:
            found = learn_pooled(
                moments, problem.schedule, triplets=triplets, fixed=fixed, shrink=shrink,
                n_jobs=n_jobs,
            )  # fmt: skip
        return found.believing(fixed) if fixed.has_weighted else found

    return _at_its_leaks(problem, learn)


def _count_pairs_and_triplets(problem: Problem) -> tuple[FittedPairs, Moments]:
    """Fit the pairs, and count the triplets that say most given that fit."""
    pairs = problem.count(pairs_to_count(problem.structure))
    if not pairs.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    fitted = fit_pairs(pairs, problem.schedule, problem.fixed, problem.settings.em.n_jobs)
    return fitted, problem.count(fitted.best_triplets(problem.settings.em.n_jobs))


def _refined(problem: Problem) -> Estimate:
    """Learn as pooled does, then refine that on the records."""
    if problem.source.moments is not None:
        return _pooled(problem)
    if problem.source.client is None:
        problem.source.findings()  # once, for all passes
    else:
        problem.source.on_cluster(must_be_wide=SAMPLES_WIDE_ONLY)
    fitted, triplets = _count_pairs_and_triplets(problem)
    # The labels are for the refining, which uses all that they say.
    fitted = replace(fitted, moments=fitted.moments.with_labelled(None))
    # The errors say what of it a start can keep; on large networks they take long.
    has_errors = problem.structure.n_parameters <= MOST_TOGETHER
    pooled = fitted.fit(triplets, standard_errors=has_errors, n_jobs=problem.settings.em.n_jobs)
    estimate = learn_refined(
        problem.source.sampler(), problem.schedule, pooled.start(), fixed=problem.fixed,
        shrink=problem.settings.shrink, cleaned=pooled.cleaned, settings=problem.settings.em,
        progress=problem.source.progress,
    )  # fmt: skip
    knows_more = problem.source.has_labels or problem.fixed.has_weighted
    is_scarce = fitted.moments.n_records < RECORDS_OF_PARAMETER * problem.structure.n_parameters
    may_doubt = pooled.groups and is_scarce and not knows_more
    if may_doubt and pooled.estimate().is_all_doubtful:
        # Where pairs and triplets tell nothing, and records are few for so many parameters, the
        # likelihood has many maxima, most of them far from the truth, and the information at one of
        # them says nothing of the others.
        estimate = estimate.flagging(Flag.WEAK, Parameters.full(problem.structure, True))
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
    uses_labels: bool = True,
    uses_beliefs: bool = False,
    knows_rates: bool = False,
    is_approximate: bool = False,
) -> Method:
    """Return a method that learns from records in memory; pairs are counted to check it with.

    `knows_rates`: it learns miss rates in place of failures itself, where these are known of.
    """

    def learned(problem: Problem) -> Estimate:
        findings, progress = problem.source.findings(), problem.source.progress
        silent = replace(problem, source=replace(problem.source, progress=None))
        pairs = silent.count(pairs_to_count(problem.structure))
        learn_with = partial(
            learn, findings, problem.structure, settings=problem.settings.em, progress=progress
        )
        if knows_rates:
            estimate = learn_with(fixed=problem.fixed)
        else:
            estimate = _at_its_leaks(problem, lambda fixed: learn_with(fixed=fixed))
        return replace(estimate, moments=pairs, schedule=problem.schedule)

    return Method(
        name, learned, needs_labels=needs_labels, uses_labels=uses_labels,
        uses_beliefs=uses_beliefs, can_be_robust=can_be_robust, is_approximate=is_approximate,
    )  # fmt: skip


def _uniform(findings: Findings, structure: Structure, *, fixed: Beliefs, **_: Any) -> Estimate:
    return learn_uniform(findings, structure, fixed=fixed)


_TABLE = [
    Method(
        "refined",
        _refined,
        from_counts=True,
        can_be_robust=True,
        uses_labels=True,
        uses_beliefs=True,
    ),
    Method("pooled", _pooled, from_counts=True, uses_labels=True, uses_beliefs=True),
    Method("sequential", _sequential, from_counts=True),
    Method("bayesian", _bayesian, uses_labels=True, uses_beliefs=True),
    _from_records(
        "exact_em", learn_exact_em, can_be_robust=True, uses_beliefs=True, knows_rates=True
    ),
    _from_records("variational_em", learn_variational_em, is_approximate=True),
    _from_records(
        "maximum_likelihood",
        learn_maximum_likelihood,
        can_be_robust=True,
        uses_beliefs=True,
        knows_rates=True,
    ),
    _from_records("observed", learn_observed, needs_labels=True),
    _from_records(
        "observed_likelihood",
        partial(learn_observed, method="likelihood"),
        needs_labels=True,
        knows_rates=True,
    ),
    _from_records("uniform", _uniform, uses_labels=False),
]
METHODS = {method.name: method for method in _TABLE}
