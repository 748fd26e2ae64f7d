"""The joint fit: a piece's strengths and lambdas, fitted to pairs and triplets at once.

Diseases that no singly coupled triplet tells apart are fitted together, all learned ones removed
first. With v = sqrt(q) t and lambda = (1 - 2 p) / sqrt(q) of each disease,

    R(a,b)   = prod_i (1 + v_ia v_ib)
    R(a,b,c) = prod_i (1 + v_ia v_ib + v_ia v_ic + v_ib v_ic - lambda_i v_ia v_ib v_ic)

and c = R - 1 of pairs and k = R(a,b,c) - R(a,b) - R(a,c) - R(b,c) + 2 of triplets are matched by
weighted least squares (Levenberg and Marquardt) from several starts. Where two starts end in
different minima that fit alike, the records do not tell which of two explanations is right.

Of a large piece, each cluster of diseases that share most of their symptoms is fitted first, to
what no other disease of the piece couples; the fit of the whole starts from there.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.learning.cleanup.observations import Observations
from noisyor.learning.cleanup.pieces import Fitted, Piece, find_clusters
from noisyor.learning.cleanup.problem import End, Problem
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.structure import Structure

Floats = NDArray[np.float64]


class Ends(NamedTuple):
    """When a descent ends."""

    enough: float
    """When the misfit falls by less than this part of it."""
    most_steps: int


FEW_STEPS = 10
"""From the fits of all clusters to that of the whole."""
ROUGHLY, EXACTLY = Ends(1e-5, 100), Ends(1e-12, 400)
VAGUE = 0.25
"""A disease is vague if the usual standard error of its strengths is more than this part."""

VAGUE_LAMBDA = 0.5
"""... or if that of arcsinh(lambda / 2) is more than this."""


class JointFit:
    """Fits one piece to moments, given the strengths and lambdas of all learned diseases."""

    def __init__(self, structure: Structure, piece: Piece, moments: Moments) -> None:
        self.piece = piece
        self._structure = structure
        self._seen = Observations(structure, piece, moments)

    def run(self, strengths: Floats, lambdas: Floats) -> Fitted:
        """Fit the piece, from several starts."""
        problem = self._problem(strengths, lambdas, None)
        clusters = find_clusters(self._structure, self.piece.members)
        if len(clusters) == 1:
            end = problem.best_end()
            second = end.second
        else:
            start, more = _fit_clusters(problem, clusters)
            end = problem.descend(start, None if self._seen.is_exact else FEW_STEPS)
            second = end.misfit + more
        found = self._fitted(problem, problem.positive_end(end))
        return found._replace(second=max(second, found.misfit))

    def judged(self, found: Fitted, strengths: Floats, lambdas: Floats) -> Fitted:
        """Return a fit with its misfit and what is vague; what no moment tells is not kept."""
        problem = self._problem(strengths, lambdas, None)
        position = problem.position(found.strengths, found.lambdas)
        self._near = problem.linearised(position)
        is_told = np.split(self._near.is_told, [len(self.piece.edges)])
        self.piece = self.piece._replace(
            kept_edges=self.piece.kept_edges & is_told[0],
            kept_priors=self.piece.kept_priors & is_told[1],
        )
        misfit = problem.misfit(position)
        return found._replace(misfit=misfit, vague=self._find_vague(found))

    def run_without(self, group: int, strengths: Floats, lambdas: Floats) -> Fitted:
        """Fit the piece without a group of records: a step from the fit that was judged."""
        problem = self._problem(strengths, lambdas, group)
        return self._fitted(problem, problem.step(self._near))

    def _problem(self, strengths: Floats, lambdas: Floats, without: int | None) -> Problem:
        seen, ends = self._seen, EXACTLY if self._seen.is_exact else ROUGHLY
        observed = seen.observed(strengths, lambdas, without)
        return Problem(
            seen.own,
            len(self.piece.pairs),
            np.nan_to_num(observed),
            np.where(np.isfinite(observed), seen.weights, 0.0),
            np.append(strengths, 0.0),
            lambdas,
            self.piece.edges,
            self.piece.priors,
            self._structure.edges[:, 0],
            self._structure.edges[:, 1],
            np.concatenate([self.piece.kept_edges, self.piece.kept_priors]),
            self.piece.tied,
            self.piece.tied_failures,
            ends.enough,
            ends.most_steps,
        )

    def _fitted(self, problem: Problem, end: End) -> Fitted:
        return Fitted(*problem.oriented(end.position), end.misfit)

    def _find_vague(self, found: Fitted) -> Indices:
        """Return the diseases of clusters in which the moments tell too little of one.

        As if the moments were independent, which flatters.
        """
        piece, n = self.piece, len(found.strengths)
        errors = np.sqrt(np.maximum(np.diag(self._near.inverse), 0.0))
        of_strengths, of_lambdas = errors[:n] / found.strengths, errors[n:]
        owners = self._structure.edges[piece.edges, 0]
        vague = [piece.diseases[:0]]
        for cluster in find_clusters(self._structure, piece.diseases):
            is_part = piece.kept_edges & np.isin(owners, cluster)
            medians = _medians(owners[is_part], of_strengths[is_part])
            priors = of_lambdas[piece.kept_priors & np.isin(piece.priors, cluster)]
            if (medians > VAGUE).any() or (priors > VAGUE_LAMBDA).any():
                vague.append(cluster)  # what one disease does not explain, another does
        return np.concatenate(vague)


def _fit_clusters(problem: Problem, clusters: list[Indices]) -> tuple[Floats, float]:
    """Return the best fits of all clusters, and by how much the next best of any is worse."""
    position = problem.usual_position()
    more = math.inf
    for cluster in clusters:
        part, places = problem.restricted(cluster)
        end = part.best_end()
        position[places] = end.position
        more = min(more, end.second - end.misfit)
    return position, more


def _medians(owners: Indices, values: Floats) -> Floats:
    """Return the median of each owner's values."""
    return np.array([np.median(values[owners == owner]) for owner in np.unique(owners)])
