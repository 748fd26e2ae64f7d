"""clean_up: fills in what a schedule leaves, piece by piece."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import NoisyOrWarning, some_of
from noisyor.learning.cleanup.grid import GridFit, allows_grid
from noisyor.learning.cleanup.joint import JointFit
from noisyor.learning.cleanup.pieces import Booleans, Fitted, Piece, is_counted
from noisyor.learning.estimate import Estimate, Explained, Flag
from noisyor.moments import Moments
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Floats = NDArray[np.float64]
How = Literal["joint", "grid"]


@dataclass(frozen=True)
class Cleaned:
    """Which parameters the clean-up has learned."""

    edges: Booleans
    priors: Booleans
    swaps: list[tuple[int, ...]] = field(default_factory=list)
    """Groups of diseases that no moment tells apart."""
    parts: list[Explained] = field(default_factory=list)

    @classmethod
    def nothing(cls, structure: Structure, swaps: list[tuple[int, ...]] | None = None) -> "Cleaned":
        """Return that nothing was left to be learned, or nothing is learned yet."""
        return cls(
            np.zeros(structure.n_edges, dtype=np.bool_),
            np.zeros(structure.n_diseases, dtype=np.bool_),
            swaps or [],
        )

    def marked(self, estimate: Estimate) -> Estimate:
        """Return an estimate that tells how well the parts fit, with flags on what is not sure."""
        is_in = partial(_is_in, n_diseases=len(self.priors))
        ambiguous = [part.diseases for part in self.parts if part.is_ambiguous]
        doubtful = [
            part.diseases if part.is_poor else part.weakly_identified for part in self.parts
        ]
        for flag, diseases, with_leaks in (
            (Flag.AMBIGUOUS, ambiguous, True),
            (Flag.WEAKLY_IDENTIFIED, doubtful, True),
            (Flag.SWAPPABLE, self.swaps, False),
        ):
            here = Parameters.of_diseases(estimate.structure, is_in(diseases), leaks=with_leaks)
            estimate = estimate.flagging(flag, here)
        return replace(estimate, explained=tuple(self.parts)) if self.parts else estimate

    def _add(self, piece: Piece, found: Fitted) -> None:
        self.edges[piece.edges[piece.kept_edges]] = True
        self.priors[piece.priors[piece.kept_priors]] = True
        n_moments = len(piece.pairs) + len(piece.triplets)
        n_unknown = len(piece.edges) + len(piece.priors)
        part = Explained(
            piece.diseases, n_moments, n_unknown, found.misfit, found.second, found.vague
        )
        self.parts.append(part)


def clean_up(
    moments: Moments,
    pieces: list[Piece],
    whole: tuple[Floats, Floats],
    groups: list[tuple[int, Floats, Floats]],
    how: How = "joint",
    swaps: list[tuple[int, ...]] | None = None,
) -> Cleaned:
    """Fill in the strengths and lambdas of all pieces, in place, by a joint fit or by a grid.

    `whole` has the strengths of all edges and the lambdas of all diseases as they were learned,
    `groups` the same without each group of records. `swaps` are the groups of diseases that no
    moment tells apart.
    """
    structure = moments.plan.structure
    cleaned = Cleaned.nothing(structure, swaps)
    for piece in pieces:
        if not is_counted(piece, moments):
            _warn_of_missing(structure, piece)
        elif how == "joint":
            joint = JointFit(structure, piece, moments)
            _fill_in(joint, joint, whole, groups, cleaned)
        elif allows_grid(structure, piece):
            judge = JointFit(structure, piece.without_kin(structure), moments)
            _fill_in(GridFit(structure, piece, moments), judge, whole, groups, cleaned)
    return cleaned


def _fill_in(
    fit: JointFit | GridFit,
    judge: JointFit,
    whole: tuple[Floats, Floats],
    groups: list[tuple[int, Floats, Floats]],
    cleaned: Cleaned,
) -> None:
    """Fit a piece, and fit it without each group; put what can be told in its place."""
    fitted = fit.run(*whole)
    if fitted is None:
        return
    found = judge.judged(fitted, *whole)
    for group, strengths, lambdas in groups:
        again = fit.run_without(group, strengths, lambdas) or found
        _put(judge.piece, again, strengths, lambdas)
    _put(judge.piece, found, *whole)
    cleaned._add(judge.piece, found)


def _warn_of_missing(structure: Structure, piece: Piece) -> None:
    names = some_of(structure.diseases[disease] for disease in piece.diseases.tolist())
    warnings.warn(
        f"no schedule learns {names}, and the moments lack pairs or triplets that the clean-up "
        "needs. Count with the plan of `noisyor plan-triplets`, or NoisyOrLearner.find_plan().",
        NoisyOrWarning,
        stacklevel=3,
    )


def _put(piece: Piece, found: Fitted, strengths: Floats, lambdas: Floats) -> None:
    """Write what is to be kept."""
    edges, priors = piece.kept_edges, piece.kept_priors
    strengths[piece.edges[edges]] = found.strengths[edges]
    lambdas[piece.priors[priors]] = found.lambdas[priors]


def _is_in(groups: Sequence[Any], n_diseases: int) -> Booleans:
    """Return which diseases are in one of some groups."""
    found = np.zeros(n_diseases, dtype=np.bool_)
    for group in groups:
        found[list(group)] = True
    return found
