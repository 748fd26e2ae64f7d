"""Scores of records whose diseases occur together, or depend on covariates.

The log odds of disease i are o_i + s_ki in component k, of people with the offsets o of a cell of
covariates. With r_k the weight of a component given the record, every derivative of the log
evidence is a mean over the components of that in each of them (Fisher's identity), such as
sum over k of r_k (P(d_i | k) - p_ik) times (1, traits, covariates) for a disease.
"""

from typing import NamedTuple

import numpy as np

from noisyor.em import candidate_kernels
from noisyor.em.candidate_kernels import Labels, Seen
from noisyor.em.exact_kernels import read_cuts
from noisyor.findings.blocks import Words
from noisyor.inference import record_kernels
from noisyor.inference.flat import Evidence, FlatNetwork, Floats, Integers, Records
from noisyor.inference.mixture_kernels import Sums, add, clear, new_sums, scale
from noisyor.inference.record_kernels import Workspace
from noisyor.kernels import kernel


class FlatCauses(NamedTuple):
    """How diseases occur together, as arrays."""

    offsets: Floats
    """Cells x diseases: their log odds where all traits are 0."""
    shifts: Floats
    """Components x diseases: added to these; infinite where a component decides a disease."""
    weights: Floats
    """Of the components."""
    traits: Floats
    """Components x traits."""
    design: Floats
    """Cells x columns."""


class PeopleOfRecords(NamedTuple):
    """Which cells of covariates the people of each record can be in."""

    starts: Integers
    """Those of record r are `starts[r] : starts[r + 1]` of the next two."""
    cells: Integers
    weights: Floats
    cuts: Words
    """The diseases that are cut, a row of bits for each record, or no rows."""
    seen: Seen


class MixedScores(NamedTuple):
    """Derivatives, a row for each record."""

    diseases: Floats
    """Records x diseases x (1, traits, covariates)."""
    components: Floats
    """Records x components: their weights given the record; or no rows."""
    failures: Floats
    leaks: Floats


@kernel
def score_mixed(
    net: FlatNetwork,
    causes: FlatCauses,
    records: Records,
    people: PeopleOfRecords,
    first: int,
    last: int,
    scores: MixedScores,
    evidences: Floats,
) -> None:
    """Write the log evidences of records, and the derivatives by all parameters, as rows.

    The priors of `net` are written over: that of a disease that was seen is 1, and 0 where it was
    seen to be absent. Findings that these records do not list are absent.
    """
    workspace = record_kernels.new_workspace(net)
    labels = np.zeros(len(net.priors), np.int8)
    sums = new_sums(net)
    tables, logs = np.empty(causes.shifts.shape), np.log(causes.weights)
    before = -1
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        present = record_kernels.present_of(evidence)
        read_cuts(people.cuts, record, workspace)
        candidate_kernels.read_labels(people.seen, record, labels)
        log_silent = record_kernels.list_absent(net, evidence, workspace)
        row = record - first
        clear(net, present, sums)
        scores.diseases[row] = 0.0
        if len(scores.components):
            scores.components[row] = 0.0
        top, total = -np.inf, 0.0
        for entry in range(people.starts[record], people.starts[record + 1]):
            cell = people.cells[entry]
            if cell != before:
                write_priors(causes, cell, tables)
                before = cell
            log_share = np.log(people.weights[entry])
            for k in range(len(logs)):
                log_weight = log_silent + logs[k] + log_share
                log_weight += clamp(tables[k], labels, net.priors)
                log_weight += record_kernels.weigh_all(net, workspace.log_absent, workspace.on)
                if log_weight > -np.inf:
                    log_weight += record_kernels.solve_present(net, present, workspace)
                if not log_weight > -np.inf:
                    continue
                if log_weight > top:
                    factor = np.exp(top - log_weight)
                    total *= factor
                    scale(net, present, factor, sums)
                    scale_row(scores, row, factor)
                    top = log_weight
                factor = np.exp(log_weight - top)
                total += factor
                add(net, present, factor, workspace, sums)
                _add_diseases(tables[k], causes, cell, k, factor, workspace, scores, row)
        evidences[record] = top + np.log(total)
        factor = 1.0 / total if total > 0.0 else 0.0
        scale(net, present, factor, sums)
        scale_row(scores, row, factor)
        _write_findings(net, evidence, sums, workspace, scores, row)


@kernel
def write_priors(causes: FlatCauses, cell: int, tables: Floats) -> None:
    """Write the priors of all components of a cell."""
    for k in range(len(tables)):
        for disease in range(tables.shape[1]):
            shift = causes.shifts[k, disease]
            if abs(shift) == np.inf:
                tables[k, disease] = 1.0 if shift > 0.0 else 0.0
            else:
                tables[k, disease] = 1.0 / (1.0 + np.exp(-causes.offsets[cell, disease] - shift))


@kernel
def clamp(priors: Floats, labels: Labels, into: Floats) -> float:
    """Write priors, of diseases that were seen 1 or 0; return the log probability of these."""
    log_seen = 0.0
    for disease in range(len(priors)):
        p = priors[disease]
        if labels[disease] == 0:
            into[disease] = p
        else:
            into[disease] = 1.0 if labels[disease] == 1 else 0.0
            chance = p if labels[disease] == 1 else 1.0 - p
            log_seen += np.log(chance) if chance > 0.0 else -np.inf
    return log_seen


@kernel
def scale_row(scores: MixedScores, row: int, factor: float) -> None:
    """Multiply what was added up of a record's components."""
    scores.diseases[row] *= factor
    if len(scores.components):
        scores.components[row] *= factor


@kernel
def _add_diseases(
    priors: Floats,
    causes: FlatCauses,
    cell: int,
    k: int,
    factor: float,
    workspace: Workspace,
    scores: MixedScores,
    row: int,
) -> None:
    """Add the derivatives by the parameters of the causes in one component."""
    n_traits, n_columns = causes.traits.shape[1], causes.design.shape[1]
    for disease in range(len(priors)):
        derivative = factor * (workspace.on[disease] - priors[disease])
        into = scores.diseases[row, disease]
        into[0] += derivative
        for t in range(n_traits):
            into[1 + t] += derivative * causes.traits[k, t]
        for column in range(n_columns):
            into[1 + n_traits + column] += derivative * causes.design[cell, column]
    if len(scores.components):
        scores.components[row, k] += factor


@kernel
def _write_findings(
    net: FlatNetwork,
    evidence: Evidence,
    sums: Sums,
    workspace: Workspace,
    scores: MixedScores,
    row: int,
) -> None:
    """Write the derivatives by failures and leaks, from the means over the components."""
    failures, leaks = scores.failures[row], scores.leaks[row]
    # As if all findings were absent; put right where they are not.
    leaks[:] = -net.leaks
    for disease in range(len(net.priors)):
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            failures[edge] = sums.on[disease] * (1.0 - net.failures[edge])
    for x in range(len(evidence.symptoms)):
        j, is_present = evidence.symptoms[x], evidence.is_present[x]
        leaks[j] = sums.leaked[j] - net.leaks[j] if is_present else 0.0
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            if is_present and not workspace.is_cut[disease]:
                failures[edge] -= sums.caused[edge]
            else:
                failures[edge] = 0.0
