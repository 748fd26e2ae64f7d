"""analyse_skills: a learned network in the words of those who give tests, the reduced RUM.

A disease is a skill that is lacking, a symptom a wrong answer. So for an item j and a skill k

    pi*_j  = P(right | all its skills)            = 1 - leak_j
    r*_jk  = what lacking skill k multiplies it by = failure_jk

A class of persons is a pattern of skills, such as 110: the first two are mastered.

References: Cui, Gierl and Chang (2012) and Wang et al. (2015) for accuracy and consistency of
classification; Chen, de la Torre and Zhang (2013) for the fit of pairs of items.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
from scipy.optimize import brentq
from scipy.special import chdtrc, ndtr, ndtri

from noisyor.comparison import pair_residuals
from noisyor.errors import ParameterError, quoted
from noisyor.findings import Findings
from noisyor.findings.blocks import Block
from noisyor.findings.findings import findings_of
from noisyor.findings.reading import ReadOptions, record_format
from noisyor.immutable import EqualByValue
from noisyor.inference.flat import Booleans, Floats
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.learning import Estimate
from noisyor.moments import MomentPlan, count_moments
from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import MOST_JOINT
from noisyor.parameters import intervals_of
from noisyor.structure import Structure

WHOLE_PATTERN = "all skills"
"""What is said of whole patterns stands beside what is said of each skill."""
NEARLY_ONE = 1.0 - 1e-7
"""The largest tetrachoric correlation."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True, eq=False)
class SkillAnalysis(ShownAsTable, EqualByValue):
    """What a test tells of its items, of skills and of persons; each a table.

    >>> from noisyor import NoisyOrLearner, analyse_skills, datasets
    >>> network = datasets.figure1(rng=0)
    >>> records = network.sample(1000, rng=0)
    >>> learned = NoisyOrLearner(network.structure, causes="joint").fit(records).estimate_
    >>> print(analyse_skills(learned, records).table().select(["item", "parameter", "skill"])[:3])
    item  parameter  skill
    a     pi*
    a     r*         A
    b     pi*
    """

    items: ResultTable
    """pi* of each item and r* of each skill it needs, with standard errors and 95% intervals."""
    classes: ResultTable
    """The share of persons with each pattern of skills; the errors are null where skills were
    learned as independent."""
    correlations: ResultTable
    """The tetrachoric correlation of each two skills."""
    persons: ResultTable
    """The most probable pattern of each person, its probability, and that of mastering each
    skill."""
    classification: ResultTable
    """For each skill, and for all of them: the accuracy, how often persons are classified rightly,
    and the consistency, how often a second test of the same kind would classify them alike."""
    pairs: ResultTable
    """For each two items: the residual of their correlation, X2 and its p-value (one degree of
    freedom), alone and adjusted for the number of pairs (Holm)."""
    srmsr: float
    """The root mean square of the residuals of all correlations."""

    @property
    def max_x2(self) -> dict[str, Any] | None:
        """The pair of items that is explained worst, with its adjusted p-value."""
        known = [row for row in self.pairs.to_pylist() if row["x2"] is not None]
        return max(known, key=lambda row: float(row["x2"]), default=None)

    def table(self) -> ResultTable:
        """Return the items."""
        return self.items

    def __repr__(self) -> str:
        n_items = len(set(self.items["item"].to_pylist()))
        whole = self.classification.to_pylist()[-1]
        return (
            f"SkillAnalysis({n_items} items, {len(self.classification) - 1} skills, "
            f"{len(self.persons):,} persons; accuracy {whole['accuracy']:.2f}, "
            f"SRMSR {self.srmsr:.4f})"
        )


def analyse_skills(
    estimate: Estimate, answers: Any, **options: Unpack[ReadOptions]
) -> SkillAnalysis:
    """Say what was learned of a test in the words of the reduced RUM, and classify persons.

    Parameters
    ----------
    estimate
        What was learned: diseases are skills that are lacking, symptoms wrong answers.
    answers
        Those that it was learned from, or others, in any form that `NoisyOrLearner.fit` takes.
    options
        How they are read; `invert=True` where 1 is a right answer.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, analyse_skills, datasets
    >>> test = datasets.figure1(rng=0)
    >>> wrong = test.sample(1000, rng=1)
    >>> learner = NoisyOrLearner(test.structure, causes="joint").fit(wrong)
    >>> analyse_skills(learner.estimate_, wrong)
    SkillAnalysis(5 items, 2 skills, 1,000 persons; accuracy 0.77, SRMSR 0.0113)
    """
    _check(estimate)
    structure = estimate.structure
    found = findings_of(answers, structure, record_format(options))
    findings = found.with_structure(structure)
    if not findings.n_records:
        raise ParameterError("there are no answers, so nobody can be classified.")
    moments = count_moments(findings, MomentPlan.all_pairs(structure))
    fit = pair_residuals(estimate.network, moments)
    persons = _Persons.of(estimate.network, findings)
    return SkillAnalysis(
        _items(estimate), _classes(estimate), _correlations(estimate), persons.table(findings),
        persons.classification(estimate.network), _pairs(structure, fit), fit.srmsr,
    )  # fmt: skip


def _check(estimate: Any) -> None:
    if not isinstance(estimate, Estimate):
        kind = type(estimate).__name__
        raise ParameterError(f"expected an Estimate (learner.estimate_), not {quoted(kind)}.")
    structure = estimate.structure
    if not 1 <= structure.n_diseases <= MOST_JOINT:
        raise ParameterError(
            f"the structure has {structure.n_diseases} skills; patterns are made of 1 to "
            f"{MOST_JOINT}."
        )
    if estimate.network.causes.effects is not None:
        raise ParameterError(
            "these skills depend on covariates, and persons are classified without: learn with "
            "causes='joint' or 'trait' and no covariates."
        )
    taken = {"record", "pattern", "probability", WHOLE_PATTERN} & set(structure.diseases)
    if taken:
        raise ParameterError(
            f"{quoted(min(taken))} is the name of a column of the results: name the skill "
            "otherwise."
        )


# --- items, classes and skills ---


def _items(estimate: Estimate) -> ResultTable:
    """Return pi* and r*: a right answer is a symptom that is absent."""
    structure, leaks, failures = estimate.structure, estimate.leaks, estimate.failures
    low, high = leaks.intervals()
    values = [1.0 - leaks.values, failures.values]
    errors = [leaks.standard_errors, failures.standard_errors]
    lower, upper = failures.intervals()
    owners, items = structure.edges.T
    rows = np.concatenate([np.arange(structure.n_symptoms), items])
    is_penalty = np.concatenate([np.zeros(structure.n_symptoms), np.ones(len(items))])
    skills = [None] * structure.n_symptoms + [structure.diseases[i] for i in owners.tolist()]
    order = np.lexsort((is_penalty, rows))
    return ResultTable(
        {
            "item": [structure.symptoms[j] for j in rows[order].tolist()],
            "parameter": ["r*" if is_penalty[j] else "pi*" for j in order.tolist()],
            "skill": pa.array([skills[j] for j in order.tolist()], pa.string()),
            "value": np.concatenate(values)[order],
            "standard_error": pa.array(np.concatenate(errors)[order], from_pandas=True),
            "lower": pa.array(np.concatenate([1.0 - high, lower])[order], from_pandas=True),
            "upper": pa.array(np.concatenate([1.0 - low, upper])[order], from_pandas=True),
        },
        ("item", "parameter", "skill"),
    )


def _classes(estimate: Estimate) -> ResultTable:
    """Return the shares of all patterns, from those who lack nothing on."""
    diseases, learned = estimate.structure.diseases, estimate.learned_causes
    if learned is None:
        shares = estimate.network.causes.joint(range(len(diseases))).ravel()
        errors = np.full(len(shares), np.nan)
    else:
        shares, errors = learned.state_shares()
    lower, upper = intervals_of(shares, errors)
    has = ~_states(len(diseases))
    mastered = [[skill for skill, is_there in zip(diseases, row, strict=True) if is_there]
                for row in has.tolist()]  # fmt: skip
    return ResultTable(
        {
            "pattern": _patterns(has),
            "mastered": [" + ".join(names) or "none" for names in mastered],
            "share": shares,
            "standard_error": pa.array(errors, from_pandas=True),
            "lower": pa.array(lower, from_pandas=True),
            "upper": pa.array(upper, from_pandas=True),
        },
        "pattern",
    )


def _correlations(estimate: Estimate) -> ResultTable:
    """Return tetrachoric correlations, with errors by the delta method where shares have some."""
    diseases, learned = estimate.structure.diseases, estimate.learned_causes
    states, rows = _states(len(diseases)), []
    jacobian = None if learned is None else learned.states()[1]
    for i in range(len(diseases)):
        for j in range(i):
            table = estimate.network.causes.joint([j, i])
            value, error = tetrachoric(table), np.nan
            if learned is not None and jacobian is not None and abs(value) < NEARLY_ONE:
                sums = np.column_stack([states[:, j], states[:, i], states[:, j] & states[:, i]])
                slopes = _tetrachoric_slopes(table, value) @ sums.T.astype(np.float64) @ jacobian
                is_unknown = np.isnan(learned.standard_errors) & (np.abs(slopes) > 1e-6)
                if not is_unknown.any():
                    error = float(np.sqrt(max(float(slopes @ learned.covariance @ slopes), 0.0)))
            rows.append((diseases[j], diseases[i], value, error))
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return ResultTable(
        {
            "skill": pa.array(columns[0], pa.string()),
            "other": pa.array(columns[1], pa.string()),
            "correlation": pa.array(columns[2], pa.float64(), from_pandas=True),
            "standard_error": pa.array(columns[3], pa.float64(), from_pandas=True),
        },
        ("skill", "other"),
    )


def tetrachoric(table: Floats) -> float:
    """Return the correlation of two normal variables whose signs have a table of two by two.

    NaN where one of them is certain.

    >>> round(tetrachoric(np.array([[0.4, 0.1], [0.1, 0.4]])), 3)
    0.809
    """
    p, q = table[1].sum(), table[:, 1].sum()
    if not 0.0 < p < 1.0 or not 0.0 < q < 1.0:
        return float("nan")
    h, k = float(ndtri(p)), float(ndtri(q))

    def excess(angle: float) -> float:
        # P(both) rises from p q by the density as r = sin(angle) rises from 0 (Drezner 1990).
        angles = angle * (_NODES + 1.0) / 2.0
        with np.errstate(divide="ignore"):
            far = (h * h - 2.0 * h * k * np.sin(angles) + k * k) / (2.0 * np.cos(angles) ** 2)
        more = angle / 2.0 * float(_WEIGHTS @ np.exp(-far)) / (2.0 * np.pi)
        return float(p * q + more - table[1, 1])

    last = np.arcsin(NEARLY_ONE)
    ends = excess(-last), excess(last)
    if ends[0] >= 0.0 or ends[1] <= 0.0:  # a cell is empty
        return -NEARLY_ONE if ends[0] >= 0.0 else NEARLY_ONE
    return float(np.sin(brentq(excess, -last, last, xtol=1e-12)))


def _tetrachoric_slopes(table: Floats, r: float) -> Floats:
    """Return derivatives by P(one), P(other) and P(both), of both = Phi2(h, k; r)."""
    h, k = float(ndtri(table[1].sum())), float(ndtri(table[:, 1].sum()))
    rest = np.sqrt(1.0 - r * r)
    by_margins = ndtr((np.array([k, h]) - r * np.array([h, k])) / rest)
    density = np.exp(-(h * h - 2 * r * h * k + k * k) / (2 * rest**2)) / (2 * np.pi * rest)
    return np.asarray(np.array([-by_margins[0], -by_margins[1], 1.0]) / density)


def _states(n_skills: int) -> Booleans:
    """Return which skills are lacking in each class; the last skill changes fastest."""
    bits = np.arange(2**n_skills)[:, np.newaxis] >> np.arange(n_skills)[::-1]
    return (bits & 1).astype(np.bool_)


def _patterns(has: Booleans) -> list[str]:
    return ["".join("1" if each else "0" for each in row) for row in has.tolist()]


# --- persons ---


class _Persons(NamedTuple):
    """What is known of all persons."""

    best: Indices
    """The most probable class; -1 where the answers are impossible."""
    probabilities: Floats
    """Of it."""
    lacks: Floats
    """P(skill is lacking), persons x skills."""
    told: Floats
    """How many persons of each class (rows) are expected to be told each class, and..."""
    told_skills: Floats
    """... to be told that they lack each skill."""

    @classmethod
    def of(cls, network: NoisyOrNetwork, findings: Findings) -> "_Persons":
        """Classify the persons, some after the other."""
        states = _states(network.structure.n_diseases)
        told, told_skills = np.zeros((len(states),) * 2), np.zeros(states.shape)
        parts = []
        for posteriors in _class_posteriors(network, findings, states):
            is_possible = ~np.isnan(posteriors[:, 0])
            known = posteriors[is_possible]
            best = np.full(len(posteriors), -1)
            best[is_possible] = known.argmax(axis=1)
            np.add.at(told.T, best[is_possible], known)
            lacks = posteriors @ states
            told_skills += known.T @ (lacks[is_possible] > 0.5)
            parts.append((best, posteriors.max(axis=1), lacks))
        best, probabilities, lacks = map(np.concatenate, zip(*parts, strict=True))
        return cls(best, probabilities, lacks, told, told_skills)

    def table(self, findings: Findings) -> ResultTable:
        """Return a row per person."""
        structure = findings.structure
        names = [*_patterns(~_states(structure.n_diseases)), None]
        ids = findings.record_ids
        columns = {
            "record": pa.array(np.arange(findings.n_records)) if ids is None else ids,
            "pattern": pa.array([names[c] for c in self.best.tolist()], pa.string()),
            "probability": pa.array(self.probabilities, from_pandas=True),
        }
        for skill, lacks in zip(structure.diseases, self.lacks.T, strict=True):
            columns[skill] = pa.array(1.0 - lacks, from_pandas=True)
        return ResultTable(columns, "record")

    def classification(self, network: NoisyOrNetwork) -> ResultTable:
        """Return how often persons are classified rightly, and alike by a second test.

        What persons of a class are told is estimated from the posteriors of all; two tests of the
        same person are independent given the class.
        """
        n_persons = self.told.sum()
        sizes = self.told.sum(axis=1)
        with np.errstate(invalid="ignore"):
            alike = np.nansum(self.told**2 / sizes[:, np.newaxis])
            shares = self.told_skills / sizes[:, np.newaxis]
            of_skills = np.nansum(sizes[:, np.newaxis] * (shares**2 + (1.0 - shares) ** 2), axis=0)
        is_known = self.best >= 0
        right = np.maximum(self.lacks, 1.0 - self.lacks)[is_known].sum(axis=0)
        accuracies = [*right, self.probabilities[is_known].sum()]
        with np.errstate(invalid="ignore"):
            return ResultTable(
                {
                    "skill": [*network.structure.diseases, WHOLE_PATTERN],
                    "accuracy": np.array(accuracies) / n_persons,
                    "consistency": np.array([*of_skills, alike]) / n_persons,
                },
                "skill",
            )


def _class_posteriors(
    network: NoisyOrNetwork, findings: Findings, states: Booleans
) -> Iterator[Floats]:
    """Give P(class | answers) of all persons, some after the other; NaN of what is impossible."""
    owners, items = network.structure.edges.T
    with np.errstate(divide="ignore"):
        log_shares = np.log(network.causes.joint(range(network.structure.n_diseases)).ravel())
        right = np.tile(np.log1p(-network.leaks), (len(states), 1))
        failures = np.log(network.failures)
        for edge, (i, j) in enumerate(zip(owners.tolist(), items.tolist(), strict=True)):
            right[states[:, i], j] += failures[edge]
        wrong = np.log(-np.expm1(right))
    # Where something is impossible its logarithm is as small as no sum of others gets.
    right, wrong, log_shares = (np.maximum(each, -1e9) for each in (right, wrong, log_shares))
    size = max((1 << 22) // len(states), 64)
    for block in findings.blocks:
        for part in _parts(block, size):
            is_wrong, is_right = part
            logs = is_wrong @ wrong.T + is_right @ right.T + log_shares
            top = logs.max(axis=1, keepdims=True)
            weights = np.where(top > -1e8, np.exp(logs - top), np.nan)
            yield weights / weights.sum(axis=1, keepdims=True)


def _parts(block: Block, size: int) -> Iterator[tuple[Floats, Floats]]:
    """Give which answers are wrong, and which right, of some records after the other."""
    present, unknown = block.unpacked()
    for start in range(0, block.n_records, size):
        wrong = present[start : start + size]
        right = ~wrong if unknown is None else ~wrong & ~unknown[start : start + size]
        yield wrong.astype(np.float64), right.astype(np.float64)


# --- the fit of pairs of items ---


def _pairs(structure: Structure, fit: Any) -> ResultTable:
    """Return each two items with X2 and p-values."""
    p_values = chdtrc(1, np.maximum(fit.x2, 0.0))
    one, other = ([structure.symptoms[j] for j in column.tolist()] for column in fit.pairs.T)
    return ResultTable(
        {
            "item": pa.array(one, pa.string()),
            "other": pa.array(other, pa.string()),
            "residual": pa.array(fit.residuals, from_pandas=True),
            "x2": pa.array(fit.x2, from_pandas=True),
            "p_value": pa.array(p_values, from_pandas=True),
            "p_adjusted": pa.array(holm(p_values), from_pandas=True),
        },
        ("item", "other"),
    )


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted for how many there are (Holm 1979); NaN ones are no tests.

    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    found = np.full(len(p_values), np.nan)
    order = np.argsort(p_values)[: np.count_nonzero(~np.isnan(p_values))]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found
