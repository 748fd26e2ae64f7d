"""Passes over records that are solved exactly: their expected counts and their scores.

Where a record is too much work, the edges of diseases that are hardly possible for it to its
present findings are cut: they neither explain these nor are they put to the test. What is summed up
then is a lower bound of the likelihood, with its own derivatives.

And the same counts where the diseases were seen.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.em import candidate_kernels
from noisyor.em.candidate_kernels import Labels, SampledRecords, Seen
from noisyor.em.expected import ExpectedCounts
from noisyor.findings.blocks import Words
from noisyor.inference import record_kernels
from noisyor.inference.flat import (
    Booleans,
    Evidence,
    FlatNetwork,
    Floats,
    Integers,
    Listed,
    Records,
)
from noisyor.inference.record_kernels import Workspace
from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import new_marks


class Decided(NamedTuple):
    """What is decided of the diseases of records, before these are summed up."""

    cuts: Words
    """The diseases that are cut, a row of bits for each record, or no rows."""
    seen: Seen


class WantedSums(NamedTuple):
    """What is to be found of records: each that has room for something."""

    counts: ExpectedCounts
    """Expected counts are added here."""
    scores: Floats
    """Derivatives of the log evidences by all log odds, as rows."""
    costs: Floats
    """The operations that records take; then they are not solved."""


LEAST_ODDS = 1e-6
"""Diseases with smaller odds are cut first; then those with ten times these, and so on."""


@kernel
def sum_records(
    net: FlatNetwork,
    records: Records,
    decided: Decided,
    first: int,
    last: int,
    evidences: Floats,
    wanted: WantedSums,
) -> None:
    """Write the log evidences of records, and what is asked for.

    All in one kernel, because nearly all of it is solving a record: three of them would take three
    times as long to compile. Findings that these records do not list must be absent.
    """
    counts, scores, costs = wanted
    workspace, own, labels = new_work(net)
    is_known, is_there = new_marks(len(net.leaks)), new_marks(len(net.leaks))
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        log_seen = decide(net, decided, record, own, labels, workspace)
        if len(costs):
            record_kernels.weigh_absent(own, evidence, workspace)
            present = record_kernels.present_of(evidence)
            costs[record] = record_kernels.cost_of_present(own, present, workspace)
            continue
        evidences[record] = log_seen + record_kernels.solve_record(own, evidence, workspace)
        if len(counts.cases):
            add_counts(net, evidence, records.weights[record], workspace, counts)
        if len(scores):
            mark_findings(evidence, is_known, is_there)
            write_score(net, is_known, is_there, workspace, scores[record - first])


@kernel
def add_counts(
    net: FlatNetwork, evidence: Evidence, weight: float, workspace: Workspace,
    counts: ExpectedCounts,
) -> None:  # fmt: skip
    """Add the expected counts of a record that was solved, so many times."""
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


@kernel
def mark_findings(evidence: Evidence, is_known: Booleans, is_there: Booleans) -> None:
    """Mark the symptoms that are known and those that are present."""
    for j in range(len(is_known)):
        is_known[j], is_there[j] = True, False
    for x in range(len(evidence.symptoms)):
        j = evidence.symptoms[x]
        is_known[j] = is_there[j] = evidence.is_present[x]


@kernel
def write_score(
    net: FlatNetwork, is_known: Booleans, is_there: Booleans, workspace: Workspace, row: Floats
) -> None:
    """Write the derivatives of a solved record's log evidence by all log odds."""
    n_edges, n_diseases = len(net.failures), len(net.priors)
    for disease in range(n_diseases):
        row[disease] = workspace.on[disease] - net.priors[disease]
    for j in range(len(net.leaks)):
        leaked = workspace.leaked[j] if is_there[j] else 0.0
        row[n_edges + n_diseases + j] = leaked - net.leaks[j] if is_known[j] else 0.0
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            on, caused = workspace.on[disease], workspace.caused[edge] if is_there[j] else 0.0
            is_tested = is_known[j] and not (is_there[j] and workspace.is_cut[disease])
            derivative = on * (1.0 - net.failures[edge]) - caused
            row[n_diseases + edge] = derivative if is_tested else 0.0


@kernel
def read_cuts(cuts: Words, record: int, workspace: Workspace) -> None:
    """Put the diseases that are cut in a record into the workspace."""
    if len(cuts):
        for disease in range(len(workspace.is_cut)):
            workspace.is_cut[disease] = candidate_kernels.has_bit(cuts[record], disease)


@kernel
def decide(
    net: FlatNetwork,
    decided: Decided,
    record: int,
    own: FlatNetwork,
    labels: Labels,
    workspace: Workspace,
) -> float:
    """Put what is decided of a record into its own network; return the log probability of that.

    The prior of a disease that was seen is 1, and 0 where it was seen to be absent.
    """
    read_cuts(decided.cuts, record, workspace)
    candidate_kernels.read_labels(decided.seen, record, labels)
    log_seen = 0.0
    for disease in range(len(labels)):
        p = net.priors[disease]
        if labels[disease] == 0:
            own.priors[disease] = p
        elif labels[disease] == 1:
            own.priors[disease] = 1.0
            log_seen += np.log(p)
        else:
            own.priors[disease] = 0.0
            log_seen += np.log(1.0 - p)
    return log_seen


@kernel
def new_work(net: FlatNetwork) -> tuple[Workspace, FlatNetwork, Labels]:
    """Return a workspace, and a network and labels that one record after the other has."""
    own = candidate_kernels.own_network(net)
    return record_kernels.new_workspace(net), own, np.zeros(len(net.priors), np.int8)


# --- records that are too much work ---


@kernel
def cut_records(
    net: FlatNetwork, records: Records, sampled: SampledRecords, most: float, numbers: Integers
) -> None:
    """Choose the diseases that are cut in some records, so that none takes too many operations.

    `sampled` has the same records; its candidates become the diseases that are cut.
    """
    workspace, own, labels = new_work(net)
    opened, odds = candidate_kernels.new_open_record(net), np.empty(len(net.priors))
    for record in numbers:
        sampled.states[record] = 0
        symptoms = candidate_kernels.open_record(net, sampled, record, opened)
        candidate_kernels.explain(net, symptoms, opened)
        candidate_kernels.find_plausible_odds(net, symptoms, opened, odds)
        evidence = record_kernels.listed(records, record)
        decide(net, Decided(sampled.states[:0], sampled.seen), record, own, labels, workspace)
        record_kernels.weigh_absent(own, evidence, workspace)
        present = record_kernels.present_of(evidence)
        least = LEAST_ODDS
        workspace.is_cut[:] = odds < least
        while record_kernels.cost_of_present(own, present, workspace) > most and least < 1e6:
            least *= 10.0
            workspace.is_cut[:] = odds < least
        for disease in range(len(odds)):  # those that explain the record, where they are too many
            if record_kernels.cost_of_present(own, present, workspace) <= most:
                break
            workspace.is_cut[disease] = True
        candidate_kernels.close_record(symptoms, opened, sampled.states[record])
        for disease in range(len(odds)):
            candidate_kernels.set_bit(
                sampled.candidates[record], disease, workspace.is_cut[disease]
            )


# --- diseases that were seen ---


@kernel
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
