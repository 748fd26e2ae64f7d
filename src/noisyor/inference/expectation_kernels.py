"""Passes over many records: what they are expected to hold, added up, as EM needs it."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.kernels import (
    FlatNetwork,
    Records,
    cost_of_present,
    listed,
    new_desk,
    present_of,
    solve_record,
    weigh_absent,
)

Floats = NDArray[np.float64]


class Sums(NamedTuple):
    """What the records are expected to hold, added up."""

    cases: Floats
    """Of each disease."""
    caused: Floats
    """Findings that each edge has caused."""
    unknown: Floats
    """Cases in which the finding of each edge is unknown."""
    leaked: Floats
    """Findings of each symptom that came by themselves."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def expect_records(
    net: FlatNetwork, records: Records, first: int, last: int, sums: Sums, evidences: Floats
) -> None:
    """Add what records are expected to hold; write the log evidence of each.

    Findings that these records do not list must be absent.
    """
    desk = new_desk(net)
    for record in range(first, last):
        symptoms, is_present = listed(records, record)
        evidences[record] = solve_record(net, symptoms, is_present, False, desk)
        weight = records.weights[record]
        for disease in range(len(net.priors)):
            sums.cases[disease] += weight * desk.on[disease]
        for x in range(len(symptoms)):
            j = symptoms[x]
            if is_present[x]:
                sums.leaked[j] += weight * desk.leaked[j]
            for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge = net.parent_edges[place]
                if is_present[x]:
                    sums.caused[edge] += weight * desk.caused[edge]
                else:
                    sums.unknown[edge] += weight * desk.on[net.parent_diseases[place]]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score_records(
    net: FlatNetwork, records: Records, first: int, last: int, scores: Floats
) -> None:
    """Write the slopes of the records' log likelihoods by failures, priors and leaks, as rows."""
    desk = new_desk(net)
    n_edges, n_diseases = len(net.failures), len(net.priors)
    is_known = np.empty(len(net.leaks), dtype=np.bool_)
    is_there = np.empty(len(net.leaks), dtype=np.bool_)
    for record in range(first, last):
        symptoms, is_present = listed(records, record)
        solve_record(net, symptoms, is_present, False, desk)
        is_known[:], is_there[:] = True, False
        for x in range(len(symptoms)):
            is_known[symptoms[x]], is_there[symptoms[x]] = is_present[x], is_present[x]
        row = scores[record - first]
        row[n_edges : n_edges + n_diseases] = (desk.on - net.priors) / (
            net.priors * (1.0 - net.priors)
        )
        for j in range(len(net.leaks)):
            leaked = desk.leaked[j] if is_there[j] else 0.0
            slope = leaked / net.leaks[j] - (1.0 - leaked) / (1.0 - net.leaks[j])
            row[n_edges + n_diseases + j] = slope if is_known[j] else 0.0
            for place in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge, on = net.parent_edges[place], desk.on[net.parent_diseases[place]]
                f, caused = net.failures[edge], desk.caused[edge] if is_there[j] else 0.0
                slope = (on - caused) / f - caused / (1.0 - f)
                row[edge] = slope if is_known[j] else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def cost_of_records(net: FlatNetwork, records: Records, costs: Floats) -> None:
    """Write how many operations each record takes, without solving it."""
    desk = new_desk(net)
    for record in range(len(records.weights)):
        symptoms, is_present = listed(records, record)
        weigh_absent(net, symptoms, is_present, records.rest_unknown[record], desk)
        costs[record] = cost_of_present(net, present_of(symptoms, is_present), desk)
