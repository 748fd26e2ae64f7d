"""Learning by likelihood, exactly or by a bound, and with the diseases seen; for comparison.

The methods people would use instead of moments: settings of one engine, EM. All return estimates.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.em.ascent import ExactAscent, climb
from noisyor.em.exact import ExactExpectation
from noisyor.em.expected import BetaPriors, Expected, inside, maximise
from noisyor.em.information import covariance_of, errors_of
from noisyor.em.observed import ObservedExpectation
from noisyor.em.robust import check_robust, robust_covariance, robust_errors
from noisyor.em.runs import EMSettings, Trace, best_run, random_starts
from noisyor.em.variational import VariationalExpectation
from noisyor.errors import ParameterError, StructureError, quoted
from noisyor.findings import Findings
from noisyor.identifiability import check_identifiability
from noisyor.learning.cleanup import Cleaned
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.labelled import check_labels, known_with, labelled_start, seen_in
from noisyor.learning.learned import NEUTRAL_VALUES
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats, Parameters
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

Progress = Callable[[int], None]
ObservedMethod = Literal["ratio", "likelihood"]


def learn_exact_em(
    findings: Findings, structure: Structure, *, fixed: Beliefs | None = None,
    settings: EMSettings = EMSettings(), progress: Progress | None = None,
) -> Estimate:  # fmt: skip
    """Learn by EM with exact inference, from random starts; for small networks.

    The run with the highest likelihood is kept. `progress` is called with the number of records
    looked at since the last call.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import EMSettings, learn_exact_em
    >>> network = datasets.figure1(rng=0)
    >>> findings = network.sample(500, rng=1)
    >>> learn_exact_em(findings, network.structure, settings=EMSettings(n_init=1))
    Estimate(exact_em: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    return _exactly("exact_em", findings, structure, fixed, settings, progress)


def learn_maximum_likelihood(
    findings: Findings, structure: Structure, *, fixed: Beliefs | None = None,
    settings: EMSettings = EMSettings(), progress: Progress | None = None,
) -> Estimate:  # fmt: skip
    """Maximise the exact likelihood by a quasi-Newton method (L-BFGS) in log odds.

    As `learn_exact_em`; another way to the same maximum, for small networks.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import EMSettings, learn_maximum_likelihood
    >>> network = datasets.figure1(rng=0)
    >>> findings = network.sample(500, rng=1)
    >>> learn_maximum_likelihood(findings, network.structure, settings=EMSettings(n_init=1))
    Estimate(maximum_likelihood: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    return _exactly("maximum_likelihood", findings, structure, fixed, settings, progress)


def _exactly(
    method: str, findings: Findings, structure: Structure, fixed: Beliefs | None,
    settings: EMSettings, progress: Progress | None,
) -> Estimate:  # fmt: skip
    """Climb the exact likelihood."""
    fixed = _checked(findings, structure, fixed)
    expectation = ExactExpectation(
        findings.with_structure(structure), max_operations=settings.max_operations,
        n_jobs=settings.n_jobs,
    )  # fmt: skip
    if settings.robust:
        check_robust(structure.n_parameters, is_exact=True)
    ascent = ExactAscent(expectation, fixed, progress or _ignore)
    if method == "exact_em":
        run, limits = ascent.by_leaps, settings.limits(max_iter=5000, tol=1e-11)
    else:
        run, limits = ascent.by_gradients, settings.limits(max_iter=2000, tol=1e-14)
    starts = _starts(findings, structure, fixed, settings)
    network, trace = best_run([run(start, limits) for start in starts], "log likelihood")
    priors = BetaPriors.weak(network, 1e-3).believing(fixed)
    if settings.robust:
        robust = robust_covariance(expectation, network, fixed, priors)
        errors, covariance = (
            robust_errors(expectation, network, fixed, robust, priors),
            robust.sandwich,
        )
    else:
        covariance = covariance_of(network, expectation.information(network), fixed, priors)
        errors = errors_of(network, covariance, fixed.rates)
    of_misses = fixed.rates.errors(structure, network.parameters, covariance)
    estimate = _estimate(method, network, errors, findings, fixed, trace)
    return replace(estimate, miss_errors=of_misses)


def learn_variational_em(
    findings: Findings, structure: Structure, *, fixed: Beliefs | None = None,
    settings: EMSettings = EMSettings(), progress: Progress | None = None,
) -> Estimate:  # fmt: skip
    """Learn by variational EM from random starts, the paper's baseline.

    The run with the highest bound is kept.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import EMSettings, learn_variational_em
    >>> network = datasets.figure1(rng=0)
    >>> findings = network.sample(500, rng=1)
    >>> estimate = learn_variational_em(findings, network.structure, settings=EMSettings(n_init=2))
    >>> estimate.is_complete, estimate.doubt  # there are no standard errors
    (True, 'Beware: all 14 parameters that were to be learned are flagged.')
    """
    fixed = _checked(findings, structure, fixed)
    limits = settings.limits(max_iter=500, tol=1e-6)
    expectation = VariationalExpectation(findings.with_structure(structure), settings.n_jobs)

    def step(expected: Expected, network: NoisyOrNetwork) -> NoisyOrNetwork:
        return expectation.maximise(expected, network, fixed)

    runs = []
    for start in _starts(findings, structure, fixed, settings):
        expectation.restart()
        runs.append(climb(expectation, step, start, limits, progress or _ignore))
    network, trace = best_run(runs, "lower bound of the log likelihood")
    errors = Parameters.full(structure, np.nan)
    return _estimate("variational_em", network, errors, findings, fixed, trace)


def learn_observed(
    findings: Findings, structure: Structure, labels: Any = None, *,
    method: ObservedMethod = "ratio", fixed: Beliefs | None = None,
    settings: EMSettings = EMSettings(), progress: Progress | None = None,
) -> Estimate:  # fmt: skip
    """Learn from records in which all diseases were seen: `labels`, or those that findings have.

    By the "ratio", in closed form, or by "likelihood", noisy-or regression, a little more accurate.
    Standard errors are those of the closed form; the regression's are a little smaller.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import learn_observed
    >>> network = datasets.figure1(rng=0)
    >>> findings, diseases = network.sample(500, rng=1, return_diseases=True)
    >>> learn_observed(findings, network.structure, diseases)
    Estimate(observed: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    """
    fixed = _checked(findings, structure, fixed)
    if method not in get_args(ObservedMethod):
        raise ParameterError(f"method must be 'ratio' or 'likelihood', not {quoted(method)}.")
    limits = settings.limits(max_iter=200, tol=1e-7)
    findings = findings.with_structure(structure)
    if labels is not None:
        findings = findings.with_labels(labels, complete=True)
    if findings.labels is None:
        raise ParameterError(
            "this method learns from records in which the diseases were seen: give them, records "
            "x diseases, as the second argument of fit (--labels)."
        )
    expectation = ObservedExpectation(findings, findings.labels.complete())
    network, errors = expectation.ratios(fixed)
    (progress or _ignore)(findings.n_records)
    trace = None

    def step(expected: Expected, network: NoisyOrNetwork) -> NoisyOrNetwork:
        return maximise(expected.trials, network, fixed)

    if method == "likelihood":
        p, f, leaks = network.parameters
        start = inside(Parameters(p, np.clip(f, 0.01, 0.99), np.clip(leaks, 1e-4, 0.99)))
        start_network = network.with_parameters(start).with_fixed(fixed)
        run = climb(expectation, step, start_network, limits, progress or _ignore)
        network, trace = best_run([run], "log likelihood given the diseases")
    good = Parameters.full(structure, 0, np.uint16)
    weak_failures = np.where(np.isnan(errors.failures), Flag.WEAK, 0).astype(np.uint16)
    flags = Parameters(good.priors, weak_failures, good.leaks)
    name = "observed" if method == "ratio" else "observed_likelihood"
    return _estimate(name, network, errors, findings, fixed, trace, flags=flags)


def learn_uniform(
    findings: Findings, structure: Structure, *, fixed: Beliefs | None = None
) -> Estimate:
    """Guess 0.5 for every prior and failure and hardly any leak (Figure 3, Uniform).

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import learn_uniform
    >>> network = datasets.figure1(rng=0)
    >>> learn_uniform(network.sample(500, rng=1), network.structure).network.priors
    array([0.5, 0.5])
    """
    fixed = _checked(findings, structure, fixed)
    network = NoisyOrNetwork(structure, *Parameters.full(structure, NEUTRAL_VALUES))
    flags = Parameters.full(structure, Flag.NOT_SCHEDULED, np.uint16)
    errors = Parameters.full(structure, np.nan)
    return _estimate("uniform", network, errors, findings, fixed, flags=flags)


def _ignore(_: int) -> None:
    """Report to nobody."""


def _checked(findings: Findings, structure: Structure, fixed: Beliefs | None) -> Beliefs:
    """Return what is fixed; refuse findings of other symptoms, and no records."""
    if not isinstance(findings, Findings) or not isinstance(structure, Structure):
        raise ParameterError(
            "expected Findings (Findings.read makes them) and a Structure, not "
            f"{type(findings).__name__} and {type(structure).__name__}."
        )
    if findings.structure.symptoms != structure.symptoms:
        raise StructureError("the findings belong to a structure with other symptoms.")
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    fixed = as_beliefs(fixed, structure)
    check_labels(seen_in(findings.with_structure(structure)), fixed)
    return fixed


def _starts(
    findings: Findings, structure: Structure, fixed: Beliefs, settings: EMSettings
) -> list[NoisyOrNetwork]:
    """Return random starts that have learned from labels what these say."""
    findings = findings.with_structure(structure)
    starts = random_starts(findings, structure, fixed, settings)
    return [labelled_start(findings, start, fixed) for start in starts]


def _estimate(
    method: str, network: NoisyOrNetwork, errors: Parameters, findings: Findings, fixed: Beliefs,
    trace: Trace | None = None, *, flags: Parameters | None = None,
) -> Estimate:  # fmt: skip
    """Return an estimate, with flags.

    By default on what the findings alone cannot identify. Values at a bound, and those of symptoms
    that no record knows, are flagged always, and have no standard errors; and so are those without
    a standard error, of which nobody knows how exact they are.
    """
    structure = network.structure
    schedule = find_schedule(structure, fixed=fixed)
    swaps: list[tuple[int, ...]] = []
    if flags is None:
        known = known_with(seen_in(findings.with_structure(structure)), fixed)
        certified = schedule if known is fixed else find_schedule(structure, fixed=known)
        checked = check_identifiability(structure, fixed=known, schedule=certified)
        flags = Parameters(*checked.orders).map(
            lambda orders: np.where(orders < 0, Flag.UNCERTIFIED, 0).astype(np.uint16)
        )
        swaps = checked.swaps

    def clip(flags: NDArray[np.uint16], values: Floats) -> NDArray[np.uint16]:
        is_at_bound = (values < 1e-5) | (values > 1.0 - 1e-5)  # there is no maximum inside
        return np.where((flags == 0) & is_at_bound, np.uint16(Flag.CLIPPED), flags)

    never = findings.count_unknown() == findings.n_records
    unseen = Parameters(
        np.zeros(structure.n_diseases, np.bool_), never[structure.edges[:, 1]], never
    )
    clipped = flags.map(clip, network.parameters).map(
        lambda flags, here: np.where(here, flags | np.uint16(Flag.WEAK), flags), unseen
    )
    flagged = clipped.map(
        lambda flags, error: np.where((flags == 0) & np.isnan(error), Flag.NO_ERROR, flags), errors
    ).map(lambda flags: flags.astype(np.uint16))
    n_iter = 1 if trace is None else max(len(trace.values) - 1, 1)
    estimate = Estimate(
        structure, method, findings.n_records, network.parameters,
        flagged.map(lambda flag, error: np.where(flag == 0, error, np.nan), errors),
        Parameters.full(structure, -1), flagged, schedule,
        sources=Parameters.full(structure, "records", object), trace=trace, n_iter=n_iter,
    )  # fmt: skip
    return Cleaned.nothing(structure, swaps).marked(estimate).fixing(fixed)
