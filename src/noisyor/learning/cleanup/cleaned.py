"""clean_up: fills in what a schedule leaves, component by component."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from noisyor.errors import give_notice, some_of
from noisyor.learning.cleanup.components import Component, Solution
from noisyor.learning.cleanup.grid_search import GridFit
from noisyor.learning.cleanup.joint_fit import JointFit
from noisyor.learning.decompose import Influences
from noisyor.learning.estimate import Estimate, Flag
from noisyor.learning.learned import Explained, leak_depths
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.parallel import in_threads
from noisyor.parameters import Booleans, Parameters
from noisyor.structure import Structure

CleanupMethod = Literal["joint", "grid"]


@dataclass(frozen=True)
class Cleaned:
    """Which parameters the clean-up has learned."""

    structure: Structure
    edges: Booleans
    priors: Booleans
    swaps: list[tuple[int, ...]] = field(default_factory=list)
    """Groups of diseases that no moment can distinguish."""
    explained: list[Explained] = field(default_factory=list)
    """How well each component fits."""

    @classmethod
    def nothing(cls, structure: Structure, swaps: list[tuple[int, ...]] | None = None) -> "Cleaned":
        """Return that nothing was left to be learned, or nothing is learned yet."""
        none = Parameters.full(structure, False)
        return cls(structure, none.failures.copy(), none.priors.copy(), swaps or [])

    @property
    def in_doubt(self) -> Booleans:
        """Which diseases moments do not tell from others, or from a second solution."""
        doubtful = [
            each.diseases if each.is_poor or each.is_ambiguous else each.weakly_identified
            for each in self.explained
        ]
        listed = list(itertools.chain(*self.swaps, *doubtful))
        return np.isin(np.arange(self.structure.n_diseases), listed)

    def marked(self, estimate: Estimate, *, by_moments: bool = True) -> Estimate:
        """Return an estimate that says how well components fit, with flags on what is not sure.

        What moments say too little of, the records may tell: that flag is for what was learned
        `by_moments`, or has no better judge.
        """
        everyone, fits = np.arange(self.structure.n_diseases), self.explained
        ambiguous = [each.diseases for each in fits if each.is_ambiguous]
        doubtful = [
            each.diseases if each.is_poor else each.weakly_identified for each in fits if by_moments
        ]
        for flag, groups, with_leaks in (
            (Flag.AMBIGUOUS, ambiguous, True),
            (Flag.WEAKLY_IDENTIFIED, doubtful, True),
            (Flag.SWAPPABLE, self.swaps, False),
        ):
            is_in = np.isin(everyone, list(itertools.chain(*groups)))
            here = Parameters.of_diseases(self.structure, is_in, leaks=with_leaks)
            estimate = estimate.flagging(flag, here)
        return replace(estimate, explained=tuple(fits)) if fits else estimate

    def depths(self, n_rounds: int, priors: Indices, failures: Indices) -> Parameters:
        """Return all depths; what the clean-up learns comes after the last round."""
        failures = np.where(self.edges, n_rounds, failures)
        of_leaks = leak_depths(self.structure, failures)
        return Parameters(np.where(self.priors, n_rounds, priors), failures, of_leaks)

    def _add(self, component: Component, found: Solution) -> None:
        self.edges[component.edges[component.kept_edges]] = True
        self.priors[component.priors[component.kept_priors]] = True
        n_moments = len(component.pairs) + len(component.triplets)
        n_unknown = len(component.edges) + len(component.priors)
        how_well = found.misfit, found.second, found.weakly_identified
        self.explained.append(Explained(component.diseases, n_moments, n_unknown, *how_well))


def clean_up(
    moments: Moments,
    components: list[Component],
    whole: Influences,
    groups: Mapping[int, Influences],
    *,
    method: CleanupMethod = "joint",
    swaps: list[tuple[int, ...]] | None = None,
    n_jobs: int | None = None,
) -> Cleaned:
    """Fill in the strengths and lambdas of all components, in place, by a joint fit or by a grid.

    `whole` is what was learned before, `groups` the same without each group of records. `swaps`
    are the groups of diseases that no moment can distinguish.
    """
    structure = moments.plan.structure
    cleaned = Cleaned.nothing(structure, swaps)
    for component in components:
        if not component.is_counted(moments):
            _warn_of_missing(structure, component)
        elif method == "joint":
            joint = JointFit(structure, component, moments, n_jobs)
            _fill_in(joint, joint, whole, groups, cleaned, n_jobs)
        elif (grid := GridFit(structure, component, moments)).is_possible:
            judge = JointFit(structure, component.alone(structure), moments, n_jobs)
            _fill_in(grid, judge, whole, groups, cleaned, n_jobs)
    return cleaned


def _fill_in(
    fit: JointFit | GridFit, judge: JointFit, whole: Influences, groups: Mapping[int, Influences],
    cleaned: Cleaned, n_jobs: int | None,
) -> None:  # fmt: skip
    """Fit a component, and fit it without each group; write down what can be identified."""
    fitted = fit.run(whole)
    if fitted is None:
        return
    found = judge.judged(fitted, whole)

    def fit_without(group: int) -> None:
        judge.component.put(fit.run_without(group, groups[group]) or found, groups[group])

    in_threads(fit_without, list(groups), n_jobs)
    judge.component.put(found, whole)
    cleaned._add(judge.component, found)


def _warn_of_missing(structure: Structure, component: Component) -> None:
    names = some_of(structure.diseases[disease] for disease in component.diseases.tolist())
    give_notice(
        f"no schedule learns {names}, and the moments lack pairs or triplets that the clean-up "
        "needs. Count with the plan of `noisyor plan-triplets`, or NoisyOrLearner.find_plan().",
        stacklevel=3,
    )
