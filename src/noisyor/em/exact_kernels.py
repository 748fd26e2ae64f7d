"""Passes over records that are solved exactly: their expected counts and their scores.

Where a record is too much work, the edges of diseases that are hardly possible for it to its
present findings are cut: they neither explain these nor are they put to the test. What is summed up
then is a lower bound of the likelihood, with its own derivatives.

And the same counts where the diseases were seen.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from noisyor.em import candidate_kernels
from noisyor.em.candidate_kernels import SampledRecords
from noisyor.em.expected import ExpectedCounts
from noisyor.findings.blocks import Words
from noisyor.inference import record_kernels
from noisyor.inference.flat import Booleans, FlatNetwork, Floats, Integers, Listed, Records
from noisyor.inference.record_kernels import Workspace

LEAST_ODDS = 1e-6
"""Diseases with smaller odds are cut first; then those with ten times these, and so on."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def expect_records(
    net: FlatNetwork,
    records: Records,
    cuts: Words,
    first: int,
    last: int,
    counts: ExpectedCounts,
    evidences: Floats,
) -> None:
    """Add the expected counts of records; write the log evidence of each.

    Findings that these records do not list must be absent. `cuts` has the diseases that are cut, a
    row of bits for each record, or no rows.
    """
    workspace = record_kernels.new_workspace(net)
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        read_cuts(cuts, record, workspace)
        evidences[record] = record_kernels.solve_record(net, evidence, workspace)
        weight = records.weights[record]
        for disease in range(len(net.priors)):
            counts.cases[disease] += weight * workspace.on[disease]
        for x in range(len(evidence.symptoms)):
            j, is_present = evidence.symptoms[x], evidence.is_present[x]
            if is_present:
                counts.leaked[j] += weight * workspace.leaked[j]
            for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge, disease = net.parent_edges[index], net.parent_diseases[index]
                if is_present and not workspace.is_cut[disease]:
                    counts.caused[edge] += weight * workspace.caused[edge]
                else:
                    counts.unknown[edge] += weight * workspace.on[disease]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score_records(
    net: FlatNetwork,
    records: Records,
    cuts: Words,
    first: int,
    last: int,
    scores: Floats,
    evidences: Floats,
) -> None:
    """Write the log evidences of records, and the derivatives by all log odds, as rows."""
    workspace = record_kernels.new_workspace(net)
    n_edges, n_diseases = len(net.failures), len(net.priors)
    is_known = np.empty(len(net.leaks), dtype=np.bool_)
    is_there = np.empty(len(net.leaks), dtype=np.bool_)
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        read_cuts(cuts, record, workspace)
        evidences[record] = record_kernels.solve_record(net, evidence, workspace)
        is_known[:], is_there[:] = True, False
        is_known[evidence.symptoms] = is_there[evidence.symptoms] = evidence.is_present
        row = scores[record - first]
        row[:n_diseases] = workspace.on - net.priors
        for j in range(len(net.leaks)):
            leaked = workspace.leaked[j] if is_there[j] else 0.0
            row[n_edges + n_diseases + j] = leaked - net.leaks[j] if is_known[j] else 0.0
            for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
                edge, disease = net.parent_edges[index], net.parent_diseases[index]
                on, caused = workspace.on[disease], workspace.caused[edge] if is_there[j] else 0.0
                is_tested = is_known[j] and not (is_there[j] and workspace.is_cut[disease])
                derivative = on * (1.0 - net.failures[edge]) - caused
                row[n_diseases + edge] = derivative if is_tested else 0.0


@numba.njit(nogil=True, cache=True)
def read_cuts(cuts: Words, record: int, workspace: Workspace) -> None:
    """Put the diseases that are cut in a record into the workspace."""
    if len(cuts):
        for disease in range(len(workspace.is_cut)):
            workspace.is_cut[disease] = candidate_kernels.has_bit(cuts[record], disease)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def cost_of_records(net: FlatNetwork, records: Records, costs: Floats) -> None:
    """Write how many operations each record takes, without solving it."""
    workspace = record_kernels.new_workspace(net)
    for record in range(len(records.weights)):
        evidence = record_kernels.listed(records, record)
        record_kernels.weigh_absent(net, evidence, workspace)
        present = record_kernels.present_of(evidence)
        costs[record] = record_kernels.cost_of_present(net, present, workspace)


# --- records that are too much work ---


@numba.njit(nogil=True, cache=True, error_model="numpy")
def cut_records(
    net: FlatNetwork, records: Records, sampled: SampledRecords, most: float, numbers: Integers
) -> None:
    """Choose the diseases that are cut in some records, so that none takes too many operations.

    `sampled` has the same records; its candidates become the diseases that are cut.
    """
    workspace = record_kernels.new_workspace(net)
    opened, odds = candidate_kernels.new_open_record(net), np.empty(len(net.priors))
    for record in numbers:
        sampled.states[record] = 0
        symptoms = candidate_kernels.open_record(net, sampled, record, opened)
        candidate_kernels.explain(net, symptoms, opened)
        candidate_kernels.find_plausible_odds(net, symptoms, opened, odds)
        evidence = record_kernels.listed(records, record)
        record_kernels.weigh_absent(net, evidence, workspace)
        present = record_kernels.present_of(evidence)
        least = LEAST_ODDS
        workspace.is_cut[:] = odds < least
        while record_kernels.cost_of_present(net, present, workspace) > most and least < 1e6:
            least *= 10.0
            workspace.is_cut[:] = odds < least
        for disease in range(len(odds)):  # those that explain the record, where they are too many
            if record_kernels.cost_of_present(net, present, workspace) <= most:
                break
            workspace.is_cut[disease] = True
        candidate_kernels.close_record(symptoms, opened, sampled.states[record])
        for disease in range(len(odds)):
            candidate_kernels.set_bit(
                sampled.candidates[record], disease, workspace.is_cut[disease]
            )


# --- diseases that were seen ---


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
