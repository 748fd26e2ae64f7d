"""best_questions: which finding to ask for next.

The gain of a question is the mutual information of its answer and the diseases, given what is
known: I(F; D) = H(F) - E[H(F | D)], in bits. The expectations are means over states of the
diseases that are drawn from the posterior.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisyor.errors import ParameterError
from noisyor.inference.answer_kernels import IMPOSSIBLE
from noisyor.inference.answers import make_request
from noisyor.inference.intervals import Learned, network_of
from noisyor.inference.posterior import check_answered
from noisyor.inference.records import flat_network, indices_of
from noisyor.names import Indices, Name
from noisyor.network import NoisyOrNetwork
from noisyor.structure import Structure

if TYPE_CHECKING:
    import pyarrow as pa

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Questions:
    """What asking for each unknown finding would tell, the best question first."""

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
    seed: int = 0,
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
        States of the diseases to draw; more of them make the gains more precise.
    seed
        The same seed gives the same answer.
    """
    from noisyor.inference.gibbs_kernels import Sampling
    from noisyor.inference.kernels import new_desk
    from noisyor.inference.question_kernels import draw_states
    from noisyor.inference.random_kernels import seed_of

    make_request("gibbs", 1.0, seed)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 10:
        raise ParameterError(f"draws must be a whole number from 10, not {draws!r}.")
    known = network_of(network)
    structure = known.structure
    parts = indices_of(structure, present, absent)
    net = flat_network(known)
    states = np.zeros((draws, structure.n_diseases), dtype=np.bool_)
    symptoms = np.concatenate(parts).astype(np.int32)
    is_present = np.arange(len(symptoms)) < len(parts[0])
    random = np.uint64(seed_of(seed, 0))
    is_possible = draw_states(
        net, symptoms, is_present, True, Sampling(4, 1, 1), random, new_desk(net), states
    )
    if not is_possible:
        check_answered(known, parts, IMPOSSIBLE, 1.0)
    gains, probabilities = _informed(known, states)
    if about is not None:
        is_on = states[:, structure.disease_index(about)]
        gains = _entropy(probabilities)
        for part in is_on, ~is_on:
            if part.any():
                gains = gains - part.mean() * _entropy(_informed(known, states[part])[1])
        gains = np.maximum(gains, 0.0)
    unknown = np.setdiff1d(np.arange(structure.n_symptoms), symptoms)
    order = unknown[np.argsort(-gains[unknown], kind="stable")]
    return Questions(structure, order, gains[order], probabilities[order])


def _informed(network: NoisyOrNetwork, states: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the gain of asking for each symptom, and P(present), where states are drawn."""
    from noisyor.inference.question_kernels import inform

    structure, net = network.structure, flat_network(network)
    gains, probabilities = np.empty(structure.n_symptoms), np.empty(structure.n_symptoms)
    symptoms = np.ascontiguousarray(structure.edges[:, 1])
    inform(net, structure.child_offsets, symptoms, states, probabilities, gains)
    return gains, probabilities


def _entropy(p: Floats) -> Floats:
    """Return the entropy of a yes or no, in bits."""
    inner = np.clip(p, 1e-300, 1.0 - 1e-16)
    return np.asarray(-(inner * np.log2(inner) + (1.0 - inner) * np.log2(1.0 - inner)))
