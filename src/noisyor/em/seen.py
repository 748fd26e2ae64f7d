"""Diseases that were seen: labels of records, as kernels take them."""

import numpy as np

from noisyor.em.candidate_kernels import Seen
from noisyor.findings import Findings
from noisyor.findings.labels import Labels
from noisyor.inference.flat import Integers, Records, distinct_by_kind
from noisyor.structure import Structure


def seen_of(labels: Labels | None, structure: Structure) -> Seen:
    """Return what was seen of each record; no rows where nothing was."""
    if labels is None or not labels.known.any():
        nothing = np.zeros((0, (structure.n_diseases + 63) // 64), dtype=np.uint64)
        return Seen(nothing, nothing)
    chosen = labels.of_diseases(structure.diseases)
    return Seen(chosen.known, chosen.on)


def distinct_seen(
    findings: Findings, kinds: Integers | None = None
) -> tuple[Records, Integers, Seen]:
    """Return distinct records, the kind of each, and what was seen of each.

    Records with different labels are not the same.
    """
    seen = seen_of(findings.labels, findings.structure)
    if not len(seen.known):
        return *distinct_by_kind(findings, kinds), seen
    of_records = np.zeros(findings.n_records, np.int64) if kinds is None else kinds
    rows = np.column_stack([of_records.astype(np.uint64), seen.known, seen.on])
    patterns, owners = np.unique(rows, axis=0, return_inverse=True)
    records, found = distinct_by_kind(findings, owners.ravel())
    first, known, on = np.split(patterns[found], [1, 1 + seen.known.shape[1]], axis=1)
    return records, first[:, 0].astype(np.int64), Seen(known.copy(), on.copy())
