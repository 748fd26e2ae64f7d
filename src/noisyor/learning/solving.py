"""Solving for the parameters, round by round, all steps of a round at once.

Remove the influence of learned diseases (Section 3.2), solve the pairs (Eq. 6), take the triplets
apart (Section 3.1, Eq. 4); after the last round the leaks (Eq. 5).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.adjust import Couplings, adjusted_excesses, edge_numbers, leaks_from
from noisyor.learning.decompose import Influences, decompose_excesses, failures_of, strengths_of
from noisyor.learning.estimate import NEUTRAL_VALUES, Flag
from noisyor.names import Indices
from noisyor.parameters import KINDS, Fixed
from noisyor.schedule import Schedule
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Flags = NDArray[np.uint16]

CLIP = 1e-6
"""Estimates are kept within [CLIP, 1 - CLIP], as in the paper (Section 4.1)."""


class StepTable(NamedTuple):
    """The steps of a round."""

    numbers: Indices
    """In the schedule."""
    is_pair: Booleans
    diseases: Indices
    edges: Indices
    """From the step's disease to its symptoms a, b, c; -1 for the c of a pair."""
    removed: Couplings
    """The learned diseases that are removed first."""


def step_tables(schedule: Schedule) -> list[StepTable]:
    """Return the steps of each round."""
    structure = schedule.structure
    owners = schedule.removed[:, 0]
    tables = []
    for round_ in range(schedule.n_rounds):
        numbers = np.flatnonzero(schedule.step_rounds == round_)
        diseases, symptoms = schedule.step_diseases[numbers], schedule.step_symptoms[numbers]
        first, last = np.searchsorted(owners, [numbers[0], numbers[-1] + 1])
        removed = schedule.removed[first:last] - [numbers[0], 0]
        tables.append(
            StepTable(
                numbers,
                schedule.is_pair[numbers],
                diseases,
                edge_numbers(structure, diseases, symptoms),
                Couplings.of(structure, symptoms, removed),
            )
        )
    return tables


class Inputs(NamedTuple):
    """The moments of a schedule's steps."""

    excesses: Floats
    """c_ab, c_ac, c_bc and k of each step; of a pair only the first, the others 0."""
    absent: Floats
    """P(symptom absent), one per symptom."""


class Values:
    """One kind of parameter as it is being learned."""

    def __init__(self, fixed: Fixed, kind: str, neutral: float) -> None:
        is_fixed = getattr(fixed.mask, kind)
        self.values = fixed.apply(kind, np.full(len(is_fixed), neutral))
        self.flags = np.where(is_fixed, Flag.FIXED, Flag.NOT_SCHEDULED).astype(np.uint16)
        self.steps = np.full(len(is_fixed), -1, dtype=np.int64)

    @property
    def is_unlearned(self) -> Booleans:
        """True where a value is still neutral."""
        return np.asarray(self.flags & Flag.NOT_LEARNED, dtype=np.bool_)

    def take_first(
        self, targets: Indices, found: Floats, found_flags: Flags, numbers: Indices
    ) -> None:
        """Learn what is still unlearned from the first step that did not fail, and clip it.

        One row per step; `targets` and `found` may have several columns. What no step teaches
        keeps its value, with the flag of the first step that failed.
        """
        steps = np.repeat(np.arange(len(targets)), targets.size // max(len(targets), 1))
        targets, found = targets.ravel(), found.ravel()
        failed = (found_flags & Flag.NOT_LEARNED).astype(np.bool_)[steps]
        rows = np.flatnonzero(failed & (self.flags[targets] == Flag.NOT_SCHEDULED))[::-1]
        teaching = np.flatnonzero(~failed & self.is_unlearned[targets])[::-1]
        # Backwards, so that of several rows for a target the first is written last.
        self.flags[targets[rows]] = found_flags[steps[rows]]
        self.values[targets[teaching]] = found[teaching]
        self.flags[targets[teaching]] = found_flags[steps[teaching]]
        self.steps[targets[teaching]] = numbers[steps[teaching]]
        self.clip()

    def put(self, targets: Indices, found: Floats) -> None:
        """Learn values from elsewhere than a step."""
        self.values[targets] = found
        self.flags[targets] = 0
        self.clip()

    def clip(self) -> None:
        """Move values from outside of (0, 1) to its bounds, and flag them."""
        outside = (self.values < CLIP) | (self.values > 1.0 - CLIP)
        self.flags[outside] |= np.uint16(Flag.CLIPPED)
        np.clip(self.values, CLIP, 1.0 - CLIP, out=self.values)


class Solved:
    """All parameters as they are being learned."""

    def __init__(self, fixed: Fixed) -> None:
        self.priors, self.failures, self.leaks = (
            Values(fixed, kind, neutral)
            for kind, neutral in zip(KINDS, NEUTRAL_VALUES, strict=True)
        )

    def doubts(self, diseases: Indices, edges: Indices) -> Flags:
        """Return a flag for what rests on the prior and the edges (-1: none) of each row."""
        flags = np.append(self.failures.flags, np.uint16(0))[edges]
        together = np.bitwise_or.reduce(flags, axis=1) | self.priors.flags[diseases]
        doubtful = np.uint16(Flag.CLIPPED | Flag.RESTS_ON_CLIPPED)
        doubts = np.where(together & doubtful, Flag.RESTS_ON_CLIPPED, 0)
        return np.where(together & Flag.NOT_LEARNED, Flag.RESTS_ON_UNLEARNED, doubts).astype(
            np.uint16
        )


def solve(fixed: Fixed, rounds: list[StepTable], inputs: Inputs) -> Solved:
    """Learn round after round what is not fixed, then the leaks."""
    solved = Solved(fixed)
    owners = fixed.structure.edges[:, 0]
    for steps in rounds:
        learned = Influences.of(owners, solved.priors.values, solved.failures.values)
        excesses = adjusted_excesses(steps.removed, learned, inputs.excesses[steps.numbers])
        doubts = _doubts_of_steps(steps, solved)
        _learn_pairs(steps, excesses, doubts, solved)
        _learn_triplets(steps, excesses, doubts, solved)
    learn_leaks(fixed.structure, inputs.absent, solved)
    return solved


def _doubts_of_steps(steps: StepTable, solved: Solved) -> Flags:
    """Return flags of steps whose removed diseases were not learned after all, or clipped."""
    offsets, diseases, edges = steps.removed
    each = np.append(solved.doubts(diseases, edges), np.uint16(0))
    doubts = np.bitwise_or.reduceat(each, offsets[:-1])
    doubts[np.diff(offsets) == 0] = 0  # reduceat gives these their neighbour's
    return np.asarray(doubts)


def _learn_pairs(steps: StepTable, excesses: Floats, doubts: Flags, solved: Solved) -> None:
    """Solve pairs for the failures of their first edges: t_a = c / (q t_j) (Eq. 6)."""
    pairs = steps.is_pair
    diseases, targets, learned = steps.diseases[pairs], *steps.edges[pairs, :2].T
    p, c = solved.priors.values[diseases], excesses[pairs, 0]
    strengths = c / (p * (1.0 - p) * strengths_of(p, solved.failures.values[learned]))
    flags = doubts[pairs] | solved.doubts(diseases, learned[:, np.newaxis])
    flags[np.isnan(c)] |= np.uint16(Flag.NO_MOMENT)
    solved.failures.take_first(targets, failures_of(p, strengths), flags, steps.numbers[pairs])


def _learn_triplets(steps: StepTable, excesses: Floats, doubts: Flags, solved: Solved) -> None:
    """Learn priors and failures from triplets (Eq. 4).

    Each comes from the first triplet that can be taken apart: an edge's own step, or where that
    fails another triplet of the schedule that has the edge.
    """
    triplets = ~steps.is_pair
    found = decompose_excesses(excesses[triplets, :3], excesses[triplets, 3])
    flags = np.zeros(len(found.priors), dtype=np.uint16)
    flags[found.is_complex] = Flag.COMPLEX
    flags[found.is_degenerate] = Flag.DEGENERATE
    failures = np.array(found.failures)
    is_fixed = solved.priors.flags[steps.diseases[triplets]] == Flag.FIXED
    if is_fixed.any():
        priors = solved.priors.values[steps.diseases[triplets][is_fixed]]
        failures[is_fixed] = _failures_with_prior(excesses[triplets][is_fixed], priors)
        flags[is_fixed] = np.where(np.isnan(failures[is_fixed]).any(axis=1), Flag.DEGENERATE, 0)
    flags[np.isnan(excesses[triplets]).any(axis=1)] = Flag.NO_MOMENT
    doubts = doubts[triplets]
    # Moments that were adjusted with neutral values say nothing of their own.
    flags = np.where(doubts & Flag.RESTS_ON_UNLEARNED, doubts, flags | doubts).astype(np.uint16)
    numbers = steps.numbers[triplets]
    solved.priors.take_first(steps.diseases[triplets], found.priors, flags, numbers)
    solved.failures.take_first(steps.edges[triplets], failures, flags, numbers)


def _failures_with_prior(excesses: Floats, priors: Floats) -> Floats:
    """Return the failures of triplets whose prior is fixed: q t_a^2 = c_ab c_ac / c_bc."""
    ab, ac, bc = excesses[:, :3].T
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.column_stack([ab * ac / bc, ab * bc / ac, ac * bc / ab])
        strengths = np.sqrt(squares / (priors * (1.0 - priors))[:, np.newaxis])
    found = failures_of(priors[:, np.newaxis], strengths)
    return np.where(np.isfinite(strengths), found, np.nan)


def learn_leaks(structure: Structure, absent: Floats, solved: Solved) -> None:
    """Let the leaks account for what the diseases do not (Eq. 5)."""
    # Again, if the diseases were not all learned the first time.
    solved.leaks.flags[solved.leaks.is_unlearned] = Flag.NOT_SCHEDULED
    diseases, symptoms = structure.edges.T
    leaks = leaks_from(structure, absent, solved.priors.values, solved.failures.values)
    flags = np.zeros(len(absent), dtype=np.uint16)
    doubts = solved.doubts(diseases, np.arange(structure.n_edges)[:, np.newaxis])
    np.bitwise_or.at(flags, symptoms, doubts)
    flags[np.isnan(absent)] |= np.uint16(Flag.NO_MOMENT)
    everyone = np.arange(len(absent))
    solved.leaks.take_first(everyone, leaks, flags, np.full(len(absent), -1))
