"""The joint distribution of some symptoms, without cancellation."""

import numpy as np
from numpy.typing import NDArray

from noisyor.names import Indices
from noisyor.parameters import Parameters
from noisyor.structure import Structure

Floats = NDArray[np.float64]


def joint_distribution(structure: Structure, parameters: Parameters, symptoms: Indices) -> Floats:
    """Return P(symptoms = s) for each s, with axis k of the result for the k-th symptom.

    It is the 2 x ... x 2 tensor T of Section 2. Going to it from negative moments by inclusion and
    exclusion loses digits. Instead the diseases are added one after the other, with positive terms
    only: a disease that is present turns each absent child into a present one with probability
    1 - f,

        T  <-  (1 - p) T  +  p K_1 ... K_m T        K_j = [[f_j, 0], [1 - f_j, 1]]  along axis j.
    """
    priors, failures, leaks = parameters
    axes_of: dict[int, list[tuple[int, float]]] = {}
    for axis, symptom in enumerate(symptoms):
        parents = slice(structure.parent_offsets[symptom], structure.parent_offsets[symptom + 1])
        for disease, edge in zip(
            structure.parent_diseases[parents], structure.parent_edges[parents], strict=True
        ):
            axes_of.setdefault(int(disease), []).append((axis, float(failures[edge])))
    with np.errstate(divide="ignore"):
        # As logarithms, so that the probability of a rare symptom keeps its digits.
        log_absent = np.log1p(-leaks[symptoms])
        # A disease with only one child here makes that child present on its own, as a leak does.
        for disease, axes in axes_of.items():
            if len(axes) == 1:
                axis, failure = axes[0]
                log_absent[axis] += np.log1p(-priors[disease] * (1.0 - failure))
    tensor = _independent(log_absent)
    for disease, axes in axes_of.items():
        if len(axes) > 1:
            with_disease = tensor.copy()
            for axis, failure in axes:
                _activate(with_disease, axis, failure)
            tensor *= 1.0 - priors[disease]
            tensor += priors[disease] * with_disease
    return tensor


def _independent(log_absent: Floats) -> Floats:
    tensor = np.ones(())
    for logarithm in log_absent:
        tensor = tensor[..., np.newaxis] * np.array([np.exp(logarithm), -np.expm1(logarithm)])
    return tensor


def _activate(tensor: Floats, axis: int, failure: float) -> None:
    """Let an absent symptom become present with probability 1 - failure, in place."""
    absent, present = np.moveaxis(tensor, axis, 0)
    present += (1.0 - failure) * absent
    absent *= failure
