"""The estimate of diseases that occur together: standard errors, flags, and is there a trait?"""

from dataclasses import replace
from typing import Any

import numpy as np

from noisyor.beliefs import FEWEST_CASES, Beliefs
from noisyor.em.cause_models import marginals_of
from noisyor.errors import give_notice
from noisyor.inference.flat import Floats
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.learned_causes import LearnedCauses, LearnedTogether
from noisyor.learning.trust import rests_on_few
from noisyor.network.causes import Causes
from noisyor.parameters import Parameters

UNTOLD = "cannot be told from none"
NOISE = 6.0
"""Of the spread of what chance lets a trait gain: more is seen once in a thousand times."""


def estimate_together(independent: Estimate, found: LearnedTogether, fixed: Beliefs) -> Estimate:
    """Return what was learned, with standard errors and flags."""
    network, totals, errors = found.network, found.totals, found.item_errors
    structure, n_edges = network.structure, network.structure.n_edges
    learned = found.causes()
    prior_errors = _prior_errors(learned, network.causes)
    standard_errors = Parameters(prior_errors, errors[:n_edges], errors[n_edges:])
    few = rests_on_few(structure, network.priors, totals.known, totals.n_records)
    few = few.map(lambda is_few, cases: is_few & (cases < FEWEST_CASES), fixed.cases)
    few = few.map(np.logical_or, found.is_weak)
    flags = few.map(
        lambda is_few, error: is_few * Flag.WEAK | np.isnan(error) * Flag.WEAKLY_IDENTIFIED,
        standard_errors,
    )
    uncertified = independent.flags.map(lambda each: each & np.uint16(Flag.UNCERTIFIED))
    flags = flags.map(lambda one, other: (one | other).astype(np.uint16), uncertified)
    learned = _doubting_traits(learned)
    for caution in learned.cautions:
        give_notice(caution)
    return replace(
        independent, values=network.parameters, standard_errors=standard_errors, flags=flags,
        trace=found.trace, n_iter=max(found.trace.n_steps, 1), learned_causes=learned,
        miss_errors=None,
    ).fixing(fixed)  # fmt: skip


def _doubting_traits(learned: LearnedCauses) -> LearnedCauses:
    """Return the same without errors of loadings on traits that cannot be told from none.

    Where there is no trait, the likelihood is flat at loadings b of 0, and chance alone lets k
    loadings gain: of a matrix of noise the first eigenvector, 2 k in twice the log likelihood with
    a spread of k^(1/3) (Tracy and Widom 1996). Near 0 that is of the fourth order in b, so that
    what is gained is a quarter of b' I b, with I the information on the loadings.
    """
    kinds, _, names = (np.array(each) for each in zip(*learned.names, strict=True))
    errors, flags, cautions = learned.standard_errors.copy(), learned.flags.copy(), []
    is_open = (kinds == "loading") & ((flags & Flag.FIXED) == 0)
    for name in sorted(set(names[is_open].tolist())):
        all_of_it, here = is_open & (names == name), is_open & (names == name) & (errors > 0.0)
        b, k = learned.values[here], int(here.sum())
        is_given = bool(learned.values[(kinds == "loading") & (names == name) & ~is_open].any())
        if is_given or not k:
            continue
        information = np.linalg.pinv(learned.covariance[np.ix_(here, here)], hermitian=True)
        gained = 0.25 * float(b @ information @ b)
        if gained > 2.0 * k + NOISE * np.cbrt(k):
            continue
        errors[all_of_it] = np.nan
        flags[all_of_it] |= np.uint16(Flag.WEAK)
        cautions.append(
            f"The {name} {UNTOLD}: by chance alone independent diseases would let "
            "it explain as much. Its loadings have no intervals; learn with causes='independent', "
            "or with more records."
        )
    return replace(learned, standard_errors=errors, flags=flags, cautions=tuple(cautions))


def _prior_errors(learned: LearnedCauses, causes: Causes) -> Floats:
    """Return the standard errors of P(disease), over all people."""
    if causes.kind == "joint":
        return _share_errors(learned, causes)
    effects = causes.effects
    cells = np.zeros((1, 0)) if effects is None else effects.cells
    weights = np.ones(1) if effects is None else effects.weights
    _, gradients = marginals_of(causes, cells, weights)
    width = gradients.shape[1]
    blocks = (slice(i * width, (i + 1) * width) for i in range(len(gradients)))
    variances = [
        g @ learned.covariance[at, at] @ g for g, at in zip(gradients, blocks, strict=True)
    ]
    is_known = ~np.isnan(learned.standard_errors.reshape(len(gradients), width)).any(axis=1)
    return np.where(is_known, np.sqrt(np.maximum(variances, 0.0)), np.nan)


def _share_errors(learned: LearnedCauses, causes: Any) -> Floats:
    """Return the standard errors of P(disease): those of sums of shares."""
    rows, at = np.zeros((causes.n_diseases, len(learned.values))), 0
    for block, shares in zip(causes.blocks, causes.shares, strict=True):
        states = np.arange(len(shares))
        for position, disease in enumerate(block):
            rows[disease, at + states] = states >> (len(block) - 1 - position) & 1
        at += len(shares)
    for disease in np.flatnonzero(~causes.is_blocked).tolist():
        p = causes.priors[disease]
        rows[disease, at] = p * (1.0 - p)
        at += 1
    variances = np.einsum("ij,jk,ik->i", rows, learned.covariance, rows)
    is_known = ~np.isnan(np.where(rows > 0.0, learned.standard_errors, 0.0)).any(axis=1)
    return np.where(is_known, np.sqrt(np.maximum(variances, 0.0)), np.nan)
