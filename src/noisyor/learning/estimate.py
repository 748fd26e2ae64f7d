"""Estimate: what was learned, how well, from what, and what is wrong with it."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from noisyor.beliefs import Beliefs
from noisyor.em.runs import Trace
from noisyor.errors import FileError, ParameterError
from noisyor.flags import Flag as Flag  # noqa: PLC0414 - learners import it from here
from noisyor.immutable import EqualByValue
from noisyor.io.documents import read_document
from noisyor.io.paths import PathLike
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learning.believed import (
    WithoutBeliefs,
    causes_without_beliefs,
    contradiction,
    with_beliefs,
    with_cause_beliefs,
    without_beliefs,
)
from noisyor.learning.doubtful_labels import LabelCheck
from noisyor.learning.draws import Draws
from noisyor.learning.learned import Explained, Learned, doubt_about
from noisyor.learning.learned_causes import LearnedCauses
from noisyor.learning.misfits import Misfits
from noisyor.learning.pictures import plot_estimate
from noisyor.learning.saved import learned_document, learned_fields
from noisyor.learning.trust import says_nothing
from noisyor.learning.verdicts import Lineage, Verdict
from noisyor.miss_rates import errors_apart
from noisyor.moments import Moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.network.network import order_of_edges
from noisyor.parameters import Booleans, Floats, Parameters, intervals_of
from noisyor.schedule import Schedule
from noisyor.structure import NETWORK_FORMAT, NETWORK_VERSION, Structure
from noisyor.vocabulary import Vocabulary

LEVEL = 0.05
"""Of misfits."""
MOST_PRINTED = 125_000
"""Pairs of symptoms that are looked at when an estimate is printed: those of 500 symptoms."""


@dataclass(frozen=True, eq=False)
class Estimate(ShownAsTable, EqualByValue):
    """A learned network with what is known of each of its parameters.

    >>> from noisyor import datasets, find_schedule, Moments
    >>> from noisyor.learning import learn_sequential
    >>> network = datasets.figure1(rng=0)
    >>> schedule = find_schedule(network.structure)
    >>> estimate = learn_sequential(Moments.exact(network, schedule.plan()), schedule)
    >>> estimate
    Estimate(sequential: 2 of 2 priors, 7 of 7 failures, 5 of 5 leaks learned)
    >>> print(estimate.table()[:3].select(["parameter", "disease", "symptom", "value"]))
    parameter  disease  symptom   value
    prior      A                 0.5607
    prior      B                 0.7465
    failure    A        a        0.3697
    >>> round(estimate.summary().row("prior", "A")["value"], 4)
    0.5607
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
    moments: Moments | None = field(default=None, compare=False)
    """The counts of pairs it was learned from, against which it can be checked. Files do not keep
    them, and estimates with the same parameters are equal without."""
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
    interval_ends: tuple[Parameters, Parameters] | None = None
    """The ends of 95% intervals, where they come from draws or from moments and not from the
    standard errors alone; `intervals` has them in any case."""
    draws: Draws | None = field(default=None, compare=False)
    """Parameters drawn from their posterior distribution, by "bayesian"; not kept in files."""
    verdict_of_file: Verdict | None = field(default=None, compare=False, repr=False)
    """What its misfits were, where it was read from a file; see `verdict`."""
    lineage: Lineage | None = field(default=None, compare=False)
    """With which settings, when and by which version it was learned."""
    beliefs: Beliefs | None = field(default=None, compare=False)
    """What was believed and fixed beforehand."""
    miss_errors: Floats | None = field(default=None, compare=False)
    """Standard errors of each edge's miss rate, failure * (1 - leak), where those of failures and
    leaks are known together; `errors_of_misses` has them in any case."""
    label_check: LabelCheck | None = field(default=None, compare=False)
    """Whether the labels go with the findings of their records; None where there were none, or
    where they were not looked at (counts, clusters)."""

    def flagging(self, flag: Flag, is_flagged: Parameters) -> "Estimate":
        """Return the same with a flag on some of the parameters that were learned."""

        def put(flags: NDArray[np.uint16], here: Booleans) -> NDArray[np.uint16]:
            is_learned = (flags & Flag.NOT_LEARNED) == 0
            return np.where(here & is_learned, flags | np.uint16(flag), flags)

        return replace(self, flags=self.flags.map(put, is_flagged))

    def flagging_open(self) -> "Estimate":
        """Return the same with a flag on what, by its interval, may be nearly anything."""
        lower, upper = self.intervals()
        return self.flagging(Flag.WEAK, lower.map(says_nothing, upper))

    def believing(self, beliefs: Beliefs) -> "Estimate":
        """Return the same with beliefs put to what was learned without them."""
        values, errors, here = with_beliefs(
            self.values.vector, self.standard_errors.vector, beliefs
        )
        unlearned = np.uint16(Flag.NOT_LEARNED | Flag.WEAK | Flag.WEAKLY_IDENTIFIED)
        flags = np.where(here, self.flags.vector & ~unlearned, self.flags.vector)
        ends = self.interval_ends
        if ends is not None:
            believed = zip(ends, intervals_of(values, errors, by_log_odds=True), strict=True)
            lower, upper = (
                Parameters.split(self.structure, np.where(here, end, before.vector))
                for before, end in believed
            )
            ends = lower, upper
        return replace(
            self,
            interval_ends=ends,
            values=Parameters.split(self.structure, values),
            standard_errors=Parameters.split(self.structure, errors),
            flags=Parameters.split(self.structure, flags),
            beliefs=beliefs,
        )

    def without_beliefs(self) -> WithoutBeliefs:
        """Return what the records say of each parameter, without what is believed of it.

        All is NaN where nothing is, or the records say nothing.
        """
        beliefs = self.beliefs or Beliefs(self.structure)
        return without_beliefs(self.values, self.standard_errors, beliefs, self.errors_of_misses())

    def errors_of_misses(self) -> Floats:
        """Return the standard errors of each edge's miss rate, failure * (1 - leak)."""
        if self.miss_errors is not None:
            return self.miss_errors
        return errors_apart(self.structure, self.values, self.standard_errors)

    @property
    def contradiction(self) -> str:
        """A sentence on the beliefs that the records contradict, or nothing."""
        if self.beliefs is None or not self.beliefs.has_weighted:
            return ""
        names = self.structure.parameter_sentences()
        rows = [] if self.learned_causes is None else self.learned_causes.table().to_pylist()
        of_causes = causes_without_beliefs(rows, self.beliefs.of_causes)
        return contradiction(names, self.beliefs, self.without_beliefs(), of_causes)

    def fixing(self, fixed: Beliefs) -> "Estimate":
        """Return the same with fixed values as they were given, certain and flagged as such."""

        def put(value: Any, parameters: Parameters) -> Parameters:
            return fixed.mask.map(lambda here, each: np.where(here, value, each), parameters)

        def given(values: Parameters) -> Parameters:
            """Where a sensitivity is fixed, the failure follows the leak."""
            leaks = fixed.mask.map(np.where, fixed.values, values).leaks
            return fixed.mask.map(np.where, fixed.at_leaks(leaks).values, values)

        values, errors, rates = given(self.values), put(0.0, self.standard_errors), fixed.rates
        if rates.any:
            errors = rates.following(values, errors, fixed.mask.failures)
        return replace(
            self,
            values=values,
            standard_errors=errors,
            depths=put(0, self.depths),
            flags=put(np.uint16(Flag.FIXED), self.flags),
            steps=self.steps and put(-1, self.steps),
            sources=self.sources and put("given", self.sources),
            interval_ends=self.interval_ends
            and (given(self.interval_ends[0]), given(self.interval_ends[1])),
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
        all_ends: list[Any] = [None] * len(kinds)
        if self.interval_ends:
            all_ends = list(zip(*self.interval_ends, strict=True))
        return {
            kind: Learned(*known, by_log_odds=kind == "prior", interval_ends=ends)
            for kind, known, ends in zip(kinds, each, all_ends, strict=True)
        }

    def intervals(self) -> tuple[Parameters, Parameters]:
        """Return the lower and upper ends of the 95% intervals of all parameters."""
        lower, upper = zip(*(part.intervals() for part in self.parts.values()), strict=True)
        return Parameters(*lower), Parameters(*upper)

    @property
    def is_complete(self) -> bool:
        """True if every parameter was learned."""
        return not (self.flags.vector & Flag.NOT_LEARNED).any()

    @property
    def is_all_doubtful(self) -> bool:
        """True if everything that was to be learned is flagged."""
        flags = self.flags.vector[(self.flags.vector & Flag.FIXED) == 0]
        return len(flags) > 0 and bool(((flags & Flag.DOUBTFUL) != 0).all())

    @property
    def doubt(self) -> str:
        """A warning where all or nearly all that was to be learned is flagged, else empty."""
        return doubt_about(self.flags.vector)

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
        if moments is None and level == LEVEL and self.moments is not None:
            return self._misfits
        counts = self.moments if moments is None else moments
        if counts is None:
            raise ParameterError(
                "this estimate has no counts of pairs; give some to misfits(). What was found when "
                "it was learned and written to a file is its verdict."
            )
        return self._misfits_of(counts, level)

    def _misfits_of(self, counts: Moments, level: float) -> Misfits:
        learned = self.learned_causes
        fixed = None if learned is None else (learned.flags & Flag.FIXED) != 0
        return Misfits(self.network, counts, level=level, flags=self.flags, fixed_causes=fixed)

    @cached_property
    def _misfits(self) -> Misfits:
        assert self.moments is not None
        return self._misfits_of(self.moments, LEVEL)

    @cached_property
    def verdict(self) -> Verdict | None:
        """Whether it explains the records it was learned from, as files keep it.

        It is what `misfits` find in its counts, or that of the file it was read from; None where
        there are neither. The first call may take a while.
        """
        return Verdict.of(self.misfits()) if self._is_counted else self.verdict_of_file

    def remarks(self) -> tuple[str, ...]:
        """Return whether the network fails to explain the records, in sentences, and the remedy.

        And which labels contradict their records, and which traits cannot be told from none.
        Nothing where it fits, or where that is not known. Of large networks, whose misfits take
        long, that they have not been looked for.
        """
        more = () if self.learned_causes is None else self.learned_causes.cautions
        if self.label_check is not None and self.label_check.sentence:
            more = self.label_check.sentence, *more
        if self._is_counted and "_misfits" not in vars(self):
            assert self.moments is not None
            if self.moments.counts(2).size > MOST_PRINTED:
                unknown = "Whether it explains the records is not known yet: misfits() tells."
                return (*more, unknown)
        return more if self.verdict is None else (*more, *self.verdict.remarks)

    def save(self, path: PathLike, *, misfits: Misfits | None = None) -> None:
        """Write the network and all that is known of it as one model file (.json).

        `diagnose`, `report` and the other commands read it, and so does `NoisyOrNetwork.load`. Its
        counts and draws are not kept; what misfits have found is: those that are given, or found
        in its counts.

        >>> import tempfile
        >>> from noisyor import Estimate, NoisyOrLearner, datasets
        >>> network = datasets.figure1(rng=0)
        >>> learned = NoisyOrLearner(network.structure).fit(network.sample(500, rng=1)).estimate_
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learned.save(f"{folder}/learned.json")
        ...     again = Estimate.load(f"{folder}/learned.json")
        >>> again == learned, again.verdict.fits
        (True, True)
        """
        if not str(path).lower().endswith(".json"):
            raise FileError(
                f"{path}: an estimate is written as .json; write_model(estimate.network, ...) "
                "writes the network alone, in other formats."
            )
        verdict = self.verdict if misfits is None else Verdict.of(misfits)
        self.network.save(path, learned=learned_document(self, verdict))

    def with_vocabulary(self, vocabulary: Vocabulary) -> Self:
        """Return the same estimate for readers with other words, and with synonyms of names."""
        return replace(self, structure=self.structure.with_vocabulary(vocabulary))

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read what `save` wrote: an equal estimate, without counts and draws."""
        found = load_learned(path)
        if isinstance(found, NoisyOrNetwork):
            raise FileError(
                f"{path} holds a network alone, and does not say how it was learned: read it with "
                "NoisyOrNetwork.load, or write it with Estimate.save or noisyor fit."
            )
        assert isinstance(found, cls)
        return found

    @property
    def _is_counted(self) -> bool:
        """True if there are counts of records that misfits can be found in."""
        return self.moments is not None and not self.moments.is_exact and self.n_records > 0

    def plot(
        self, ax: Any = None, *, kind: str = "failure", disease: str | None = None, top: int = 25
    ) -> Any:
        """Draw parameters of a kind with their 95% intervals, the widest first; return the axes.

        With a disease, its prior and its failures instead. Priors and leaks are on a logarithmic
        axis; what is flagged is red.
        """
        return plot_estimate(self, ax, kind, disease, top)

    def summary(self) -> ResultTable:
        """Return one row per parameter (`.to_pandas()` makes it a frame).

        The columns: parameter (prior, failure, leak), disease, symptom, value, standard_error,
        lower and upper (95% interval), depth, moments (what it was learned from), flags (in words;
        empty where all is well) and flag_codes (the same for programs: names of `Flag`). Where
        something is believed, what, its weight, and what the records say without it stand beside
        it (belief, weight, records_alone, records_alone_error, is_contradicted; of loadings and
        effects belief_error in place of the weight). Where diseases occur together, or depend on
        covariates, more rows follow (share, intercept, loading, effect, prevalence), and a column
        name says of which trait, covariate or diseases.
        """
        flags, depths = self.flags.vector, self.depths.vector
        codes = {flag: Flag(flag).codes for flag in np.unique(flags).tolist()}
        lower, upper = self.intervals()
        table = pa.table(
            {
                **self.structure.parameter_names(),
                "value": self.values.vector,
                "standard_error": pa.array(self.standard_errors.vector, from_pandas=True),
                "lower": pa.array(lower.vector, from_pandas=True),
                "upper": pa.array(upper.vector, from_pandas=True),
                "depth": pa.array(depths, mask=depths < 0),
                "moments": self._sources(),
                "flags": self._flag_sentences(),
                "flag_codes": [codes[flag] for flag in flags.tolist()],
            }
        )
        if self.beliefs is not None and self.beliefs.has_weighted:
            table = self._with_beliefs(table, self.beliefs)
        naming = ("parameter", "disease", "symptom")
        if self.learned_causes is None:
            return ResultTable(table, naming)
        rows = self.learned_causes.summary(self.structure).to_arrow()
        if self.beliefs is not None and self.beliefs.has_weighted:
            rows = with_cause_beliefs(rows, self.beliefs.of_causes)
        whole = pa.concat_tables([table, rows], promote_options="permissive")
        return ResultTable(whole, (*naming, "name"))

    def table(self) -> ResultTable:
        """Return what is printed: the summary without details, the widest intervals first.

        Parameters without an interval come last.
        """
        summary = self.summary()
        whole = summary.to_arrow()
        widths = pc.subtract(whole["upper"], whole["lower"])
        order = pc.array_sort_indices(pc.negate(widths))
        details = {"standard_error", "depth", "moments", "flags"}
        kept = [name for name in whole.column_names if name not in details]
        shown = whole.take(order).select(kept)
        names = ["flags" if name == "flag_codes" else name for name in kept]
        return ResultTable(shown.rename_columns(names), summary.key)

    def _with_beliefs(self, table: "pa.Table", beliefs: Beliefs) -> "pa.Table":
        """Return a summary with what is believed, and what the records say without it."""
        import pyarrow as pa

        found, cases = self.without_beliefs(), beliefs.cases.vector
        is_nothing = cases == 0.0
        factors = beliefs.rates.factors(self.values)  # rows are failures, not miss rates
        for name, column in (
            ("belief", pa.array(factors * beliefs.means.vector, mask=is_nothing)),
            ("weight", pa.array(cases, mask=is_nothing)),
            ("records_alone", pa.array(factors * found.values, from_pandas=True)),
            ("records_alone_error", pa.array(factors * found.errors, from_pandas=True)),
            ("is_contradicted", pa.array(found.is_contradicted, mask=is_nothing)),
        ):
            table = table.append_column(name, column)
        return table

    def save_summary(self, path: PathLike, *, spreadsheet_safe: bool = False) -> None:
        """Write the summary as CSV or Parquet, by the suffix of the path.

        With `spreadsheet_safe`, names in CSV that a spreadsheet would take for formulas (they begin
        with =, +, - or @) begin with an apostrophe. Such a file is for people: read back, these
        names are unknown.
        """
        self.summary().save(path, spreadsheet_safe=spreadsheet_safe)

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


def load_learned(path: PathLike) -> Estimate | NoisyOrNetwork:
    """Read a model file: an estimate where it says how it was learned, else a network."""
    document = read_document(path, {NETWORK_FORMAT: NETWORK_VERSION})
    network = NoisyOrNetwork.from_document(document, path)
    if "learned" not in document:
        return network
    fields = learned_fields(document["learned"], network, order_of_edges(document), path)
    try:
        parts = [Explained.from_document(each) for each in fields.pop("explained")]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: 'learned' is damaged: {error!r} in 'explained'.") from None
    return Estimate(**fields, explained=tuple(parts))
