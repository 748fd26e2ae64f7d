"""explain: what each finding says for or against a disease, and what has caused it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from noisyor.drawing import axes_for, draw_steps, height_of
from noisyor.errors import ParameterError, quoted
from noisyor.immutable import EqualByValue
from noisyor.inference.answers import Request, answer_all, make_request
from noisyor.inference.flat import (
    Booleans,
    Floats,
    connected_diseases,
    indices_of,
    list_records,
)
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.inference.posterior import answer_one
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.covariates import is_unknown
from noisyor.network.sampling import Rng
from noisyor.structure import Structure

LEAST_MOVED = 1e-4
"""Absent findings of other diseases are told if they can move a probability by so much."""


@dataclass(frozen=True, eq=False)
class Explanation(ShownAsTable, EqualByValue):
    """Why some diseases are probable under a network.

    Examples
    --------
    >>> from noisyor import datasets, explain
    >>> explain(datasets.clinic(), present=["fever"], diseases=1).causes.column_names
    ['finding', 'cause', 'probability']

    >>> from noisyor import datasets, explain
    >>> print(explain(datasets.clinic(), ["fever", "cough"], ["runny nose"], diseases=1))
    Explanation(of influenza)
    disease    finding     state    log_odds  without
    influenza  fever       present     1.736   0.2583
    influenza  cough       present     1.073   0.4032
    influenza  runny nose  absent     0.1159   0.6376
    """

    contributions: ResultTable
    """A row per disease and finding: `log_odds` is by how much the finding raises the log odds of
    the disease, against not knowing it, the largest first; infinite where it makes it certain.
    Absent findings that cannot move its probability by 0.0001 have no row.
    Covariates have rows whose state is "covariate". Where diseases occur together, a row "together"
    says what that adds, against independent diseases that are as frequent."""
    causes: ResultTable
    """A row per present finding and possible cause (null: none of the diseases, it came by itself):
    the probability that this caused it. Several causes can act at once."""

    def table(self) -> ResultTable:
        """Return what each finding adds to each disease: the contributions."""
        return self.contributions

    def plot(self, ax: Any = None, *, disease: str | None = None) -> Any:
        """Draw what each finding adds to one disease, by default the first; return the axes.

        Each bar is against not knowing this finding alone, so that the bars need not add up.
        """
        names = list(dict.fromkeys(self.contributions.column("disease").to_pylist()))
        if not names:
            raise ParameterError("there are no findings that could be drawn.")
        rows = self.contributions.rows(names[0] if disease is None else disease).to_pylist()
        said = [f"no {r['finding']}" if r["state"] == "absent" else r["finding"] for r in rows]
        with axes_for(ax, 6.4, height_of(len(rows))) as axes:
            steps = np.array([row["log_odds"] for row in rows])
            draw_steps(axes, said, steps, label="log odds that it adds")
            axes.set_title(rows[0]["disease"])
        return axes

    def __repr__(self) -> str:
        diseases = list(dict.fromkeys(self.contributions.column("disease").to_pylist()))
        return f"Explanation(of {', '.join(diseases) or 'nothing'})"


def explain(
    network: NoisyOrNetwork | LearnedNetwork,
    present: Sequence[Name] | Mapping[Name, Any] = (),
    absent: Sequence[Name] = (),
    *,
    covariates: Mapping[str, Any] | None = None,
    diseases: Sequence[Name] | int = 5,
    method: str = "auto",
    budget: float = 1.0,
    rng: Rng = 0,
) -> Explanation:
    """Return what each finding adds to the log odds of diseases, and what has caused it.

    Parameters
    ----------
    network, present, absent, covariates, method, budget, rng
        As in `posterior`.
    diseases
        The diseases that are explained, or how many of the most probable ones.

    Examples
    --------
    >>> from noisyor import datasets, explain
    >>> found = explain(datasets.clinic(), ["fever", "cough"], absent=["muscle pain"], diseases=1)
    >>> found.contributions.select(["disease", "finding", "state"]).to_pylist()[0]
    {'disease': 'pneumonia', 'finding': 'fever', 'state': 'present'}
    >>> found.causes.slice(0, 1).to_pylist()[0]["cause"]
    'pneumonia'
    """
    whole = network_of(network)
    parts = indices_of(whole.structure, present, absent)
    request = make_request(method, budget, rng)
    if method not in ("auto", "exact", "gibbs"):
        raise ParameterError(
            f"causes are found by 'auto', 'exact' or 'gibbs', not {quoted(method)}."
        )
    return _explained(whole, covariates, parts, request, diseases, None)[0]


def explain_nearest(
    network: NoisyOrNetwork | LearnedNetwork,
    present: Sequence[Name],
    absent: Sequence[Name],
    *,
    covariates: Mapping[str, Any] | None,
    diseases: Sequence[Name] | int,
    most: int,
    budget: float,
) -> tuple[Explanation, int]:
    """Do as `explain`, of so many findings at most; return also of how many it says nothing.

    Each finding is left out in turn, which takes long where a case is not solved exactly. Those are
    kept that the diseases cause most often, or would have caused.
    """
    whole = network_of(network)
    parts = indices_of(whole.structure, present, absent)
    request = make_request("auto", budget, 0)
    return _explained(whole, covariates, parts, request, diseases, most)


def _explained(
    whole: NoisyOrNetwork, covariates: Mapping[str, Any] | None, parts: tuple[Indices, Indices],
    request: Request, diseases: Sequence[Name] | int, most: int | None,
) -> tuple[Explanation, int]:  # fmt: skip
    """Explain diseases by all findings, or the nearest ones; return how many are left out of it."""
    known = whole.given(covariates)
    structure = known.structure
    base = answer_one(known, parts, request, with_causes=True)
    row = base.probabilities[0]
    chosen = _chosen(known, diseases, row)
    bears = _bearing(known, parts, chosen, row)
    is_relevant = bears[:, parts[1]].any(axis=0)
    all_findings = np.concatenate([parts[0], parts[1][is_relevant]])
    findings = all_findings if most is None else _nearest(known, chosen, all_findings, most)
    rows = _finding_rows(known, parts, request, chosen, row, findings, bears)
    rows += _covariate_rows(whole, covariates, parts, request, chosen, row)
    rows += _together_rows(known, parts, request, chosen, row)
    columns = {"disease": str, "finding": str, "state": str, "log_odds": float, "without": float}
    explanation = Explanation(
        _table(rows, ("disease", "finding"), columns),
        _causes(structure, parts[0], base.caused[0], base.leaked[0]),
    )
    return explanation, len(all_findings) - len(findings)


def _bearing(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], chosen: Indices, row: Floats
) -> Booleans:
    """Return chosen diseases x symptoms: True for findings that have something to say of them.

    All that are present; and those absent ones that the disease would cause, or one that competes
    with it for a present finding: what speaks against its rival speaks for it.

    A state of the diseases that was weighed by the failures f of an absent finding counts 1 / f
    times as much without it. So not knowing it moves no posterior by more than about the sum of
    p (1 / f - 1) over the diseases that cause it, p being their posteriors; what cannot reach
    `LEAST_MOVED` is left out, since there can be thousands of such findings.
    """
    structure = network.structure
    owners, symptoms = structure.edges.T
    bears = np.zeros((len(chosen), structure.n_symptoms), dtype=np.bool_)
    bears[:, parts[0]] = True
    is_absent = np.isin(symptoms, parts[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.nan_to_num(row[owners] * (1.0 / network.failures - 1.0), nan=np.inf)
    for index, disease in enumerate(chosen.tolist()):
        reached = connected_diseases(structure, parts[0], disease)
        if not network.is_independent:
            reached[:] = True
        of_rivals = is_absent & reached[owners]
        sums = np.bincount(symptoms[of_rivals], moved[of_rivals], minlength=structure.n_symptoms)
        bears[index, sums >= LEAST_MOVED] = True
        bears[index, symptoms[is_absent & (owners == disease)]] = True
    return bears


def _nearest(network: NoisyOrNetwork, chosen: Indices, findings: Indices, most: int) -> Indices:
    """Return the findings that the chosen diseases cause most often, in their order.

    What only their rivals cause comes after all of these.
    """
    owners, symptoms = network.structure.edges.T
    strengths = np.full(network.structure.n_symptoms, -1.0)
    np.maximum.at(strengths, symptoms, -network.failures)
    is_own = np.isin(owners, chosen)
    np.maximum.at(strengths, symptoms[is_own], 1.0 - network.failures[is_own])
    return findings[np.sort(np.argsort(-strengths[findings], kind="stable")[:most])]


def _finding_rows(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], request: Request, chosen: Indices,
    row: Floats, findings: Indices, bears: Booleans,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return what each of the findings that bear on a disease adds, against not knowing it."""
    structure = network.structure
    others = [(parts[0][parts[0] != j], parts[1][parts[1] != j]) for j in findings.tolist()]
    without = answer_all(network, list_records(others), request).probabilities[:, chosen]
    change = _log_odds_change(row[chosen], without)
    rows = []
    for index, disease in enumerate(chosen.tolist()):
        order = np.argsort(-change[:, index], kind="stable")
        for x in order[bears[index, findings[order]]].tolist():
            names = structure.diseases[disease], structure.symptoms[int(findings[x])]
            state = "present" if findings[x] in parts[0] else "absent"
            rows.append((*names, state, float(change[x, index]), float(without[x, index])))
    return rows


def _covariate_rows(
    network: NoisyOrNetwork, covariates: Mapping[str, Any] | None, parts: tuple[Indices, Indices],
    request: Request, chosen: Indices, row: Floats,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return what each covariate adds, against not knowing it."""
    rows = []
    for name, value in (covariates or {}).items():
        if is_unknown(value):
            continue
        others = {key: each for key, each in (covariates or {}).items() if key != name}
        answers = answer_all(network.given(others), list_records([parts]), request)
        without = answers.probabilities[0, chosen]
        change = _log_odds_change(row[chosen], without[np.newaxis])[0]
        for index, disease in enumerate(chosen.tolist()):
            names = network.structure.diseases[disease], f"{name} = {value}", "covariate"
            rows.append((*names, float(change[index]), float(without[index])))
    return rows


def _together_rows(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], request: Request, chosen: Indices,
    row: Floats,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Return what it adds that diseases occur together, against independent ones as frequent."""
    if network.is_independent:
        return []
    answers = answer_all(network.as_independent(), list_records([parts]), request)
    without = answers.probabilities[0, chosen]
    change = _log_odds_change(row[chosen], without[np.newaxis])[0]
    names = network.structure.diseases
    return [
        (names[disease], "the other diseases", "together", float(change[x]), float(without[x]))
        for x, disease in enumerate(chosen.tolist())
    ]


def _chosen(network: NoisyOrNetwork, diseases: Sequence[Name] | int, row: Floats) -> Indices:
    if isinstance(diseases, int | np.integer) and not isinstance(diseases, bool) and diseases > 0:
        return np.argsort(-row, kind="stable")[:diseases]
    if isinstance(diseases, str) or not isinstance(diseases, Iterable):
        raise ParameterError(
            "give a list of diseases, or how many of the most probable ones, not "
            f"{quoted(diseases)}."
        )
    return np.array([network.structure.disease_index(name) for name in diseases], dtype=np.int64)


def _log_odds_change(row: Floats, without: Floats) -> Floats:
    """Return by how much findings change log odds, those of each disease without each finding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.log(row) - np.log1p(-row) - (np.log(without) - np.log1p(-without))
    # Certain with the finding, and without it: what is left of the digits means nothing.
    change[(row < 1e-12) & (without < 1e-12)] = 0.0
    change[(row > 1.0 - 1e-12) & (without > 1.0 - 1e-12)] = 0.0
    return np.asarray(change)


def _table(
    rows: Sequence[tuple[str | float | None, ...]], key: tuple[str, ...], columns: dict[str, type]
) -> ResultTable:
    types = {str: pa.string(), float: pa.float64()}
    schema = pa.schema({name: types[kind] for name, kind in columns.items()})
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return ResultTable.of_rows(named, key, schema)


def _causes(structure: Structure, present: Indices, caused: Floats, leaked: Floats) -> ResultTable:
    rows: list[tuple[str | float | None, ...]] = []
    for j in present.tolist():
        here = slice(structure.parent_offsets[j], structure.parent_offsets[j + 1])
        names = [*(structure.diseases[i] for i in structure.parent_diseases[here]), None]
        chances = [*caused[structure.parent_edges[here]].tolist(), float(leaked[j])]
        found = sorted(zip(chances, names, strict=True), key=lambda pair: -pair[0])
        rows += [(structure.symptoms[j], cause, chance) for chance, cause in found]
    columns = {"finding": str, "cause": str, "probability": float}
    return _table(rows, ("finding", "cause"), columns)
