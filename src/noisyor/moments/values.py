"""From counts or from a network to negative moments, ratios and their sampling variances.

For a set S of symptoms, M(S) is P(all of S absent) and R(S) = M(S) / prod_j M({j}). With u_j =
(1 - M_j) / M_j, the odds of a symptom, and the excesses

    c_ab  = R(a,b) - 1                       k_abc = R(a,b,c) - R(a,b) - R(a,c) - R(b,c) + 2

everything follows without subtracting numbers that are nearly equal:

    R(a,b,c) = 1 + c_ab + c_ac + c_bc + k_abc
    n Var log R(a,b)   = u_a u_b + 2 c_ab - (1 + u_a)(1 + u_b) (R(a,b) - 1) / R(a,b)
    n Var log R(a,b,c) = u_a u_b + u_a u_c + u_b u_c + u_a u_b u_c + 2 (c_ab + c_ac + c_bc)
                         - (1 + u_a)(1 + u_b)(1 + u_c) (R(a,b,c) - 1) / R(a,b,c)

(delta method: log R is the mean over records of 1_S / M(S) - sum_j 1_j / M_j, to first order).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.moments.plan import MomentPlan
from noisyor.network import NoisyOrNetwork

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_WHOLE = 1 << 31
"""Of fewer records products of two counts are whole numbers of 64 bits."""


@dataclass(frozen=True)
class SetValues:
    """What is known of some sets of equal order, one row per set."""

    n_records: Floats
    """Records in which all symptoms of the set are known; infinite for a population."""
    odds: Floats
    """u_j, one column per symptom."""
    pair_excesses: Floats
    """c of each pair in the set: no column for symptoms, one for pairs, three for triplets."""
    triplet_excess: Floats
    """k_abc; 0 for pairs."""
    absent: Floats
    """M(S) itself, which stays exact where the others do not exist."""

    def ratios(self) -> Floats:
        """Return R(S)."""
        return np.asarray(1.0 + self.pair_excesses.sum(axis=1) + self.triplet_excess)

    def ratio_variances(self) -> Floats:
        """Return the sampling variance of R(S): infinite where R(S) does not exist."""
        ratios = self.ratios()
        with np.errstate(all="ignore"):
            grown = np.prod(1.0 + self.odds, axis=1)
            excess = self.pair_excesses.sum(axis=1)
            if self.odds.shape[1] == 2:
                spread = np.prod(self.odds, axis=1) + 2.0 * excess
            else:
                a, b, c = self.odds.T
                spread = a * b + a * c + b * c + a * b * c + 2.0 * excess
            # R^2 times the variance of log R, multiplied out so that R = 0 does no harm.
            beyond_1 = excess + self.triplet_excess
            variances = np.maximum(ratios * (ratios * spread - grown * beyond_1), 0.0)
            variances /= self.n_records
        variances[np.isnan(variances)] = np.inf
        return np.asarray(variances)


def check_valued(plan: MomentPlan, order: int) -> None:
    """Raise an error unless sets of an order have ratios and excesses."""
    plan.sets(order)
    if order > 3:
        raise ParameterError(
            "ratios and excesses are those of orders 1, 2 and 3; quartets have quartet_tables."
        )


def values_from_counts(
    n: Integers, singles: list[Integers], pairs: list[Integers], triplets: Integers | None,
    excesses: Floats | None = None,
) -> SetValues:  # fmt: skip
    """Take counts of records (all known), and of those with a, b, c, ab, ac, bc and abc.

    `excesses` are those of ab, ac and bc, in columns, where they are known.
    """
    numbers = n.astype(np.float64)
    with np.errstate(all="ignore"):
        absent = [numbers - count for count in singles]
        odds = np.column_stack([single / a for single, a in zip(singles, absent, strict=True)])
        positions = [(0, 1), (0, 2), (1, 2)]
        if excesses is None:
            columns = [
                _covariance(n, singles[i], singles[j], both) / (absent[i] * absent[j])
                for (i, j), both in zip(positions, pairs, strict=False)
            ]
            excesses = np.column_stack(columns) if columns else np.empty((len(n), 0))
        third = np.zeros(len(n))
        if triplets is not None:
            product = absent[0] * absent[1] * absent[2]
            third = -_third_cumulant(n, singles, pairs, triplets) / product
        # Inclusion and exclusion in whole numbers: exact where a symptom is always or never there.
        none = n - sum(singles) + sum(pairs) - (0 if triplets is None else triplets)
        all_absent = none / numbers
    return SetValues(numbers, odds, excesses, third, all_absent)


def pair_excesses(n: Integers, a: Integers, b: Integers, both: Integers) -> Floats:
    """Return c = R - 1 of pairs; counts as for `values_from_counts`."""
    without_a, without_b = (n - each.astype(np.float64) for each in (a, b))
    with np.errstate(all="ignore"):
        return np.asarray(_covariance(n, a, b, both) / (without_a * without_b))


def pair_excesses_among(
    n_records: int, symptoms: Integers, rows: Integers, both: Integers
) -> Floats:
    """Return c of pairs of which all records are known: `rows` are those of their symptoms."""
    from noisyor.moments.count_kernels import find_pair_excesses

    if n_records >= MOST_WHOLE:
        a, b = symptoms[rows].T
        return pair_excesses(np.broadcast_to(np.int64(n_records), len(both)), a, b, both)
    excesses = np.empty(len(both))
    find_pair_excesses(n_records, symptoms, rows, both, excesses)
    return excesses


def _covariance(n: Integers, a: Integers, b: Integers, both: Integers) -> Floats:
    """Return n * n_ab - n_a * n_b, without rounding where the squares of n fit 64 bits."""
    n = n[:1] if n.strides == (0,) else n  # the same for all sets
    most = n.max(initial=0)
    # Whole numbers up to 2^53 are exact in floating point too, and quicker.
    wide: Any = np.float64 if most < 1 << 26 else np.int64 if most < MOST_WHOLE else np.longdouble
    n_, a_, b_, both_ = (each.astype(wide) for each in (n, a, b, both))
    return np.asarray(n_ * both_ - a_ * b_, dtype=np.float64)


def _third_cumulant(
    n: Integers, singles: list[Integers], pairs: list[Integers], all_three: Integers
) -> Floats:
    """Return n^2 n_abc - n (n_a n_bc + n_b n_ac + n_c n_ab) + 2 n_a n_b n_c."""
    n_, a, b, c, ab, ac, bc, abc = (
        each.astype(np.longdouble) for each in (n, *singles, *pairs, all_three)
    )
    cumulant = n_ * (n_ * abc - (a * bc + b * ac + c * ab)) + 2 * a * b * c
    return np.asarray(cumulant, dtype=np.float64)


def values_of_network(
    network: NoisyOrNetwork, plan: MomentPlan, order: int, n_records: float
) -> SetValues:
    """Return the exact values of a plan's sets, with the variances that so many records give.

    Where diseases occur together, moments are means over the components of a mixture.
    """
    check_valued(plan, order)
    sets = plan.sets(order)
    excesses, third = np.empty((len(sets), 0)), np.zeros(len(sets))
    if order == 2:
        excesses = np.expm1(_log_ratios(network, sets))[:, np.newaxis]
    elif order == 3:
        excesses = np.expm1(_log_ratios(network, plan.pairs))[plan.triplet_rows]
        third = np.expm1(_log_ratios(network, sets)) - excesses.sum(axis=1)
    with np.errstate(divide="ignore"):
        marginals = network.marginals()
        odds = marginals / (1.0 - marginals)
    records = np.full(len(sets), float(n_records))
    return SetValues(records, odds[sets], excesses, third, network.negative_moments(sets))


def _log_ratios(network: NoisyOrNetwork, sets: Integers) -> Floats:
    from noisyor.moments.count_kernels import log_ratios
    from noisyor.network.network_kernels import ParentArrays

    if not network.is_independent:
        with np.errstate(divide="ignore", invalid="ignore"):
            singles = np.log1p(-network.marginals())
            return np.asarray(np.log(network.negative_moments(sets)) - singles[sets].sum(axis=1))
    priors = network.components.priors[0]
    parents = ParentArrays(*network.structure.parent_arrays)
    ratios = np.empty(len(sets))
    log_ratios(np.ascontiguousarray(sets), parents, priors, network.failures, ratios)
    return ratios
