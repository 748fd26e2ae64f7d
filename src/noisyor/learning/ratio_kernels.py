"""Compiled loops over ratios of moments: fits of all pairs, and of sets that diseases couple.

Every disease is written in two kinds of numbers: v = sqrt(q) t for each of its edges and one
lambda = (1 - 2 p) / sqrt(q), with q = p (1 - p) and t = (1 - f) / (1 - p (1 - f)). Then

    R(a,b) = prod_k (1 + v_ka v_kb)

needs no prior at all, and a disease is a rank-one part of the pairs that it couples. In triplets it
is the factor 1 + v_a v_b + v_a v_c + v_b v_c - lambda v_a v_b v_c.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.kernels import kernel
from noisyor.kernels.array_kernels import fill, new_floats, new_table

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

NEVER = 1 << 30
"""The round in which an edge is learned that no round learns."""
NO_PARENT = -2
"""The round of a pair that no disease couples."""


class PairRows(NamedTuple):
    """The pairs of children of each disease, one disease after the other."""

    child_offsets: Integers
    """The edges of disease i are `child_offsets[i] : child_offsets[i + 1]`."""
    offsets: Integers
    """The pairs of disease i are `offsets[i] : offsets[i + 1]` of what follows, by (a, b)."""
    rows: Integers
    """Rows in the moments' plan; -1 where a pair was not counted."""
    ready: NDArray[np.int32]
    """The round from which on a pair serves its disease; more than NEVER: in none."""


@kernel
def find_rows(
    diseases: Integers, edge_symptoms: Integers, pair_starts: Integers, pair_seconds: Integers,
    pairs: PairRows,
) -> None:  # fmt: skip
    """Write down, for some diseases, the plan's rows of all pairs of their children, or -1.

    The pairs (a, b) of symptom a are `pair_starts[a] : pair_starts[a + 1]`, sorted by b.
    """
    child_offsets, rows = pairs.child_offsets, pairs.rows
    for disease in diseases:
        at = pairs.offsets[disease]
        for a in range(child_offsets[disease], child_offsets[disease + 1]):
            low, high = pair_starts[edge_symptoms[a]], pair_starts[edge_symptoms[a] + 1]
            partners = pair_seconds[low:high]
            for b in range(a + 1, child_offsets[disease + 1]):
                index = first_not_below(partners, edge_symptoms[b])
                found = index < len(partners) and partners[index] == edge_symptoms[b]
                rows[at] = low + index if found else -1
                at += 1


@kernel
def find_edges(
    child_offsets: Integers, edge_symptoms: Integers, diseases: Integers, symptoms: Integers,
    edges: Integers,
) -> None:  # fmt: skip
    """Write down the edges from each disease to its row of symptoms; -1 where there is none."""
    for row in range(len(diseases)):
        first, last = child_offsets[diseases[row]], child_offsets[diseases[row] + 1]
        children = edge_symptoms[first:last]
        for x in range(symptoms.shape[1]):
            at = first_not_below(children, symptoms[row, x])
            is_edge = at < len(children) and children[at] == symptoms[row, x]
            edges[row, x] = first + at if is_edge else -1


@kernel
def first_not_below(values: Integers, value: int) -> int:
    """Return the first index of a value that is as large, in a sorted list."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_readiness(depths: Integers, latest: Integers, pairs: PairRows) -> None:
    """Find for each pair in which round its parents are learned, and when it serves a disease.

    `latest` is the largest depth of an edge from a common parent to the pair: -1 where it is
    fixed, NEVER where it is not learned, or NO_PARENT. A pair serves disease i from the round on
    in which its own edges are learned and those of the other parents were learned before: `ready`.
    """
    child_offsets, offsets, rows, ready = pairs
    owner, second = np.empty(len(latest), np.int32), np.empty(len(latest), np.int32)
    for row in range(len(latest)):
        latest[row], owner[row], second[row] = NO_PARENT, -1, NO_PARENT
    for is_second_pass in (False, True):
        for disease in range(len(child_offsets) - 1):
            at = offsets[disease] - 1
            for a in range(child_offsets[disease], child_offsets[disease + 1]):
                for b in range(a + 1, child_offsets[disease + 1]):
                    at += 1
                    row = rows[at]
                    own = max(depths[a], depths[b])
                    if is_second_pass:
                        others = NEVER
                        if row >= 0:
                            others = second[row] if owner[row] == disease else latest[row]
                        ready[at] = max(own, others + 1) if own < NEVER else NEVER + 1
                    elif row >= 0 and own > latest[row]:
                        second[row] = latest[row]
                        latest[row] = own
                        owner[row] = disease
                    elif row >= 0 and own > second[row]:
                        second[row] = own


@kernel
def weigh_pairs(
    first: int, last: int, counted: Floats, ratios: Floats, odds: Floats, n_records: Floats,
    weights: Floats,
) -> None:  # fmt: skip
    """Write one over the sampling variance of R - 1 as the fit has it; 0 where nothing is known.

    `counted` is R, NaN where it is not known, and `ratios` what the fit leaves of it.
    """
    for row in range(first, last):
        n, c = n_records[row], counted[row] / ratios[row] - 1.0
        if not c < np.inf:  # a quotient that says nothing
            c = 0.0
        spread, product = 2.0 * c * c, 1.0
        sum_of_odds = 0.0
        for x in range(2):
            u = odds[row, x]
            present = u / (1.0 + u) if u < np.inf else 1.0
            # Half a record more on either side, so that a symptom never seen has a variance too.
            u = (present * n + 0.5) / ((1.0 - present) * n + 0.5)
            product *= u
            sum_of_odds += u
        spread += product + c * (1.0 - sum_of_odds)
        weight = n / ((1.0 + c) * max(spread, 0.25 * product))
        weights[row] = weight if np.isfinite(weight) and np.isfinite(counted[row]) else 0.0


@kernel
def add_right_sides(
    v: Floats, weights: Floats, changes: NDArray[np.float32], right: Floats
) -> None:
    """Add up sum_b w J_ab d_ab for each child a of a disease, one column for each group."""
    at = 0
    for a in range(len(v)):
        for b in range(a + 1, len(v)):
            if weights[at] > 0.0:
                shared = weights[at] / (1.0 + v[a] * v[b])
                for group in range(changes.shape[1]):
                    right[a, group] += shared * v[b] * changes[at, group]
                    right[b, group] += shared * v[a] * changes[at, group]
            at += 1


# --- sets of two or three symptoms, and the diseases that couple them ---


class Couplings(NamedTuple):
    """Diseases that couple two symptoms or more of each of some sets of symptoms."""

    offsets: Integers
    """Those of set s are the rows `offsets[s] : offsets[s + 1]` of what follows."""
    diseases: Integers
    edges: Integers
    """From the disease to the set's symptoms a, b and c; -1 where there is none."""


@kernel
def remove_influences(
    removed: Couplings, strengths: Floats, lambdas: Floats, excesses: Floats
) -> None:
    """Divide the ratios of each set of symptoms by those of the diseases to remove, in place.

    A row of `excesses` has c_ab, c_ac, c_bc and k of a set. A disease has g_ab = v_a v_b and g_k =
    -lambda v_a v_b v_c. With s_x = prod(1 + g_x) - 1, S for the triplet, K = S - sum_x s_x:

        c' = (c - s) / (1 + s)
        k' = (k - K) / (1 + S) + sum_x (c_x - s_x) (s_x - S) / ((1 + S) (1 + s_x))

    K is built up without subtracting, so that nothing cancels but what must.
    """
    offsets, diseases, edges = removed
    for row in range(len(offsets) - 1):
        if offsets[row] == offsets[row + 1]:
            continue
        s_ab = s_ac = s_bc = third = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            a = strengths[edges[at, 0]] if edges[at, 0] >= 0 else 0.0
            b = strengths[edges[at, 1]] if edges[at, 1] >= 0 else 0.0
            c = strengths[edges[at, 2]] if edges[at, 2] >= 0 else 0.0
            g_ab, g_ac, g_bc = a * b, a * c, b * c
            g_third = -lambdas[diseases[at]] * g_ab * c
            same = s_ab * g_ab + s_ac * g_ac + s_bc * g_bc
            before, added = s_ab + s_ac + s_bc + third, g_ab + g_ac + g_bc + g_third
            third += g_third + before * added - same
            s_ab += g_ab + s_ab * g_ab
            s_ac += g_ac + s_ac * g_ac
            s_bc += g_bc + s_bc * g_bc
        whole = s_ab + s_ac + s_bc + third
        k = (excesses[row, 3] - third) / (1.0 + whole)
        for x, s in enumerate((s_ab, s_ac, s_bc)):
            left = (excesses[row, x] - s) / (1.0 + s)
            k += left * (s - whole) / (1.0 + whole)
            excesses[row, x] = left
        excesses[row, 3] = k


@kernel
def _terms(a: float, b: float, c: float, lam: float, terms: Floats) -> None:
    """Write one disease's factors of R(a,b), R(a,c), R(b,c) and R(a,b,c)."""
    terms[0] = 1.0 + a * b
    terms[1] = 1.0 + a * c
    terms[2] = 1.0 + b * c
    terms[3] = 1.0 + a * b + a * c + b * c - lam * a * b * c


@kernel
def predict(
    couplings: Couplings, n_pairs: int, strengths: Floats, lambdas: Floats, derivatives: Floats
) -> Floats:
    """Return c of pairs and k of triplets, and write derivatives by what each coupling depends on.

    The last strength is 0, for edges that are not there. The derivatives are by the three strengths
    and by arcsinh(lambda / 2).
    """
    offsets, diseases, edges = couplings
    predicted, most = new_floats(len(offsets) - 1), 0
    for s in range(len(predicted)):
        most = max(most, offsets[s + 1] - offsets[s])
    terms, products, others = new_table(most, 4), new_floats(4), new_floats(4)
    for s in range(len(predicted)):
        first, last = offsets[s], offsets[s + 1]
        for e in range(first, last):
            a, b, c = strengths[edges[e, 0]], strengths[edges[e, 1]], strengths[edges[e, 2]]
            _terms(a, b, c, lambdas[diseases[e]], terms[e - first])
        multiply_all(terms, last - first, -1, products)
        is_pair = s < n_pairs
        if is_pair:
            predicted[s] = products[0] - 1.0
        else:
            predicted[s] = products[3] - products[0] - products[1] - products[2] + 2.0
        for e in range(first, last):
            multiply_all(terms, last - first, e - first, others)
            a, b, c = strengths[edges[e, 0]], strengths[edges[e, 1]], strengths[edges[e, 2]]
            lam = lambdas[diseases[e]]
            if is_pair:
                derivatives[e, 0], derivatives[e, 1] = others[0] * b, others[0] * a
                derivatives[e, 2] = derivatives[e, 3] = 0.0
                continue
            ab, ac, bc, abc = others[0], others[1], others[2], others[3]
            derivatives[e, 0] = abc * (b + c - lam * b * c) - ab * b - ac * c
            derivatives[e, 1] = abc * (a + c - lam * a * c) - ab * a - bc * c
            derivatives[e, 2] = abc * (a + b - lam * a * b) - ac * a - bc * b
            derivatives[e, 3] = -abc * a * b * c * np.sqrt(lam * lam + 4.0)
    return predicted


@kernel
def multiply_all(terms: Floats, n: int, left_out: int, products: Floats) -> None:
    """Write the products of the first n rows of terms, but for one."""
    fill(products, 1.0)
    for row in range(n):
        if row != left_out:
            for x in range(len(products)):
                products[x] *= terms[row, x]


@kernel
def normal_equations(
    offsets: Integers, columns: Integers, derivatives: Floats, weights: Floats, residuals: Floats,
    n: int,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return the lower triangle of J'WJ, and J'Wr, of n unknowns; a column of -1 is not fitted."""
    matrix, gradient = np.zeros((n, n)), np.zeros(n)
    for s in range(len(offsets) - 1):
        if weights[s] == 0.0:
            continue
        for e in range(offsets[s], offsets[s + 1]):
            for i in range(4):
                row = columns[e, i]
                if row < 0:
                    continue
                weighted = weights[s] * derivatives[e, i]
                gradient[row] += weighted * residuals[s]
                for other in range(offsets[s], offsets[s + 1]):
                    for j in range(4):
                        column = columns[other, j]
                        if 0 <= column <= row:
                            matrix[row, column] += weighted * derivatives[other, j]
    return matrix, gradient
