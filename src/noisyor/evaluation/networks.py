"""evaluate: how far one network is from another, in its parameters and in what it diagnoses."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError, StructureError, quoted, some_of
from noisyor.immutable import equal_by_entries
from noisyor.inference import posteriors
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learning import Estimate
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng
from noisyor.schedule import find_schedule
from noisyor.structure import Structure

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Errors:
    """Absolute differences of parameters of one kind."""

    n: int
    mean: float
    median: float
    largest: float
    where: str
    """The name of the parameter with the largest difference."""


@dataclass(frozen=True)
class PosteriorDifferences:
    """Absolute differences of P(disease | findings) on the same records."""

    n_records: int
    n_exact: int
    """Records that both networks could be asked about exactly; others are bounded or sampled."""
    mean: float
    largest: float
    same_top: float
    """How often the most probable disease is the same."""


@dataclass(frozen=True)
class Coverage:
    """How many 95% intervals of one kind of parameter hold the true value."""

    n: int
    """Intervals of parameters without a flag."""
    n_holding: int
    n_flagged: int
    """Parameters with a flag, whose intervals are not counted."""


@dataclass(frozen=True)
class Comparison(ShownAsTable):
    """What `evaluate` found.

    >>> from noisyor import datasets, evaluate
    >>> print(evaluate(datasets.figure1(rng=0), datasets.figure1(rng=1), n_records=50))
    Comparison(mean differences: priors 0.13, failures 0.24, leaks 0; posteriors 0.086)
    parameters         n    mean   median  largest  where
    priors             2  0.1282   0.1282   0.2191  A
    failures           7  0.2403   0.2596   0.4647  B -> e
    leaks              5       0        0        0  a
    failures, depth 0  4  0.2806   0.3077   0.4647  B -> e
    failures, depth 1  3  0.1866  0.08474   0.4351  A -> b
    """

    priors: Errors
    failures: Errors
    leaks: Errors
    by_depth: dict[int, Errors]
    """The failures by the depth at which a schedule learns them; -1: not at all."""
    posteriors: PosteriorDifferences | None
    intervals: dict[str, Coverage] | None = None
    """Of an estimate: how many 95% intervals of priors, failures and leaks hold the truth."""

    def table(self) -> ResultTable:
        """Return a row per kind of parameter, and of the failures one per depth."""
        kinds = {"priors": self.priors, "failures": self.failures, "leaks": self.leaks}
        depths = {
            f"failures, depth {depth}" if depth >= 0 else "failures, in no schedule": errors
            for depth, errors in self.by_depth.items()
        }
        rows = [{"parameters": name} | asdict(errors) for name, errors in (kinds | depths).items()]
        return ResultTable.of_rows(rows, "parameters")

    def __repr__(self) -> str:
        means = ", ".join(
            f"{kind} {errors.mean:.2g}"
            for kind, errors in (
                ("priors", self.priors), ("failures", self.failures), ("leaks", self.leaks)
            )
        )  # fmt: skip
        asked = f"; posteriors {self.posteriors.mean:.2g}" if self.posteriors else ""
        return f"Comparison(mean differences: {means}{asked})"


def evaluate(
    learned: NoisyOrNetwork | LearnedNetwork,
    truth: NoisyOrNetwork,
    *,
    n_records: int = 1000,
    rng: Rng = 0,
    budget: float = 0.1,
) -> Comparison:
    """Compare a learned network with the true one, or any two networks of the same names.

    Parameters
    ----------
    learned, truth
        Networks, or an `Estimate`, with the same diseases, symptoms and edges, in whatever order.
    n_records
        New records, sampled from `truth`, whose posteriors are compared; 0: none.
    rng
        The same seed gives the same records.
    budget
        Seconds of work for each record's posteriors, as in `posteriors`.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, datasets, evaluate
    >>> clinic = datasets.clinic()
    >>> learner = NoisyOrLearner(clinic.structure, method="pooled").fit(clinic.sample(3000, rng=0))
    >>> compared = evaluate(learner.network_, clinic, n_records=100)
    >>> compared.failures.mean < 0.1 and compared.posteriors.mean < 0.05
    True
    """
    if isinstance(n_records, bool) or not isinstance(n_records, int | np.integer) or n_records < 0:
        raise ParameterError(
            f"n_records must be a whole number from 0 on, not {quoted(n_records)}."
        )
    estimate = learned if isinstance(learned, Estimate) else None
    learned, truth = network_of(learned), network_of(truth)
    structure = truth.structure
    mine = in_order_of(learned, structure)
    wrong = mine.parameters.map(lambda ours, theirs: np.abs(ours - theirs), truth.parameters)
    edges = np.array([" -> ".join(names) for names in _edge_names(structure)], dtype=object)
    depths = find_schedule(structure).depths
    by_depth = {
        int(depth): _errors(wrong.failures[depths == depth], edges[depths == depth])
        for depth in np.unique(depths)
    }
    return Comparison(
        _errors(wrong.priors, structure.diseases),
        _errors(wrong.failures, edges),
        _errors(wrong.leaks, structure.symptoms),
        by_depth,
        _compare_posteriors(mine, truth, n_records, rng, budget) if n_records else None,
        None if estimate is None else _coverage(estimate, truth),
    )


def _compare_posteriors(
    learned: NoisyOrNetwork, truth: NoisyOrNetwork, n_records: int, rng: Rng, budget: float
) -> PosteriorDifferences | None:
    """Return how posteriors of records of the truth differ; None where no record can be solved."""
    records = truth.sample(n_records, rng=rng)
    right = posteriors(truth, records, budget=budget)
    found = posteriors(learned, records, budget=budget)
    # Records that one of them takes for impossible have no posteriors.
    known = np.isfinite(right.probabilities + found.probabilities).all(axis=1)
    if not known.any() or not truth.structure.n_diseases:
        return None
    ours, theirs = found.probabilities[known], right.probabilities[known]
    different = np.abs(ours - theirs)
    return PosteriorDifferences(
        int(known.sum()),
        int((found.is_exact & right.is_exact)[known].sum()),
        float(different.mean()),
        float(different.max()),
        float((ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()),
    )


@equal_by_entries
class Intervals(NamedTuple):
    """The 95% intervals of one kind of parameter against the truth, one entry each."""

    is_flagged: Bools
    is_sound: Bools
    """True where there is an interval, and no flag warns of it."""
    holds: Bools
    """True where the interval holds the true value."""
    depths: Integers


def check_intervals(estimate: Estimate, truth: NoisyOrNetwork) -> dict[str, Intervals]:
    """Return which intervals of an estimate hold the true values, by kind of parameter."""
    found = {}
    for (kind, part), values in zip(estimate.parts.items(), truth.parameters, strict=True):
        lower, upper = part.intervals()
        is_flagged = part.flags != 0
        found[kind] = Intervals(
            is_flagged, np.isfinite(lower) & ~is_flagged, (lower <= values) & (values <= upper),
            part.depths,
        )  # fmt: skip
    return found


def _coverage(estimate: Estimate, truth: NoisyOrNetwork) -> dict[str, Coverage]:
    """Count the intervals that hold the truth, by kind."""
    found = check_intervals(estimate, in_order_of(truth, estimate.structure))
    return {
        f"{kind}s": Coverage(
            int(part.is_sound.sum()),
            int((part.is_sound & part.holds).sum()),
            int(part.is_flagged.sum()),
        )
        for kind, part in found.items()
    }


def in_order_of(network: NoisyOrNetwork, structure: Structure) -> NoisyOrNetwork:
    """Return a network with its diseases, symptoms and edges in the order of a structure."""
    if network.structure == structure:
        return network
    diseases = _indices(network.structure.diseases, structure.diseases, "diseases")
    symptoms = _indices(network.structure.symptoms, structure.symptoms, "symptoms")
    edges = _indices(_edge_names(network.structure), _edge_names(structure), "edges")
    return NoisyOrNetwork(
        structure, network.priors[diseases], network.failures[edges], network.leaks[symptoms]
    )


def _edge_names(structure: Structure) -> list[tuple[str, ...]]:
    return list(zip(*structure.edge_names().values(), strict=True))


def _indices(names: Sequence[Any], order: Sequence[Any], what: str) -> Integers:
    """Return the index of each name in an order of the same names."""
    at, others = {name: index for index, name in enumerate(names)}, set(order)
    missing = [name for name in order if name not in at]
    surplus = [name for name in names if name not in others]
    for those, which in (missing, "second"), (surplus, "first"):
        if those:
            raise StructureError(
                f"only the {which} network has the {what} {some_of(those)}: networks of different "
                "structures cannot be compared."
            )
    return np.array([at[name] for name in order], dtype=np.int64)


def _errors(wrong: Floats, names: Sequence[str] | NDArray[Any]) -> Errors:
    if not len(wrong):
        return Errors(0, float("nan"), float("nan"), float("nan"), "")
    worst = int(wrong.argmax())
    return Errors(
        len(wrong), float(wrong.mean()), float(np.median(wrong)), float(wrong[worst]),
        str(names[worst]),
    )  # fmt: skip
