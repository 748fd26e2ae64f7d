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
from noisyor.inference.flat import Floats, flat_network, indices_of, list_records
from noisyor.inference.gibbs_kernels import random_of
from noisyor.inference.intervals import LearnedNetwork, network_of
from noisyor.inference.posterior import check_answered, posterior
from noisyor.inference.record_kernels import IMPOSSIBLE, is_possible, listed, new_workspace
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, as_seed
from noisyor.structure import Structure


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
    network, present, absent
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
    known = network_of(network)
    structure = known.structure
    parts, net = indices_of(structure, present, absent), flat_network(known)
    evidence = listed(list_records([parts]), 0)
    if not is_possible(net, evidence, new_workspace(net)):
        check_answered(known, parts, IMPOSSIBLE, 1.0)
    if about is None:
        gains, probabilities = question_kernels.ask(net, evidence, draws, random_of(seed, 0))
    else:
        disease = structure.disease_index(about)
        chance = float(posterior(known, present, absent).probabilities[disease])
        gains, probabilities = np.zeros(len(net.leaks)), np.zeros(len(net.leaks))
        # However rare it is, draws with it and without it are equally many.
        for prior, weight in ((1.0, chance), (0.0, 1.0 - chance)):
            if weight > 0.0:
                priors = net.priors.copy()
                priors[disease] = prior
                random, other = random_of(seed, 0), net._replace(priors=priors)
                _, chances = question_kernels.ask(other, evidence, draws, random)
                probabilities += weight * chances
                gains -= weight * _entropies(chances)
        gains = np.maximum(_entropies(probabilities) + gains, 0.0)
    unknown = np.setdiff1d(np.arange(structure.n_symptoms), evidence.symptoms)
    order = unknown[np.argsort(-gains[unknown], kind="stable")]
    return Questions(structure, order, gains[order], probabilities[order])


def _entropies(chances: Floats) -> Floats:
    """Return the entropy of each yes or no, in bits."""
    return np.array([question_kernels.entropy(chance) for chance in chances])
