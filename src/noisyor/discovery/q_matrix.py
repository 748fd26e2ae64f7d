"""Q-matrix validation: entries of a test's Q-matrix that answers ask for, or do not need.

Skills occur together by any distribution; with few of them all of their states D are summed up.
What a person's answers to all other items say of his skills, P(D | other answers), does not depend
on the item's own parameters. So the likelihood of one item's answers,

    P(x | other answers) = sum_D P(D | other answers) P(x | D),

is that of the whole test, with all else as it is, and is maximised quickly for any set of skills
that the item may need. But skills are what the items make of them: with another set all other
parameters would follow, and where skills go together that decides between them. So this only
chooses the sets that are worth a look, with each of which the whole test is fitted anew
(`skill_model`). From the sets that are given, skills come, go and are exchanged as long as BIC
gains by it, item after item.
"""

from itertools import product
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.special import ndtr

from noisyor.discovery.changes import ADD, DROP, Suggestion
from noisyor.discovery.dense_em import MOST_CAUSES
from noisyor.discovery.reading import read_records
from noisyor.discovery.skill_model import (
    LARGEST,
    SMALLEST,
    SkillFit,
    SkillModel,
    log_present,
    states_of,
)
from noisyor.discovery.suggestions import Suggestions
from noisyor.errors import ParameterError, quoted
from noisyor.findings.reading import ReadOptions
from noisyor.learning import Estimate
from noisyor.learning.misfits import q_values
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats
from noisyor.structure import Structure

MOST_REFITTED = 4
"""Sets of skills of an item with which the whole test is fitted anew: the best by its answers."""
NEARLY = 2.0
"""What these may be short of the set that an item has: the others do not gain by following."""
LEAST_GAIN = 0.1
"""Below this two fits are as good as each other."""
MOST_ROUNDS = 3
"""Times that all items are gone through."""
MOST_STATES = 1 << 7
"""With more states of the skills the rest of the test is left as it is: that would take long."""


def validate_q_matrix(
    estimate: Estimate | NoisyOrNetwork,
    answers: Any,
    *,
    level: float = 0.05,
    least_effect: float = 0.1,
    **options: Unpack[ReadOptions],
) -> Suggestions:
    """Say which entries of a Q-matrix answers ask for, and which they do not need.

    Parameters
    ----------
    estimate
        What was learned from these answers, of up to 12 skills, however they occur together; a
        disease is a skill that is lacking, a symptom a wrong answer. With up to 7 skills the whole
        test is fitted anew for each set of skills that an item may need; beyond that would take
        long, and all other parameters stay as they are.
    answers
        As `NoisyOrLearner.fit` takes them.
    level
        The share of false ones that is allowed among the entries to add.
    least_effect
        Entries to add have at least this effect, 1 - r*, those to drop less. In large samples
        skills that are not quite as the model has them make many weak entries significant; in
        small ones, or where skills go together, answers do not tell of many that are right.
    options
        How answers are read: `invert=True` where 1 is right.

    Returns
    -------
    Suggestions
        Entries to add ("add edge") and to drop, with their gain in log likelihood and their effect
        (`strength`): 1 - r*, the part of the right answers that a lack of the skill costs.

    Examples
    --------
    >>> from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure
    >>> from noisyor.discovery import validate_q_matrix
    >>> from noisyor.network import Joint
    >>> needs = Structure.from_matrix([[1, 1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1, 1]])
    >>> lacks = Joint([0.5, 0.1, 0.1, 0.3])
    >>> test = NoisyOrNetwork(needs, None, [0.4] * 8, [0.1] * 7, causes=lacks)
    >>> answers = test.sample(3000, rng=0)
    >>> wrong = Structure(needs.diseases, needs.symptoms, needs.edges[1:])  # without D0 -> S0
    >>> learned = NoisyOrLearner(wrong, causes="joint").fit(answers).estimate_
    >>> found = validate_q_matrix(learned, answers)
    >>> [(row.kind, row.disease, row.symptoms[0], f"{row.strength:.1f}") for row in found.rows]
    [('add edge', 'D0', 'S0', '0.6')]
    """
    network = estimate.network if isinstance(estimate, Estimate) else estimate
    if not isinstance(network, NoisyOrNetwork):
        raise ParameterError(
            f"give an Estimate (learner.estimate_) or a network, not {type(network).__name__}."
        )
    structure = network.structure
    if structure.n_diseases > MOST_CAUSES:
        raise ParameterError(
            f"there are {structure.n_diseases} skills; all states of up to {MOST_CAUSES} are "
            "summed up. For more, that do not occur together, there is discovery.suggest."
        )
    for name, value in (("level", level), ("least_effect", least_effect)):
        if isinstance(value, bool) or not 0.0 < value < 1.0:
            raise ParameterError(f"{name} must lie between 0 and 1, not {quoted(value)}.")
    findings = read_records(answers, structure, options)
    given = structure.sparse_matrix().toarray() != 0
    search = _SkillSearch(
        findings.to_numpy().astype(float), given, SkillFit.of(network), least_effect
    )
    search.run()
    rows = _suggested(search, structure, level)
    return Suggestions(tuple(rows), findings.n_records, int((~given).sum()))


class SkillStates(NamedTuple):
    """What answers say of all states of the skills."""

    states: Floats
    """States x skills: 1 where it is lacking."""
    answers: Floats
    """Records x items: 1 is wrong; NaN is unknown."""
    logs: Floats
    """Records x states: log P(state, all answers)."""
    log_absent: Floats
    """States x items: log P(right | state)."""

    @classmethod
    def of(cls, fit: SkillFit, answers: Floats) -> "SkillStates":
        """Sum over the states of the skills of a test."""
        states = states_of(fit.strengths.shape[1] - 1)
        log_absent = -fit.strengths[:, 0] - states @ fit.strengths[:, 1:].T
        is_wrong, is_right = answers == 1.0, answers == 0.0
        logs = is_wrong @ log_present(log_absent).T + is_right @ log_absent.T
        logs = logs + np.log(np.maximum(fit.chances, 1e-12))
        return cls(states, answers, logs, log_absent)

    def item(self, j: int) -> "ItemAnswers":
        """Return the answers to an item, and what all others say of the skills of who gave them."""
        values = self.answers[:, j]
        known = np.flatnonzero(~np.isnan(values))
        is_wrong = values[known, np.newaxis] == 1.0
        own = np.where(is_wrong, log_present(self.log_absent[:, j]), self.log_absent[:, j])
        logs = self.logs[known] - own
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        is_wrong = is_wrong[:, 0]
        return ItemAnswers(self.states, chances[is_wrong], chances[~is_wrong])


class ItemFit(NamedTuple):
    """The maximum of an item's likelihood, for some skills that it needs."""

    log_likelihood: float
    strengths: Floats
    """-log f of the slip and of every skill; 0 of those that it does not need."""

    @property
    def effects(self) -> Floats:
        """1 - r* of every skill."""
        return np.asarray(-np.expm1(-self.strengths[1:]))


class ItemAnswers(NamedTuple):
    """Persons' states, as all other answers tell them, and their answers to an item."""

    states: Floats
    wrong: Floats
    """Of persons who gave a wrong answer, a row each..."""
    right: Floats
    """... and a right one."""

    @property
    def n_answers(self) -> int:
        """How many persons answered."""
        return len(self.wrong) + len(self.right)

    def fit(self, needed: Booleans) -> ItemFit:
        """Maximise the likelihood over the slip and the effects of the skills that are needed."""
        from scipy.optimize import minimize

        columns = np.column_stack([np.ones(len(self.states)), self.states[:, needed]])

        def loss(strengths: Floats) -> tuple[float, Floats]:
            absent = np.exp(-columns @ strengths)
            wrong, right = self.wrong @ (1.0 - absent), self.right @ absent
            value = np.log(wrong).sum() + np.log(right).sum()
            slopes = (1.0 / right) @ self.right - (1.0 / wrong) @ self.wrong
            return -float(value), columns.T @ (slopes * absent)

        bounds = [(SMALLEST, LARGEST), *[(0.0, LARGEST)] * int(needed.sum())]
        start = np.full(columns.shape[1], 0.3)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        strengths = np.zeros(len(needed) + 1)
        strengths[np.concatenate([[True], needed])] = found.x
        return ItemFit(-float(found.fun), strengths)


class _Item(NamedTuple):
    """An item with another set of skills, and the whole test fitted with it."""

    skills: Booleans
    fit: SkillFit
    value: float
    """The log likelihood less what BIC takes off."""


class _SkillSearch:
    """Looks for the skills that items need, item after item, from those that are given."""

    def __init__(
        self, answers: Floats, given: Booleans, start: SkillFit, least_effect: float
    ) -> None:
        self.given, self.needed = given, given.copy()
        self._answers, self._least = answers, least_effect
        self._is_refitted = len(start.chances) <= MOST_STATES
        self._model = SkillModel(answers)
        self.fit = self._model.fit(given, start) if self._is_refitted else start
        n_answers = max(float((~np.isnan(answers)).sum(axis=0).mean()), 2.0)
        self.half, self._chosen = 0.5 * float(np.log(n_answers)), float(np.log(given.shape[1]))

    def run(self) -> None:
        """Go through all items as long as any of them gains."""
        for _ in range(MOST_ROUNDS):
            n_changed = sum(self._improve(j) for j in range(len(self.given)))
            if not n_changed:
                break

    def _improve(self, j: int) -> bool:
        tried = self.tried(j)
        best = max(tried, key=lambda each: each.value)
        if best.value <= tried[0].value + LEAST_GAIN:
            return False
        self.needed[j], self.fit = best.skills, best.fit
        return True

    def tried(self, j: int) -> list[_Item]:
        """Fit the test with those sets for an item that its answers speak for; and its own."""
        item = self.item(j)
        values = self._values(j, item)
        least = values[self.needed[j].tobytes()] - NEARLY
        order = sorted(values, key=lambda key: -values[key])
        sets = [np.frombuffer(key, dtype=np.bool_) for key in order if values[key] >= least]
        others = [each for each in sets if (each != self.needed[j]).any()][:MOST_REFITTED]
        own = self.needed[j].copy()
        found = [_Item(own, self.fit, self.fit.log_likelihood - self._price(j, own))]
        for skills in others:
            fit = self.with_item(j, skills, item)
            is_allowed = self._is_allowed(j, skills, fit)
            value = fit.log_likelihood - self._price(j, skills) if is_allowed else -np.inf
            found.append(_Item(skills, fit, value))
        return found

    def item(self, j: int) -> ItemAnswers:
        """Return what answers to all other items say of who answered this one."""
        return SkillStates.of(self.fit, self._answers).item(j)

    def with_item(self, j: int, skills: Booleans, item: ItemAnswers) -> SkillFit:
        """Fit the test with another set for an item; with many skills only the item."""
        if self._is_refitted:
            needed = self.needed.copy()
            needed[j] = skills
            return self._model.fit(needed, self.fit)
        before, after = item.fit(self.needed[j]), item.fit(skills)
        strengths = self.fit.strengths.copy()
        strengths[j] = after.strengths
        value = self.fit.log_likelihood + after.log_likelihood - before.log_likelihood
        return SkillFit(value, self.fit.chances, strengths)

    def _is_allowed(self, j: int, skills: Booleans, fit: SkillFit) -> bool:
        """Return True if all skills that come have an effect."""
        return not (skills & ~self.given[j] & (fit.effects[j] < self._least)).any()

    def _loses(self, j: int, item: ItemAnswers, skills: Booleans) -> bool:
        """Return True if a skill is missing that was given and has an effect beside these."""
        gone = self.given[j] & ~skills
        return bool(gone.any() and (item.fit(skills | gone).effects[gone] >= self._least).any())

    def _price(self, j: int, skills: Booleans) -> float:
        # A skill that comes was chosen from all of them, and pays for it.
        return float(self.half * skills.sum() + self._chosen * (skills & ~self.given[j]).sum())

    def _values(self, j: int, item: ItemAnswers) -> dict[bytes, float]:
        """Return what an item's own answers say of the sets between its own and the best."""
        found: dict[bytes, float] = {}

        def value(skills: Booleans) -> float:
            key = skills.tobytes()
            if key not in found:
                own = item.fit(skills).log_likelihood - self._price(j, skills)
                found[key] = -np.inf if self._loses(j, item, skills) else own
            return found[key]

        best = self.needed[j]
        while True:
            after = max(_neighbours(best), key=value)
            if value(after) <= value(best) + 1e-6:
                return found
            best = after


def _with(needed: Booleans, skill: int, is_needed: bool) -> Booleans:
    changed = needed.copy()
    changed[skill] = is_needed
    return changed


def _neighbours(needed: Booleans) -> list[Booleans]:
    """Return the sets with a skill more or less, or with one exchanged for another."""
    single = [_with(needed, skill, not needed[skill]) for skill in range(len(needed))]
    gone, come = np.flatnonzero(needed).tolist(), np.flatnonzero(~needed).tolist()
    return single + [_with(_with(needed, a, False), b, True) for a, b in product(gone, come)]


def _suggested(search: _SkillSearch, structure: Structure, level: float) -> list[Suggestion]:
    """Return the entries to add, at a false-discovery rate, and to drop."""
    given, needed = search.given, search.needed
    gains, effects = np.zeros(given.shape), np.zeros(given.shape)
    for j in range(len(given)):
        item = search.item(j)
        for i in range(given.shape[1]):
            gains[j, i], effects[j, i] = _tested(search, item, j, i)
    p_values = np.where(gains > 0.0, ndtr(-np.sqrt(2.0 * gains)), 1.0)
    rates = np.ones_like(gains)
    rates[~given] = q_values(p_values[~given])
    rows = []
    for j, i in np.argwhere(needed != given):
        is_added, gain = bool(needed[j, i]), float(gains[j, i])
        if is_added and rates[j, i] > level:
            continue
        sign = 1.0 if is_added else -1.0
        names = structure.diseases[i], (structure.symptoms[j],)
        rows.append(Suggestion(
            ADD if is_added else DROP, *names, sign * gain, sign * (gain - search.half),
            float(p_values[j, i]), float(rates[j, i]) if is_added else float("nan"),
            float(effects[j, i]),
        ))  # fmt: skip
    return sorted(rows, key=lambda row: -row.gain_bic)


def _tested(search: _SkillSearch, item: ItemAnswers, j: int, i: int) -> tuple[float, float]:
    """Return what the log likelihood gains by an entry, and its effect.

    Where it was not changed the item's own answers tell; else the whole test is fitted anew.
    """
    own, other = search.needed[j], _with(search.needed[j], i, not search.needed[j, i])
    if search.given[j, i] == search.needed[j, i]:
        fits = [item.fit(each) for each in (own, other)]
        values, effects = [f.log_likelihood for f in fits], [f.effects[i] for f in fits]
    else:
        both = [search.fit, search.with_item(j, other, item)]
        values, effects = [f.log_likelihood for f in both], [f.effects[j, i] for f in both]
    gain = values[0] - values[1] if own[i] else values[1] - values[0]
    return max(float(gain), 0.0), float(max(effects))
