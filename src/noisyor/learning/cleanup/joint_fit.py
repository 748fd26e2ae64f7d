"""The joint fit: a component's strengths and lambdas, fitted to pairs and triplets at once.

Diseases that no singly coupled triplet tells apart are fitted together, all learned ones removed
first. With v = sqrt(q) t and lambda = (1 - 2 p) / sqrt(q) of each disease,

    R(a,b)   = prod_i (1 + v_ia v_ib)
    R(a,b,c) = prod_i (1 + v_ia v_ib + v_ia v_ic + v_ib v_ic - lambda_i v_ia v_ib v_ic)

and c = R - 1 of pairs and k = R(a,b,c) - R(a,b) - R(a,c) - R(b,c) + 2 of triplets are matched by
weighted least squares (Levenberg and Marquardt) from several starts. Where two starts end in
different minima that fit alike, the records do not tell which of two explanations is right.

Of a large component, each cluster of near-duplicate diseases is fitted first, to what no other
disease of the component couples; the fit of the whole starts from there.
"""

import math

import numpy as np

from noisyor.learning.cleanup.components import Component, Observations, Solution, find_clusters
from noisyor.learning.cleanup.least_squares import LeastSquares, Minimum
from noisyor.learning.decompose import Influences
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parameters import Floats
from noisyor.structure import Structure


class JointFit:
    """Fits one component to moments, given what was learned of all other diseases."""

    def __init__(
        self,
        structure: Structure,
        component: Component,
        moments: Moments,
        n_jobs: int | None = None,
    ) -> None:
        self.component = component
        self._structure = structure
        self._is_exact = moments.is_exact
        self._observations = Observations(structure, component, moments)
        self._n_jobs = n_jobs

    def run(self, learned: Influences) -> Solution:
        """Fit the component, from several starts."""
        problem = self._problem(learned)
        clusters = find_clusters(self._structure, self.component.members)
        if len(clusters) == 1:
            end = problem.best_end()
            second = end.second
        else:
            start, more = _fit_clusters(problem, clusters)
            end = problem.descend(start, None if self._is_exact else 10)
            second = end.misfit + more
        found = _solution(problem, problem.positive_end(end))
        return found._replace(second=max(second, found.misfit))

    def judged(self, found: Solution, learned: Influences) -> Solution:
        """Return a solution with its misfit and what is weakly identified.

        What no moment informs of is no longer kept.
        """
        problem = self._problem(learned)
        position = problem.position(found.strengths, found.lambdas)
        self._near = problem.linearised(position)
        is_informed = np.split(self._near.is_informed, [len(self.component.edges)])
        self.component = self.component._replace(
            kept_edges=self.component.kept_edges & is_informed[0],
            kept_priors=self.component.kept_priors & is_informed[1],
        )
        misfit = problem.misfit(position)
        return found._replace(misfit=misfit, weakly_identified=self._weakly_identified(found))

    def run_without(self, group: int, learned: Influences) -> Solution:
        """Fit the component without a group of records: a step from what was judged."""
        problem = self._problem(learned, group)
        return _solution(problem, problem.step(self._near))

    def _problem(self, learned: Influences, without: int | None = None) -> LeastSquares:
        observed = self._observations.observed(learned, without)
        return LeastSquares(
            self._structure, self.component, observed, learned, self._is_exact, self._n_jobs
        )

    def _weakly_identified(self, found: Solution) -> Indices:
        """Return the diseases of clusters in which the moments tell too little of one.

        As if the moments were independent, which flatters.
        """
        component, n = self.component, len(found.strengths)
        errors = np.sqrt(np.maximum(np.diag(self._near.inverse), 0.0))
        of_strengths, of_lambdas = errors[:n] / found.strengths, errors[n:]
        owners = self._structure.edges[component.edges, 0]
        weak = [component.diseases[:0]]
        for cluster in find_clusters(self._structure, component.diseases):
            is_in = component.kept_edges & np.isin(owners, cluster)
            medians = _medians(owners[is_in], of_strengths[is_in])
            priors = of_lambdas[component.kept_priors & np.isin(component.priors, cluster)]
            # Too little: the usual relative error of strengths, the error of arcsinh(lambda / 2).
            if (medians > 0.25).any() or (priors > 0.5).any():
                weak.append(cluster)  # what one disease does not explain, another does
        return np.concatenate(weak)


def _solution(problem: LeastSquares, end: Minimum) -> Solution:
    return Solution(*problem.oriented(end.position), end.misfit)


def _fit_clusters(problem: LeastSquares, clusters: list[Indices]) -> tuple[Floats, float]:
    """Return the best fits of all clusters, and by how much the next best of any is worse."""
    position = problem.usual_position()
    more = math.inf
    for cluster in clusters:
        smaller, unknowns = problem.restricted(cluster)
        end = smaller.best_end()
        position[unknowns] = end.position
        more = min(more, end.second - end.misfit)
    return position, more


def _medians(owners: Indices, values: Floats) -> Floats:
    """Return the median of each owner's values."""
    return np.array([np.median(values[owners == owner]) for owner in np.unique(owners)])
