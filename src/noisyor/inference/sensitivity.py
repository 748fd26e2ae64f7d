"""sensitivity: which parameters a diagnosis hangs on, given how well they are known.

Each parameter that matters goes to the ends of its 95% interval, that of the estimate, while all
others stay; what the probability of a disease becomes there is the parameter's swing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisyor.drawing import BLUE, GREEN, axes_for, check_top, draw_swings, height_of
from noisyor.errors import ParameterError
from noisyor.immutable import EqualByValue
from noisyor.inference.answers import answer_all, make_request
from noisyor.inference.flat import Floats, connected_diseases, indices_of, list_records
from noisyor.inference.intervals import LearnedNetwork
from noisyor.inference.posterior import answer_one
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Parameters, parameter_intervals
from noisyor.structure import Structure

INSIDE = 1e-9
"""How far from 0 and 1 a parameter stays where findings are impossible at the end itself."""


@dataclass(frozen=True, eq=False)
class Sensitivity(ShownAsTable, EqualByValue):
    """What becomes of the probability of a disease within the intervals of the parameters.

    >>> from noisyor import NoisyOrLearner, datasets, sensitivity
    >>> network = datasets.figure1(rng=0)
    >>> learned = NoisyOrLearner(network.structure).fit(network.sample(1000, rng=0)).estimate_
    >>> print(sensitivity(learned, ["a"], disease="A").table().select(["parameter", "disease"])[:3])
    parameter  disease
    leak
    prior      A
    failure    A
    """

    structure: Structure
    disease: str
    probability: float
    """With all parameters as they were learned."""
    parameters: Indices
    """The parameters that matter, as numbers in a vector of all; those that move it most first."""
    values: Floats
    lower: Floats
    upper: Floats
    """The 95% interval of each parameter."""
    at_lower: Floats
    at_upper: Floats
    """The probability of the disease with the parameter there."""
    n_without_error: int = 0
    """Parameters that matter, and have no standard error: nobody knows how far they move it."""

    @property
    def swings(self) -> Floats:
        """How far each parameter moves the probability."""
        return np.abs(self.at_upper - self.at_lower)

    def table(self) -> ResultTable:
        """Return one row per parameter that matters, the one that moves most first."""
        names = self.structure.parameter_names()
        columns = {
            key: [column[j] for j in self.parameters.tolist()] for key, column in names.items()
        }
        return ResultTable(
            columns
            | {
                "value": self.values, "lower": self.lower, "upper": self.upper,
                "at_lower": self.at_lower, "at_upper": self.at_upper, "swing": self.swings,
            },
            ("parameter", "disease", "symptom"),
        )  # fmt: skip

    def plot(self, ax: Any = None, *, top: int = 15) -> Any:
        """Draw a tornado: how far each parameter moves the probability; return the axes."""
        rows = self.table()[: check_top(top)].to_pylist()
        names = [
            " ".join(filter(None, (row["parameter"], row["disease"], row["symptom"])))
            for row in rows
        ]
        with axes_for(ax, 6.8, height_of(len(rows))) as axes:
            draw_swings(
                axes, names, self.probability, self.at_lower[: len(rows)],
                self.at_upper[: len(rows)], label=f"probability of {self.disease}",
                colours=(GREEN, BLUE),
            )  # fmt: skip
        return axes

    def __repr__(self) -> str:
        unknown = self.n_without_error
        without = f"; {unknown:,} without a standard error are left out" if unknown else ""
        widest = f"up to {self.swings.max(initial=0.0):.2g}"
        if unknown and not len(self.parameters):
            widest = "nobody knows how much"
        return (
            f"Sensitivity({self.disease} {self.probability:.3g}; one parameter alone moves it by "
            f"{widest}{without})"
        )


def sensitivity(
    estimate: LearnedNetwork,
    present: Sequence[Name] | Mapping[Name, Any] = (),
    absent: Sequence[Name] = (),
    *,
    disease: Name | None = None,
    covariates: Mapping[str, Any] | None = None,
    budget: float = 0.1,
) -> Sensitivity:
    """Return how far each parameter, within its 95% interval, moves the probability of a disease.

    Parameters
    ----------
    estimate
        An `Estimate`, or what else has a network and standard errors.
    present, absent, covariates
        As in `posterior`.
    disease
        The disease in question; None: the most probable one.
    budget
        Seconds for each posterior, about; there are two for each parameter that matters.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets, sensitivity
    >>> clinic = datasets.clinic()
    >>> learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, rng=0))
    >>> found = sensitivity(learner.estimate_, present=["fever", "cough"], disease="influenza")
    >>> found.table()[0]["parameter"] in ("prior", "failure", "leak")
    True
    """
    if isinstance(estimate, NoisyOrNetwork) or not isinstance(estimate, LearnedNetwork):
        raise ParameterError(
            "sensitivity needs standard errors: give an Estimate (learner.estimate_, or "
            f"Estimate.load), not {type(estimate).__name__}."
        )
    network = estimate.network
    if not network.is_plain:
        raise ParameterError(
            "the diseases of this network occur together or depend on covariates: their priors "
            "follow from other parameters, which sensitivity does not move."
        )
    structure = network.structure
    parts = indices_of(structure, present, absent)
    request = make_request("auto", budget, 0)
    base = answer_one(network.given(covariates), parts, request).probabilities[0]
    chosen = int(base.argmax()) if disease is None else structure.disease_index(disease)
    errors = Parameters(*estimate.standard_errors).vector
    matters = np.flatnonzero(mattering(structure, parts, chosen))
    moved = matters[errors[matters] > 0.0]
    values = network.parameters.vector
    lower, upper = (ends.vector[moved] for ends in _intervals(estimate))
    records = list_records([parts])

    def probability_with(index: int, value: float) -> float:
        changed = values.copy()
        changed[index] = value
        there = network.with_parameters(Parameters.split(structure, changed))
        return float(answer_all(there, records, request).probabilities[0, chosen])

    def probability_at(index: int, end: float) -> float:
        found = probability_with(index, end)
        if not np.isnan(found):
            return found
        return probability_with(index, min(max(end, INSIDE), 1.0 - INSIDE))

    found = np.array(
        [list(map(probability_at, moved.tolist(), ends.tolist())) for ends in (lower, upper)]
    )
    order = np.argsort(-np.abs(found[1] - found[0]), kind="stable")
    return Sensitivity(
        structure, structure.diseases[chosen], float(base[chosen]), moved[order],
        values[moved][order], lower[order], upper[order], found[0][order], found[1][order],
        int(np.isnan(errors[matters]).sum()),
    )  # fmt: skip


def mattering(
    structure: Structure, parts: tuple[Indices, Indices], disease: int
) -> NDArray[np.bool_]:
    """Return which parameters bear upon a disease: of what present findings connect it with.

    Absent findings are a factor of each disease alone, so that they connect none.
    """
    owners, caused = structure.edges.T
    is_present, is_known = (np.isin(caused, each) for each in (parts[0], np.concatenate(parts)))
    reached = connected_diseases(structure, parts[0], disease)
    symptoms = caused[is_present & reached[owners]]
    leaks = np.isin(np.arange(structure.n_symptoms), symptoms)
    return np.asarray(Parameters(reached, is_known & reached[owners], leaks).vector, dtype=np.bool_)


def _intervals(estimate: LearnedNetwork) -> tuple[Parameters, Parameters]:
    """Return 95% intervals: those of an estimate, or what follows from standard errors alone."""
    if hasattr(estimate, "intervals"):
        lower, upper = estimate.intervals()
        return lower, upper
    return parameter_intervals(estimate.network.parameters, Parameters(*estimate.standard_errors))
