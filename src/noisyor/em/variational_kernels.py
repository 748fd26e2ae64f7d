"""Compiled loops of variational EM: the bound of each record, and the M-step of strengths.

theta = -log f of an edge, theta0 = -log(1 - leak) of a symptom, q the shares of a present finding
that its parents answer for, mu the posteriors of diseases (see variational.py).
"""

from typing import NamedTuple

import numpy as np

from noisyor.em import candidate_kernels
from noisyor.em.candidate_kernels import CERTAIN, Seen
from noisyor.em.expected import SMALLEST, SMALLEST_LEAK, ExpectedCounts
from noisyor.inference.bound_kernels import log_present, share_out
from noisyor.inference.flat import FlatNetwork, Floats, Integers, Records
from noisyor.kernels import kernel

NEWTON_STEPS, CLOSE = 60, 1e-10
"""For one parameter: steps at most, and the relative change after which no other is made."""
LARGEST = -float(np.log(SMALLEST))
"""Of theta and theta0."""


class SharedFindings(NamedTuple):
    """Each present finding with each of its parents, sorted by symptom, parent and record."""

    edges: Integers
    weights: Floats
    """How often the record of each entry occurs."""
    offsets: Integers
    """Parent k (symptom by symptom) has the entries `offsets[k] : offsets[k + 1]`."""
    finding_offsets: Integers
    """Finding x has the entries `order[finding_offsets[x] : finding_offsets[x + 1]]`."""
    order: Integers
    shares: Floats
    """q: how much of its finding each parent answers for."""
    posteriors: Floats
    """P(the parent is present)."""


class Strengths(NamedTuple):
    """What the M-step finds."""

    theta: Floats
    theta0: Floats


@kernel
def bound_records(
    net: FlatNetwork,
    records: Records,
    seen: Seen,
    shared: SharedFindings,
    first: int,
    last: int,
    n_rounds: int,
    counts: ExpectedCounts,
) -> float:
    """Raise the bound of each record by turns in posteriors and shares; return their sum."""
    total = 0.0
    n_diseases = len(net.priors)
    log_odds, posteriors = np.empty(n_diseases), np.empty(n_diseases)
    constant = np.log1p(-net.priors).sum() + net.log_silent.sum()
    labels = np.zeros(n_diseases, np.int8)
    for record in range(first, last):
        here = range(records.offsets[record], records.offsets[record + 1])
        candidate_kernels.read_labels(seen, record, labels)
        base = constant - CERTAIN * (labels == 1).sum()
        log_odds[:] = net.log_odds + CERTAIN * labels
        for x in here:
            j = records.symptoms[x]
            base -= net.log_silent[j]
            for k in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                log_odds[net.parent_diseases[k]] -= net.log_failures[net.parent_edges[k]]
        bound = 0.0
        for turn in range(n_rounds + 1):
            bound = find_posteriors(net, records, shared, record, log_odds, posteriors)
            if turn < n_rounds:
                for x in here:
                    if records.is_present[x]:
                        share_finding(net, records, shared, x)
        weight = records.weights[record]
        total += weight * (base + bound)
        for disease in range(n_diseases):
            counts.cases[disease] += weight * posteriors[disease]
        for x in here:
            j = records.symptoms[x]
            if not records.is_present[x]:
                for k in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                    disease = net.parent_diseases[k]
                    counts.unknown[net.parent_edges[k]] += weight * posteriors[disease]
    return total


@kernel
def find_posteriors(
    net: FlatNetwork,
    records: Records,
    shared: SharedFindings,
    record: int,
    log_odds: Floats,
    posteriors: Floats,
) -> float:
    """Set all posteriors to their best, given the shares; return the bound of the record.

    They do not depend on each other, and at its best each adds log(1 + odds) to the bound.
    """
    bound = 0.0
    posteriors[:] = log_odds
    for x in range(records.offsets[record], records.offsets[record + 1]):
        if not records.is_present[x]:
            continue
        j = records.symptoms[x]
        theta0 = -net.log_silent[j]
        alone = log_present(theta0, 0.0)
        bound += alone
        for rank in range(shared.finding_offsets[x + 1] - shared.finding_offsets[x]):
            entry = shared.order[shared.finding_offsets[x] + rank]
            q, theta = shared.shares[entry], -net.log_failures[shared.edges[entry]]
            gain = q * (log_present(theta0, theta / q) - alone)
            posteriors[net.parent_diseases[net.parent_offsets[j] + rank]] += gain
    for disease in range(len(posteriors)):
        at = posteriors[disease]
        bound += max(at, 0.0) + np.log1p(np.exp(-abs(at)))
        posteriors[disease] = 1.0 / (1.0 + np.exp(-at))
    for x in range(records.offsets[record], records.offsets[record + 1]):
        first = net.parent_offsets[records.symptoms[x]]
        for rank in range(shared.finding_offsets[x + 1] - shared.finding_offsets[x]):
            entry = shared.order[shared.finding_offsets[x] + rank]
            shared.posteriors[entry] = posteriors[net.parent_diseases[first + rank]]
    return float(bound)


@kernel
def share_finding(net: FlatNetwork, records: Records, shared: SharedFindings, x: int) -> None:
    """Give more of a finding to the parents that gain most by it."""
    entries = shared.order[shared.finding_offsets[x] : shared.finding_offsets[x + 1]]
    n = len(entries)
    theta, posteriors, shares = np.empty(n), np.empty(n), np.empty(n)
    for e in range(len(entries)):
        theta[e] = -net.log_failures[shared.edges[entries[e]]]
        posteriors[e], shares[e] = shared.posteriors[entries[e]], shared.shares[entries[e]]
    share_out(-net.log_silent[records.symptoms[x]], theta, posteriors, shares, 0.0)
    for e in range(len(entries)):
        shared.shares[entries[e]] = max(shares[e], 1e-12)  # a share of 0 could never grow again


@kernel
def raise_edges(
    net: FlatNetwork,
    shared: SharedFindings,
    survived: Floats,
    strengths: Strengths,
    first: int,
    last: int,
) -> None:
    """Set theta of each edge to its best: so much of it as its present findings demand.

    The derivative falls and is convex in theta, so Newton's steps never pass the root from the
    left; `survived` are the expected cases in which the finding was absent.
    """
    for k in range(first, last):
        edge = net.parent_edges[k]
        symptom = np.searchsorted(net.parent_offsets, k, side="right") - 1
        theta0, theta = strengths.theta0[symptom], strengths.theta[edge]
        for _ in range(NEWTON_STEPS):
            derivative, curvature = -survived[edge], 0.0
            for entry in range(shared.offsets[k], shared.offsets[k + 1]):
                q = shared.shares[entry]
                odds = 1.0 / np.expm1(theta0 + theta / q)
                taken = shared.weights[entry] * shared.posteriors[entry]
                derivative += taken * odds
                curvature -= taken * odds * (1.0 + odds) / q
            before = theta
            theta = newton(theta, derivative, curvature, SMALLEST)
            if abs(theta - before) <= CLOSE * before:
                break
        strengths.theta[edge] = theta


@kernel
def raise_leaks(
    net: FlatNetwork,
    shared: SharedFindings,
    absent: Floats,
    strengths: Strengths,
    first: int,
    last: int,
) -> None:
    """Set theta0 of each symptom that has parents to its best, in the same way."""
    for j in range(first, last):
        begin, end = net.parent_offsets[j], net.parent_offsets[j + 1]
        if begin == end:
            continue
        theta0 = strengths.theta0[j]
        for _ in range(NEWTON_STEPS):
            derivative, curvature = -absent[j], 0.0
            alone = 1.0 / np.expm1(theta0)
            for k in range(begin, end):
                theta = strengths.theta[net.parent_edges[k]]
                for entry in range(shared.offsets[k], shared.offsets[k + 1]):
                    q, mu = shared.shares[entry], shared.posteriors[entry]
                    odds = 1.0 / np.expm1(theta0 + theta / q)
                    taken = shared.weights[entry] * q
                    derivative += taken * (mu * odds + (1.0 - mu) * alone)
                    bend = mu * odds * (1.0 + odds) + (1.0 - mu) * alone * (1.0 + alone)
                    curvature -= taken * bend
            before = theta0
            theta0 = newton(theta0, derivative, curvature, SMALLEST_LEAK)
            if abs(theta0 - before) <= CLOSE * before:
                break
        strengths.theta0[j] = theta0


@kernel
def newton(value: float, derivative: float, curvature: float, smallest: float) -> float:
    """Return Newton's next value, within bounds and not less than a tenth of the last one."""
    new = value - derivative / curvature if curvature < 0.0 else smallest
    return float(min(max(new, 0.1 * value, smallest), LARGEST))
