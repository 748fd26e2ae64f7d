"""best_questions: which finding to ask for next.

The gain of a question is the mutual information of its answer and the diseases, given what is
known: I(F; D) = H(F) - E[H(F | D)], in bits. The expectations are means over states of the
diseases that are drawn from the posterior. About one disease they are exact sums where these are
little work, and so are probabilities.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisyor.drawing import axes_for, check_top, draw_bars, height_of
from noisyor.errors import ParameterError, quoted
from noisyor.immutable import EqualByValue
from noisyor.inference import question_kernels
from noisyor.inference.answers import answer_all, make_request
from noisyor.inference.flat import Evidence, Floats, flat_network, indices_of, list_records
from noisyor.inference.gibbs_kernels import random_of
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.inference.mixture_kernels import Mixture, evidences_of
from noisyor.inference.mixtures import conditioned
from noisyor.inference.posterior import check_answered
from noisyor.inference.record_kernels import (
    EXACT,
    IMPOSSIBLE,
    is_possible,
    listed,
    new_workspace,
)
from noisyor.io.result_tables import ResultTable, ShownAsTable
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Components
from noisyor.network.sampling import Rng, as_seed
from noisyor.structure import Structure

MOST_OPERATIONS = 3e8
"""For the evidence of all components: about a second."""
MOST_SUMMED, SUMMED_BUDGET = 300, 0.002
"""Findings that are summed up exactly, and the seconds that each may take."""
LEAST_WEIGHT, FEWEST_DRAWS = 1e-4, 16
"""Components that weigh less are not asked; of others so many states are drawn at least."""


@dataclass(frozen=True, eq=False)
class Questions(ShownAsTable, EqualByValue):
    """What asking for each unknown finding would say, the best question first.

    Examples
    --------
    >>> from noisyor import best_questions, datasets
    >>> asked = best_questions(datasets.clinic(), present=["fever"])
    >>> asked.table().column_names
    ['symptom', 'gain', 'probability']
    >>> asked["cough"]["gain"] > asked["thirst"]["gain"]
    True
    >>> print(best_questions(datasets.clinic(), ["fever"], about="influenza").table()[:3])
    symptom        gain  probability
    muscle pain  0.4697       0.3233
    chills       0.2669       0.3178
    cough        0.1999        0.531
    """

    structure: Structure
    symptoms: Indices
    gains: Floats
    """In bits: what the answer is expected to say of the diseases; with utilities, the loss by
    wrong decisions that it is expected to save."""
    probabilities: Floats
    """P(the finding is present)."""
    costs: Floats | None = None
    """What asking costs, where it was given."""
    unit: str = "bits"
    """Of the gains: "bits" or "loss"."""
    method: str = "sampled"
    """How the gains were found: "exact" or "sampled"."""

    @property
    def gains_per_cost(self) -> Floats | None:
        """What a question gains for what it costs, by which they are ranked; None without costs."""
        return None if self.costs is None else self.gains / self.costs

    @property
    def ranked_by(self) -> str:
        """The column that the rows are ordered by."""
        return "gain" if self.costs is None else "gain_per_cost"

    def table(self) -> ResultTable:
        """Return one row per unknown finding, the best question first."""
        names = [self.structure.symptoms[j] for j in self.symptoms.tolist()]
        columns = {"symptom": names, "gain": self.gains, "probability": self.probabilities}
        if self.costs is not None:
            columns |= {"cost": self.costs, "gain_per_cost": self.gains_per_cost}
        return ResultTable(columns, "symptom")

    def plot(self, ax: Any = None, *, top: int = 15) -> Any:
        """Draw how much the best questions would tell; return the axes."""
        rows = self.table()[: check_top(top)].to_pydict()
        name, value = next(iter(rows)), self.ranked_by
        with axes_for(ax, 6.4, height_of(len(rows[name]))) as axes:
            label = f"{self.unit} it is expected to {'save' if self.unit == 'loss' else 'tell'}"
            label += "" if self.costs is None else ", by its cost"
            draw_bars(axes, rows[name], np.array(rows[value]), label=label)
        return axes

    def __repr__(self) -> str:
        best = [
            f"{self.structure.symptoms[j]} {gain:.2g}"
            for j, gain in zip(self.symptoms[:3].tolist(), self.gains[:3], strict=True)
        ]
        return f"Questions({len(self.gains):,} unknown; {self.unit}: {', '.join(best)})"


def best_questions(
    network: NoisyOrNetwork | LearnedNetwork,
    present: Sequence[Name] | Mapping[Name, Any] = (),
    absent: Sequence[Name] = (),
    *,
    covariates: Mapping[str, Any] | None = None,
    about: Name | None = None,
    costs: Mapping[Name, float] | None = None,
    utilities: Mapping[Name, tuple[float, float]] | None = None,
    draws: int = 1000,
    rng: Rng = 0,
) -> Questions:
    """Return what asking for each unknown finding would say of the diseases.

    All diseases count, also those that have nothing to do with the findings so far: asking a
    patient with a cough for thirst says something of diabetes. `about` one disease, only it counts.

    >>> from noisyor import best_questions, datasets
    >>> asked = best_questions(datasets.clinic(), present=["fever", "cough"], about="influenza")
    >>> asked.table()["symptom"][0].as_py()
    'muscle pain'
    >>> dear = best_questions(
    ...     datasets.clinic(), ["fever", "cough"], about="influenza", costs={"muscle pain": 50}
    ... )
    >>> dear.table()["symptom"][0].as_py()
    'crackles in the lungs'

    Parameters
    ----------
    network, present, absent, covariates
        As in `posterior`.
    about
        The disease that is in question; None: all.
    costs
        What asking for findings costs, such as `{"X-ray": 40}`, in any unit; those that are left
        out cost 1. Questions are ranked by their gain for the cost.
    utilities
        What wrong decisions cost: for diseases the loss where one is missed, and that of a false
        alarm, such as `{"pneumonia": (50, 5)}`. Then the gain of a question is the loss that it is
        expected to save, if each of these diseases is treated where that loses less.
    draws
        States of the diseases to draw; more of them make the gains more precise. What happens in
        fewer than one of so many states is not seen, unless `about` asks for it.
    rng
        The same seed gives the same answer.
    """
    seed = as_seed(rng)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 10:
        raise ParameterError(f"draws must be a whole number from 10, not {quoted(draws)}.")
    known = network_of(network).given(covariates)
    structure = known.structure
    if utilities is not None and about is not None:
        raise ParameterError(
            "give about, the disease in question, or utilities, which name theirs."
        )
    losses = None if utilities is None else losses_of(structure, utilities)
    prices = None if costs is None else costs_of(structure, costs)
    parts = indices_of(structure, present, absent)
    ask = Asking(known, listed(list_records([parts]), 0), draws, seed)
    whole = ask.weighed(known.components)
    if whole is None:
        check_answered(known, parts, IMPOSSIBLE, 1.0)
        raise AssertionError("impossible findings were not refused")
    unknown = np.setdiff1d(np.arange(structure.n_symptoms), ask.evidence.symptoms)
    disease = None if about is None else structure.disease_index(about)
    gains, probabilities, method = _asked(ask, whole, known, parts, unknown, disease)
    if losses is not None:
        gains[unknown], method = saved_losses(known, parts, unknown, losses)
    ranks = gains if prices is None else gains / prices
    order = unknown[np.argsort(-ranks[unknown], kind="stable")]
    asked = None if prices is None else prices[order]
    unit = "bits" if losses is None else "loss"
    return Questions(structure, order, gains[order], probabilities[order], asked, unit, method)


def _asked(
    ask: "Asking", whole: Components, network: NoisyOrNetwork, parts: tuple[Indices, Indices],
    unknown: Indices, disease: int | None,
) -> tuple[Floats, Floats, str]:  # fmt: skip
    """Return the gains of all symptoms in bits, P(present), and how the gains were found."""
    summed = _summed(network, parts, unknown, disease)
    left, probabilities = np.zeros((2, network.structure.n_symptoms))
    if disease is None:
        left, probabilities = ask.mean(whole)
    elif summed is None:
        request = make_request("auto", 1.0, 0)
        chance = float(
            answer_all(network, list_records([parts]), request).probabilities[0, disease]
        )
        # However rare it is, draws with it and without it are equally many.
        for state, weight in ((True, chance), (False, 1.0 - chance)):
            within = ask.weighed(conditioned(network.components, disease, state))
            if weight > 0.0 and within is not None:
                _, chances = ask.mean(within)
                probabilities += weight * chances
                left += weight * _entropies(chances)
    gains, method = np.maximum(_entropies(probabilities) - left, 0.0), "sampled"
    if summed is not None:
        probabilities[unknown], told = summed
        if told is not None:
            gains[unknown], method = told, "exact"
    return gains, probabilities, method


def _summed(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], unknown: Indices, disease: int | None
) -> tuple[Floats, Floats | None] | None:
    """Return P(present) of each symptom, and what it tells of a disease; None: too much work."""
    if len(unknown) > MOST_SUMMED:
        return None
    present, absent = parts
    asked = [(present, np.append(absent, j)) for j in unknown.tolist()]
    if disease is not None:
        asked += [(np.append(present, j), absent) for j in unknown.tolist()]
    request = make_request("auto", SUMMED_BUDGET, 0)
    answers = answer_all(network, list_records([parts, *asked]), request)
    if not np.isin(answers.methods, (EXACT, IMPOSSIBLE)).all():
        return None
    n = len(unknown)
    logs = answers.log_evidences[1 : n + 1] - answers.log_evidences[0]
    without = np.minimum(np.exp(np.nan_to_num(logs, nan=-np.inf)), 1.0)
    if disease is None:
        return 1.0 - without, None
    left = _entropies(np.nan_to_num(answers.probabilities[:, disease]))
    told = left[0] - without * left[1 : n + 1] - (1.0 - without) * left[n + 1 :]
    return 1.0 - without, np.maximum(told, 0.0)


def costs_of(structure: Structure, costs: Mapping[Name, float]) -> Floats:
    """Return what each symptom costs to ask for: 1 where nothing else is given."""
    found = np.ones(structure.n_symptoms)
    for name, cost in costs.items():
        if not is_number(cost) or cost <= 0.0:
            raise ParameterError(
                f"the cost of {quoted(name)} must be a positive number, not {quoted(cost)}."
            )
        found[structure.symptom_index(name)] = float(cost)
    return found


def is_number(value: Any) -> bool:
    """Return True if a value is a finite number from 0 on."""
    is_real = isinstance(value, int | float | np.integer | np.floating)
    return is_real and not isinstance(value, bool) and bool(0.0 <= value < np.inf)


def losses_of(structure: Structure, utilities: Mapping[Name, Any]) -> dict[int, tuple[Any, ...]]:
    """Return the losses of diseases, where one is missed and where there is a false alarm."""
    if not isinstance(utilities, Mapping):
        raise ParameterError(
            'utilities must be a mapping such as {"pneumonia": (50, 5)}, not '
            f"{type(utilities).__name__}."
        )
    found: dict[int, tuple[Any, ...]] = {}
    for name, pair in utilities.items():
        losses = tuple(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else ()
        if len(losses) != 2 or not all(map(is_number, losses)):
            raise ParameterError(
                f"the utilities of {quoted(name)} must be two numbers from 0, the loss where it is "
                f"missed and that of a false alarm, not {quoted(pair)}."
            )
        found[structure.disease_index(name)] = losses
    if not found:
        raise ParameterError("utilities must name at least one disease.")
    return found


def saved_losses(
    network: NoisyOrNetwork, parts: tuple[Indices, Indices], unknown: Indices,
    losses: Mapping[int, tuple[Any, ...]],
) -> tuple[Floats, str]:  # fmt: skip
    """Return by how much knowing each symptom is expected to lower the loss of deciding, and how.

    With probability p of a disease the better decision loses min(p * missed, (1 - p) * alarm).
    """
    present, absent = parts
    asked = [(np.append(present, j), absent) for j in unknown.tolist()]
    asked += [(present, np.append(absent, j)) for j in unknown.tolist()]
    answers = answer_all(network, list_records([parts, *asked]), make_request("auto", 0.1, 0))
    diseases, n = list(losses), len(unknown)
    missed, alarm = np.array([losses[i] for i in diseases]).T
    chances = np.nan_to_num(answers.probabilities[:, diseases])
    loss = np.minimum(chances * missed, (1.0 - chances) * alarm).sum(axis=1)
    # An impossible answer has the weight 0: its evidence is -inf, or was not found (NaN).
    logs = answers.log_evidences[1:].reshape(2, n) - answers.log_evidences[0]
    weights = np.exp(np.nan_to_num(logs, nan=-np.inf))
    weights /= weights.sum(axis=0)
    after = (weights * loss[1:].reshape(2, n)).sum(axis=0)
    saved = loss[0] - after
    is_exact = np.isin(answers.methods, (EXACT, IMPOSSIBLE)).all()
    found = np.where(saved > 1e-12 * loss[0], saved, 0.0)  # less is what digits leave
    return found, "exact" if is_exact else "sampled"


class Asking:
    """Asks for all symptoms of one patient, in the components of a network."""

    def __init__(
        self, network: NoisyOrNetwork, evidence: Evidence, n_draws: int, seed: int
    ) -> None:
        self.evidence = evidence
        self._net, self._n_draws, self._seed = flat_network(network.as_independent()), n_draws, seed

    def weighed(self, components: Components) -> Components | None:
        """Return components weighed by the findings; None where these are impossible."""
        if len(components.weights) == 1:
            net = self._net._replace(priors=components.priors[0].copy())
            is_fine = is_possible(net, self.evidence, new_workspace(net))
            return components if is_fine else None
        net = self._net._replace(priors=np.empty_like(self._net.priors))
        with np.errstate(divide="ignore"):
            logs = np.log(components.weights) + evidences_of(
                net, Mixture(*components), self.evidence, MOST_OPERATIONS
            )
        top = logs.max(initial=-np.inf)
        if np.isnan(logs).any():
            raise ParameterError(
                "the findings are too many to ask for the next one where diseases occur together: "
                "their components cannot be solved exactly."
            )
        if top == -np.inf:
            return None
        weights = np.exp(logs - top)
        is_seen = weights > LEAST_WEIGHT * weights.sum()
        weights = weights[is_seen] / weights[is_seen].sum()
        return Components(weights, components.priors[is_seen])

    def mean(self, components: Components) -> tuple[Floats, Floats]:
        """Return the entropies that are left, and the chances, over weighed components."""
        size = len(self._net.leaks)
        left, chances = np.zeros(size), np.zeros(size)
        for weight, priors in zip(*components, strict=True):
            net = self._net._replace(priors=priors.copy())
            n_draws = max(int(np.ceil(self._n_draws * weight)), FEWEST_DRAWS)
            found = question_kernels.ask(net, self.evidence, n_draws, random_of(self._seed, 0))
            left += weight * found[0]
            chances += weight * found[1]
        return left, chances


def _entropies(chances: Floats) -> Floats:
    """Return the entropy of each yes or no, in bits."""
    return np.array([question_kernels.entropy(chance) for chance in chances])
