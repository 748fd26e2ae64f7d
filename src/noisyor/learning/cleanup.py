"""The clean-up (Section 3.3): what the schedule leaves, fitted jointly to pairs and triplets.

Diseases that no singly coupled triplet tells apart are fitted together, all learned ones removed
first. With v = sqrt(q) t and lambda = (1 - 2 p) / sqrt(q) of each disease,

    R(a,b)   = prod_i (1 + v_ia v_ib)
    R(a,b,c) = prod_i (1 + v_ia v_ib + v_ia v_ic + v_ib v_ic - lambda_i v_ia v_ib v_ic)

and c = R - 1 of pairs and k = R(a,b,c) - R(a,b) - R(a,c) - R(b,c) + 2 of triplets are matched by
weighted least squares (Levenberg and Marquardt) from several starts. Where two starts end in
different minima that fit alike, the records do not tell which of two explanations is right.
"""

import itertools
import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.fixed import Fixed
from noisyor.identifiability import Identifiability, check_identifiability
from noisyor.identifiability.check import pieces_left
from noisyor.identifiability.jacobian import subsets
from noisyor.learning.decompose import lambdas_of
from noisyor.learning.grid import TwoDiseases, search_grid
from noisyor.learning.kernels import remove_influences
from noisyor.learning.pooled.pairs import MANY_RECORDS
from noisyor.learning.pooled.triplets import triplet_spreads
from noisyor.learning.steps import edge_numbers
from noisyor.moments import MomentPlan, Moments
from noisyor.names import Indices
from noisyor.schedule import Schedule
from noisyor.schedule.search import couplings_of, parent_bits
from noisyor.structure import Structure

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
How = Literal["joint", "grid"]

MOST_UNKNOWNS = 400
"""Larger parts are left: a joint fit of them takes too long."""
TRIPLETS_A_DISEASE = 2000
STARTS, FOLLOWED = 8, 3
FIRST_STEPS, STEPS = 25, 200
FEW_STEPS = 5
"""For each group of records that is left out, from the fit to all."""
ENOUGH, ENOUGH_EXACT = 1e-6, 1e-12
"""Steps end when the misfit falls by less than this part of it."""
ALIKE = 10.0
"""Two minima fit alike if their weighted sums of squares differ by less than this."""
MOST_COMPARED = 300
"""Triplets that a grid is compared with at most."""
LARGEST_STRENGTH = 30.0


class Piece(NamedTuple):
    """A part of what a schedule leaves that can be identified, with its equations."""

    diseases: Indices
    edges: Indices
    """Numbers of the edges whose strengths are fitted."""
    priors: Indices
    """The diseases, of those above, whose lambdas are fitted."""
    pairs: Indices
    """Pairs of symptoms that the piece couples."""
    triplets: Indices


def find_pieces(schedule: Schedule, fixed: Fixed) -> tuple[list[Piece], Identifiability]:
    """Return the parts that a schedule leaves, if identifiable and not too large."""
    structure = schedule.structure
    result = check_identifiability(structure, fixed=fixed, schedule=schedule)
    found = []
    rng = np.random.default_rng(0)
    for unknowns in pieces_left(schedule, fixed):
        owned = np.isin(structure.edges[:, 0], unknowns.diseases)
        edges = np.flatnonzero(owned & (schedule.depths < 0))
        priors = unknowns.diseases[unknowns.priors[unknowns.diseases]]
        is_known = (result.orders.failures[edges] >= 0).all() and (
            result.orders.priors[priors] >= 0
        ).all()
        if is_known and len(edges) + len(priors) <= MOST_UNKNOWNS:
            sets = [_sets_of(structure, unknowns.diseases, size, rng) for size in (2, 3)]
            found.append(Piece(unknowns.diseases, edges, priors, *sets))
    return found, result


def _sets_of(
    structure: Structure, diseases: Indices, size: int, rng: np.random.Generator
) -> Indices:
    """Return all pairs, or many triplets, of symptoms that one of the diseases has."""
    most = TRIPLETS_A_DISEASE if size > 2 else structure.n_symptoms**2
    found = [subsets(structure.children(int(disease)), size, most, rng) for disease in diseases]
    return np.unique(np.concatenate(found), axis=0)


def cleanup_plan(structure: Structure, pieces: list[Piece]) -> MomentPlan:
    """Return what has to be counted to fit the pieces."""
    pairs, triplets = np.empty((0, 2), dtype=np.int64), np.empty((0, 3), dtype=np.int64)
    return MomentPlan(
        structure,
        pairs=np.concatenate([pairs, *(piece.pairs for piece in pieces)]),
        triplets=np.concatenate([triplets, *(piece.triplets for piece in pieces)]),
    )


def is_counted(piece: Piece, moments: Moments) -> bool:
    """Say whether all that a piece needs was counted."""
    rows = moments.plan.rows_of(2, piece.pairs), moments.plan.rows_of(3, piece.triplets)
    return all(bool((each >= 0).all()) for each in rows)


class Fitted(NamedTuple):
    """The strengths and lambdas of a piece."""

    strengths: Floats
    """Of `piece.edges`."""
    lambdas: Floats
    """Of `piece.priors`."""
    misfit: float
    """The weighted sum of squares."""
    second: float
    """That of the next best minimum that other starts have found; infinite if there is none."""


class PieceFit:
    """Fits one piece to moments, given the strengths and lambdas of all learned diseases."""

    def __init__(self, structure: Structure, piece: Piece, moments: Moments) -> None:
        self._piece = piece
        self._moments = moments
        self._structure = structure
        self._pair_rows = moments.plan.rows_of(2, piece.pairs)
        self._triplet_rows = moments.plan.rows_of(3, piece.triplets)
        self._sets = np.vstack([np.column_stack([piece.pairs, np.full(len(piece.pairs), -1)]),
                                piece.triplets])  # fmt: skip
        self._edges = np.stack(
            [
                edge_numbers(structure, np.full(len(self._sets), disease), self._sets)
                for disease in piece.diseases
            ],
            axis=1,
        )  # sets x diseases x 3
        self._columns = np.full(structure.n_edges + 1, -1)
        self._columns[piece.edges] = np.arange(len(piece.edges))
        self._prior_column = np.full(structure.n_diseases, -1)
        self._prior_column[piece.priors] = len(piece.edges) + np.arange(len(piece.priors))
        self._removed = self._find_removed()
        self._weights = self._find_weights()

    def _find_removed(self) -> tuple[Indices, Indices, Indices]:
        """Find who else couples each set, to be removed first."""
        nobody = np.full(len(self._sets), -1)
        owners, others = couplings_of(parent_bits(self._structure), nobody, self._sets).T
        keep = ~np.isin(others, self._piece.diseases)
        owners, others = owners[keep], np.ascontiguousarray(others[keep])
        offsets = np.searchsorted(owners, np.arange(len(self._sets) + 1))
        return offsets, others, edge_numbers(self._structure, others, self._sets[owners])

    def _find_weights(self) -> Floats:
        """Return one over the sampling variances of c and k."""
        pairs, triplets = self._moments.values(2), self._moments.values(3)
        a, b = pairs.odds[self._pair_rows].T
        c = np.maximum(pairs.pair_excesses[self._pair_rows, 0], 0.0)
        n = np.minimum(pairs.n_records[self._pair_rows], MANY_RECORDS)
        of_pairs = n / np.maximum(a * b + c * (1.0 + a + b), 1e-12)
        spread = triplet_spreads(triplets, self._triplet_rows)
        n = np.minimum(triplets.n_records[self._triplet_rows], MANY_RECORDS)
        weights = np.concatenate([of_pairs, n / np.maximum(spread, 1e-12)])
        weights[~np.isfinite(weights)] = 0.0
        return np.asarray(weights)

    def _observed(self, strengths: Floats, lambdas: Floats, without: int | None) -> Floats:
        """Return c of the pairs and k of the triplets with the learned diseases removed."""
        excesses = np.zeros((len(self._sets), 4))
        n_pairs = len(self._pair_rows)
        excesses[:n_pairs, 0] = self._moments.excesses(2, without=without)[self._pair_rows]
        values = self._moments.values(3, without=without)
        excesses[n_pairs:, :3] = values.pair_excesses[self._triplet_rows]
        excesses[n_pairs:, 3] = values.triplet_excess[self._triplet_rows]
        offsets, diseases, edges = self._removed
        remove_influences(
            offsets, diseases, edges, np.nan_to_num(lambdas, nan=10.0), strengths, excesses
        )
        return np.concatenate([excesses[:n_pairs, 0], excesses[n_pairs:, 3]])

    # --- the fit ---

    def run(
        self, strengths: Floats, lambdas: Floats, start: Fitted | None = None,
        without: int | None = None,
    ) -> Fitted:  # fmt: skip
        """Fit the piece, from several starts or from an earlier fit."""
        observed = self._observed(strengths, lambdas, without)
        weights = np.where(np.isfinite(observed), self._weights, 0.0)
        observed = np.nan_to_num(observed)
        problem = _Problem(self, observed, weights, strengths, lambdas)
        if start is not None:
            position = problem.position(start.strengths, start.lambdas)
            return problem.fitted(*problem.descend(position, FEW_STEPS), math.inf)
        n_pairs = len(self._pair_rows)
        usual = np.sqrt(max(float(np.median(observed[:n_pairs])), 1e-6) / len(self._piece.diseases))
        rng = np.random.default_rng(0)
        ends = []
        for _ in range(STARTS):
            v = usual * rng.lognormal(0.0, 0.7, len(self._piece.edges))
            lambdas = rng.uniform(1.0, 12.0, len(self._piece.priors))
            ends.append(problem.descend(problem.position(v, lambdas), FIRST_STEPS))
        ends.sort(key=lambda end: end[1])
        # Only those that look best are followed to the end.
        ends[:FOLLOWED] = [problem.descend(end[0], STEPS) for end in ends[:FOLLOWED]]
        ends.sort(key=lambda end: end[1])
        best, others = ends[0], ends[1:FOLLOWED]
        floor = 1e-9 * float(weights @ observed**2)
        different = [misfit for _, misfit in others if misfit > 1.001 * best[1] + floor]
        return problem.fitted(*best, min(different, default=math.inf))

    # --- the paper's way ---

    def run_grid(
        self, strengths: Floats, lambdas: Floats, without: int | None = None
    ) -> Fitted | None:
        """Fit a piece of two diseases by grid search; None where the paper's way does not apply."""
        order = self._grid_order()
        if order is None:
            return None
        first, second, base = order
        observed = np.nan_to_num(self._observed(strengths, lambdas, without))
        symptoms = np.unique(self._sets[self._sets >= 0])
        local = np.full(self._structure.n_symptoms, -1)
        local[symptoms] = np.arange(len(symptoms))
        n_pairs = len(self._pair_rows)
        excesses = np.zeros((len(symptoms), len(symptoms)))
        a, b = local[self._piece.pairs].T
        excesses[a, b] = excesses[b, a] = observed[:n_pairs]
        triplets, third = local[self._piece.triplets], observed[n_pairs:]
        ranked = np.argsort(np.arange(len(triplets)) != base, kind="stable")[:MOST_COMPARED]
        children = [local[self._structure.children(disease)] for disease in (first, second)]
        of_b = local[self._piece.triplets[base]]
        found = search_grid(
            TwoDiseases(
                _ahead(children[0], np.setdiff1d(children[0], children[1])[:1]),
                _ahead(children[1], of_b), excesses, triplets[ranked], third[ranked],
            )
        )  # fmt: skip
        priors = dict(zip((first, second), found.priors[0], strict=True))
        owners = self._structure.edges[self._piece.edges, 0]
        p = np.array([priors[int(owner)] for owner in owners])
        place = np.where(owners == first, 0, 1)
        t = found.strengths[0, local[self._structure.edges[self._piece.edges, 1]], place]
        return Fitted(
            np.sqrt(p * (1.0 - p)) * t,
            lambdas_of(np.array([priors[int(disease)] for disease in self._piece.priors])),
            float(found.distances[0]),
            math.inf,
        )

    def _grid_order(self) -> tuple[int, int, int] | None:
        """Return A, B and the number of a triplet of B, if the two diseases allow it."""
        if len(self._piece.diseases) != 2:
            return None
        for first, second in itertools.permutations(self._piece.diseases.tolist()):
            mine, other = (self._structure.children(disease) for disease in (first, second))
            base = np.flatnonzero(np.isin(self._piece.triplets, other).all(axis=1))
            if len(np.setdiff1d(mine, other)) and len(base):
                return first, second, int(base[0])
        return None


def _ahead(symptoms: Indices, leading: Indices) -> Indices:
    """Return symptoms with some of them in front."""
    return np.concatenate([leading, np.setdiff1d(symptoms, leading)])


class _Problem:
    """One least-squares problem: what is observed, and what a position predicts."""

    def __init__(
        self, fit: PieceFit, observed: Floats, weights: Floats, strengths: Floats, lambdas: Floats
    ) -> None:
        self._fit = fit
        self._piece = fit._piece
        self._observed = observed
        self._weights = weights
        self._strengths = np.append(strengths, 0.0)  # the last for edges that are not there, -1
        self._lambdas = np.nan_to_num(lambdas, nan=10.0)
        self._enough = ENOUGH_EXACT if fit._moments.is_exact else ENOUGH

    def position(self, strengths: Floats, lambdas: Floats) -> Floats:
        """Return logarithms of strengths, and lambdas on a scale without bounds."""
        return np.concatenate([np.log(strengths), np.arcsinh(lambdas / 2.0)])

    def fitted(self, position: Floats, misfit: float, second: float) -> Fitted:
        """Return strengths and lambdas at a position."""
        n = len(self._piece.edges)
        return Fitted(np.exp(position[:n]), 2.0 * np.sinh(position[n:]), misfit, second)

    def descend(self, position: Floats, steps: int) -> tuple[Floats, float]:
        """Return where Levenberg and Marquardt's steps end, and the misfit there."""
        damping = 1e-2
        rests, jacobian = self._linearise(position)
        misfit = float(self._weights @ rests**2)
        for _ in range(steps):
            weighted = jacobian.multiply(self._weights[:, np.newaxis]).tocsr()
            matrix = (jacobian.T @ weighted).toarray()
            gradient = weighted.T @ rests
            diagonal = np.diag(matrix).copy()
            while True:
                damped = matrix + np.diag(damping * diagonal + 1e-12 * diagonal.max(initial=1e-300))
                move = np.clip(np.linalg.solve(damped, gradient), -2.0, 2.0)
                moved = self._inside(position + move)
                new_rests, new_jacobian = self._linearise(moved)
                new_misfit = float(self._weights @ new_rests**2)
                if new_misfit < misfit or damping > 1e8:
                    break
                damping *= 4.0
            if not new_misfit < misfit:
                break
            is_done = misfit - new_misfit < self._enough * misfit
            position, misfit, rests, jacobian = moved, new_misfit, new_rests, new_jacobian
            damping = max(damping / 5.0, 1e-12)
            if is_done:
                break
        return position, misfit

    def _inside(self, position: Floats) -> Floats:
        n = len(self._piece.edges)
        return np.concatenate(
            [
                np.clip(position[:n], np.log(1e-5), np.log(LARGEST_STRENGTH)),
                np.clip(position[n:], -np.arcsinh(500.0), np.arcsinh(500.0)),
            ]
        )

    def _linearise(self, position: Floats) -> tuple[Floats, Any]:
        """Return what is observed less what is predicted, and the derivatives of the latter."""
        from scipy.sparse import csr_array

        fit, piece, n = self._fit, self._piece, len(self._piece.edges)
        strengths = self._strengths.copy()
        strengths[piece.edges] = np.exp(position[:n])
        lambdas = self._lambdas.copy()
        lambdas[piece.priors] = 2.0 * np.sinh(position[n:])
        of_diseases = lambdas[piece.diseases]
        v = strengths[fit._edges]
        n_pairs = len(fit._pair_rows)
        predicted, by_strength, by_lambda = _predict(v, of_diseases, n_pairs)
        by_strength *= v  # by the logarithm
        slopes = 2.0 * np.cosh(np.arcsinh(of_diseases / 2.0))
        by_lambda *= slopes
        columns = fit._columns[fit._edges]
        rows = np.broadcast_to(np.arange(len(v))[:, np.newaxis, np.newaxis], columns.shape)
        used = (columns >= 0) & (by_strength != 0.0)
        prior_columns = np.broadcast_to(fit._prior_column[piece.diseases], by_lambda.shape)
        prior_rows = np.broadcast_to(np.arange(len(v))[:, np.newaxis], by_lambda.shape)
        used_priors = (prior_columns >= 0) & (by_lambda != 0.0)
        values = np.concatenate([by_strength[used], by_lambda[used_priors]])
        places = (
            np.concatenate([rows[used], prior_rows[used_priors]]),
            np.concatenate([columns[used], prior_columns[used_priors]]),
        )
        jacobian = csr_array((values, places), (len(v), len(position)))
        return self._observed - predicted, jacobian


def _predict(v: Floats, lambdas: Floats, n_pairs: int) -> tuple[Floats, Floats, Floats]:
    """Return c of pairs and k of triplets, and their derivatives by strengths and lambdas.

    `v` is sets x diseases x 3, 0 where there is no edge; the first sets are pairs.
    """
    a, b, c = v[..., 0], v[..., 1], v[..., 2]
    ab, ac, bc = 1.0 + a * b, 1.0 + a * c, 1.0 + b * c
    r_ab, r_ac, r_bc = (np.prod(part, axis=1) for part in (ab, ac, bc))
    whole = ab + ac + bc - 2.0 - lambdas * a * b * c
    r = np.prod(whole, axis=1)
    predicted = r - r_ab - r_ac - r_bc + 2.0
    with np.errstate(divide="ignore", invalid="ignore"):
        over = r[:, np.newaxis] / whole
        of_ab, of_ac, of_bc = (
            part[:, np.newaxis] / term for part, term in ((r_ab, ab), (r_ac, ac), (r_bc, bc))
        )
    by = np.stack(
        [
            over * (b + c - lambdas * b * c) - of_ab * b - of_ac * c,
            over * (a + c - lambdas * a * c) - of_ab * a - of_bc * c,
            over * (a + b - lambdas * a * b) - of_ac * a - of_bc * b,
        ],
        axis=2,
    )
    by_lambda = -over * a * b * c
    predicted[:n_pairs] = r_ab[:n_pairs] - 1.0
    by[:n_pairs, :, 0] = of_ab[:n_pairs] * b[:n_pairs]
    by[:n_pairs, :, 1] = of_ab[:n_pairs] * a[:n_pairs]
    by[:n_pairs, :, 2] = 0.0
    by_lambda[:n_pairs] = 0.0
    return predicted, np.nan_to_num(by), np.nan_to_num(by_lambda)


class Cleaned(NamedTuple):
    """Which parameters the clean-up has learned."""

    edges: Booleans
    priors: Booleans
    ambiguous: Booleans
    """Of all diseases: whether another explanation fits the moments nearly as well."""

    @classmethod
    def nothing(cls, structure: Structure) -> "Cleaned":
        """Return that nothing was left to be learned."""
        n_diseases = structure.n_diseases
        return cls(
            np.zeros(structure.n_edges, dtype=np.bool_),
            np.zeros(n_diseases, dtype=np.bool_),
            np.zeros(n_diseases, dtype=np.bool_),
        )


def clean_up(
    moments: Moments,
    pieces: list[Piece],
    whole: tuple[Floats, Floats],
    groups: list[tuple[int | None, Floats, Floats]],
    how: How = "joint",
) -> Cleaned:
    """Fill in the strengths and lambdas of all pieces, in place, by a joint fit or by a grid.

    `whole` has the strengths of all edges and the lambdas of all diseases as they were learned,
    `groups` the same without each group of records.
    """
    structure = moments.plan.structure
    cleaned = Cleaned.nothing(structure)
    for piece in pieces:
        if not is_counted(piece, moments):
            continue
        fit = PieceFit(structure, piece, moments)
        found = fit.run(*whole) if how == "joint" else fit.run_grid(*whole)
        if found is None:
            continue
        _put(piece, found, *whole)
        for group, strengths, lambdas in groups:
            if how == "joint":
                again: Fitted | None = fit.run(strengths, lambdas, found, group)
            else:
                again = fit.run_grid(strengths, lambdas, group)
            _put(piece, again or found, strengths, lambdas)
        cleaned.edges[piece.edges] = True
        cleaned.priors[piece.priors] = True
        cleaned.ambiguous[piece.diseases] = found.second < found.misfit + ALIKE
    return cleaned


def _put(piece: Piece, found: Fitted, strengths: Floats, lambdas: Floats) -> None:
    strengths[piece.edges] = found.strengths
    lambdas[piece.priors] = found.lambdas
