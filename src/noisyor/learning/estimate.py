"""Estimate: what was learned, how well, from what, and what is wrong with it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.em.runs import Trace
from noisyor.errors import ParameterError
from noisyor.flags import Flag as Flag  # noqa: PLC0414 - learners import it from here
from noisyor.immutable import EqualByValue
from noisyor.io.paths import PathLike
from noisyor.io.tables import write_table
from noisyor.learning.draws import Draws
from noisyor.learning.learned_causes import LearnedCauses
from noisyor.learning.misfits import Misfits
from noisyor.learning.trust import intervals_of
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Fixed, Floats, Parameters
from noisyor.schedule import Schedule
from noisyor.structure import Structure

if TYPE_CHECKING:
    import pyarrow as pa

NEUTRAL_VALUES = (0.5, 0.5, 1e-6)
"""Prior, failure and leak of what was not learned: the paper's guess `Uniform` (Section 4.1)."""


class Learned(NamedTuple):
    """What is known of one kind of parameter, one entry each in the structure's order."""

    values: Floats
    standard_errors: Floats
    depths: Indices
    flags: NDArray[np.uint16]
    by_log_odds: bool = False
    """True if intervals are symmetric in log odds: of priors, whose likelihood is skewed."""
    bounds: tuple[Floats, Floats] | None = None
    """The ends of the intervals, where they do not follow from standard errors but from draws."""

    @property
    def is_learned(self) -> Booleans:
        """True where a value was learned or fixed, and is not a neutral one."""
        return np.asarray((self.flags & Flag.NOT_LEARNED) == 0, dtype=np.bool_)

    def intervals(self) -> tuple[Floats, Floats]:
        """Return 95% intervals, of equal length on both sides and cut at 0 and 1.

        Those of priors have equal lengths on the scale of log odds; those of "bayesian" have equal
        probabilities on both sides.
        """
        if self.bounds is not None:
            return self.bounds
        return intervals_of(self.values, self.standard_errors, by_log_odds=self.by_log_odds)

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


NEARLY_ALL = 0.9


def doubt_about(flags: NDArray[np.uint16]) -> str:
    """Return a warning where all or nearly all that was to be learned is flagged, else nothing."""
    n_doubtful = int(np.count_nonzero(flags & Flag.DOUBTFUL))
    n_asked = int(np.count_nonzero((flags & Flag.FIXED) == 0))
    if not n_asked or n_doubtful < NEARLY_ALL * n_asked:
        return ""
    share = f"all {n_asked:,}" if n_doubtful == n_asked else f"{n_doubtful:,} of {n_asked:,}"
    return f"Beware: {share} parameters that were to be learned are flagged."


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
    weakly_identified: Indices
    """The diseases of which the moments say too little."""

    @property
    def is_ambiguous(self) -> bool:
        """True if both fit nearly alike, so that the moments do not say which is right."""
        return self.second < self.misfit + 10.0

    @property
    def is_poor(self) -> bool:
        """True if the best explanation misses the moments by far, each of those in excess."""
        return self.misfit > 5.0 * max(self.n_moments - self.n_unknown, 1) + 10.0


@dataclass(frozen=True, eq=False)
class Estimate(EqualByValue):
    """A learned network with what is known of each of its parameters.

    >>> from noisyor import datasets, find_schedule, Moments
    >>> from noisyor.learning import learn_sequential
    >>> network = datasets.figure1(rng=0)
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
    values: Parameters
    standard_errors: Parameters
    """NaN where a flag forbids one, or where the records came in too few groups."""
    depths: Parameters
    """The round of the step each was learned in, for a leak one more than the deepest of its
    parents; -1 where it was not learned in a round."""
    flags: Parameters
    """Sums of `Flag`; 0 where all is well."""
    schedule: Schedule
    steps: Parameters | None = None
    """The number of each one's step in the schedule, -1 where there is none; for "sequential"."""
    sources: Parameters | None = None
    """What each was learned from, in words, where that is not a single step."""
    moments: Moments | None = None
    """The counts of pairs it was learned from, against which it can be checked."""
    explained: tuple[Explained, ...] = ()
    """The parts that no schedule learns, fitted jointly (the clean-up), and how well they fit."""
    trace: Trace | None = None
    """How the method converged, where it climbs the likelihood; None where it samples."""
    learned_causes: LearnedCauses | None = None
    """How the diseases occur together, and depend on covariates, where that was learned."""
    partners: Parameters | None = None
    """The number of the parameter that each one trades off with, where records hardly tell the two
    apart, counted as in a vector; -1 where there is none."""
    n_iter: int = 1
    """Rounds over all records, or steps of the run that was kept; 1 where it is solved at once."""
    bounds: tuple[Parameters, Parameters] | None = None
    """The ends of 95% intervals, where they do not follow from standard errors but from draws."""
    draws: Draws | None = None
    """Parameters drawn from their posterior distribution, by "bayesian"."""

    def flagging(self, flag: Flag, is_flagged: Parameters) -> "Estimate":
        """Return the same with a flag on some of the parameters that were learned."""

        def put(flags: NDArray[np.uint16], here: Booleans) -> NDArray[np.uint16]:
            is_learned = (flags & Flag.NOT_LEARNED) == 0
            return np.where(here & is_learned, flags | np.uint16(flag), flags)

        return replace(self, flags=self.flags.map(put, is_flagged))

    def fixing(self, fixed: Fixed) -> "Estimate":
        """Return the same with fixed values as they were given, certain and flagged as such."""

        def put(value: Any, parameters: Parameters) -> Parameters:
            return fixed.mask.map(lambda here, each: np.where(here, value, each), parameters)

        return replace(
            self,
            values=fixed.mask.map(np.where, fixed.values, self.values),
            standard_errors=put(0.0, self.standard_errors),
            depths=put(0, self.depths),
            flags=put(np.uint16(Flag.FIXED), self.flags),
            steps=self.steps and put(-1, self.steps),
            sources=self.sources and put("given", self.sources),
            bounds=self.bounds
            and (
                fixed.mask.map(np.where, fixed.values, self.bounds[0]),
                fixed.mask.map(np.where, fixed.values, self.bounds[1]),
            ),
        )

    @property
    def priors(self) -> Learned:
        """What is known of the priors."""
        return self.parts["prior"]

    @property
    def failures(self) -> Learned:
        """What is known of the failures."""
        return self.parts["failure"]

    @property
    def leaks(self) -> Learned:
        """What is known of the leaks."""
        return self.parts["leak"]

    @property
    def network(self) -> NoisyOrNetwork:
        """The learned network; parameters that were not learned hold neutral values."""
        priors, failures, leaks = self.values
        if self.learned_causes is not None:
            causes = self.learned_causes.causes
            return NoisyOrNetwork(self.structure, None, failures, leaks, self.flags, causes)
        return NoisyOrNetwork(self.structure, priors, failures, leaks, self.flags)

    @property
    def parts(self) -> dict[str, Learned]:
        """The three kinds of parameters by name."""
        kinds = "prior", "failure", "leak"
        each = zip(self.values, self.standard_errors, self.depths, self.flags, strict=True)
        bounds = zip(*self.bounds, strict=True) if self.bounds else [None] * len(kinds)
        return {
            kind: Learned(*known, by_log_odds=kind == "prior", bounds=ends)
            for kind, known, ends in zip(kinds, each, bounds, strict=True)
        }

    @property
    def is_complete(self) -> bool:
        """True if every parameter was learned."""
        return not (self.flags.vector & Flag.NOT_LEARNED).any()

    @property
    def doubt(self) -> str:
        """A warning where all or nearly all that was to be learned is flagged, else empty."""
        return doubt_about(self.flags.vector)

    def misfits(self, moments: Moments | None = None, *, level: float = 0.05) -> Misfits:
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
        return Misfits(self.network, counts, level=level, flags=self.flags)

    def summary(self) -> "pa.Table":
        """Return one row per parameter, as an Arrow table (`.to_pandas()` makes it a frame).

        The columns: parameter (prior, failure, leak), disease, symptom, value, standard_error,
        lower and upper (95% interval), depth, moments (what it was learned from), flags (in words;
        empty where all is well) and flag_codes (the same for programs: names of `Flag`). Where
        diseases occur together, or depend on covariates, more rows follow (share, intercept,
        loading, effect, prevalence), and a column name says of which trait, covariate or diseases.
        """
        import pyarrow as pa

        flags, depths = self.flags.vector, self.depths.vector
        codes = {flag: Flag(flag).codes for flag in np.unique(flags).tolist()}
        lower, upper = zip(*(part.intervals() for part in self.parts.values()), strict=True)
        table = pa.table(
            {
                **self.structure.parameter_names(),
                "value": self.values.vector,
                "standard_error": pa.array(self.standard_errors.vector, from_pandas=True),
                "lower": pa.array(np.concatenate(lower), from_pandas=True),
                "upper": pa.array(np.concatenate(upper), from_pandas=True),
                "depth": pa.array(depths, mask=depths < 0),
                "moments": self._sources(),
                "flags": self._flag_sentences(),
                "flag_codes": [codes[flag] for flag in flags.tolist()],
            }
        )
        if self.learned_causes is None:
            return table
        rows = self.learned_causes.summary(self.structure)
        empty = pa.array([""] * len(rows))
        rows = rows.append_column("flags", empty).append_column("flag_codes", empty)
        return pa.concat_tables([table, rows], promote_options="permissive")

    def save_summary(self, path: PathLike, *, spreadsheet_safe: bool = False) -> None:
        """Write the summary as CSV or Parquet, by the suffix of the path.

        With `spreadsheet_safe`, names in CSV that a spreadsheet would take for formulas (they begin
        with =, +, - or @) begin with an apostrophe. Such a file is for people: read back, these
        names are unknown.
        """
        write_table(path, self.summary(), spreadsheet_safe=spreadsheet_safe)

    def _flag_sentences(self) -> list[str]:
        """Return in words what is doubtful about each parameter, and what it trades off with."""
        flags = self.flags.vector
        reasons = {flag: Flag(flag).reasons for flag in np.unique(flags).tolist()}
        found = [reasons[flag] for flag in flags.tolist()]
        if self.partners is not None:
            names = self.structure.parameter_sentences()
            partners = self.partners.vector
            for j in np.flatnonzero((partners >= 0) & (flags != 0)).tolist():
                found[j] += (
                    f"; it trades off with {names[partners[j]]} (method='bayesian' shows how far)"
                )
        return found

    def _sources(self) -> list[str | None]:
        """Return in words what each parameter was learned from."""
        if self.steps is not None:
            found = self._step_texts(self.steps.vector)
        else:
            found = self.sources.vector.tolist() if self.sources else [None] * len(self.values)
        is_learned = (self.flags.vector & Flag.NOT_LEARNED) == 0
        return [text if known else None for text, known in zip(found, is_learned, strict=True)]

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
        doubt = f"; {self.doubt[0].lower()}{self.doubt[1:-1]}" if self.doubt else ""
        return f"Estimate({self.method}: {parts} learned{doubt})"
