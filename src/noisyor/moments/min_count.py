"""Which counts describe so few records that they must be hidden (`--min-count`)."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from noisyor.moments.plan import MomentPlan

Integers = NDArray[np.int64]
QUARTET_SUBSETS = tuple(subset for size in range(4) for subset in combinations(range(4), size))
"""The subsets that the margins of a quartet count: none (known), a, ..., d, ab, ..., bcd."""


def has_small_cell(
    plan: MomentPlan,
    n_records: int,
    present: Sequence[Integers],
    known: Sequence[Integers],
    order: int,
    min_count: int,
) -> NDArray[np.bool_]:
    """Return, for each set, whether a cell of its table counts 1 to `min_count` - 1 records.

    A table has three states for each symptom. Unknown is one of them: who subtracts the records in
    which a is present and b is known from those in which a is present has those of an unknown b.
    `present` and `known` are the counts and margins of all orders, in one group.
    """
    cells = _events(plan, n_records, present, known, order)
    for axis in range(order):
        whichever, if_known, if_present = np.moveaxis(cells, axis, 0)
        cells = np.stack([whichever - if_known, if_known - if_present, if_present], axis=axis)
    is_small = (cells > 0) & (cells < min_count)
    return np.asarray(is_small.any(axis=tuple(range(order))))


def _events(
    plan: MomentPlan,
    n_records: int,
    present: Sequence[Integers],
    known: Sequence[Integers],
    order: int,
) -> Integers:
    """Return the records of one group in which the symptoms of each set are in certain states.

    There is an axis for each symptom (whatever, known, present), and the last one for the sets.
    """
    singles = np.stack([np.full_like(present[0], n_records), known[0], present[0]])
    if order == 1:
        return singles
    first, second = plan.pair_rows.T
    pairs = np.empty((3, 3, len(plan.pairs)), dtype=np.int64)
    pairs[:, 0], pairs[0] = singles[:, first], singles[:, second]
    pairs[1, 1], pairs[2, 1], pairs[1, 2] = known[1].T
    pairs[2, 2] = present[1]
    if order == 2:
        return pairs
    ab, ac, bc = plan.triplet_rows.T
    triplets = np.empty((3, 3, 3, len(plan.triplets)), dtype=np.int64)
    triplets[:, :, 0], triplets[:, 0], triplets[0] = pairs[..., ab], pairs[..., ac], pairs[..., bc]
    # Known, a, b, c, ab, ac, bc.
    at = (1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (2, 1, 2), (1, 2, 2)
    for states, counts in zip(at, known[2].T, strict=True):
        triplets[states] = counts
    triplets[2, 2, 2] = present[2]
    if order == 3:
        return triplets
    abc, abd, acd, bcd = plan.quartet_rows.T
    quartets = np.empty((3, 3, 3, 3, len(plan.quartets)), dtype=np.int64)
    quartets[:, :, :, 0], quartets[:, :, 0] = triplets[..., abc], triplets[..., abd]
    quartets[:, 0], quartets[0] = triplets[..., acd], triplets[..., bcd]
    for subset, counts in zip(QUARTET_SUBSETS, known[3].T, strict=True):
        quartets[tuple(2 if k in subset else 1 for k in range(4))] = counts
    quartets[2, 2, 2, 2] = present[3]
    return quartets
