"""Q-matrix validation: entries of a test's Q-matrix that answers ask for, or do not need.

Skills occur together by any distribution; with few of them all of their states D are summed up.
What a person's answers to all other items say of his skills, P(D | other answers), does not depend
on the item's own parameters. So the likelihood of one item's answers,

    P(x | other answers) = sum_D P(D | other answers) P(x | D),

is that of the whole test, with all else as it is, and is maximised quickly for any set of skills
that the item may need. From the set that is given, skills come, go and are exchanged as long as BIC
gains by it.
"""

from itertools import product
from typing import Any, NamedTuple, Unpack

import numpy as np
from scipy.special import ndtr

from noisyor.discovery.dense_em import MOST_CAUSES
from noisyor.discovery.suggestions import ADD, DROP, Suggestion, Suggestions, read_records
from noisyor.errors import ParameterError, quoted
from noisyor.findings.reading import ReadOptions
from noisyor.learning import Estimate
from noisyor.learning.misfits import q_values
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans, Floats

LARGEST = 8.0
"""-log f of a skill without which an item is never answered rightly."""


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
        disease is a skill that is lacking, a symptom a wrong answer.
    answers
        As `NoisyOrLearner.fit` takes them.
    level
        The share of false ones that is allowed among the entries to add.
    least_effect
        Entries to add have at least this effect, 1 - r*, those to drop less. In large samples
        skills that are not quite as the model has them make many weak entries significant.
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
    states = SkillStates.of(network, findings.to_numpy())
    given = structure.sparse_matrix().toarray() != 0
    tested = [_tested(states.item(j), given[j], least_effect) for j in range(structure.n_symptoms)]
    rows = _suggested(tested, given, network, level)
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
    def of(cls, network: NoisyOrNetwork, answers: Any) -> "SkillStates":
        """Sum over the states of a network's skills."""
        k = network.structure.n_diseases
        on = ((np.arange(1 << k)[:, np.newaxis] >> np.arange(k)) & 1).astype(float)
        weights, priors = network.components.weights, network.components.priors
        is_on = on[:, np.newaxis] > 0
        chances = np.prod(np.where(is_on, priors[np.newaxis], 1.0 - priors[np.newaxis]), axis=2)
        log_failures = np.zeros((k, network.structure.n_symptoms))
        log_failures[tuple(network.structure.edges.T)] = np.log(np.maximum(network.failures, 1e-9))
        log_absent = on @ log_failures + np.log1p(-np.clip(network.leaks, 1e-9, 1.0 - 1e-9))
        values = np.asarray(answers, dtype=float)
        is_wrong, is_right = values == 1.0, values == 0.0
        logs = is_wrong @ _log_present(log_absent).T + is_right @ log_absent.T
        logs = logs + np.log(np.maximum(chances @ weights, 1e-12))
        return cls(on, values, logs, log_absent)

    def item(self, j: int) -> "ItemAnswers":
        """Return the answers to an item, and what all others say of the skills of who gave them."""
        values = self.answers[:, j]
        known = np.flatnonzero(~np.isnan(values))
        is_wrong = values[known, np.newaxis] == 1.0
        own = np.where(is_wrong, _log_present(self.log_absent[:, j]), self.log_absent[:, j])
        logs = self.logs[known] - own
        chances = np.exp(logs - logs.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        is_wrong = is_wrong[:, 0]
        return ItemAnswers(self.states, chances[is_wrong], chances[~is_wrong])


def _log_present(log_absent: Floats) -> Floats:
    return np.asarray(np.log(-np.expm1(log_absent)))


class ItemFit(NamedTuple):
    """The maximum of an item's likelihood, for some skills that it needs."""

    log_likelihood: float
    effects: Floats
    """1 - r* of every skill; 0 of those that it does not need."""


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

        bounds = [(1e-6, LARGEST), *[(0.0, LARGEST)] * int(needed.sum())]
        start = np.full(columns.shape[1], 0.3)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        effects = np.zeros(len(needed))
        effects[needed] = -np.expm1(-found.x[1:])
        return ItemFit(-float(found.fun), effects)


class _Tested(NamedTuple):
    """What the answers to an item say of each skill."""

    needed: Booleans
    """The skills that BIC wants."""
    gains: Floats
    """With each of them, against all of these without it."""
    effects: Floats
    half: float
    """What BIC takes off a parameter, halved."""


def _tested(item: ItemAnswers, given: Booleans, least_effect: float) -> _Tested:
    """Find the skills that an item needs, from those that are given, and test each."""
    fits: dict[bytes, ItemFit] = {}
    half, chosen = 0.5 * float(np.log(max(item.n_answers, 2))), float(np.log(len(given)))

    def fit(needed: Booleans) -> ItemFit:
        key = needed.tobytes()
        if key not in fits:
            fits[key] = item.fit(needed)
        return fits[key]

    def value(needed: Booleans) -> float:
        found = fit(needed)
        is_weak = (needed & ~given & (found.effects < least_effect)).any()
        is_lost = (given & ~needed).any() and (
            fit(needed | given).effects[given & ~needed] >= least_effect
        ).any()
        # A skill that comes was chosen from all of them, and pays for it.
        price = half * needed.sum() + chosen * (needed & ~given).sum()
        return -np.inf if is_weak or is_lost else found.log_likelihood - price

    best = given
    while True:
        after = max(_neighbours(best), key=value)
        if value(after) <= value(best) + 1e-6:
            break
        best = after
    with_each, without = (
        [fit(_with(best, skill, is_needed)) for skill in range(len(best))]
        for is_needed in (True, False)
    )
    gains = [a.log_likelihood - b.log_likelihood for a, b in zip(with_each, without, strict=True)]
    effects = [each.effects[skill] for skill, each in enumerate(with_each)]
    return _Tested(best, np.maximum(gains, 0.0), np.array(effects), half)


def _with(needed: Booleans, skill: int, is_needed: bool) -> Booleans:
    changed = needed.copy()
    changed[skill] = is_needed
    return changed


def _neighbours(needed: Booleans) -> list[Booleans]:
    """Return the sets with a skill more or less, or with one exchanged for another."""
    single = [_with(needed, skill, not needed[skill]) for skill in range(len(needed))]
    gone, come = np.flatnonzero(needed).tolist(), np.flatnonzero(~needed).tolist()
    return single + [_with(_with(needed, a, False), b, True) for a, b in product(gone, come)]


def _suggested(
    tested: list[_Tested], given: Booleans, network: NoisyOrNetwork, level: float
) -> list[Suggestion]:
    """Return the entries to add, at a false-discovery rate, and to drop."""
    gains = np.array([each.gains for each in tested])
    p_values = np.where(gains > 0.0, ndtr(-np.sqrt(2.0 * gains)), 1.0)
    rates = np.ones_like(gains)
    rates[~given] = q_values(p_values[~given])
    needed = np.array([each.needed for each in tested])
    rows = []
    for j, i in np.argwhere(needed != given):
        is_added, gain, half = bool(needed[j, i]), float(gains[j, i]), tested[j].half
        if is_added and rates[j, i] > level:
            continue
        sign = 1.0 if is_added else -1.0
        names = network.structure.diseases[i], (network.structure.symptoms[j],)
        rows.append(Suggestion(
            ADD if is_added else DROP, *names, sign * gain, sign * (gain - half),
            float(p_values[j, i]), float(rates[j, i]) if is_added else float("nan"),
            float(tested[j].effects[i]),
        ))  # fmt: skip
    return sorted(rows, key=lambda row: -row.gain_bic)
