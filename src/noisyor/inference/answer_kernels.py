"""Exact posteriors of many records, where they are not too much work."""

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.inference.flat import FlatNetwork, Records
from noisyor.inference.record_kernels import (
    cost_of_present,
    listed,
    new_workspace,
    present_of,
    solve_present,
    weigh_absent,
)

Floats = NDArray[np.float64]

AUTO, EXACT, VARIATIONAL, MEAN_FIELD, GIBBS, IMPOSSIBLE, REFUSED = range(7)
UNIT_ROUNDING = 2.0**-53


class Answers(NamedTuple):
    """What is found of each record, row by row."""

    probabilities: Floats
    """Records x diseases."""
    errors: Floats
    log_evidences: Floats
    """Exact, or a lower bound..."""
    log_uppers: Floats
    """... and an upper one."""
    methods: NDArray[np.int8]
    caused: Floats
    """Records x edges, or nothing: P(the edge has caused its finding)..."""
    leaked: Floats
    """... and records x symptoms: P(it came by itself)."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def solve_records(
    net: FlatNetwork,
    records: Records,
    first: int,
    last: int,
    most_operations: float,
    answers: Answers,
) -> None:
    """Fill in the answers of some records; those that are too much work are refused."""
    workspace = new_workspace(net)
    for record in range(first, last):
        symptoms, is_present = listed(records, record)
        present = present_of(symptoms, is_present)
        answers.methods[record], answers.errors[record] = EXACT, np.nan
        log_evidence = weigh_absent(
            net, symptoms, is_present, records.others_unknown[record], workspace
        )
        if log_evidence > -np.inf:
            if cost_of_present(net, present, workspace) > most_operations:
                answers.methods[record] = REFUSED
                continue
            log_evidence += solve_present(net, present, workspace)
        answers.log_evidences[record] = answers.log_uppers[record] = log_evidence
        if log_evidence == -np.inf:
            answers.methods[record] = IMPOSSIBLE
            continue
        answers.errors[record] = workspace.roundings[0] * UNIT_ROUNDING
        answers.probabilities[record] = workspace.on
        if len(answers.caused):
            write_causes(net, present, workspace.caused, workspace.leaked, record, answers)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def write_causes(
    net: FlatNetwork,
    present: NDArray[np.int32],
    caused: Floats,
    leaked: Floats,
    record: int,
    answers: Answers,
) -> None:
    """Write what caused the present findings of a record; desks hold those of others too."""
    for j in present:
        answers.leaked[record, j] = leaked[j]
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge = net.parent_edges[index]
            answers.caused[record, edge] = caused[edge]
