"""Passes over records that are solved exactly: their expected counts and their scores.

And the same counts where the diseases were seen.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.em.expected import ExpectedCounts
from noisyor.inference.flat import FlatNetwork, Records
from noisyor.inference.record_kernels import (
    cost_of_present,
    listed,
    new_workspace,
    present_of,
    solve_record,
    weigh_absent,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def expect_records(
    net: FlatNetwork,
    records: Records,
    first: int,
    last: int,
    counts: ExpectedCounts,
    evidences: Floats,
) -> None:
    """Add the expected counts of records; write the log evidence of each.

    Findings that these records do not list must be absent.
    """
    workspace = new_workspace(net)
    for record in range(first, last):
        symptoms, is_present = listed(records, record)
        evidences[record] = solve_record(net, symptoms, is_present, False, workspace)
        weight = records.weights[record]
        for disease in range(len(net.priors)):
            counts.cases[disease] += weight * workspace.on[disease]
        for x in range(len(symptoms)):
            j = symptoms[x]
            if is_present[x]:
                counts.leaked[j] += weight * workspace.leaked[j]
            for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge = net.parent_edges[index]
                if is_present[x]:
                    counts.caused[edge] += weight * workspace.caused[edge]
                else:
                    counts.unknown[edge] += weight * workspace.on[net.parent_diseases[index]]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score_records(
    net: FlatNetwork, records: Records, first: int, last: int, scores: Floats
) -> None:
    """Write the derivatives of the records' log likelihoods by all parameters, as rows."""
    workspace = new_workspace(net)
    n_edges, n_diseases = len(net.failures), len(net.priors)
    is_known = np.empty(len(net.leaks), dtype=np.bool_)
    is_there = np.empty(len(net.leaks), dtype=np.bool_)
    for record in range(first, last):
        symptoms, is_present = listed(records, record)
        solve_record(net, symptoms, is_present, False, workspace)
        is_known[:], is_there[:] = True, False
        for x in range(len(symptoms)):
            is_known[symptoms[x]], is_there[symptoms[x]] = is_present[x], is_present[x]
        row = scores[record - first]
        row[:n_diseases] = (workspace.on - net.priors) / (net.priors * (1.0 - net.priors))
        for j in range(len(net.leaks)):
            leaked = workspace.leaked[j] if is_there[j] else 0.0
            derivative = leaked / net.leaks[j] - (1.0 - leaked) / (1.0 - net.leaks[j])
            row[n_edges + n_diseases + j] = derivative if is_known[j] else 0.0
            for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge, on = net.parent_edges[index], workspace.on[net.parent_diseases[index]]
                f, caused = net.failures[edge], workspace.caused[edge] if is_there[j] else 0.0
                derivative = (on - caused) / f - caused / (1.0 - f)
                row[n_diseases + edge] = derivative if is_known[j] else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def cost_of_records(net: FlatNetwork, records: Records, costs: Floats) -> None:
    """Write how many operations each record takes, without solving it."""
    workspace = new_workspace(net)
    for record in range(len(records.weights)):
        symptoms, is_present = listed(records, record)
        weigh_absent(net, symptoms, is_present, records.others_unknown[record], workspace)
        costs[record] = cost_of_present(net, present_of(symptoms, is_present), workspace)


@numba.njit(nogil=True, cache=True)
def expect_seen(
    net: FlatNetwork,
    findings: tuple[Integers, NDArray[np.int32], NDArray[np.bool_]],
    seen: tuple[Integers, Integers],
    edge_of: NDArray[np.int32],
    counts: ExpectedCounts,
) -> float:
    """Add what diseases that were seen are expected to have caused.

    `findings` are the lists of a block's records: offsets, symptoms and which are unknown; `seen`
    their diseases: offsets and diseases. Returns the log probability of the present findings.
    """
    starts, symptoms, is_unknown = findings
    offsets, diseases = seen
    total = 0.0
    for record in range(len(starts) - 1):
        here = diseases[offsets[record] : offsets[record + 1]]
        for x in range(starts[record], starts[record + 1]):
            symptom = symptoms[x]
            absent = 1.0 - net.leaks[symptom]
            for disease in here:
                edge = edge_of[disease, symptom]
                if edge >= 0 and is_unknown[x]:
                    counts.unknown[edge] += 1.0
                elif edge >= 0:
                    absent *= net.failures[edge]
            if is_unknown[x]:
                continue
            present = max(1.0 - absent, 1e-300)
            total += np.log(present)
            counts.leaked[symptom] += net.leaks[symptom] / present
            for disease in here:
                edge = edge_of[disease, symptom]
                if edge >= 0:
                    counts.caused[edge] += (1.0 - net.failures[edge]) / present
    return total
