"""best_questions: which finding to ask for next.

The gain of a question is the mutual information of its answer and the diseases, given what is
known: I(F; D) = H(F) - E[H(F | D)], in bits. The expectations are means over states of the
diseases that are drawn from the posterior.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from noisyor.errors import ParameterError, quoted
from noisyor.immutable import EqualByValue
from noisyor.inference import question_kernels
from noisyor.inference.flat import Evidence, Floats, flat_network, indices_of, list_records
from noisyor.inference.gibbs_kernels import random_of
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.inference.mixture_kernels import Mixture, evidences_of
from noisyor.inference.mixtures import conditioned
from noisyor.inference.posterior import check_answered, posterior
from noisyor.inference.record_kernels import IMPOSSIBLE, is_possible, listed, new_workspace
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Components
from noisyor.network.sampling import Rng, as_seed
from noisyor.structure import Structure

MOST_OPERATIONS = 3e8
"""For the evidence of all components: about a second."""
LEAST_WEIGHT, FEWEST_DRAWS = 1e-4, 16
"""Components that weigh less are not asked; of others so many states are drawn at least."""


@dataclass(frozen=True, eq=False)
class Questions(EqualByValue):
    """What asking for each unknown finding would say, the best question first.

    Examples
    --------
    >>> from noisyor import best_questions, datasets
    >>> asked = best_questions(datasets.clinic(), present=["fever"])
    >>> asked.table().column_names
    ['symptom', 'gain', 'probability']
    """

    structure: Structure
    symptoms: Indices
    gains: Floats
    """In bits: what the answer is expected to say of the diseases."""
    probabilities: Floats
    """P(the finding is present)."""

    def table(self) -> pa.Table:
        """Return one row per unknown finding, as an Arrow table."""
        names = [self.structure.symptoms[j] for j in self.symptoms.tolist()]
        return pa.table([names, self.gains, self.probabilities], ["symptom", "gain", "probability"])

    def __repr__(self) -> str:
        best = [
            f"{self.structure.symptoms[j]} {gain:.2g}"
            for j, gain in zip(self.symptoms[:3].tolist(), self.gains[:3], strict=True)
        ]
        return f"Questions({len(self.gains):,} unknown; bits: {', '.join(best)})"


def best_questions(
    network: NoisyOrNetwork | LearnedNetwork,
    present: Sequence[Name] | Mapping[Name, Any] = (),
    absent: Sequence[Name] = (),
    *,
    covariates: Mapping[str, Any] | None = None,
    about: Name | None = None,
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

    Parameters
    ----------
    network, present, absent, covariates
        As in `posterior`.
    about
        The disease that is in question; None: all.
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
    parts = indices_of(structure, present, absent)
    ask = Asking(known, listed(list_records([parts]), 0), draws, seed)
    whole = ask.weighed(known.components)
    if whole is None:
        check_answered(known, parts, IMPOSSIBLE, 1.0)
        raise AssertionError("impossible findings were not refused")
    if about is None:
        left, probabilities = ask.mean(whole)
    else:
        disease = structure.disease_index(about)
        chance = float(posterior(known, present, absent).probabilities[disease])
        left, probabilities = np.zeros(structure.n_symptoms), np.zeros(structure.n_symptoms)
        # However rare it is, draws with it and without it are equally many.
        for state, weight in ((True, chance), (False, 1.0 - chance)):
            within = ask.weighed(conditioned(known.components, disease, state))
            if weight > 0.0 and within is not None:
                _, chances = ask.mean(within)
                probabilities += weight * chances
                left += weight * _entropies(chances)
    gains = np.maximum(_entropies(probabilities) - left, 0.0)
    evidence = ask.evidence
    unknown = np.setdiff1d(np.arange(structure.n_symptoms), evidence.symptoms)
    order = unknown[np.argsort(-gains[unknown], kind="stable")]
    return Questions(structure, order, gains[order], probabilities[order])


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
