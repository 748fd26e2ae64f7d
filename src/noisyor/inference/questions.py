"""best_questions: which finding to ask for next.

The gain of a question is the mutual information of its answer and the diseases, given what is
known: I(F; D) = H(F) - E[H(F | D)], in bits. The expectations are means over states of the
diseases that are drawn from the posterior.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.inference.answer_kernels import IMPOSSIBLE
from noisyor.inference.flat import FlatNetwork, flat_network, indices_of
from noisyor.inference.intervals import Learned, network_of
from noisyor.inference.posterior import check_answered, posterior
from noisyor.inference.record_kernels import is_possible, new_workspace
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, as_seed
from noisyor.structure import Structure

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Questions:
    """What asking for each unknown finding would tell, the best question first.

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
    """In bits: what the answer is expected to tell of the diseases."""
    probabilities: Floats
    """P(the finding is present)."""

    def table(self) -> "pa.Table":
        """Return one row per unknown finding, as an Arrow table."""
        import pyarrow as pa

        return pa.table(
            {
                "symptom": [self.structure.symptoms[j] for j in self.symptoms.tolist()],
                "gain": self.gains,
                "probability": self.probabilities,
            }
        )

    def __repr__(self) -> str:
        best = [
            f"{self.structure.symptoms[j]} {gain:.2g}"
            for j, gain in zip(self.symptoms[:3].tolist(), self.gains[:3], strict=True)
        ]
        return f"Questions({len(self.gains):,} unknown; bits: {', '.join(best)})"


def best_questions(
    network: NoisyOrNetwork | Learned,
    present: Sequence[Name] = (),
    absent: Sequence[Name] = (),
    *,
    about: Name | None = None,
    draws: int = 1000,
    rng: Rng = 0,
) -> Questions:
    """Return what asking for each unknown finding would tell of the diseases.

    All diseases count, also those that have nothing to do with the findings so far: asking a
    patient with a cough for thirst tells of diabetes. `about` one disease, only it counts.

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
        raise ParameterError(f"draws must be a whole number from 10, not {draws!r}.")
    known = network_of(network)
    structure = known.structure
    parts = indices_of(structure, present, absent)
    symptoms = np.concatenate(parts).astype(np.int32)
    asked = _Asked(known, symptoms, np.arange(len(symptoms)) < len(parts[0]), draws, seed)
    if not asked.is_possible():
        check_answered(known, parts, IMPOSSIBLE, 1.0)
    if about is None:
        gains, probabilities = asked.informed(flat_network(known))
    else:
        disease = structure.disease_index(about)
        chance = posterior(known, present, absent).probabilities[disease]
        gains, probabilities = asked.about(disease, float(chance))
    unknown = np.setdiff1d(np.arange(structure.n_symptoms), symptoms)
    order = unknown[np.argsort(-gains[unknown], kind="stable")]
    return Questions(structure, order, gains[order], probabilities[order])


class _Asked(NamedTuple):
    """Findings, and how often to draw from their posterior."""

    network: NoisyOrNetwork
    symptoms: NDArray[np.int32]
    is_present: NDArray[np.bool_]
    draws: int
    seed: int

    def is_possible(self) -> bool:
        """Say whether the network holds the findings for possible."""
        net = flat_network(self.network)
        return bool(is_possible(net, self.symptoms, self.is_present, True, new_workspace(net)))

    def informed(self, net: FlatNetwork) -> tuple[Floats, Floats]:
        """Return the gain of asking for each symptom, and P(present)."""
        from noisyor.inference.gibbs_kernels import Sampling
        from noisyor.inference.question_kernels import draw_states, inform
        from noisyor.inference.random_kernels import seed_of

        structure = self.network.structure
        states = np.zeros((self.draws, structure.n_diseases), dtype=np.bool_)
        random = np.uint64(seed_of(self.seed, 0))
        draw_states(
            net, self.symptoms, self.is_present, True, Sampling(8, 1, 1), random,
            new_workspace(net), states,
        )  # fmt: skip
        gains, probabilities = np.empty(structure.n_symptoms), np.empty(structure.n_symptoms)
        children = np.ascontiguousarray(structure.edges[:, 1])
        inform(net, structure.child_offsets, children, states, probabilities, gains)
        return gains, probabilities

    def about(self, disease: int, chance: float) -> tuple[Floats, Floats]:
        """Return the same for one disease, with draws where it is present, and where it is not.

        However rare it is, both are drawn equally often.
        """
        from noisyor.inference.question_kernels import entropies

        net = flat_network(self.network)
        left = np.zeros(len(net.leaks))
        probabilities = np.zeros(len(net.leaks))
        for prior, weight in ((1.0, chance), (0.0, 1.0 - chance)):
            if weight > 0.0:
                priors = net.priors.copy()
                priors[disease] = prior
                _, present = self.informed(net._replace(priors=priors))
                probabilities += weight * present
                left += weight * entropies(present)
        return np.maximum(entropies(probabilities) - left, 0.0), probabilities
