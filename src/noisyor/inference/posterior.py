"""posterior and posteriors: which diseases, given these findings?"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Unpack

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisyor.drawing import axes_for, check_top, draw_bars, height_of
from noisyor.errors import FindingsError, NoisyOrError, ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.blocks import Block
from noisyor.findings.findings import findings_of
from noisyor.findings.reading import ReadOptions, record_format
from noisyor.flags import Flag
from noisyor.immutable import EqualByValue
from noisyor.inference.answers import (
    METHOD_NAMES,
    Request,
    answer_all,
    begin_answers,
    make_request,
    new_answers,
)
from noisyor.inference.answers_on_card import AHEAD, card_for
from noisyor.inference.doubts import doubts_of, flagged_by
from noisyor.inference.flat import Floats, Records, block_records, indices_of, list_records
from noisyor.inference.intervals import LearnedNetwork, draw_networks, network_of
from noisyor.inference.record_kernels import EXACT, IMPOSSIBLE, REFUSED, Answers
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Indices, Name
from noisyor.network import Effects, NoisyOrNetwork
from noisyor.network.design import design_rows
from noisyor.network.sampling import Rng
from noisyor.structure import Structure


@dataclass(frozen=True, eq=False)
class Posterior(ShownAsTable, EqualByValue):
    """Which diseases a patient may have, given the findings.

    Examples
    --------
    >>> from noisyor import datasets, posterior
    >>> found = posterior(datasets.clinic(), present=["wheezing"])
    >>> print(found.table()[:2].select(["disease", "probability", "prior"]))
    disease           probability  prior
    asthma                 0.7413   0.07
    acute bronchitis       0.2431   0.05
    >>> found["asthma"]["prior"]
    0.07
    """

    structure: Structure
    present: tuple[str, ...]
    absent: tuple[str, ...]
    probabilities: Floats
    """P(disease | findings), one per disease."""
    bound_lower: Floats
    """What the network's own answer is at least, and..."""
    bound_upper: Floats
    """... at most: for certain with "exact" (rounding), "variational" and "mean_field" (bounds, in
    the latter wide), with 95% confidence with "gibbs" (sampling). How well the network is known
    does not enter them: that is in the intervals."""
    method: str
    """How it was found: "exact", "variational", "mean_field" or "gibbs"."""
    error: float
    """How far any probability can be off, in the sense of `bound_lower` and `bound_upper`; NaN
    where that is not known (mean_field)."""
    log_evidence: float
    """The log probability of the findings: exact, or a lower bound..."""
    log_evidence_upper: float
    """... and an upper bound."""
    priors: Floats
    effective_sample_size: float = float("nan")
    """With "gibbs": as many independent draws would say as much, of the disease of which
    they say least; NaN with other methods, and where no disease is in doubt."""
    interval_lower: Floats | None = None
    """95% intervals from the standard errors of the parameters, where an estimate was asked; NaN
    for diseases that rest on a parameter with a flag or without an error..."""
    interval_upper: Floats | None = None
    n_without_error: int = 0
    """... in which so many parameters that matter here have none and were fixed."""
    flags: NDArray[np.uint16] | None = None
    """What is doubtful of the parameters that each disease rests on here: its prior, its failures
    of known findings, the leaks of those that are present, and all of this (but leaks) of diseases
    that can cause one of those too; such a disease does not count below 1%, unless it was clipped
    or not learned. Sums of `Flag`; None where the network has no flags."""
    flagged_by: tuple[str, ...] | None = None
    """In words which of these it is: its own parameters, leaks, or other diseases."""

    @property
    def is_flagged(self) -> NDArray[np.bool_]:
        """True for the diseases that rest on flagged parameters, of their own or of others: they
        may be far off.
        """
        if self.flags is None:
            return np.zeros(len(self.probabilities), dtype=np.bool_)
        return np.asarray(self.flags != 0)

    def table(self) -> ResultTable:
        """Return one row per disease, the most probable first.

        Bounds are in it where the method is not exact, intervals where an estimate was asked.
        """
        columns = {
            "disease": np.array(self.structure.diseases, dtype=object),
            "probability": self.probabilities, "interval_lower": self.interval_lower,
            "interval_upper": self.interval_upper, "prior": self.priors,
        }  # fmt: skip
        if self.flags is not None:
            columns["flags"] = np.array([Flag(each).codes for each in self.flags.tolist()], object)
        if self.method != "exact":
            columns |= {"bound_lower": self.bound_lower, "bound_upper": self.bound_upper}
        if self.flagged_by is not None:
            columns["flagged_by"] = np.array(self.flagged_by, dtype=object)
        order = np.argsort(-self.probabilities, kind="stable")
        known = {name: x[order] for name, x in columns.items() if x is not None}
        return ResultTable(known, "disease")

    def plot(self, ax: Any = None, *, top: int = 15) -> Any:
        """Draw the most probable diseases, with intervals and priors; return the axes."""
        order = np.argsort(-self.probabilities, kind="stable")[: check_top(top)]
        with axes_for(ax, 6.4, height_of(len(order))) as axes:
            draw_bars(
                axes, [self.structure.diseases[i] for i in order.tolist()],
                self.probabilities[order], label="probability", before=self.priors[order],
                lower=None if self.interval_lower is None else self.interval_lower[order],
                upper=None if self.interval_upper is None else self.interval_upper[order],
                is_flagged=self.is_flagged[order],
            )  # fmt: skip
            axes.set_xlim(0.0, 1.02)
        return axes

    def __repr__(self) -> str:
        top = [
            f"{row['disease']} {row['probability']:.3g}{' (flagged)' if row.get('flags') else ''}"
            for row in self.table().slice(0, 3).to_pylist()
        ]
        more = ", ..." if len(self.probabilities) > 3 else ""
        return f"Posterior({self.method}: {', '.join(top)}{more})"


@dataclass(frozen=True, eq=False)
class Posteriors(ShownAsTable, EqualByValue):
    """Which diseases many records may have.

    Examples
    --------
    >>> from noisyor import datasets, posteriors
    >>> clinic = datasets.clinic()
    >>> found = posteriors(clinic, clinic.sample(100, rng=0))
    >>> found.probabilities.shape, bool(found.is_exact.all())
    ((100, 20), True)

    >>> from noisyor import datasets, posteriors
    >>> clinic = datasets.clinic()
    >>> found = posteriors(clinic, clinic.sample(2, rng=0))
    >>> print(found.table().select(["disease", "probability", "method", "log_evidence"]))
    disease         probability  method  log_evidence
    reflux disease     0.001333  exact         -1.784
    common cold          0.6156  exact         -6.926
    """

    structure: Structure
    probabilities: Floats
    """Records x diseases; NaN where a record is impossible under the network."""
    errors: Floats
    """How far any probability of a record can be off; see `Posterior.error`."""
    log_evidences: Floats
    """Exact, or a lower bound, ..."""
    log_evidence_uppers: Floats
    """... and an upper bound."""
    methods: NDArray[np.int8]
    """How each was found, as a number; `method_names` has the words."""
    effective_sample_sizes: Floats
    """Of records that were sampled; see `Posterior.effective_sample_size`."""
    flags: NDArray[np.uint16] | None = None
    """Records x diseases, or None where the network has no flags: see `Posterior.flags`."""
    record_ids: tuple[Any, ...] | None = None
    """The ids of the records, where they have some."""

    @property
    def is_flagged(self) -> NDArray[np.bool_]:
        """Records x diseases: True for those that rest on flagged parameters."""
        if self.flags is None:
            return np.zeros(self.probabilities.shape, dtype=np.bool_)
        return np.asarray(self.flags != 0)

    @property
    def method_names(self) -> list[str]:
        """How each record was solved, in words."""
        return [METHOD_NAMES[code] for code in self.methods.tolist()]

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Whether each record was solved exactly."""
        return np.asarray(self.methods == EXACT)

    def table(self) -> ResultTable:
        """Return one row per record: its most probable disease, and how it was found."""
        rows = np.nan_to_num(self.probabilities, nan=-1.0)
        best = rows.argmax(axis=1) if self.structure.n_diseases else np.zeros(0, dtype=np.int64)
        is_known = rows.max(axis=1, initial=-1.0) >= 0.0
        names = [self.structure.diseases[i] for i in best.tolist()]
        pairs = zip(names, is_known.tolist(), strict=True)
        flagged = {}
        if self.flags is not None and self.structure.n_diseases:
            flagged["is_flagged"] = self.is_flagged[np.arange(len(self)), best]
        return ResultTable(
            {
                "record": np.arange(len(self))
                if self.record_ids is None
                else list(self.record_ids),
                "disease": pa.array(
                    [name if known else None for name, known in pairs], pa.string()
                ),
                "probability": pa.array(rows.max(axis=1, initial=-1.0), mask=~is_known),
                "method": pa.array(self.method_names, pa.string()),
                "error": pa.array(self.errors, from_pandas=True),
                "log_evidence": pa.array(self.log_evidences, from_pandas=True),
                **flagged,
            },
            "record",
        )

    def __len__(self) -> int:
        return len(self.methods)

    def __repr__(self) -> str:
        names, counts = np.unique(self.methods, return_counts=True)
        parts = ", ".join(
            f"{count:,} {METHOD_NAMES[int(code)]}"
            for code, count in zip(names, counts, strict=True)
        )
        return f"Posteriors({len(self):,} records: {parts})"


def posterior(
    network: NoisyOrNetwork | LearnedNetwork,
    present: Sequence[Name] | Mapping[Name, Any] = (),
    absent: Sequence[Name] = (),
    *,
    covariates: Mapping[str, Any] | None = None,
    method: str = "auto",
    budget: float = 1.0,
    rng: Rng = 0,
    draws: int = 200,
) -> Posterior:
    """Return P(disease | findings) for each disease.

    Parameters
    ----------
    network
        A network, or an `Estimate`: then intervals say what its standard errors mean for the
        posterior. Diseases that rest on flagged parameters are marked, and have none.
    present, absent
        The findings, by name or number. Those not mentioned are unknown, and drop out exactly.
        Or one mapping, such as `{"fever": 1, "cough": 0, "rash": None}` or a row of a frame.
    covariates
        What else is known of the person, such as `{"age": 71, "sex": "f"}`, if the network was
        learned with covariates; those that are left out are unknown.
    method
        "exact"; "variational": bounds; "mean_field": fast, without any; "gibbs": sampling; "auto":
        exact within the budget, then bounds, and sampling where these are wide.
    budget
        About how many seconds it may take. The same budget gives the same answer everywhere.
    rng
        For "gibbs".
    draws
        Networks drawn for the intervals, if an estimate is given; 0: none.

    Examples
    --------
    >>> from noisyor import datasets, posterior
    >>> clinic = datasets.clinic()
    >>> found = posterior(clinic, present=["fever", "cough", "muscle pain"], absent=["runny nose"])
    >>> found.table().slice(0, 2).to_pydict()["disease"]
    ['influenza', 'reflux disease']
    >>> found.method, found.error < 1e-9
    ('exact', True)
    """
    known = network_of(network).given(covariates)
    structure = known.structure
    parts = indices_of(structure, present, absent)
    request = make_request(method, budget, rng)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 0:
        raise ParameterError(f"draws must be a whole number from 0, not {quoted(draws)}.")
    answers = answer_one(known, parts, request, with_bounds=True)
    names = [tuple(structure.symptoms[j] for j in part.tolist()) for part in parts]
    records = list_records([parts])
    flags = doubts_of(known, records, answers.probabilities)
    more: tuple[Any, ...] = None, None, 0
    if not isinstance(network, NoisyOrNetwork) and draws:
        more = posterior_intervals(network, records, request, draws, flags, covariates)
    if flags is not None:
        more = *more, flags[0], flagged_by(known, parts, answers.probabilities[0])
    return Posterior(
        structure, names[0], names[1], answers.probabilities[0], answers.lower[0],
        answers.upper[0], METHOD_NAMES[int(answers.methods[0])], float(answers.errors[0]),
        float(answers.log_evidences[0]), float(answers.log_uppers[0]), known.priors,
        float(answers.n_effective[0]), *more,
    )  # fmt: skip


def posterior_intervals(
    estimate: Any, records: Records, request: Request, draws: int,
    flags: NDArray[np.uint16] | None, covariates: Mapping[str, Any] | None = None,
) -> tuple[Floats, Floats, int]:  # fmt: skip
    """Return 95% intervals over networks drawn around an estimate, one record only.

    There is none for diseases that rest on something doubtful: it would look far too sure.
    """
    drawn = draw_networks(estimate, records, draws, request.seed)
    rows = []
    for network in drawn.networks:
        answers = answer_all(network.given(covariates), records, request)
        if int(answers.methods[0]) not in (IMPOSSIBLE, REFUSED):
            rows.append(answers.probabilities[0])
    intervals = np.quantile(rows, [0.025, 0.975], axis=0)
    is_sure = drawn.has_errors if flags is None else drawn.has_errors & (flags[0] == 0)
    lower, upper = np.where(is_sure, intervals, np.nan)
    return lower, upper, drawn.n_without_error


def posteriors(
    network: NoisyOrNetwork | LearnedNetwork,
    records: Any,
    *,
    method: str = "auto",
    budget: float = 0.1,
    rng: Rng = 0,
    n_jobs: int | None = None,
    device: str = "cpu",
    progress: Callable[[int], None] | None = None,
    covariates: Any = None,
    **options: Unpack[ReadOptions],
) -> Posteriors:
    """Return P(disease | findings) for each record and disease.

    Records are `Findings`, an array or sparse matrix of records x symptoms, a table, a path or a
    list of paths; options as in `count_moments`. The budget is for each record; other parameters
    as in `posterior`. `covariates` is a table with a column for each, joined to the records by ids
    where both have some. With `device` "gpu" the graphics card solves records with up to 10 present
    findings exactly, with "auto" where that is expected to be faster; others are for the processor.
    `iter_posteriors` does the same in bounded memory.

    Examples
    --------
    >>> from noisyor import datasets, posteriors
    >>> clinic = datasets.clinic()
    >>> found = posteriors(clinic, [[1] * 3 + [0] * 57])  # one record: the first three symptoms
    >>> clinic.structure.diseases[found.probabilities[0].argmax()]
    'influenza'
    """
    known = network_of(network)
    structure = known.structure
    form = record_format(options)
    joined_by = () if covariates is None else ("record",)
    source = findings_of(records, structure, form, joined_by)
    if source.structure.symptoms != structure.symptoms:
        raise FindingsError("these findings belong to another structure than the network.")
    rows = None
    if covariates is not None:
        rows = design_rows(covariates, source, effects_of(known), form.record)
    request = make_request(method, budget, rng)
    request = request._replace(card=card_for(known, device, source.n_records, n_jobs))
    return posteriors_of(known, source, request, n_jobs=n_jobs, progress=progress, rows=rows)


def posteriors_of(
    network: NoisyOrNetwork, findings: Findings, request: Request, **options: Any
) -> Posteriors:
    """Return the posteriors of findings that are in memory; options as in `iter_posteriors`."""
    answers = new_answers(network, findings.n_records)
    found = iter_posteriors(network, findings.blocks, request, answers=answers, **options)
    flags = [doubts_of(network, list_records([]), answers.probabilities[:0])]
    flags += [each.flags for each in found]
    is_flagged = [each for each in flags if each is not None]
    ids = findings.record_ids
    return Posteriors(
        network.structure, *answers[:6], np.concatenate(is_flagged) if is_flagged else None,
        None if ids is None else tuple(ids.to_pylist()),
    )  # fmt: skip


def iter_posteriors(
    network: NoisyOrNetwork,
    blocks: Sequence[Block] | Iterator[Block],
    request: Request,
    *,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    rows: Floats | None = None,
    answers: Answers | None = None,
) -> Iterator[Posteriors]:
    """Give the posteriors of block after block; `rows` has the covariates of all records.

    They stand in `answers`, if these have room for all.
    """
    start = request.first
    n_ahead, begun = 0 if request.card is None else AHEAD, deque[Callable[[], Posteriors]]()
    for block in blocks:
        here = slice(request.first - start, request.first - start + block.n_records)
        records = block_records(block)
        finish = begin_answers(
            network, records, request, n_jobs=n_jobs, progress=progress,
            rows=None if rows is None else rows[here],
            answers=None if answers is None else Answers._make(each[here] for each in answers),
        )  # fmt: skip
        begun.append(partial(_finished, network, records, finish))
        request = request._replace(first=request.first + block.n_records)
        if len(begun) > n_ahead:
            yield begun.popleft()()
    while begun:
        yield begun.popleft()()


def _finished(
    network: NoisyOrNetwork, records: Records, finish: Callable[[], Answers]
) -> Posteriors:
    found = finish()
    flags = doubts_of(network, records, found.probabilities)
    return Posteriors(network.structure, *found[:6], flags)


def effects_of(network: NoisyOrNetwork) -> Effects:
    """Return the effects of covariates; raise an error where there are none."""
    effects = network.causes.effects
    if effects is None:
        raise ParameterError(
            "this network has no covariates: it was not learned with any, so leave them out."
        )
    return effects


# --- where there is no answer ---


def answer_one(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], request: Request, **options: Any
) -> Answers:
    """Answer for findings of one patient, present and absent; raise an error that says why not."""
    found = answer_all(network, list_records([parts]), request, **options)
    check_answered(network, parts, int(found.methods[0]), request.budget)
    return found


def check_answered(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], method: int, budget: float
) -> None:
    """Raise an error where there is no answer, saying why."""
    if method == IMPOSSIBLE:
        raise NoisyOrError(
            f"these findings are impossible under the network: {why_impossible(network, *parts)}"
        )
    if method == REFUSED:
        raise ParameterError(
            f"{len(parts[0])} present findings are too many for exact inference in a budget of "
            f"{budget:g} s. Raise the budget, or take method='auto', 'variational' or 'gibbs'."
        )


def why_impossible(network: NoisyOrNetwork, present: Indices, absent: Indices) -> str:
    """Return in words which finding contradicts the network, or that all are too improbable."""
    structure = network.structure
    for j in absent.tolist():
        if network.leaks[j] == 1.0:
            return f"{quoted(structure.symptoms[j])} is absent, but its leak is 1."
    diseases, symptoms = structure.edges.T
    is_excluding = (network.failures == 0.0) & np.isin(symptoms, absent)
    for i, j in structure.edges[is_excluding & (network.priors[diseases] == 1.0)].tolist():
        return (
            f"{quoted(structure.symptoms[j])} is absent, but {quoted(structure.diseases[i])} is "
            "certain and always causes it."
        )
    is_possible = network.priors > 0.0
    is_possible[diseases[is_excluding]] = False
    caused = symptoms[is_possible[diseases] & (network.failures < 1.0)]
    for j in present[(network.leaks[present] == 0.0) & ~np.isin(present, caused)].tolist():
        return f"{quoted(structure.symptoms[j])} is present, but nothing can have caused it."
    return "together they are less probable than the smallest number of a computer."
