"""Learning by draws from the posterior distribution: honest also where records tell little.

Where the likelihood has a flat valley, its maximum is one point of many that explain the records as
well. Draws go along it: their means are the estimates, and their quantiles intervals that hold the
truth as often as they say, if the Beta priors describe what was to be expected beforehand.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs, as_beliefs
from noisyor.em.convergence import convergence_of
from noisyor.em.drawn import DrawnRecords, ParameterChain
from noisyor.em.expected import BetaPriors
from noisyor.em.hamiltonian import SummedPosterior
from noisyor.em.runs import EMSettings
from noisyor.em.sampled import with_children
from noisyor.errors import ParameterError, StructureError, quoted
from noisyor.findings import Findings
from noisyor.learning.draws import Draws, is_unmixed
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.labelled import seen_in
from noisyor.learning.starts import even_network
from noisyor.network import NoisyOrNetwork
from noisyor.parallel import in_threads
from noisyor.parameters import KINDS, Floats, Parameters, from_log_odds, log_odds
from noisyor.structure import Structure

PSEUDO_COUNTS: Mapping[str, tuple[float, float]] = {
    "priors": (1.0, 4.0),
    "failures": (2.0, 2.0),
    "leaks": (1.0, 20.0),
}
"""Of the Beta priors (a, b), whose means are a / (a + b): 0.2, 0.5 and 0.05, known as from a + b
cases. Weak for records in hundreds, and nothing is at a bound."""

KEPT, BURNT_IN = 500, 250
"""Draws of each chain that are kept, and that are left out before, where memory allows."""
MOST_NUMBERS = 50_000_000
"""Numbers in the draws of all chains; of large networks fewer draws are kept."""
FEWEST_ROUNDS, MOST_ROUNDS = 12, 12_000
"""Of each chain, unless `max_iter` says how many."""
ENOUGH_R_HAT, ENOUGH_EFFECTIVE = 1.03, 200.0
"""Chains go on until they agree that well."""
SPREAD = 2.0
"""Chains start so many standard errors around the start; where none is known, anywhere near."""
WEAK_SHARE = 0.8
"""A posterior nearly as wide as the prior says that the records tell little."""


def sample_posterior(
    findings: Findings,
    structure: Structure,
    *,
    pseudo_counts: BetaPriors | Mapping[str, tuple[float, float]] | None = None,
    fixed: Beliefs | None = None,
    start: Estimate | None = None,
    n_chains: int = 4,
    settings: EMSettings = EMSettings(),
    progress: Callable[[int], None] | None = None,
) -> Draws:
    """Draw parameters from their posterior distribution by Gibbs sampling, in several chains.

    A round draws the diseases and the causes of all findings given the parameters, then the
    parameters given these. The first third of the rounds is left out.

    Parameters
    ----------
    findings, structure
        The records, and the diseases, symptoms and edges.
    pseudo_counts
        Of the Beta priors: a mapping of "priors", "failures" and "leaks" to (a, b), those that are
        left out as in `PSEUDO_COUNTS`; or `BetaPriors` with means and sizes for each parameter.
    fixed
        Parameters that keep their values.
    start
        Chains start around these values, two of their standard errors off; by default around a
        network that explains how often each symptom is present.
    n_chains
        Chains that must agree.
    settings
        `max_iter`: rounds of each chain, by default as many as they need to agree, up to 12,000;
        `rng`: the same seed gives the same draws; `n_jobs`: at most a thread for each chain.
    progress
        Called with the number of records looked at since the last call.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.learning import EMSettings, sample_posterior
    >>> network = datasets.figure1(rng=0)
    >>> findings = network.sample(500, rng=1)
    >>> draws = sample_posterior(findings, network.structure, settings=EMSettings(max_iter=300))
    >>> draws
    Draws(4 chains x 200 draws x 14 parameters)
    >>> lower, upper = draws.intervals()
    >>> bool((lower.priors < network.priors).all() and (network.priors < upper.priors).all())
    True
    """
    _check(findings, structure, n_chains, settings.max_iter)
    seeds = np.random.SeedSequence(settings.rng).spawn(n_chains + 1)
    fixed = as_beliefs(fixed, structure)
    priors = as_pseudo_counts(pseudo_counts, structure).believing(fixed)
    inner = with_children(structure, seen_in(findings))
    kept = np.array([structure.disease_index(name) for name in inner.diseases], dtype=np.int64)
    inner_findings = findings.with_structure(inner)
    inner_fixed = fixed.of_diseases(inner, kept)
    inner_priors = BetaPriors(
        _of_kept(priors.means, kept), _of_kept(priors.sizes, kept), rates=inner_fixed.rates
    )
    values = start.values if start else _even(findings, structure, fixed).parameters
    errors = start.standard_errors if start else Parameters.full(structure, np.nan)
    center, spread = NoisyOrNetwork(inner, *_of_kept(values, kept)), _of_kept(errors, kept)
    posterior = SummedPosterior.of(inner_findings, center, inner_priors, inner_fixed)
    records, rngs = DrawnRecords(inner_findings), [np.random.default_rng(seed) for seed in seeds]
    starts = [
        posterior.draw_start(SPREAD, rng) if posterior else _spread(center, spread, rng)
        for rng in rngs[1:]
    ]
    chains = [
        ParameterChain(records, each, inner_priors, inner_fixed, rng, posterior)
        for each, rng in zip(starts, rngs[1:], strict=True)
    ]
    looked_at = findings.n_records if progress else 0
    drawn, n_made = _run(chains, settings, lambda n: progress and progress(n * looked_at))
    drawn = _with_childless(drawn, structure, kept, priors, fixed, rngs[0])
    return Draws(structure, drawn, convergence_of(drawn), n_made)


def as_pseudo_counts(given: Any, structure: Structure) -> BetaPriors:
    """Return Beta priors: as they are, or from a mapping of kinds to (a, b), or the default ones.

    >>> from noisyor import datasets
    >>> found = as_pseudo_counts({"leaks": (1, 99)}, datasets.figure1(rng=0).structure)
    >>> found.means.leaks[0], found.sizes.leaks[0], found.means.priors[0]
    (np.float64(0.01), np.float64(100.0), np.float64(0.2))
    """
    if isinstance(given, BetaPriors):
        _check_beta_priors(given, structure)
        return given
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(
            "pseudo_counts must be BetaPriors, or a mapping of priors, failures and leaks to "
            f"(a, b), not {type(given).__name__}."
        )
    unknown = [kind for kind in given or () if kind not in KINDS]
    if unknown:
        raise ParameterError(
            f"pseudo_counts: there is no kind {quoted(unknown[0])}; known are {', '.join(KINDS)}."
        )
    pairs = [_checked_pair(kind, {**PSEUDO_COUNTS, **(given or {})}[kind]) for kind in KINDS]
    return BetaPriors(
        Parameters.full(structure, tuple(a / (a + b) for a, b in pairs)),
        Parameters.full(structure, tuple(a + b for a, b in pairs)),
    )


def _checked_pair(kind: str, pair: Any) -> tuple[float, float]:
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2
    if not is_pair or not all(isinstance(x, Real) and 0.0 < float(x) < np.inf for x in pair):
        raise ParameterError(
            f"pseudo_counts of {kind} must be two positive numbers (a, b), not {quoted(pair)}."
        )
    return float(pair[0]), float(pair[1])


def _check_beta_priors(priors: BetaPriors, structure: Structure) -> None:
    for name, part in (("means", priors.means), ("sizes", priors.sizes)):
        if [len(each) for each in part] != [len(each) for each in Parameters.full(structure, 0)]:
            raise ParameterError(f"the {name} of pseudo_counts belong to another structure.")
    means, sizes = priors.means.vector, priors.sizes.vector
    if not ((means > 0.0) & (means < 1.0) & (sizes > 0.0) & (sizes < np.inf)).all():
        raise ParameterError(
            "pseudo_counts must have means between 0 and 1 and positive sizes, for every parameter."
        )


def _check(findings: Any, structure: Any, n_chains: Any, n_rounds: Any) -> None:
    """Refuse what cannot be sampled, with advice."""
    if not isinstance(findings, Findings) or not isinstance(structure, Structure):
        raise ParameterError(
            "expected Findings (Findings.read makes them) and a Structure, not "
            f"{type(findings).__name__} and {type(structure).__name__}."
        )
    if findings.structure.symptoms != structure.symptoms:
        raise StructureError("the findings belong to a structure with other symptoms.")
    if not findings.n_records:
        raise ParameterError("there is nothing to learn from: there are no records.")
    for name, value, least in (("n_chains", n_chains, 1), ("max_iter", n_rounds, FEWEST_ROUNDS)):
        if value is None and name == "max_iter":
            continue
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_whole or value < least:
            raise ParameterError(
                f"{name} must be a whole number from {least} on, not {quoted(value)}."
            )


# --- chains ---


def _run(
    chains: list[ParameterChain], settings: EMSettings, progress: Callable[[int], Any]
) -> tuple[Floats, int]:
    """Return the draws that are kept, chains x draws x parameters, and the rounds of each chain.

    Without a number of rounds these are doubled until chains agree; then only every second draw
    is kept of what was.
    """
    n_rounds = settings.max_iter
    n_parameters = chains[0].network.structure.n_parameters
    most = max(MOST_NUMBERS // max(n_parameters * len(chains), 1), FEWEST_ROUNDS)
    most = min(most, KEPT + BURNT_IN)
    stride = -(-n_rounds // most) if n_rounds else 1
    n_draws = n_rounds // stride if n_rounds else max(most // 4, FEWEST_ROUNDS)
    while True:
        extend = partial(ParameterChain.extend, n_draws=n_draws, stride=stride, progress=progress)
        in_threads(extend, chains, settings.n_jobs)
        values = np.array([chain.drawn[n_draws // 3 :] for chain in chains])
        n_made = n_draws * stride
        if n_rounds or 2 * n_made > MOST_ROUNDS or _agree(values):
            return values, n_made
        if 2 * n_draws <= most:
            n_draws *= 2
            continue
        for chain in chains:
            chain.thin()
        stride *= 2


def _agree(values: Floats) -> bool:
    """Return True if chains need no more rounds."""
    return not is_unmixed(convergence_of(values), ENOUGH_R_HAT, ENOUGH_EFFECTIVE).any()


def _even(findings: Findings, structure: Structure, fixed: Beliefs) -> NoisyOrNetwork:
    """Return a network that explains how often each symptom is present."""
    known = np.maximum(findings.n_records - findings.count_unknown(), 1)
    return even_network(structure, findings.count_present() / known, fixed)


def _spread(center: NoisyOrNetwork, errors: Parameters, rng: np.random.Generator) -> NoisyOrNetwork:
    """Return a network around another, by their log odds."""

    def draw(values: Floats, errors: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = SPREAD * errors / (values * (1.0 - values))
        spread = np.clip(np.nan_to_num(spread, nan=1.0, posinf=1.0), 0.2, 1.0)
        return from_log_odds(log_odds(values, 1e-3) + spread * rng.normal(size=len(values)), 10.0)

    return center.with_parameters(center.parameters.map(draw, errors))


def _of_kept(values: Parameters, kept: NDArray[np.int64]) -> Parameters:
    """Return something of all parameters without diseases that have no symptoms."""
    return Parameters(values.priors[kept], values.failures, values.leaks)


def _with_childless(
    values: Floats, structure: Structure, kept: NDArray[np.int64], priors: BetaPriors,
    fixed: Beliefs, rng: np.random.Generator,
) -> Floats:  # fmt: skip
    """Return draws that have diseases without symptoms, too: from their prior, which is all there
    is to know.
    """
    n_chains, n_draws, _ = values.shape
    sizes, means = priors.sizes.priors, priors.means.priors
    shape = n_chains, n_draws, structure.n_diseases
    drawn = fixed.apply("priors", rng.beta(sizes * means, sizes * (1.0 - means), shape))
    drawn[:, :, kept] = values[:, :, : len(kept)]
    return np.concatenate([drawn, values[:, :, len(kept) :]], axis=2)


# --- the estimate ---


def estimate_of(draws: Draws, start: Estimate, priors: BetaPriors, fixed: Beliefs) -> Estimate:
    """Return what draws say, with what the start knows of structure and records.

    Flagged is what chains do not agree on, what the records hardly say more of than the prior, and
    which diseases could swap their names.
    """
    deviations, (lower, upper) = draws.standard_deviations, draws.intervals()
    n, structure = draws.structure.n_diseases, draws.structure
    failures, leaks = np.split(draws.together[:, n:], [structure.n_edges], axis=1)
    misses = failures * (1.0 - leaks[:, structure.edges[:, 1]])

    def flag(
        before: NDArray[np.uint16], unmixed: Any, sd: Floats, mean: Floats, size: Floats
    ) -> NDArray[np.uint16]:
        of_prior = np.sqrt(mean * (1.0 - mean) / (size + 1.0))
        found = (before & Flag.SWAPPABLE) | unmixed * Flag.UNMIXED
        return np.asarray(found | (sd > WEAK_SHARE * of_prior) * Flag.WEAK, dtype=np.uint16)

    flags = start.flags.map(flag, draws.is_unmixed, deviations, priors.means, priors.sizes)
    estimate = replace(
        start, method="bayesian", values=draws.means, standard_errors=deviations, flags=flags,
        interval_ends=(lower, upper), draws=draws, explained=(), trace=None, partners=None,
        n_iter=draws.n_rounds, sources=Parameters.full(structure, "records", object),
        miss_errors=misses.std(axis=0),
    )  # fmt: skip
    return estimate.fixing(fixed)
