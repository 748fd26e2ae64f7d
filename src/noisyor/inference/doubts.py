"""Which diseases of a record rest on flagged parameters: their own, or those of others.

A disease rests on its prior, on its failures of findings that are known, and on the leaks of those
that are present, against which it is weighed; the leak of an absent finding is a factor of all
posteriors alike, and cancels. A present finding that two diseases can cause makes each rest on the
prior and the failures of the other: with other values that one would explain more of it, or less.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from noisyor.flags import Flag
from noisyor.inference.flat import Booleans, Floats, Integers, Records, list_records
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Flags = NDArray[np.uint16]

DOUBTFUL = np.uint16(Flag.DOUBTFUL)
MOST_NAMED = 3
"""Findings and diseases that are named; of more it is said how many."""
PROBABLE = 0.01
"""What a flagged disease explains of a finding moves other diseases by no more than about its own
probability: from here on they rest on it. Its parameters would have to be ten times as large before
a less probable one moves them by 0.1."""
UNKNOWN_SIZE = np.uint16(Flag.NOT_LEARNED | Flag.CLIPPED)
"""Flags of a disease of whose probability nothing is known, so that a small one says nothing."""


def doubts_of(network: NoisyOrNetwork, records: Records, probabilities: Floats) -> Flags | None:
    """Return what is doubtful of posteriors, records x diseases; None if the network has no flags.

    They are sums of `Flag`; `probabilities` are the posteriors.
    """
    if network.flags is None:
        return None
    structure, leaks = network.structure, network.flags.leaks & DOUBTFUL
    listed = _Listed(records)
    own = _own_flags(structure, network.flags, listed)
    flags = own.copy()
    sources = np.where(is_felt(own, probabilities), own, np.uint16(0))
    for j in np.unique(records.symptoms[records.is_present]).tolist():
        here = np.ix_(listed.present(j), _parents(structure, j)[0])
        flags[here] |= leaks[j] | np.bitwise_or.reduce(sources[here], axis=1, keepdims=True)
    return flags


def _own_flags(structure: Structure, flags: Parameters, listed: "_Listed") -> Flags:
    """Return what is doubtful of priors, and of failures of known findings; records x diseases."""
    failures = flags.failures & DOUBTFUL
    own = np.repeat((flags.priors & DOUBTFUL)[np.newaxis], listed.n_records, axis=0)
    for j in np.unique(structure.edges[failures != 0, 1]).tolist():
        diseases, edges = _parents(structure, j)
        own[np.ix_(listed.known(j), diseases)] |= failures[edges]
    return own


def is_felt(flags: Flags, probabilities: Floats) -> Booleans:
    """Return True for flagged diseases that are probable enough to move others, or may be so."""
    with np.errstate(invalid="ignore"):
        is_large = (probabilities >= PROBABLE) | ((flags & UNKNOWN_SIZE) != 0)
    return np.asarray((flags != 0) & is_large)


def flagged_by(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], probabilities: Floats
) -> tuple[str, ...]:
    """Return in words what each disease of one record rests on that is flagged, else empty texts.

    Its own parameters are named, then leaks, then other diseases, with the findings they share.
    """
    assert network.flags is not None
    structure, flags = network.structure, network.flags.map(lambda part: part & DOUBTFUL)
    own = _own_flags(structure, flags, _Listed(list_records([parts])))[0]
    sources = np.flatnonzero(is_felt(own, probabilities)).tolist()
    known, present = set(np.concatenate(parts).tolist()), set(parts[0].tolist())
    shown = [present & set(structure.children(i).tolist()) for i in range(structure.n_diseases)]
    texts = []
    for i in range(structure.n_diseases):
        edges = structure.edges_of(i)
        children = zip(structure.edges[edges, 1].tolist(), flags.failures[edges], strict=True)
        failing = [j for j, flag in children if flag and j in known]
        leaking = [j for j in sorted(shown[i]) if flags.leaks[j]]
        said = ["its prior"] if flags.priors[i] else []
        said += [f"its failure of {_some(structure, failing)}"] if failing else []
        said += [f"the leak of {_some(structure, leaking)}"] if leaking else []
        shared = {k: sorted(shown[i] & shown[k]) for k in sources if k != i}
        texts.append("; ".join([*said, *_others(structure, shared)]))
    return tuple(texts)


def _others(structure: Structure, shared: Mapping[int, Sequence[int]]) -> list[str]:
    """Return diseases with the findings that they share, and how many more there are."""
    found = [
        f"{structure.diseases[k]} (by {_some(structure, both)})"
        for k, both in shared.items()
        if both
    ]
    more = [f"{len(found) - MOST_NAMED} other diseases"] if len(found) > MOST_NAMED else []
    return found[:MOST_NAMED] + more


def _some(structure: Structure, symptoms: Sequence[int]) -> str:
    """Return the first names of some symptoms, and how many more there are."""
    names = [structure.symptoms[j] for j in symptoms]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return ", ".join([*names[:MOST_NAMED], *more])


class _Listed:
    """The records that list each symptom, looked up by symptom."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self.n_records = len(records.others_unknown)
        numbers = np.repeat(np.arange(self.n_records), np.diff(records.offsets))
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


def _parents(structure: Structure, symptom: int) -> tuple[Indices, Indices]:
    """Return the diseases that can cause a symptom, and their edges."""
    here = slice(structure.parent_offsets[symptom], structure.parent_offsets[symptom + 1])
    return structure.parent_diseases[here], structure.parent_edges[here]
