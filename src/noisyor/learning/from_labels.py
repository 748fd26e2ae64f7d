"""What counts of labelled records say of priors and failures, put to what pairs and triplets say.

Of n records in which a disease was looked for, n_1 have it: n_1 - n p is the derivative of their
log likelihood by the log odds of p. Of a failure: with c = P(symptom absent | no disease), counted
in the records without the disease, a of A records with the disease are without the symptom, each
with the probability f c. The error of c widens that of f.

It holds for records that were not chosen by their findings: counts of pairs do not tell by which.
"""

from dataclasses import dataclass

import numpy as np

from noisyor.beliefs import FEWEST_CASES
from noisyor.learning.believed import ScoreOfMore, put_together
from noisyor.moments.labelled import (
    CASES,
    CASES_PRESENT,
    LOOKED,
    OTHERS,
    OTHERS_PRESENT,
    SEEN,
    LabelledCounts,
)
from noisyor.parameters import Booleans, Floats

Combined = tuple[Floats, Floats]
"""Values and errors."""

WEAK_CASES, WEAK_MEAN = 1.0, 0.5
"""The weak prior of a failure (that of Jeffreys)."""


@dataclass(frozen=True)
class LabelsSay:
    """What labels say, to be put to values that were learned from findings."""

    counts: LabelledCounts

    @property
    def of_priors(self) -> Booleans:
        """Which diseases were seen, and seen to be absent, often enough."""
        diseases, _ = self.counts.totals()
        seen, looked = diseases[:, SEEN], diseases[:, LOOKED]
        return np.asarray((seen >= FEWEST_CASES) & (looked - seen >= FEWEST_CASES))

    @property
    def of_failures(self) -> Booleans:
        """The symptoms of which edges are known with and without the disease often enough."""
        _, edges = self.counts.totals()
        enough = (edges[:, CASES] >= FEWEST_CASES) & (edges[:, OTHERS] >= FEWEST_CASES)
        return np.asarray(enough & (edges[:, OTHERS] > edges[:, OTHERS_PRESENT]))

    def priors(self, values: Floats, errors: Floats, without: int | None = None) -> Combined:
        """Put labels to priors; without those of a group of records."""
        diseases, _ = self.counts.totals(without)
        looked, seen = diseases[:, LOOKED].astype(float), diseases[:, SEEN].astype(float)
        start = (seen + 0.5) / (looked + 1.0)
        found = put_together(
            values, errors, start,
            lambda p: ScoreOfMore(seen - looked * p, looked * p * (1.0 - p)),
        )  # fmt: skip
        return _where(looked > 0.0, found, (values, errors))

    def failures(self, values: Floats, errors: Floats, without: int | None = None) -> Combined:
        """Put labels to failures; without those of a group of records."""
        _, edges = self.counts.totals(without)
        cases, others = edges[:, CASES].astype(float), edges[:, OTHERS].astype(float)
        absent = cases - edges[:, CASES_PRESENT]
        c = (others - edges[:, OTHERS_PRESENT] + 0.5) / (others + 1.0)

        def more(f: Floats) -> ScoreOfMore:
            by_cases = f * (1.0 - f * c) / np.maximum(c * cases, 1e-300)
            variance = by_cases + f * f * (1.0 - c) / np.maximum(c * others, 1e-300)
            scale = f * (1.0 - f)
            score = (absent - cases * f * c) / (f * (1.0 - f * c)) * by_cases / variance
            return ScoreOfMore(
                scale * score + WEAK_CASES * (WEAK_MEAN - f),
                scale * scale / variance + WEAK_CASES * scale,
            )

        start = np.clip((absent + 0.5) / (cases + 1.0) / c, 0.01, 0.99)
        is_told = (cases > 0.0) & (others > 0.0)
        return _where(is_told, put_together(values, errors, start, more), (values, errors))


def _where(here: Booleans, found: Combined, others: Combined) -> Combined:
    values, errors = (np.where(here, *each) for each in zip(found, others, strict=True))
    return values, errors
