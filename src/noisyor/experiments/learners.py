"""The learners as experiments call them: the one place that knows how they are called."""

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs
from noisyor.experiments.measures import timed
from noisyor.experiments.results import Floats, Quantities
from noisyor.findings import Findings
from noisyor.identifiability import Identifiability
from noisyor.learner import NoisyOrLearner
from noisyor.learning import Estimate, learn_pooled, plan_triplets
from noisyor.learning.cleanup.cleaned import Cleaned, clean_up
from noisyor.learning.cleanup.components import find_components, plan_of
from noisyor.learning.decompose import Influences, failures_of, priors_of
from noisyor.learning.methods import METHODS
from noisyor.moments import MomentPlan, Moments, count_moments
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import find_schedule
from noisyor.structure import Structure


def fit(
    records: Any, structure: Structure, method: str, *, diseases: Any = None, **settings: Any
) -> Estimate:
    """Learn from records; methods that see the diseases are given them."""
    learner = NoisyOrLearner(structure, method=method, **settings)
    labels = diseases if METHODS[method].needs_labels else None
    return learner.fit(records, labels).estimate_


def fit_sample(
    network: NoisyOrNetwork, method: str, n_records: int, seed: int, n_init: int = 4
) -> tuple[Estimate, Quantities]:
    """Learn from a sample of a network; return the seconds and megabytes of learning, too."""
    records, diseases = network.sample(n_records, rng=seed, return_diseases=True)
    structure = network.structure
    return timed(fit, records, structure, method, diseases=diseases, n_init=n_init)


def sample_plainly(
    network: NoisyOrNetwork, diseases: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Sample the findings of patients whose diseases are fixed, a random number for each."""
    log_failures = np.zeros((network.structure.n_diseases, network.structure.n_symptoms))
    log_failures[*network.structure.edges.T] = np.log(network.failures)
    absent = (1 - network.leaks) * np.exp(diseases @ log_failures)
    return (rng.random(absent.shape) > absent).astype(np.uint8)


def fit_chunks(
    chunks: Callable[[], Iterator[Findings]], structure: Structure, method: str
) -> Estimate:
    """Learn by `sequential` or `pooled` from more records than fit into memory: moments add up.

    `chunks` gives the same records each time it is called.
    """

    def counted(plan: MomentPlan) -> Moments:
        return functools.reduce(operator.add, (count_moments(chunk, plan) for chunk in chunks()))

    if method == "sequential":
        learner = NoisyOrLearner(structure, method=method)
        return learner.fit(counted(learner.find_plan())).estimate_
    schedule = find_schedule(structure)
    pairs = counted(MomentPlan.coupled(structure))
    triplets = counted(plan_triplets(pairs, schedule))
    return learn_pooled(pairs, schedule, triplets=triplets)


def clean_up_exactly(network: NoisyOrNetwork) -> tuple[Floats, Cleaned, Identifiability]:
    """Let the clean-up learn what the schedule leaves, from exact moments, all else being fixed.

    Returns the failures of all edges, and which of them it learned.
    """
    structure = network.structure
    schedule = find_schedule(structure)
    components, identifiability = find_components(schedule, Beliefs(structure))
    plan = MomentPlan(structure, symptoms=np.arange(structure.n_symptoms))
    moments = Moments.exact(network, plan | plan_of(structure, components))
    owners = structure.edges[:, 0]
    learned = strengths, lambdas = Influences.of(owners, network.priors, network.failures)
    strengths[schedule.depths < 0], lambdas[schedule.prior_depths < 0] = 0.0, np.nan
    cleaned = clean_up(moments, components, learned, {})
    p = priors_of(lambdas)[owners]
    return failures_of(p, strengths / np.sqrt(p * (1.0 - p))), cleaned, identifiability
