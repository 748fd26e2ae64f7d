"""Scores of records whose diseases occur together, or depend on covariates.

The log odds of disease i are o_i + s_ki in component k, of people with the offsets o of a cell of
covariates. With r_k the weight of a component given the record, every derivative of the log
evidence is a mean over the components of that in each of them (Fisher's identity), such as
sum over k of r_k (P(d_i | k) - p_ik) times (1, traits, covariates) for a disease.
"""

from typing import NamedTuple

import numba
import numpy as np

from noisyor.em.exact_kernels import read_cuts
from noisyor.findings.blocks import Words
from noisyor.inference import record_kernels
from noisyor.inference.flat import Evidence, FlatNetwork, Floats, Integers, Records
from noisyor.inference.record_kernels import Workspace


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


class MixedScores(NamedTuple):
    """Derivatives, a row for each record."""

    diseases: Floats
    """Records x diseases x (1, traits, covariates)."""
    components: Floats
    """Records x components: their weights given the record; or no rows."""
    failures: Floats
    leaks: Floats


@numba.njit(nogil=True, cache=True, error_model="numpy")
def score_mixed(
    net: FlatNetwork,
    causes: FlatCauses,
    records: Records,
    people: PeopleOfRecords,
    cuts: Words,
    first: int,
    last: int,
    scores: MixedScores,
    evidences: Floats,
) -> None:
    """Write the log evidences of records, and the derivatives by all parameters, as rows.

    The priors of `net` are written over. Findings that these records do not list are absent.
    """
    workspace = record_kernels.new_workspace(net)
    n_components, n_diseases = causes.shifts.shape
    tables = np.empty((n_components, n_diseases))
    logs = np.log(causes.weights)
    before = -1
    for record in range(first, last):
        evidence = record_kernels.listed(records, record)
        read_cuts(cuts, record, workspace)
        row = record - first
        _clear(scores, row)
        top, total = -np.inf, 0.0
        for entry in range(people.starts[record], people.starts[record + 1]):
            cell = people.cells[entry]
            if cell != before:
                write_priors(causes, cell, tables)
                before = cell
            log_share = np.log(people.weights[entry])
            for k in range(n_components):
                net.priors[:] = tables[k]
                log_weight = record_kernels.solve_record(net, evidence, workspace)
                log_weight += logs[k] + log_share
                if not log_weight > -np.inf:
                    continue
                if log_weight > top:
                    factor = np.exp(top - log_weight)
                    total *= factor
                    _scale(scores, row, factor)
                    top = log_weight
                factor = np.exp(log_weight - top)
                total += factor
                _add(net, causes, cell, k, factor, evidence, workspace, scores, row)
        evidences[record] = top + np.log(total)
        _scale(scores, row, 1.0 / total if total > 0.0 else 0.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def write_priors(causes: FlatCauses, cell: int, tables: Floats) -> None:
    """Write the priors of all components of a cell."""
    for k in range(len(tables)):
        for disease in range(tables.shape[1]):
            shift = causes.shifts[k, disease]
            if abs(shift) == np.inf:
                tables[k, disease] = 1.0 if shift > 0.0 else 0.0
            else:
                tables[k, disease] = 1.0 / (1.0 + np.exp(-causes.offsets[cell, disease] - shift))


@numba.njit(nogil=True, cache=True)
def _clear(scores: MixedScores, row: int) -> None:
    scores.diseases[row] = 0.0
    scores.failures[row] = 0.0
    scores.leaks[row] = 0.0
    if len(scores.components):
        scores.components[row] = 0.0


@numba.njit(nogil=True, cache=True)
def _scale(scores: MixedScores, row: int, factor: float) -> None:
    scores.diseases[row] *= factor
    scores.failures[row] *= factor
    scores.leaks[row] *= factor
    if len(scores.components):
        scores.components[row] *= factor


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _add(
    net: FlatNetwork,
    causes: FlatCauses,
    cell: int,
    k: int,
    factor: float,
    evidence: Evidence,
    workspace: Workspace,
    scores: MixedScores,
    row: int,
) -> None:
    """Add the derivatives in one component."""
    n_traits, n_columns = causes.traits.shape[1], causes.design.shape[1]
    for disease in range(len(net.priors)):
        derivative = factor * (workspace.on[disease] - net.priors[disease])
        into = scores.diseases[row, disease]
        into[0] += derivative
        for t in range(n_traits):
            into[1 + t] += derivative * causes.traits[k, t]
        for column in range(n_columns):
            into[1 + n_traits + column] += derivative * causes.design[cell, column]
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            # As if its finding were absent; put right below where it is not.
            scores.failures[row, edge] += (
                factor * workspace.on[disease] * (1.0 - net.failures[edge])
            )
    if len(scores.components):
        scores.components[row, k] += factor
    scores.leaks[row] -= factor * net.leaks
    for x in range(len(evidence.symptoms)):
        j, is_present = evidence.symptoms[x], evidence.is_present[x]
        if is_present:
            scores.leaks[row, j] += factor * workspace.leaked[j]
        else:
            scores.leaks[row, j] += factor * net.leaks[j]
        for index in range(net.parent_offsets[j], net.parent_offsets[j + 1]):
            edge, disease = net.parent_edges[index], net.parent_diseases[index]
            if is_present and not workspace.is_cut[disease]:
                scores.failures[row, edge] -= factor * workspace.caused[edge]
            else:
                scores.failures[row, edge] -= (
                    factor * workspace.on[disease] * (1.0 - net.failures[edge])
                )
