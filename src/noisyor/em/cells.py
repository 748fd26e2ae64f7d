"""Cells: whose records they are, as far as covariates tell."""

from typing import NamedTuple

import numpy as np

from noisyor.em.candidate_kernels import Seen
from noisyor.em.mixed_kernels import PeopleOfRecords
from noisyor.inference.flat import Floats, Integers
from noisyor.network.design import Design

NO_CUTS = np.zeros((0, 0), dtype=np.uint64)
NOTHING_SEEN = Seen(NO_CUTS, NO_CUTS)


class Cells(NamedTuple):
    """The rows of a design that differ, and those that records of each kind can have."""

    kinds: Integers
    """Of each record: which row it has, as it was given."""
    design: Floats
    """The rows in which all is known..."""
    starts: Integers
    """... of which those of kind x are `starts[x] : starts[x + 1]` of the next two."""
    numbers: Integers
    weights: Floats

    @classmethod
    def nothing(cls, n_records: int) -> "Cells":
        """Return those of people of whom nothing is known."""
        one = np.zeros(1, dtype=np.int64)
        return cls(
            np.zeros(n_records, dtype=np.int64), np.zeros((1, 0)), np.array([0, 1]), one, np.ones(1)
        )

    @classmethod
    def of(cls, design: Design) -> "Cells":
        """Find the rows that differ; where something is unknown, people like all others fill in."""
        filled = np.nan_to_num(design.rows, nan=np.inf)
        rows, kinds = np.unique(filled, axis=0, return_inverse=True)
        population, shares = design.population()
        cells, weights = [], []
        for row in rows:
            is_unknown = np.isinf(row)
            everybody = np.where(is_unknown, population, row)
            cells.append(everybody if is_unknown.any() else row[np.newaxis])
            weights.append(shares if is_unknown.any() else np.ones(1))
        starts = np.concatenate([[0], np.cumsum([len(each) for each in cells])])
        all_cells, numbers = np.unique(np.concatenate(cells), axis=0, return_inverse=True)
        return cls(
            kinds.ravel().astype(np.int64), all_cells, starts.astype(np.int64),
            numbers.ravel().astype(np.int64), np.concatenate(weights),
        )  # fmt: skip

    def of_kinds(self, kinds: Integers) -> PeopleOfRecords:
        """Return the cells of records of these kinds."""
        sizes = np.diff(self.starts)[kinds]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        listed = np.repeat(self.starts[kinds], sizes) + within
        return PeopleOfRecords(
            starts, self.numbers[listed], self.weights[listed], NO_CUTS, NOTHING_SEEN
        )
