"""clean_up: fills in what a schedule leaves, piece by piece."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.cleanup.grid import GridFit, allows_grid
from noisyor.learning.cleanup.joint import JointFit
from noisyor.learning.cleanup.pieces import Booleans, Fitted, Piece, is_counted
from noisyor.learning.estimate import Estimate, Explained, Flag
from noisyor.moments import Moments
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
        estimate = estimate.marking(Flag.AMBIGUOUS, is_in(ambiguous))
        estimate = estimate.marking(Flag.ENTANGLED, is_in([part.vague for part in self.parts]))
        estimate = estimate.marking(Flag.SWAPPABLE, is_in(self.swaps))
        return replace(estimate, explained=tuple(self.parts))

    def _add(self, piece: Piece, found: Fitted) -> None:
        self.edges[piece.edges[piece.kept_edges]] = True
        self.priors[piece.priors[piece.kept_priors]] = True
        n_moments = len(piece.pairs) + len(piece.triplets)
        part = Explained(piece.diseases, n_moments, found.misfit, found.second, found.vague)
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
            continue
        fit: JointFit | GridFit
        if how == "joint":
            fit = JointFit(structure, piece, moments)
        elif allows_grid(structure, piece):
            fit = GridFit(structure, piece, moments)
        else:
            continue
        found = fit.run(*whole)
        _put(fit.piece, found, *whole)
        for group, strengths, lambdas in groups:
            _put(fit.piece, fit.run_without(group, strengths, lambdas), strengths, lambdas)
        cleaned._add(fit.piece, found)
    return cleaned


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
