"""The exact moments of a network: what counting would give with infinitely many records."""

import numpy as np

from noisyor.errors import ParameterError, StructureError
from noisyor.io.paths import PathLike
from noisyor.moments.moments import Moments
from noisyor.moments.plan import MomentPlan
from noisyor.moments.values import Floats, Integers, SetValues
from noisyor.network import NoisyOrNetwork


class PopulationMoments(Moments):
    """The exact moments of a network, through the interface of counted ones."""

    is_exact = True

    def __init__(self, network: NoisyOrNetwork, plan: MomentPlan, n_records: float) -> None:
        if network.structure.symptoms != plan.structure.symptoms:
            raise StructureError("the network and the plan have different symptoms.")
        empty = tuple(np.zeros((1, size), dtype=np.uint32) for size in plan.sizes)
        super().__init__(plan, np.zeros(1, dtype=np.int64), empty)
        self._network = network
        self._n_records = n_records
        with np.errstate(divide="ignore"):
            marginals = network.marginals()
            self._odds = marginals / (1.0 - marginals)

    def values(self, order: int, *, without: int | None = None) -> SetValues:
        """Return all values of an order at once."""
        sets = self.plan.sets(order)
        excesses = np.empty((len(sets), 0))
        third = np.zeros(len(sets))
        if order == 2:
            excesses = np.expm1(self._log_ratios(sets))[:, np.newaxis]
        elif order == 3:
            of_pairs = np.expm1(self._log_ratios(self.plan.pairs))
            excesses = of_pairs[self.plan.triplet_rows]
            third = np.expm1(self._log_ratios(sets)) - excesses.sum(axis=1)
        records = np.full(len(sets), float(self._n_records))
        absent = self._network.negative_moments(sets)
        return SetValues(records, self._odds[sets], excesses, third, absent)

    def _log_ratios(self, sets: Integers) -> Floats:
        from noisyor.moments.count_kernels import log_ratios
        from noisyor.network.network_kernels import ParentArrays

        structure = self._network.structure
        logarithms = np.empty(len(sets))
        log_ratios(
            np.ascontiguousarray(sets),
            ParentArrays(*structure.parent_arrays),
            self._network.priors,
            self._network.failures,
            logarithms,
        )
        return logarithms

    def counts(self, order: int, *, without: int | None = None) -> Integers:
        """Refuse: a population has no counts."""
        raise ParameterError("exact moments have no counts; ask for negative_moments.")

    def __add__(self, other: Moments) -> Moments:
        raise ParameterError("exact moments cannot be merged with others.")

    def __radd__(self, other: object) -> Moments:
        raise ParameterError("exact moments cannot be merged with others.")

    def suppressed(self, min_count: int) -> Moments:
        """Refuse: a population has no small cells."""
        raise ParameterError("exact moments have no cells to hide.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PopulationMoments):
            return NotImplemented
        return self.plan == other.plan and self._network == other._network

    __hash__ = None

    def save(self, path: PathLike) -> None:
        """Refuse: save the network instead."""
        raise ParameterError("exact moments are not saved; save the network they come from.")

    def __repr__(self) -> str:
        return f"PopulationMoments({self._network!r}, {self.plan})"
