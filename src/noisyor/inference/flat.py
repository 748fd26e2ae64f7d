"""Networks and records as the flat arrays that kernels work on."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.bit_kernels import list_bits
from noisyor.findings.blocks import Block
from noisyor.findings.evidence import check_names, split_states
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Listed = NDArray[np.int32]
Booleans = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

KIND_BYTES = 4
CHUNK = 512
"""Records that a thread takes at a time."""


class FlatNetwork(NamedTuple):
    """A network as arrays: diseases with their edges, and symptoms with their parents."""

    priors: Floats
    failures: Floats
    leaks: Floats
    child_offsets: Integers
    """The edges of disease i are `child_offsets[i] : child_offsets[i + 1]`."""
    edge_symptoms: Integers
    parent_offsets: Integers
    """Symptom j has the parents `parent_offsets[j] : parent_offsets[j + 1]` of the next three."""
    parent_diseases: Integers
    parent_edges: Integers
    inverse_failures: Floats
    """1 / f of each parent; infinite where the failure is 0."""
    log_failures: Floats
    """Of each edge; 0 where the failure is 0."""
    log_absent: Floats
    """Of each disease: the log probability that none of its edges fires; those with a failure of 0
    are left out..."""
    n_certain: Integers
    """... and counted here."""
    log_silent: Floats
    """Of each symptom: log(1 - leak); 0 where the leak is 1..."""
    is_certain: Booleans
    """... which is marked here."""
    log_odds: Floats
    """Of each disease where all its findings are absent; failures of 0 are left out."""
    odds: Floats
    """The same, not as a logarithm."""


class Evidence(NamedTuple):
    """The findings of one record."""

    symptoms: Listed
    """Those that are listed..."""
    is_present: Booleans
    others_unknown: bool
    """... and True if all others are unknown; otherwise they are absent."""


class Records(NamedTuple):
    """Some records, each as a list of findings."""

    offsets: Integers
    """Record r lists `offsets[r] : offsets[r + 1]`: its present findings and either those that are
    unknown, all others being absent, or those that are absent, all others being unknown."""
    symptoms: Listed
    is_present: Booleans
    others_unknown: Booleans
    """Of each record: True if findings that are not listed are unknown; otherwise absent."""
    weights: Floats
    """How often each occurs."""


def flatten(network: NoisyOrNetwork) -> FlatNetwork:
    """Return a network as the arrays that kernels work on."""
    if not network.is_independent:
        raise ParameterError(
            "this is for independent diseases only; those of this network occur together, or have "
            "covariates (network.as_independent() has as frequent ones)."
        )
    structure = network.structure
    diseases, n = structure.edges[:, 0], structure.n_diseases
    is_zero, is_certain = network.failures == 0.0, network.leaks == 1.0
    log_failures = np.log(np.where(is_zero, 1.0, network.failures))
    log_absent: Floats = np.bincount(diseases, log_failures, minlength=n).astype(np.float64)
    with np.errstate(divide="ignore", over="ignore"):
        inverse_failures = 1.0 / network.failures[structure.parent_edges]
        log_odds = np.log(network.priors) - np.log1p(-network.priors) + log_absent
        odds = np.exp(log_odds)
    return FlatNetwork(
        # A copy that can be written to: to a compiler it is of another type than one that cannot,
        # and priors are replaced where diseases are decided.
        network.priors.copy(), network.failures, network.leaks,
        structure.child_offsets, structure.edge_symptoms,
        structure.parent_offsets, structure.parent_diseases, structure.parent_edges,
        inverse_failures, log_failures, log_absent, np.bincount(diseases[is_zero], minlength=n),
        np.log1p(-np.where(is_certain, 0.0, network.leaks)), is_certain, log_odds, odds,
    )  # fmt: skip


_recent: list[tuple[NoisyOrNetwork, FlatNetwork]] = []


def flat_network(network: NoisyOrNetwork) -> FlatNetwork:
    """Return a network as arrays; that of the last few is kept, for many questions to one."""
    for other, flat in list(_recent):
        if other is network:
            return flat
    flat = flatten(network)
    _recent.insert(0, (network, flat))
    del _recent[4:]
    return flat


def distinct_records(findings: Findings) -> Records:
    """Return records with those that are the same merged into one, with its weight."""
    return distinct_by_kind(findings)[0]


def distinct_by_kind(findings: Findings, kinds: Integers | None = None) -> tuple[Records, Integers]:
    """Return records with those that are the same merged into one, with its weight.

    Records of different kinds, where these are given, are not the same; those of a kind stand
    together. Returns also the kind of each.
    """
    n_columns = 2 * findings.structure.n_symptoms
    parts, start = [], 0
    for block in findings.blocks:
        here = None if kinds is None else kinds[start : start + block.n_records]
        parts.append(_distinct_of(block, here))
        start += block.n_records
    n_before = 0 if kinds is None else KIND_BYTES
    keys, weights = _merged(parts, n_columns + 8 * n_before)
    found = np.zeros(len(keys), dtype=np.int64)
    for byte in range(n_before):
        found = found * 256 + keys[:, byte]
    bits = np.unpackbits(keys[:, n_before:], axis=1, count=n_columns).astype(np.bool_)
    present, unknown = np.split(bits, 2, axis=1)
    numbers, symptoms = np.nonzero(present | unknown)
    offsets = np.searchsorted(numbers, np.arange(len(keys) + 1))
    records = Records(
        offsets.astype(np.int64), symptoms.astype(np.int32), present[numbers, symptoms],
        np.zeros(len(keys), dtype=np.bool_), weights.astype(np.float64),
    )  # fmt: skip
    return records, found


def _distinct_of(block: Block, kinds: Integers | None) -> tuple[Bytes, Integers]:
    """Return the distinct records of a block, a row of bits each, and how often each occurs."""
    present, unknown = block.unpacked()
    if unknown is None:
        unknown = np.zeros_like(present)
    rows = np.packbits(np.concatenate([present, unknown], axis=1), axis=1)
    if kinds is not None:
        before = kinds.astype(">u4").view(np.uint8).reshape(len(rows), KIND_BYTES)
        rows = np.concatenate([before, rows], axis=1)
    return _merged([(rows, np.ones(len(rows), dtype=np.int64))], 8 * rows.shape[1])


def _merged(parts: list[tuple[Bytes, Integers]], n_columns: int) -> tuple[Bytes, Integers]:
    """Return each row once, in the order of their bits, with its numbers added up."""
    width = (n_columns + 7) // 8
    rows = np.concatenate([np.empty((0, width), dtype=np.uint8), *(rows for rows, _ in parts)])
    numbers = np.concatenate([np.empty(0, dtype=np.int64), *(numbers for _, numbers in parts)])
    if width <= 8:  # as whole numbers, which are sorted much faster
        padded = np.zeros((len(rows), 8), dtype=np.uint8)
        padded[:, :width] = rows
        keys, owners = np.unique(padded.view(">u8").astype(np.uint64)[:, 0], return_inverse=True)
        found = keys.astype(">u8")[:, np.newaxis].view(np.uint8)[:, :width]
    else:
        found, owners = np.unique(rows, axis=0, return_inverse=True)
    totals = np.bincount(owners.ravel(), numbers, minlength=len(found))
    return found, totals.astype(np.int64)


def block_records(block: Block) -> Records:
    """Return the records of a block in their order, each listing what is less: unknown or absent.

    A whole block is listed in one way, by which of the two it has more.
    """
    n_records, n_symptoms = block.n_records, len(block.present)
    offsets, symptoms, is_unknown = block.listed()
    is_present, others_unknown = ~is_unknown, False
    if block.unknown is not None and 2 * int(is_unknown.sum()) > n_records * n_symptoms:
        known = ~block.unknown
        if n_records % 64:  # without the bits past the end
            known[:, -1] &= (np.uint64(1) << np.uint64(n_records % 64)) - np.uint64(1)
        offsets, symptoms = list_bits(known, n_records)
        numbers = np.repeat(np.arange(n_records), np.diff(offsets))
        bits = block.present[symptoms, numbers >> 6] >> (numbers & 63).astype(np.uint64)
        is_present, others_unknown = (bits & np.uint64(1)).astype(np.bool_), True
    return Records(
        offsets, symptoms, is_present, np.full(n_records, others_unknown), np.ones(n_records)
    )


def list_records(known: Sequence[tuple[Indices, Indices]]) -> Records:
    """Return records that are given by their present and absent findings; others are unknown."""
    sizes = [len(present) + len(absent) for present, absent in known]
    symptoms = [part for both in known for part in both]
    states = [np.full(len(part), x == 0) for both in known for x, part in enumerate(both)]
    none = np.empty(0, dtype=np.int32)
    return Records(
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        np.concatenate([none, *symptoms]).astype(np.int32),
        np.concatenate([none, *states]).astype(np.bool_),
        np.ones(len(known), dtype=np.bool_),
        np.ones(len(known)),
    )


def connected_diseases(structure: Structure, present: Indices, disease: int) -> Booleans:
    """Return True for a disease, and those that present findings connect it with.

    Absent findings are a factor of each disease alone, so that they connect none.
    """
    owners, caused = structure.edges.T
    is_present = np.isin(caused, present)
    reached = np.zeros(structure.n_diseases, dtype=np.bool_)
    reached[disease] = True
    while True:
        symptoms = caused[is_present & reached[owners]]
        more = reached.copy()
        more[owners[is_present & np.isin(caused, symptoms)]] = True
        if (more == reached).all():
            return reached
        reached = more


def indices_of(
    structure: Structure, present: Sequence[Name] | Mapping[Name, Any], absent: Sequence[Name]
) -> tuple[Indices, Indices]:
    """Return the symptoms that are present and absent, none of them twice.

    `present` can be a mapping of symptoms to states, or a row of a pandas frame.
    """
    if hasattr(present, "items"):
        if len(absent):
            raise ParameterError("a mapping has absent findings in it: leave out `absent`.")
        present, absent = split_states(present, structure)
    if hasattr(absent, "items"):
        raise ParameterError(
            "give a mapping of findings alone: it says what is present and absent."
        )
    for names in present, absent:
        check_names(names)
    parts = structure.symptom_indices(present), structure.symptom_indices(absent)
    both, counts = np.unique(np.concatenate(parts), return_counts=True)
    if (counts > 1).any():
        name = structure.symptoms[int(both[np.argmax(counts)])]
        raise ParameterError(
            f"{quoted(name)} is given twice: a finding is present or absent, once."
        )
    return parts
