"""Compiled loops of the baselines: causes with the diseases seen, and variational EM."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SMALLEST_SHARE = 1e-12
LONGEST = 60
"""Newton steps for one parameter at most."""
HALVINGS = 12
CLOSE = 1e-10


@numba.njit(nogil=True, cache=True)
def expect_causes(
    starts: Integers,
    symptoms: NDArray[np.int32],
    is_unknown: NDArray[np.bool_],
    of_records: Integers,
    columns: Integers,
    edge_of: NDArray[np.int32],
    failures: Floats,
    leaks: Floats,
    caused: Floats,
    unknown: Floats,
    leaked: Floats,
) -> float:
    """Add up what each disease that is seen, or none, is expected to have caused.

    Returns the log probability of the present findings.
    """
    total = 0.0
    for record in range(len(starts) - 1):
        seen = columns[of_records[record] : of_records[record + 1]]
        for place in range(starts[record], starts[record + 1]):
            symptom = symptoms[place]
            absent = 1.0 - leaks[symptom]
            for disease in seen:
                edge = edge_of[disease, symptom]
                if edge >= 0 and is_unknown[place]:
                    unknown[edge] += 1.0
                elif edge >= 0:
                    absent *= failures[edge]
            if is_unknown[place]:
                continue
            present = max(1.0 - absent, 1e-300)
            total += np.log(present)
            leaked[symptom] += leaks[symptom] / present
            for disease in seen:
                edge = edge_of[disease, symptom]
                if edge >= 0:
                    caused[edge] += (1.0 - failures[edge]) / present
    return total


# --- variational EM ---


class Entries(NamedTuple):
    """Each present finding with each of its parents, sorted by symptom, parent and record."""

    edges: Integers
    records: Integers
    offsets: Integers
    """The entries of parent place k (symptom by symptom) are `offsets[k] : offsets[k + 1]`."""
    shares: Floats
    """q: of each finding, how much of it each parent answers for."""
    posteriors: Floats
    """P(the parent is present)."""


class ListedFindings(NamedTuple):
    """The present findings of each distinct record, and the unknown ones."""

    offsets: Integers
    """The findings of record r are `offsets[r] : offsets[r + 1]`."""
    symptoms: NDArray[np.int32]
    is_unknown: NDArray[np.bool_]
    entry_offsets: Integers
    """The entries of finding x are `order[entry_offsets[x] : entry_offsets[x + 1]]`."""
    order: Integers
    weights: Floats


class Model(NamedTuple):
    """A network as the bound sees it."""

    log_odds: Floats
    """Of each disease, all its findings absent."""
    log_off: Floats
    """log(1 - prior) of each disease."""
    theta: Floats
    """-log failure of each edge."""
    theta0: Floats
    """-log(1 - leak) of each symptom."""
    parent_offsets: Integers
    parent_diseases: Integers
    parent_edges: Integers


@numba.njit(nogil=True, cache=True)
def bound_records(
    model: Model,
    findings: ListedFindings,
    entries: Entries,
    first: int,
    last: int,
    n_rounds: int,
    cases: Floats,
    unknown: Floats,
) -> float:
    """Raise the bound of each record by turns in posteriors and shares; return their sum."""
    total = 0.0
    n_diseases = len(model.log_odds)
    log_odds, posteriors = np.empty(n_diseases), np.empty(n_diseases)
    constant = model.log_off.sum() - model.theta0.sum()
    for record in range(first, last):
        here = range(findings.offsets[record], findings.offsets[record + 1])
        base = constant
        log_odds[:] = model.log_odds
        for x in here:
            j = findings.symptoms[x]
            base += model.theta0[j]
            for place in range(model.parent_offsets[j], model.parent_offsets[j + 1]):
                log_odds[model.parent_diseases[place]] += model.theta[model.parent_edges[place]]
        bound = 0.0
        for turn in range(n_rounds + 1):
            bound = find_posteriors(model, findings, entries, record, log_odds, posteriors)
            if turn < n_rounds:
                for x in here:
                    if not findings.is_unknown[x]:
                        share_out(model, findings, entries, x, posteriors)
        weight = findings.weights[record]
        total += weight * (base + bound)
        for disease in range(n_diseases):
            cases[disease] += weight * posteriors[disease]
        for x in here:
            j = findings.symptoms[x]
            if findings.is_unknown[x]:
                for place in range(model.parent_offsets[j], model.parent_offsets[j + 1]):
                    disease = model.parent_diseases[place]
                    unknown[model.parent_edges[place]] += weight * posteriors[disease]
    return total


@numba.njit(nogil=True, cache=True)
def log_present(theta0: float, x: float) -> float:
    """Return log(1 - exp(-theta0 - x))."""
    return float(np.log(-np.expm1(-theta0 - x)))


@numba.njit(nogil=True, cache=True)
def find_posteriors(
    model: Model,
    findings: ListedFindings,
    entries: Entries,
    record: int,
    log_odds: Floats,
    posteriors: Floats,
) -> float:
    """Set all posteriors to their best, given the shares; return the bound of the record.

    They do not depend on each other, and at its best each adds log(1 + odds) to the bound.
    """
    bound = 0.0
    posteriors[:] = log_odds
    for x in range(findings.offsets[record], findings.offsets[record + 1]):
        if findings.is_unknown[x]:
            continue
        j = findings.symptoms[x]
        alone = log_present(model.theta0[j], 0.0)
        bound += alone
        for place in range(findings.entry_offsets[x], findings.entry_offsets[x + 1]):
            entry = findings.order[place]
            k = model.parent_offsets[j] + place - findings.entry_offsets[x]
            q, theta = entries.shares[entry], model.theta[entries.edges[entry]]
            gain = q * (log_present(model.theta0[j], theta / q) - alone)
            posteriors[model.parent_diseases[k]] += gain
    for disease in range(len(posteriors)):
        at = posteriors[disease]
        bound += max(at, 0.0) + np.log1p(np.exp(-abs(at)))
        posteriors[disease] = 1.0 / (1.0 + np.exp(-at))
    for x in range(findings.offsets[record], findings.offsets[record + 1]):
        for place in range(findings.entry_offsets[x], findings.entry_offsets[x + 1]):
            k = model.parent_offsets[findings.symptoms[x]] + place - findings.entry_offsets[x]
            entries.posteriors[findings.order[place]] = posteriors[model.parent_diseases[k]]
    return float(bound)


@numba.njit(nogil=True, cache=True)
def share_out(
    model: Model, findings: ListedFindings, entries: Entries, x: int, posteriors: Floats
) -> None:
    """Give more of a finding to the parents that gain most by it.

    Shares are multiplied by their slopes, which is always uphill (the gain is a variance); half as
    far where that is too far.
    """
    first, last = findings.entry_offsets[x], findings.entry_offsets[x + 1]
    if last - first < 2:
        return
    theta0 = model.theta0[findings.symptoms[x]]
    alone = log_present(theta0, 0.0)
    target = np.empty(last - first)
    before = 0.0
    for place in range(first, last):
        entry = findings.order[place]
        q, mu = entries.shares[entry], entries.posteriors[entry]
        at = model.theta[entries.edges[entry]] / q
        absent = np.exp(-theta0 - at)
        value = log_present(theta0, at) - alone
        before += mu * q * value
        target[place - first] = q * max(mu * (value - at * absent / (1.0 - absent)), 0.0)
    total = target.sum()
    if not total > 0.0:
        return
    target /= total
    step = 1.0
    for _ in range(HALVINGS):
        after = 0.0
        for place in range(first, last):
            entry = findings.order[place]
            q = entries.shares[entry]
            q = max(q + step * (target[place - first] - q), SMALLEST_SHARE)
            at = model.theta[entries.edges[entry]] / q
            after += entries.posteriors[entry] * q * (log_present(theta0, at) - alone)
        if after >= before:
            break
        step /= 2.0
    if after >= before:
        for place in range(first, last):
            entry = findings.order[place]
            q = entries.shares[entry]
            entries.shares[entry] = max(q + step * (target[place - first] - q), SMALLEST_SHARE)


@numba.njit(nogil=True, cache=True)
def raise_edges(
    model: Model,
    entries: Entries,
    weights: Floats,
    survived: Floats,
    smallest: float,
    largest: float,
    first: int,
    last: int,
) -> None:
    """Set theta of each edge to its best: so much of it as its present findings demand.

    The slope falls and is convex in theta, so Newton's steps never pass the root from the left;
    `survived` are the expected cases in which the finding was absent.
    """
    for k in range(first, last):
        edge = model.parent_edges[k]
        here = slice(entries.offsets[k], entries.offsets[k + 1])
        theta0 = model.theta0[symptom_of(model, k)]
        theta = model.theta[edge]
        for _ in range(LONGEST):
            slope, curvature = -survived[edge], 0.0
            for entry in range(here.start, here.stop):
                q = entries.shares[entry]
                odds = 1.0 / np.expm1(theta0 + theta / q)
                taken = weights[entries.records[entry]] * entries.posteriors[entry]
                slope += taken * odds
                curvature -= taken * odds * (1.0 + odds) / q
            new = theta - slope / curvature if curvature < 0.0 else smallest
            new = min(max(new, 0.1 * theta, smallest), largest)
            is_done = abs(new - theta) <= CLOSE * theta
            theta = new
            if is_done:
                break
        model.theta[edge] = theta


@numba.njit(nogil=True, cache=True)
def symptom_of(model: Model, place: int) -> int:
    """Return the symptom that a parent's place belongs to."""
    return int(np.searchsorted(model.parent_offsets, place, side="right")) - 1


@numba.njit(nogil=True, cache=True)
def raise_leaks(
    model: Model,
    entries: Entries,
    weights: Floats,
    absent: Floats,
    smallest: float,
    largest: float,
    first: int,
    last: int,
) -> None:
    """Set theta0 of each symptom that has parents to its best, in the same way."""
    for j in range(first, last):
        begin, end = model.parent_offsets[j], model.parent_offsets[j + 1]
        if begin == end:
            continue
        theta0 = model.theta0[j]
        for _ in range(LONGEST):
            slope, curvature = -absent[j], 0.0
            alone = 1.0 / np.expm1(theta0)
            for k in range(begin, end):
                theta = model.theta[model.parent_edges[k]]
                for entry in range(entries.offsets[k], entries.offsets[k + 1]):
                    q, mu = entries.shares[entry], entries.posteriors[entry]
                    odds = 1.0 / np.expm1(theta0 + theta / q)
                    taken = weights[entries.records[entry]] * q
                    slope += taken * (mu * odds + (1.0 - mu) * alone)
                    curvature -= taken * (
                        mu * odds * (1.0 + odds) + (1.0 - mu) * alone * (1.0 + alone)
                    )
            new = theta0 - slope / curvature if curvature < 0.0 else smallest
            new = min(max(new, 0.1 * theta0, smallest), largest)
            is_done = abs(new - theta0) <= CLOSE * theta0
            theta0 = new
            if is_done:
                break
        model.theta0[j] = theta0
