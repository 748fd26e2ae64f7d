"""The last steps on small networks: Fisher scoring with the information of all parameters.

EM is slow where two diseases can explain the same findings: what is missing is then nearly all.
A Fisher step takes the correlations of all parameters into account, I^-1 g with the derivatives g
and the information I of the records, both from sampled diseases; the steps become smaller and the
results are averaged, which takes the sampling noise off (Robbins and Monro). On the logit scale,
so that every value stays inside of its bounds.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.polish.em import Sampler, failure_prior
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import MARGIN, Fixed
from noisyor.structure import Structure

Floats = NDArray[np.float64]

FULL_STEPS = 5
STEPS = 15
MOST_STEPS = 60
SCREEN_EVERY = 5
MOSTLY = 0.9995
"""With so many records summed up exactly, there is no noise to be averaged."""
ENOUGH = 0.05
"""Steps end when none is longer than this part of its standard error, given the others."""
SWEEPS = 4
LONGEST_STEP = 0.5
"""On the logit scale."""


class Fitted(NamedTuple):
    """A network, and the standard errors of its failures, priors and leaks."""

    network: NoisyOrNetwork
    failure_errors: Floats
    prior_errors: Floats
    leak_errors: Floats


def fisher_scoring(
    sampler: Sampler, start: NoisyOrNetwork, seed: int, fixed: Fixed, share: float = 1.0
) -> Fitted:
    """Return the maximum of the likelihood, under the weak priors of EM, near a start."""
    structure = start.structure
    held = _held(fixed)
    position = _logits(start)
    information = np.zeros((len(position), len(position)))
    last_move, damping = np.zeros(len(position)), 1.0
    for step in range(MOST_STEPS):
        network = _network(structure, position).with_fixed(fixed)
        if step % SCREEN_EVERY == 0:  # as parameters move, other diseases become possible
            sampler.expect(
                network,
                len(sampler.starts) - 1,
                must_screen=True,
                n_sweeps=1,
                seed=seed + 500 + step,
            )
            is_exact = sampler.share_enumerated() > MOSTLY
        scores = sampler.score(network, SWEEPS, seed + 700 + step)
        slopes = _slopes(network)
        gradient, curvature = _weak_priors(network, share)
        fresh = slopes[:, np.newaxis] * scores.information * slopes
        length = damping if is_exact else 1.0 / max(1, step - FULL_STEPS + 2)
        information += (1.0 if is_exact else max(length / 2.0, 1.0 / (step + 1))) * (
            fresh - information
        )
        whole = without(held, information + np.diag(curvature))
        move = np.linalg.solve(whole, np.where(held, 0.0, slopes * scores.total + gradient))
        move = np.clip(move, -LONGEST_STEP, LONGEST_STEP)
        # The information of few records is not the curvature: steps back and forth are too long.
        damping = damping / 2.0 if move @ whole @ last_move < 0.0 else min(1.5 * damping, 1.0)
        last_move = move
        position = position + min(length, damping) * move
        is_small = (np.abs(move) * np.sqrt(np.diag(whole))).max() < ENOUGH
        if is_small if is_exact else step + 1 == STEPS:
            break
    network = _network(structure, position).with_fixed(fixed)
    slopes = _slopes(network)
    plain = information / slopes[:, np.newaxis] / slopes
    return Fitted(network, *information_errors(network, plain, fixed, share))


def information_errors(
    network: NoisyOrNetwork, information: Floats, fixed: Fixed, share: float = 1.0
) -> tuple[Floats, Floats, Floats]:
    """Return the standard errors of failures, priors and leaks; weak priors make them smaller."""
    slopes = _slopes(network)
    _, curvature = _weak_priors(network, share)
    whole = slopes[:, np.newaxis] * information * slopes + np.diag(curvature)
    variances = np.diag(np.linalg.inv(without(_held(fixed), whole)))
    errors = slopes * np.sqrt(np.where(variances > 0, variances, np.nan))
    structure = network.structure
    cuts = structure.n_edges, structure.n_edges + structure.n_diseases
    failures, priors, leaks = np.split(errors, cuts)
    return failures, priors, leaks


def _held(fixed: Fixed) -> NDArray[np.bool_]:
    return np.concatenate([getattr(fixed.mask, kind) for kind in ("failures", "priors", "leaks")])


def without(held: NDArray[np.bool_], matrix: Floats) -> Floats:
    """Take parameters that are held out of the information."""
    matrix = np.array(matrix)
    matrix[held] = matrix[:, held] = 0.0
    matrix[held, held] = 1.0
    return matrix


def _logits(network: NoisyOrNetwork) -> Floats:
    values = np.concatenate([network.failures, network.priors, network.leaks])
    values = np.clip(values, MARGIN, 1.0 - MARGIN)
    return np.asarray(np.log(values) - np.log1p(-values))


def _network(structure: Structure, logits: Floats) -> NoisyOrNetwork:
    values = 1.0 / (1.0 + np.exp(-np.clip(logits, -14.0, 14.0)))
    cuts = structure.n_edges, structure.n_edges + structure.n_diseases
    failures, priors, leaks = np.split(values, cuts)
    return NoisyOrNetwork(structure, priors, failures, leaks)


def _slopes(network: NoisyOrNetwork) -> Floats:
    values = np.concatenate([network.failures, network.priors, network.leaks])
    return np.asarray(values * (1.0 - values))


def _weak_priors(network: NoisyOrNetwork, share: float) -> tuple[Floats, Floats]:
    """Return derivative and curvature of the weak priors, the same as those of the M-step.

    A Beta prior of mean m and size n has the derivative n (m - x) by the logit of x.
    """
    mean, size = failure_prior(network, share)
    values = np.concatenate([network.failures, network.priors, network.leaks])
    sizes = np.concatenate(
        [
            np.full(len(network.failures), size),
            np.full(len(network.priors), share),
            np.full(len(network.leaks), share),
        ]
    )
    means = np.concatenate(
        [
            np.full(len(network.failures), 1.0 - mean),
            np.full(len(network.priors), 0.5),
            np.full(len(network.leaks), network.leaks.mean()),
        ]
    )
    return sizes * (means - values), sizes * values * (1.0 - values)
