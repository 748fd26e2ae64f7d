"""Fewer causes that explain records as well: dead ones go, near-duplicates become one."""

import numpy as np

from noisyor.discovery.dense_em import Ascended, CauseMatrix, DenseEM
from noisyor.parameters import Booleans, Floats

ACTIVE = 0.05
"""Edges with a smaller 1 - f are not counted as parameters."""
ALIKE = 0.8
"""Cosine of the strengths of two causes from which it is tried to make them one."""
FEW_STEPS, SOME_STEPS = 3, 8
DEAD = 3.0
"""A cause without which the log likelihood is lower by less is dead."""


def n_parameters(causes: CauseMatrix) -> Floats:
    """Return the number of parameters of each cause: its prior, and edges that count."""
    return np.asarray((causes.strengths > ACTIVE).sum(axis=1) + 1.0)


def bic_of(causes: CauseMatrix, log_likelihood: float, n_records: float) -> float:
    """Return BIC, with the edges that count."""
    size = float(n_parameters(causes).sum()) + len(causes.leaks)
    return size * float(np.log(n_records)) - 2.0 * log_likelihood


def simplified(em: DenseEM, found: Ascended, is_kept: Booleans) -> tuple[Ascended, Booleans]:
    """Drop and merge causes as long as BIC gains by it.

    Parameters
    ----------
    em
        Over the records.
    found
        Where EM has led.
    is_kept
        Causes that neither go nor are merged: those that were given.

    Returns
    -------
    tuple
        The causes that are left, and which of them were to be kept.
    """
    while len(found.causes.priors):
        step = _dropped(em, found, is_kept) or _merged(em, found, is_kept)
        if step is None:
            break
        found, is_kept = step
    return found, is_kept


def _dropped(em: DenseEM, found: Ascended, is_kept: Booleans) -> tuple[Ascended, Booleans] | None:
    """Drop the cause that BIC can best do without, and all that are dead."""
    half = 0.5 * np.log(em.records.n_records)
    losses = found.log_likelihood - found.without
    gains = np.where(is_kept, -np.inf, n_parameters(found.causes) * half - losses)
    is_dead = (losses < DEAD) & ~is_kept  # these do not stand in for each other: all at once
    is_dead[int(np.argmax(gains))] |= gains.max() > 0.0
    if not is_dead.any():
        return None
    left = np.flatnonzero(~is_dead)
    return em.climb(found.causes.at(left), FEW_STEPS), is_kept[left]


def _merged(em: DenseEM, found: Ascended, is_kept: Booleans) -> tuple[Ascended, Booleans] | None:
    """Make one of two causes that are nearly the same, where BIC gains by it."""
    causes, n = found.causes, em.records.n_records
    before = bic_of(causes, found.log_likelihood, n)
    alike = np.triu(cosines(causes.strengths, causes.strengths), 1)
    alike[is_kept] = alike[:, is_kept] = 0.0
    for number in np.argsort(-alike, axis=None).tolist():
        a, b = divmod(number, len(alike))
        if alike[a, b] < ALIKE:
            return None
        tried = em.climb(merge(causes, a, b), SOME_STEPS)
        if bic_of(tried.causes, tried.log_likelihood, n) < before:
            return tried, np.delete(is_kept, b)
    return None


def cosines(one: Floats, other: Floats) -> Floats:
    """Return the cosines of strengths, of each cause of the one and each of the other."""
    norms = [np.maximum(np.linalg.norm(each, axis=1), 1e-12) for each in (one, other)]
    return np.asarray(one @ other.T / np.outer(*norms))


def merge(causes: CauseMatrix, a: int, b: int) -> CauseMatrix:
    """Return causes of which two are one, as frequent as any of both."""
    priors, failures = causes.priors.copy(), causes.failures.copy()
    shares = np.array([priors[a], priors[b]]) / (priors[a] + priors[b])
    failures[a] = shares[0] * failures[a] + shares[1] * failures[b]
    priors[a] = 1.0 - (1.0 - priors[a]) * (1.0 - priors[b])
    return CauseMatrix(np.delete(priors, b), np.delete(failures, b, axis=0), causes.leaks)
