"""Estimate: what was learned, how well, from what, and what is wrong with it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import FileError, NoisyOrError, ParameterError
from noisyor.fixed import KINDS, Fixed, parameter_index, parameter_rows
from noisyor.flags import Flag as Flag  # noqa: PLC0414 - learners import it from here
from noisyor.io.paths import PathLike
from noisyor.learning.misfits import LEVEL, Misfits, check_usable, ratio_variances
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.schedule import Schedule
from noisyor.structure import Structure

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]


NEUTRAL_PRIOR = NEUTRAL_FAILURE = 0.5
NEUTRAL_LEAK = 1e-6
"""What a parameter holds that was not learned: the paper's guess for `Uniform` (Section 4.1)."""


@dataclass(frozen=True)
class Learned:
    """The estimates of one kind of parameter, one entry each in the structure's order."""

    values: Floats
    standard_errors: Floats
    """NaN where a flag forbids one, or where the records came in too few groups."""
    depths: Indices
    """The round of the step it was learned in, for a leak one more than the deepest of its
    parents; -1 where it was not learned."""
    steps: Indices
    """The number of that step in the schedule; -1 where there is none (leaks have none)."""
    flags: NDArray[np.uint16]
    sources: tuple[str, ...] | None = None
    """What each was learned from, in words, where that is no single step."""

    def __post_init__(self) -> None:
        for array in self.values, self.standard_errors, self.depths, self.steps, self.flags:
            array.flags.writeable = False

    def holding(self, given: Floats) -> "Learned":
        """Return the same with the given values in their places; NaN where none is given."""
        held = np.isfinite(given)
        if not held.any():
            return self
        sources = self.sources and tuple(
            "given" if is_held else source
            for is_held, source in zip(held, self.sources, strict=True)
        )
        return Learned(
            np.where(held, given, self.values),
            np.where(held, 0.0, self.standard_errors),
            np.where(held, 0, self.depths),
            np.where(held, -1, self.steps),
            np.where(held, np.uint16(Flag.FIXED), self.flags),
            sources,
        )

    def without_errors(self) -> "Learned":
        """Return the same, flagged where a standard error is missing without another reason."""
        is_silent = np.isnan(self.standard_errors) & (self.flags == 0)
        flags = np.where(is_silent, np.uint16(Flag.NO_ERROR), self.flags).astype(np.uint16)
        return replace(self, flags=flags)

    @property
    def is_learned(self) -> NDArray[np.bool_]:
        """Whether each value was learned or given, and is no neutral one."""
        return np.asarray((self.flags & Flag.NOT_LEARNED) == 0, dtype=np.bool_)

    def intervals(self) -> tuple[Floats, Floats]:
        """Return 95% intervals, of equal length on both sides and cut at 0 and 1."""
        margin = 1.96 * self.standard_errors
        return np.maximum(self.values - margin, 0.0), np.minimum(self.values + margin, 1.0)

    def count(self, flag: Flag) -> int:
        """Return how many parameters have a flag."""
        return int(np.count_nonzero(self.flags & flag))


def leak_depths(structure: Structure, edge_depths: Indices) -> Indices:
    """Return the depths of the leaks: each rests on all parents of its symptom, so it is one more
    than the deepest of them.
    """
    depths = np.zeros(structure.n_symptoms, dtype=np.int64)
    np.maximum.at(depths, structure.edges[:, 1], edge_depths + 1)
    return depths


class StandardErrors(NamedTuple):
    """One per prior, failure and leak, in the network's order; NaN where unknown."""

    priors: Floats
    failures: Floats
    leaks: Floats

    @classmethod
    def load(cls, path: PathLike, structure: Structure) -> "StandardErrors":
        """Read them from what `Estimate.save_summary` wrote; NaN where a row has none."""
        sizes = structure.n_diseases, structure.n_edges, structure.n_symptoms
        errors = {kind: np.full(n, np.nan) for kind, n in zip(KINDS, sizes, strict=True)}
        for place, kind, name, value in parameter_rows(path, "standard_error"):
            try:
                index = parameter_index(structure, kind, name)
            except NoisyOrError as error:
                raise FileError(f"{place}: {error}") from None
            if value is not None and not value >= 0.0:
                raise FileError(f"{place}, column 'standard_error': {value!r} is below 0.")
            errors[kind][index] = np.nan if value is None else value
        return cls(**errors)


ALIKE = 10.0
"""Two minima fit alike if their weighted sums of squares differ by less than this."""
POOR = 5.0
"""A fit is poor if its sum of squares is more than this for each moment in excess."""


class Explained(NamedTuple):
    """How well the best explanation of a part fits the moments, and the next best one."""

    diseases: Indices
    n_moments: int
    """The pairs and triplets that were fitted."""
    n_unknown: int
    """The parameters that were fitted to them."""
    misfit: float
    """The weighted sum of squares; about one for each independent moment where all is right."""
    second: float
    """That of the next best minimum that other starts have found; infinite if there is none."""
    vague: Indices
    """The diseases of which the moments tell too little."""

    @property
    def is_ambiguous(self) -> bool:
        """Whether both fit alike, so that the moments do not tell which is right."""
        return self.second < self.misfit + ALIKE

    @property
    def is_poor(self) -> bool:
        """Whether the best explanation misses the moments by far."""
        return self.misfit > POOR * max(self.n_moments - self.n_unknown, 1) + ALIKE


@dataclass(frozen=True)
class Trace:
    """How an iterative method got to its result."""

    quantity: str
    """What was maximised, in words."""
    values: Floats
    """Its value after each step of the run that was kept."""
    ends: Floats
    """Its last value in each run, from different starts."""
    is_settled: bool
    """Whether the run that was kept ended because nothing changed any more."""

    def facts(self) -> dict[str, object]:
        """Return what is to be known of it, for JSON."""
        return {
            "quantity": self.quantity,
            "value": float(self.values[-1]),
            "steps": len(self.values) - 1,
            "is_settled": self.is_settled,
            "ends": self.ends.tolist(),
        }

    def __str__(self) -> str:
        steps = f"after {len(self.values) - 1:,} steps"
        ending = "" if self.is_settled else ", still rising"
        text = f"The {self.quantity} is {self.values[-1]:,.2f} {steps}{ending}."
        worst = float(self.ends.min())
        if len(self.ends) > 1 and worst < self.ends.max() - 0.01:
            text += f" {len(self.ends)} starts ended between {worst:,.2f} and that."
        elif len(self.ends) > 1:
            text += f" All {len(self.ends)} starts ended there."
        return text


@dataclass(frozen=True)
class Estimate:
    """A learned network with what is known of each of its parameters.

    >>> from noisyor import datasets, find_schedule, learn_sequential, Moments
    >>> network = datasets.figure1(seed=0)
    >>> schedule = find_schedule(network.structure)
    >>> estimate = learn_sequential(Moments.exact(network, schedule.plan()), schedule)
    >>> estimate
    Estimate(sequential: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    >>> bool(np.allclose(estimate.network.failures, network.failures))
    True
    """

    structure: Structure
    method: str
    n_records: int
    priors: Learned
    failures: Learned
    leaks: Learned
    schedule: Schedule
    moments: Moments | None = None
    """The counts of pairs it was learned from, against which it can be checked."""
    explained: tuple[Explained, ...] = ()
    """The parts that no schedule learns, fitted jointly (the clean-up), and how well they fit."""
    trace: Trace | None = None
    """How the method converged, where it climbs from random starts (the baselines do)."""

    def marking(
        self, flag: Flag, diseases: NDArray[np.bool_], *, with_leaks: bool = False
    ) -> "Estimate":
        """Return the same with a flag on the priors and failures of some diseases.

        With leaks: also on those of their symptoms, which rest on them.
        """
        if not diseases.any():
            return self
        owners, symptoms = self.structure.edges.T
        leaks = np.zeros(self.structure.n_symptoms, dtype=np.bool_)
        leaks[symptoms[diseases[owners]]] = with_leaks
        parts = []
        for part, is_marked in (
            (self.priors, diseases),
            (self.failures, diseases[owners]),
            (self.leaks, leaks),
        ):
            flags = np.where(is_marked & part.is_learned, part.flags | np.uint16(flag), part.flags)
            parts.append(replace(part, flags=flags))
        return replace(self, priors=parts[0], failures=parts[1], leaks=parts[2])

    def holding(self, fixed: Fixed) -> "Estimate":
        """Return the same with fixed values as they were given, certain and flagged as such."""
        return replace(
            self,
            priors=self.priors.holding(fixed.priors),
            failures=self.failures.holding(fixed.failures),
            leaks=self.leaks.holding(fixed.leaks),
        )

    def without_errors(self) -> "Estimate":
        """Return the same, with a flag on what has no standard error for want of groups."""
        parts = self.priors, self.failures, self.leaks
        priors, failures, leaks = (part.without_errors() for part in parts)
        return replace(self, priors=priors, failures=failures, leaks=leaks)

    @property
    def network(self) -> NoisyOrNetwork:
        """The learned network; parameters that were not learned hold neutral values."""
        parts = self.priors.values, self.failures.values, self.leaks.values
        return NoisyOrNetwork(self.structure, *parts)

    @property
    def parts(self) -> dict[str, Learned]:
        """The three kinds of parameters by name."""
        return {"prior": self.priors, "failure": self.failures, "leak": self.leaks}

    @property
    def is_complete(self) -> bool:
        """Whether every parameter was learned."""
        return all(bool(part.is_learned.all()) for part in self.parts.values())

    @property
    def standard_errors(self) -> StandardErrors:
        """The standard errors alone, in the network's order."""
        return StandardErrors(*(part.standard_errors for part in self.parts.values()))

    def misfits(self, moments: Moments | None = None, *, level: float = LEVEL) -> Misfits:
        """Return the pairs of symptoms that the learned network does not explain.

        Parameters
        ----------
        moments
            Counts of the pairs to look at; by default those that it was learned from. Of up to
            500 symptoms these are all pairs, of more the pairs that share a disease; count
            `MomentPlan.all_pairs(structure)` to look at all.
        level
            The share of false ones that is allowed among the pairs that are found.
        """
        counts = self.moments if moments is None else moments
        if counts is None:
            raise ParameterError("this estimate has no counts of pairs; give some to misfits().")
        check_usable(self.network, counts, level)
        return Misfits(self.network, counts, level=level, variances=self._variances(counts))

    def _variances(self, counts: Moments) -> Floats | None:
        """Return how uncertain the ratio of each pair is; NaN where it is not learned.

        With "refined" it is not: what its errors add to a residual, the fit has taken off before.
        """
        owners = self.structure.edges[:, 0]
        learned = self.failures.is_learned & self.priors.is_learned[owners]
        errors = self.failures.standard_errors
        if self.method == "refined":
            if learned.all():
                return None
            errors = np.zeros(len(learned))
        return ratio_variances(self.network, np.where(learned, errors, np.nan), counts.plan.pairs)

    def summary(self) -> "pa.Table":
        """Return one row per parameter, as an Arrow table (`.to_pandas()` makes it a frame).

        The columns: parameter (prior, failure, leak), disease, symptom, value, standard_error,
        lower and upper (95% interval), depth, moments (what it was learned from), flags (in words;
        empty where all is well) and flag_codes (the same for programs: names of `Flag`).
        """
        import pyarrow as pa

        parts = list(self.parts.values())
        flags = np.concatenate([part.flags for part in parts])
        depths = np.concatenate([part.depths for part in parts])
        distinct = [Flag(flag) for flag in np.unique(flags).tolist()]
        in_words = {flag: flag.reasons for flag in distinct}
        codes = {flag: flag.codes for flag in distinct}
        return pa.table(
            {
                **self.structure.parameter_names(),
                "value": np.concatenate([part.values for part in parts]),
                "standard_error": _or_null([part.standard_errors for part in parts]),
                "lower": _or_null([part.intervals()[0] for part in parts]),
                "upper": _or_null([part.intervals()[1] for part in parts]),
                "depth": pa.array(depths, mask=depths < 0),
                "moments": self._sources(),
                "flags": [in_words[flag] for flag in flags.tolist()],
                "flag_codes": [codes[flag] for flag in flags.tolist()],
            }
        )

    def save_summary(self, path: PathLike) -> None:
        """Write the summary as CSV or Parquet, by the suffix of the path."""
        from noisyor.io.writing import write_table

        write_table(path, self.summary())

    def _sources(self) -> list[str | None]:
        """Return in words what each parameter was learned from."""
        sources: list[str | None] = []
        for part in self.parts.values():
            found = self._step_texts(part.steps) if part.sources is None else part.sources
            known = zip(found, part.is_learned, strict=True)
            sources += [source if is_learned else None for source, is_learned in known]
        return sources

    def _step_texts(self, steps: Indices) -> list[str | None]:
        symptoms = self.structure.symptoms
        texts: list[str | None] = []
        for a, b, c in self.schedule.step_symptoms.tolist():
            kind, members = ("pair", (a, b)) if c < 0 else ("triplet", (a, b, c))
            texts.append(f"{kind} {', '.join(symptoms[j] for j in members)}")
        texts.append(None)  # for -1
        return [texts[step] for step in steps.tolist()]

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{int(part.is_learned.sum()):,} of {len(part.values):,} {name}s"
            for name, part in self.parts.items()
        )
        return f"Estimate({self.method}: {parts} learned)"


def _or_null(parts: list[Floats]) -> "pa.Array":
    """Join arrays into one of Arrow, in which NaN is null."""
    import pyarrow as pa

    return pa.array(np.concatenate(parts), from_pandas=True)
