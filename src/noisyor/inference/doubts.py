"""Which diseases of a record rest on flagged parameters: their own, or those of others.

A disease rests on its prior, on its failures of findings that are known, and on the leaks of those
that are present, against which it is weighed; the leak of an absent finding is a factor of all
posteriors alike, and cancels. A present finding that two diseases can cause makes each rest on the
other: with other parameters the other one would explain more of it, or less.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.flags import Flag
from noisyor.inference.flat import Booleans, Floats, Integers, Records
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

Flags = NDArray[np.uint16]

PROBABLE = 0.01
"""What a flagged disease explains of a finding moves other diseases by no more than about its own
probability: from here on they rest on it. Its parameters would have to be ten times as large before
a less probable one moves them by 0.1."""
UNKNOWN_SIZE = np.uint16(Flag.NOT_LEARNED | Flag.CLIPPED)
"""Flags of a disease of whose probability nothing is known, so that a small one says nothing."""


class Doubts(NamedTuple):
    """What is doubtful of each record and disease, as sums of `Flag`."""

    flags: Flags
    """Of its own parameters, and of the leaks of its present findings."""
    flags_of_others: Flags
    """Of the diseases with which it shares a present finding."""


def doubts_of(network: NoisyOrNetwork, records: Records, probabilities: Floats) -> Doubts | None:
    """Return what is doubtful of posteriors, records x diseases; None if the network has no flags.

    `probabilities` are the posteriors.
    """
    if network.flags is None:
        return None
    structure = network.structure
    priors, failures, leaks = network.flags.map(lambda part: part & np.uint16(Flag.DOUBTFUL))
    own = np.repeat(priors[np.newaxis], len(probabilities), axis=0)
    listed = _Listed(records)
    for j in np.flatnonzero(_any_of(structure, failures) | (leaks != 0)).tolist():
        diseases, edges = _parents(structure, j)
        known, present = listed.known(j), listed.present(j)
        own[np.ix_(known, diseases)] |= failures[edges]
        own[np.ix_(present, diseases)] |= leaks[j]
    others = np.zeros_like(own)
    sources = np.where(is_felt(own, probabilities), own, np.uint16(0))
    for j in np.unique(records.symptoms[records.is_present]).tolist():
        here = np.ix_(listed.present(j), _parents(structure, j)[0])
        others[here] |= _or_of_others(sources[here])
    return Doubts(own, others)


def is_felt(flags: Flags, probabilities: Floats) -> Booleans:
    """Return True for flagged diseases that are probable enough to move others, or may be so."""
    with np.errstate(invalid="ignore"):
        is_large = (probabilities >= PROBABLE) | ((flags & UNKNOWN_SIZE) != 0)
    return np.asarray((flags != 0) & is_large)


def flagged_by(
    structure: Structure, present: Indices, flags: Flags, probabilities: Floats
) -> list[str]:
    """Return for each disease in words which others it rests on, and by which present findings.

    All are of one record. The texts are empty where there are none.
    """
    found: list[dict[str, list[str]]] = [{} for _ in range(structure.n_diseases)]
    is_source = is_felt(flags, probabilities)
    for j in present.tolist():
        diseases = _parents(structure, j)[0]
        for source in diseases[is_source[diseases]].tolist():
            for disease in diseases[diseases != source].tolist():
                by_finding = found[disease].setdefault(structure.diseases[source], [])
                by_finding.append(structure.symptoms[j])
    return [
        "; ".join(f"{name} ({', '.join(findings)})" for name, findings in each.items())
        for each in found
    ]


class _Listed:
    """The records that list each symptom, looked up by symptom."""

    def __init__(self, records: Records) -> None:
        self._records = records
        n_records = len(records.others_unknown)
        numbers = np.repeat(np.arange(n_records), np.diff(records.offsets))
        order = np.argsort(records.symptoms, kind="stable")
        self._symptoms = records.symptoms[order]
        self._numbers, self._is_present = numbers[order], records.is_present[order]

    def _entries(self, symptom: int) -> slice:
        first, last = np.searchsorted(self._symptoms, [symptom, symptom + 1])
        return slice(int(first), int(last))

    def present(self, symptom: int) -> Integers:
        """Return the records in which a finding is present."""
        here = self._entries(symptom)
        return self._numbers[here][self._is_present[here]]

    def known(self, symptom: int) -> Integers:
        """Return the records in which it is present or absent: see `Records`."""
        here = self._entries(symptom)
        is_known = ~self._records.others_unknown.copy()
        # Listed are present findings, and either those that are unknown, or those that are absent.
        numbers, is_present = self._numbers[here], self._is_present[here]
        is_known[numbers] = is_present | self._records.others_unknown[numbers]
        return np.flatnonzero(is_known)


def _any_of(structure: Structure, failures: Flags) -> Booleans:
    """Return True for symptoms that have an edge with a flag."""
    found = np.zeros(structure.n_symptoms, dtype=np.bool_)
    found[structure.edges[failures != 0, 1]] = True
    return found


def _parents(structure: Structure, symptom: int) -> tuple[Indices, Indices]:
    """Return the diseases that can cause a symptom, and their edges."""
    here = slice(structure.parent_offsets[symptom], structure.parent_offsets[symptom + 1])
    return structure.parent_diseases[here], structure.parent_edges[here]


def _or_of_others(flags: Flags) -> Flags:
    """Return for each column the flags that any of the others has, row by row."""
    found = np.zeros_like(flags)
    if flags.shape[1] > 1:
        before = np.bitwise_or.accumulate(flags, axis=1)
        after = np.bitwise_or.accumulate(flags[:, ::-1], axis=1)[:, ::-1]
        found[:, 1:] |= before[:, :-1]
        found[:, :-1] |= after[:, 1:]
    return found
