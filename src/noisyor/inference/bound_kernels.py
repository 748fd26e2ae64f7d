"""Bounds on what a record's findings say of the diseases (Jaakkola and Jordan 1999).

With theta = -log f, theta0 = -log(1 - leak) and x = theta0 + sum_i theta_i d_i, a present finding
has the probability 1 - exp(-x), whose logarithm is concave in x. So for any xi > 0 and any shares q
that add up to 1

    log(1 - exp(-x)) <= xi x - g(xi)        g(xi) = (1 + xi) log(1 + xi) - xi log xi
    log(1 - exp(-x)) >= sum_i q_i [ d_i log(1 - exp(-theta0 - theta_i / q_i))
                                    + (1 - d_i) log(1 - exp(-theta0)) ]

Both are sums over the diseases: a finding that is so replaced only changes the odds of its parents.
How these kernels are put together stands in bounds.py.
"""

from typing import NamedTuple

import numpy as np

from noisyor.inference.flat import Booleans, FlatNetwork, Floats, Integers, Listed
from noisyor.inference.record_kernels import Workspace, is_active, weigh, weigh_all
from noisyor.kernels import kernel

LARGEST_THETA = 40.0
"""exp(-40) is less than a rounding error: a failure of 0 is not different from it."""
SMALLEST_LOG = -1e6
"""Stands for the log of 0."""


class Entries(NamedTuple):
    """The present findings of a record, each with the parents that can have caused it."""

    offsets: Integers
    """The entries of finding x are `offsets[x] : offsets[x + 1]`."""
    diseases: Integers
    theta: Floats
    theta0: Floats
    """Of each finding."""
    xi: Floats
    """Of each finding."""
    shares: Floats
    """Of each entry."""


@kernel
def list_entries(net: FlatNetwork, present: Listed, xi: Floats, workspace: Workspace) -> Entries:
    """List the present findings with their possible causes."""
    most = (net.parent_offsets[present + 1] - net.parent_offsets[present]).sum()
    offsets = np.zeros(len(present) + 1, dtype=np.int64)
    diseases, theta = np.empty(most, dtype=np.int64), np.empty(most)
    theta0 = np.empty(len(present))
    n_entries = 0
    for x in range(len(present)):
        j = present[x]
        theta0[x] = LARGEST_THETA if net.is_certain[j] else min(-net.log_silent[j], LARGEST_THETA)
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            if is_active(net, edge, disease, workspace):
                diseases[n_entries], theta[n_entries] = disease, LARGEST_THETA
                if net.failures[edge] > 0.0:
                    theta[n_entries] = min(-net.log_failures[edge], LARGEST_THETA)
                n_entries += 1
        offsets[x + 1] = n_entries
    return Entries(
        offsets, diseases[:n_entries].copy(), theta[:n_entries].copy(), theta0, xi,
        np.zeros(n_entries),
    )  # fmt: skip


# --- the upper bound ---


@kernel
def tighten(net: FlatNetwork, entries: Entries, workspace: Workspace) -> None:
    """Lower the upper bound in xi, finding by finding, where all are replaced.

    The bound is convex in each xi; its derivative is E[x] - log(1 + 1/xi).
    """
    log_factors, _ = tilted(entries, np.ones(len(entries.xi), np.bool_), workspace)
    on = np.empty(len(workspace.on))
    weigh_all(net, log_factors, on)
    for _ in range(30):
        largest = 0.0
        for x in range(len(entries.xi)):
            xi = entries.xi[x]
            mean, variance = _spread(entries, x, on)
            new = _better_xi(xi, mean, variance)
            entries.xi[x] = new
            largest = max(largest, abs(np.log(new / xi)))
            for e in range(entries.offsets[x], entries.offsets[x + 1]):
                disease = entries.diseases[e]
                log_factors[disease] += (new - xi) * entries.theta[e]
                on[disease], _ = weigh(net.priors[disease], log_factors[disease])
        if largest < 0.01:
            break


@kernel
def tilted(entries: Entries, is_replaced: Booleans, workspace: Workspace) -> tuple[Floats, float]:
    """Return what absent and replaced findings say of each disease, and a constant."""
    log_factors, log_sum = workspace.log_absent.copy(), 0.0
    for x in np.flatnonzero(is_replaced):
        log_sum += entries.xi[x] * entries.theta0[x] - _conjugate(entries.xi[x])
        for e in range(entries.offsets[x], entries.offsets[x + 1]):
            log_factors[entries.diseases[e]] += entries.xi[x] * entries.theta[e]
    return log_factors, log_sum


@kernel
def looseness(net: FlatNetwork, entries: Entries, workspace: Workspace) -> Floats:
    """Return by how much the log of the bound falls if each finding alone is solved exactly."""
    n = len(entries.xi)
    log_factors, _ = tilted(entries, np.ones(n, dtype=np.bool_), workspace)
    gains = np.empty(n)
    for x in range(n):
        xi = entries.xi[x]
        gains[x] = xi * entries.theta0[x] - _conjugate(xi)
        present = -np.expm1(-entries.theta0[x])
        absent = 1.0 - present
        for e in range(entries.offsets[x], entries.offsets[x + 1]):
            disease, theta = entries.diseases[e], entries.theta[e]
            p = net.priors[disease]
            _, with_it = weigh(p, log_factors[disease])
            on, without = weigh(p, log_factors[disease] - xi * theta)
            gains[x] += with_it - without
            chance = -on * np.expm1(-theta)
            present += absent * chance
            absent *= 1.0 - chance
        gains[x] -= np.log(present) if present > 0.0 else -np.inf
    return gains


@kernel
def _conjugate(xi: float) -> float:
    return float(xi * np.log1p(1.0 / xi) + np.log1p(xi))


@kernel
def _spread(entries: Entries, x: int, on: Floats) -> tuple[float, float]:
    """Return mean and variance of what causes a finding, if the diseases were independent."""
    mean, variance = float(entries.theta0[x]), 0.0
    for e in range(entries.offsets[x], entries.offsets[x + 1]):
        p, theta = on[entries.diseases[e]], entries.theta[e]
        mean += p * theta
        variance += p * (1.0 - p) * theta * theta
    return mean, variance


@kernel
def _better_xi(xi: float, mean: float, variance: float) -> float:
    """Return Newton's next xi, not too far away."""
    step = (mean - np.log1p(1.0 / xi)) / (variance + 1.0 / (xi * (1.0 + xi)))
    return float(min(max(xi - step, xi / 4.0, 1e-12), 4.0 * xi, 1e4))


# --- the lower bound ---


@kernel
def start_shares(entries: Entries, on: Floats) -> None:
    """Share a finding out evenly; where it has no leak, one disease must answer for all of it."""
    for x in range(len(entries.xi)):
        first, last = entries.offsets[x], entries.offsets[x + 1]
        if entries.theta0[x] > 0.0:
            entries.shares[first:last] = 1.0 / max(last - first, 1)
        elif last > first:
            chances = -on[entries.diseases[first:last]] * np.expm1(-entries.theta[first:last])
            entries.shares[first:last] = 0.0
            entries.shares[first + np.argmax(chances)] = 1.0


@kernel
def share_all(entries: Entries, is_replaced: Booleans, on: Floats) -> None:
    """Give more of each finding to the parents that gain most by it, a few times."""
    for x in np.flatnonzero(is_replaced):
        first, last = entries.offsets[x], entries.offsets[x + 1]
        posteriors = on[entries.diseases[first:last]]
        theta, shares = entries.theta[first:last], entries.shares[first:last]
        for _ in range(4):
            share_out(entries.theta0[x], theta, posteriors, shares, 1e-6)


@kernel
def better_xi(entries: Entries, is_replaced: Booleans, on: Floats, pace: float) -> None:
    """Move xi to where the upper bound is lowest, if posteriors stay as they are."""
    for x in np.flatnonzero(is_replaced):
        mean, variance = _spread(entries, int(x), on)
        xi = entries.xi[x]
        entries.xi[x] = xi * (_better_xi(xi, mean, variance) / xi) ** pace


@kernel
def shared_factors(
    entries: Entries, is_replaced: Booleans, workspace: Workspace
) -> tuple[Floats, float]:
    """Return what absent and replaced findings say of each disease, and a constant."""
    log_factors, log_sum = workspace.log_absent.copy(), 0.0
    for x in np.flatnonzero(is_replaced):
        alone = log_present(entries.theta0[x], 0.0)
        log_sum += alone
        for e in range(entries.offsets[x], entries.offsets[x + 1]):
            q = entries.shares[e]
            if q > 0.0:
                gain = log_present(entries.theta0[x], entries.theta[e] / q) - alone
                log_factors[entries.diseases[e]] += q * gain
    return log_factors, log_sum


@kernel
def log_present(theta0: float, x: float) -> float:
    """Return log(1 - exp(-theta0 - x)), finite also where that is impossible."""
    present = -np.expm1(-theta0 - x)
    return float(np.log(present)) if present > 0.0 else SMALLEST_LOG


@kernel
def share_out(
    theta0: float, theta: Floats, posteriors: Floats, shares: Floats, smallest: float
) -> None:
    """Give more of a finding to the parents that gain most by it; smaller shares are given up.

    Shares are multiplied by their derivatives, which is always uphill (the gain is a variance);
    half as far where that is too far.
    """
    n = len(theta)
    if n < 2:
        return
    alone = log_present(theta0, 0.0)
    target = np.empty(n)
    before = 0.0
    for e in range(n):
        target[e] = 0.0
        if shares[e] > 0.0:
            at = theta[e] / shares[e]
            value = log_present(theta0, at) - alone
            before += posteriors[e] * shares[e] * value
            derivative = value + at * np.exp(-theta0 - at) / np.expm1(-theta0 - at)
            target[e] = shares[e] * max(posteriors[e] * derivative, 0.0)
    total = target.sum()
    if not total > 0.0:
        return
    target /= total
    step = 1.0
    for _ in range(12):
        after, tried = 0.0, (1.0 - step) * shares + step * target
        tried = np.where(tried < smallest, 0.0, tried)  # the others must add up to 1
        tried /= tried.sum()
        for e in range(n):
            if tried[e] > 0.0:
                gain = log_present(theta0, theta[e] / tried[e]) - alone
                after += posteriors[e] * tried[e] * gain
        if after >= before:
            shares[:] = tried
            return
        step /= 2.0
