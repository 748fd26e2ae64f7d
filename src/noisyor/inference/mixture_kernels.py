"""Exact posteriors where diseases occur together: components are solved one by one and averaged.

A component is a network with priors of its own; its weight given a record is its share times the
probability of the record in it.
"""

from typing import NamedTuple

import numpy as np

from noisyor.inference import record_kernels
from noisyor.inference.flat import Evidence, FlatNetwork, Floats, Listed, Records
from noisyor.inference.piece_kernels import SMALLEST_NORMAL
from noisyor.inference.record_kernels import EXACT, REFUSED, Answers, Workspace
from noisyor.kernels import kernel


class Mixture(NamedTuple):
    """Components with independent diseases."""

    weights: Floats
    priors: Floats
    """Components x diseases."""


class Sums(NamedTuple):
    """What components add up to, in units of the largest weight so far."""

    on: Floats
    caused: Floats
    leaked: Floats


@kernel
def solve_component(
    net: FlatNetwork, priors: Floats, evidence: Evidence, max_cost: float, workspace: Workspace
) -> tuple[float, float]:
    """Solve a record in a component; return its log evidence, and what it costs.

    It is not solved where it costs more than `max_cost`. The priors of `net` are written over.
    """
    net.priors[:] = priors
    log_evidence = record_kernels.weigh_absent(net, evidence, workspace)
    if log_evidence == -np.inf:
        return log_evidence, 0.0
    present = record_kernels.present_of(evidence)
    if is_decided(priors):
        return log_evidence + solve_decided(net, present, workspace), 1.0
    cost = record_kernels.cost_of_present(net, present, workspace)
    if cost <= max_cost:
        log_evidence += record_kernels.solve_present(net, present, workspace)
    return log_evidence, cost


@kernel
def is_decided(priors: Floats) -> bool:
    """Return True if a component is a state: each disease is there for certain, or is not."""
    return bool(((priors == 0.0) | (priors == 1.0)).all())


@kernel
def solve_decided(net: FlatNetwork, present: Listed, workspace: Workspace) -> float:
    """Go on with the present findings in a state, as `solve_present` does where nothing is decided.

    There is nothing to sum up: findings are independent, P(present) = 1 - (1 - leak) prod f.
    """
    log_evidence = 0.0
    for j in present:
        first, last = net.parent_offsets[j], net.parent_offsets[j + 1]
        absent, chance = 1.0 - net.leaks[j], net.leaks[j]
        for index in range(first, last):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            workspace.caused[edge] = 0.0
            if record_kernels.is_active(net, edge, disease, workspace):
                workspace.caused[edge] = 1.0 - net.failures[edge]
                chance += absent * workspace.caused[edge]
                absent *= net.failures[edge]
        if chance < SMALLEST_NORMAL:
            return -np.inf
        log_evidence += np.log(chance)
        workspace.leaked[j] = net.leaks[j] / chance
        for index in range(first, last):
            workspace.caused[net.parent_edges[index]] /= chance
    return float(log_evidence)


@kernel
def solve_mixed(
    net: FlatNetwork,
    mixture: Mixture,
    records: Records,
    first: int,
    last: int,
    max_cost: float,
    answers: Answers,
) -> None:
    """Fill in the answers of some records; those that are too much work are refused."""
    workspace = record_kernels.new_workspace(net)
    sums = new_sums(net)
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        present = record_kernels.present_of(evidence)
        answers.methods[record], answers.errors[record] = EXACT, np.nan
        log_evidence = average(net, mixture, evidence, max_cost, workspace, sums)
        if np.isnan(log_evidence):
            answers.methods[record] = REFUSED
            continue
        record_kernels.write_answer(net, present, log_evidence, workspace, record, answers)


@kernel
def average(
    net: FlatNetwork,
    mixture: Mixture,
    evidence: Evidence,
    max_cost: float,
    workspace: Workspace,
    sums: Sums,
) -> float:
    """Solve a record; the workspace has what it says on average. NaN: it is too much work."""
    present = record_kernels.present_of(evidence)
    clear(net, present, sums)
    top, total, roundings, left = -np.inf, 0.0, 0.0, max_cost
    for component in range(len(mixture.weights)):
        if mixture.weights[component] == 0.0:
            continue
        priors = mixture.priors[component]
        log_weight, cost = solve_component(net, priors, evidence, left, workspace)
        left -= cost
        if left < 0.0:
            return np.nan
        if log_weight == -np.inf:
            continue
        log_weight += np.log(mixture.weights[component])
        if log_weight > top:
            factor = np.exp(top - log_weight)
            total *= factor
            scale(net, present, factor, sums)
            top = log_weight
        factor = np.exp(log_weight - top)
        total += factor
        add(net, present, factor, workspace, sums)
        roundings = max(roundings, workspace.roundings[0])
    if total == 0.0:
        return -np.inf
    scale(net, present, 1.0 / total, sums)
    workspace.on[:] = np.minimum(sums.on, 1.0)
    for j in present:
        workspace.leaked[j] = sums.leaked[j]
        for edge in net.parent_edges[net.parent_offsets[j] : net.parent_offsets[j + 1]]:
            workspace.caused[edge] = sums.caused[edge]
    # Weights are off by as much as the evidence of their component is.
    workspace.roundings[0] = 4.0 * roundings + len(mixture.weights)
    return float(top + np.log(total))


@kernel
def new_sums(net: FlatNetwork) -> Sums:
    """Return room for sums, without values."""
    return Sums(np.empty(len(net.priors)), np.empty(len(net.failures)), np.empty(len(net.leaks)))


@kernel
def clear(net: FlatNetwork, present: Listed, sums: Sums) -> None:
    """Set all that these findings have to do with to 0."""
    sums.on[:] = 0.0
    for j in present:
        sums.leaked[j] = 0.0
        for edge in net.parent_edges[net.parent_offsets[j] : net.parent_offsets[j + 1]]:
            sums.caused[edge] = 0.0


@kernel
def scale(net: FlatNetwork, present: Listed, factor: float, sums: Sums) -> None:
    """Multiply all sums."""
    sums.on[:] *= factor
    for j in present:
        sums.leaked[j] *= factor
        for edge in net.parent_edges[net.parent_offsets[j] : net.parent_offsets[j + 1]]:
            sums.caused[edge] *= factor


@kernel
def add(net: FlatNetwork, present: Listed, factor: float, workspace: Workspace, sums: Sums) -> None:
    """Add what was found in a component."""
    for disease in range(len(sums.on)):
        sums.on[disease] += factor * workspace.on[disease]
    for j in present:
        sums.leaked[j] += factor * workspace.leaked[j]
        for edge in net.parent_edges[net.parent_offsets[j] : net.parent_offsets[j + 1]]:
            sums.caused[edge] += factor * workspace.caused[edge]


@kernel
def evidences_of(net: FlatNetwork, mixture: Mixture, evidence: Evidence, max_cost: float) -> Floats:
    """Return the log evidence of a record in each component; NaN where all is too much work."""
    workspace, left = record_kernels.new_workspace(net), max_cost
    found = np.full(len(mixture.weights), -np.inf)
    for component in range(len(found)):
        if mixture.weights[component] > 0.0:
            priors = mixture.priors[component]
            found[component], cost = solve_component(net, priors, evidence, left, workspace)
            left -= cost
            if left < 0.0:
                found[component:] = np.nan
                break
    return found
