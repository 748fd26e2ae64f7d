"""Passes over records that are solved exactly: their expected counts and their scores.

And the same counts where the diseases were seen.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.em.expected import ExpectedCounts
from noisyor.inference import record_kernels
from noisyor.inference.flat import Booleans, FlatNetwork, Floats, Integers, Listed, Records


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
    workspace = record_kernels.new_workspace(net)
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        evidences[record] = record_kernels.solve_record(net, evidence, workspace)
        weight = records.weights[record]
        for disease in range(len(net.priors)):
            counts.cases[disease] += weight * workspace.on[disease]
        for x in range(len(evidence.symptoms)):
            j, is_present = evidence.symptoms[x], evidence.is_present[x]
            if is_present:
                counts.leaked[j] += weight * workspace.leaked[j]
            for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge = net.parent_edges[index]
                if is_present:
                    counts.caused[edge] += weight * workspace.caused[edge]
                else:
                    counts.unknown[edge] += weight * workspace.on[net.parent_diseases[index]]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score_records(
    net: FlatNetwork, records: Records, first: int, last: int, scores: Floats
) -> None:
    """Write the derivatives of the records' log likelihoods by all parameters, as rows."""
    workspace = record_kernels.new_workspace(net)
    n_edges, n_diseases = len(net.failures), len(net.priors)
    is_known = np.empty(len(net.leaks), dtype=np.bool_)
    is_there = np.empty(len(net.leaks), dtype=np.bool_)
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        record_kernels.solve_record(net, evidence, workspace)
        is_known[:], is_there[:] = True, False
        is_known[evidence.symptoms] = is_there[evidence.symptoms] = evidence.is_present
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
    workspace = record_kernels.new_workspace(net)
    for record in range(len(records.weights)):
        evidence = record_kernels.listed(records, record)
        record_kernels.weigh_absent(net, evidence, workspace)
        present = record_kernels.present_of(evidence)
        costs[record] = record_kernels.cost_of_present(net, present, workspace)


@numba.njit(nogil=True, cache=True)
def expect_seen(
    net: FlatNetwork,
    findings: tuple[Integers, Listed, Booleans],
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
