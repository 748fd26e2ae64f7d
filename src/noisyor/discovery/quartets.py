"""Quartets: four symptoms that one cause couples alone (Jernite, Halpern and Sontag 2013).

If one hidden cause alone couples four symptoms, then c_xy = R(x, y) - 1 = q t_x t_y for each two of
them (method, Section 2), a matrix of rank one outside of its diagonal:

    c_ab c_cd = c_ac c_bd = c_ad c_bc        (the three unfoldings of a 2 x 2 x 2 x 2 table)

The two differences are tested against their covariance, which counts of order four give: half of
the table's cells. A cause of a network is certified where quartets of its symptoms, which share no
other cause of the network, pass; Holm's rule holds the chance that one of them fails by accident.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from noisyor.discovery.checking import check_level, check_network
from noisyor.moments import MomentPlan, count_moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Floats

MOST_QUARTETS = 10
"""Of each cause, those with the strongest symptoms."""
PAIRS = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))


class QuartetTests(NamedTuple):
    """Whether each of some quartets is coupled by one cause alone."""

    statistics: Floats
    """Chi-square with two degrees of freedom, if it is."""
    p_values: Floats
    is_coupled: NDArray[np.bool_]
    """True if all six pairs occur together more often than by accident; without that a quartet
    passes and tells nothing."""


def check_quartets(tables: NDArray[np.int64]) -> QuartetTests:
    """Test tables of four symptoms for one cause that couples all of them alone."""
    statistics, is_coupled = np.zeros(len(tables)), np.zeros(len(tables), dtype=np.bool_)
    for number, table in enumerate(tables):
        shares = (table.ravel() + 1e-9) / (table.sum() + 16e-9)
        values, derivatives = _differences(shares)
        variances = derivatives**2 @ shares - (derivatives @ shares) ** 2
        n = max(int(table.sum()), 1)
        z = values[2:] / np.sqrt(np.maximum(variances[2:], 1e-300) / n)
        is_coupled[number] = bool((z > 2.0).all())
        covariance = (derivatives[:2] * shares) @ derivatives[:2].T
        covariance -= np.outer(derivatives[:2] @ shares, derivatives[:2] @ shares)
        covariance += 1e-12 * np.trace(covariance) * np.eye(2) + 1e-300 * np.eye(2)
        statistics[number] = n * values[:2] @ np.linalg.solve(covariance, values[:2])
    return QuartetTests(statistics, np.asarray(chdtrc(2, np.maximum(statistics, 0.0))), is_coupled)


def _differences(shares: Floats) -> tuple[Floats, Floats]:
    """Return the two differences and the six c, with their derivatives by the cells' shares."""
    cells = np.array(np.unravel_index(np.arange(16), (2, 2, 2, 2)))
    is_absent = cells == 0
    singles = is_absent @ shares
    c, by_cell = np.empty(6), np.empty((6, 16))
    for number, (x, y) in enumerate(PAIRS):
        both = is_absent[x] & is_absent[y]
        product = singles[x] * singles[y]
        ratio = both @ shares / product
        c[number] = ratio - 1.0
        relative = is_absent[x] / singles[x] + is_absent[y] / singles[y]
        by_cell[number] = both / product - ratio * relative
    first = c[0] * c[1] - c[2] * c[3], c[0] * c[1] - c[4] * c[5]
    products = [c[k] * by_cell[k + 1] + c[k + 1] * by_cell[k] for k in (0, 2, 4)]
    values = np.concatenate([first, c])
    return values, np.concatenate(
        [[products[0] - products[1]], [products[0] - products[2]], by_cell]
    )


class Certificate(NamedTuple):
    """What quartets say of a cause."""

    disease: str
    n_tested: int
    """Quartets of its symptoms that share no other cause, and are coupled."""
    p_value: float
    """The smallest of the quartets', by Holm's rule; 1 where none was tested."""
    is_certified: bool | None
    """None if there is no quartet to test."""


def certify(
    network: NoisyOrNetwork, findings: Any, *, level: float = 0.05, n_jobs: int | None = None,
    client: Any = None,
) -> tuple[Certificate, ...]:  # fmt: skip
    """Test whether symptoms of each cause are coupled by it alone, as the network says.

    Parameters
    ----------
    network
        Found by `discover`, or any other.
    findings
        Records, of the same symptoms, as `count_moments` takes them; best not those that it was
        found in.
    level
        The chance that a right cause fails.
    n_jobs, client
        Threads that count, or a cluster, as in `count_moments`.

    Examples
    --------
    >>> from noisyor import datasets
    >>> from noisyor.discovery import certify
    >>> clinic = datasets.clinic()
    >>> found = certify(clinic, clinic.sample(5000, rng=0))
    >>> [sum(each.is_certified is verdict for each in found) for verdict in (True, None, False)]
    [10, 9, 1]
    """
    check_network(network)
    check_level(level)
    of_diseases = [pure_quartets(network, i) for i in range(network.structure.n_diseases)]
    plan = MomentPlan(network.structure, quartets=[each for sets in of_diseases for each in sets])
    tables = count_moments(findings, plan, n_jobs=n_jobs, client=client).quartet_tables()
    found = []
    for name, sets in zip(network.structure.diseases, of_diseases, strict=True):
        rows = plan.rows_of(4, np.sort(np.array(sets, dtype=np.int64).reshape(-1, 4), axis=1))
        tests = check_quartets(tables[rows])
        p_values = tests.p_values[tests.is_coupled]
        if not len(p_values):
            found.append(Certificate(name, 0, 1.0, None))
            continue
        smallest = min(float(p_values.min()) * len(p_values), 1.0)
        found.append(Certificate(name, len(p_values), smallest, smallest > level))
    return tuple(found)


def pure_quartets(network: NoisyOrNetwork, disease: int) -> list[tuple[int, ...]]:
    """Return quartets of a cause's symptoms, no two of which share another; the strongest first."""
    structure = network.structure
    failures = network.failures[structure.edges_of(disease)]
    symptoms = structure.children(disease)[np.argsort(failures, kind="stable")]
    parents = [set(structure.parents(int(j)).tolist()) - {disease} for j in symptoms]
    apart = [[not (one & other) for other in parents] for one in parents]
    return _cliques(apart, symptoms)


def _cliques(apart: Sequence[Sequence[bool]], symptoms: Indices) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for members in combinations(range(len(symptoms)), 4):
        if all(apart[x][y] for x, y in combinations(members, 2)):
            found.append(tuple(int(symptoms[x]) for x in members))
        if len(found) == MOST_QUARTETS:
            break
    return found
