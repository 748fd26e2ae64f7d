"""Pictures of a network: its two layers, or the neighbourhood of one disease."""

from typing import TYPE_CHECKING, Any

import numpy as np

from noisyor.drawing import axes_for, check_top, draw_layers, height_of
from noisyor.names import Indices, Name

if TYPE_CHECKING:
    from noisyor.network.network import NoisyOrNetwork


def plot_network(network: "NoisyOrNetwork", ax: Any, disease: Name | None, top: int) -> Any:
    """Draw the layers of a network; see `NoisyOrNetwork.plot`."""
    structure = network.structure
    diseases, symptoms = drawn_layers(network, disease, check_top(top))
    at = [{int(each): n for n, each in enumerate(layer)} for layer in (diseases, symptoms)]
    kept = np.isin(structure.edges[:, 0], diseases) & np.isin(structure.edges[:, 1], symptoms)
    edges = np.array([(at[0][i], at[1][j]) for i, j in structure.edges[kept].tolist()])
    names = (
        [structure.diseases[i] for i in diseases.tolist()],
        [structure.symptoms[j] for j in symptoms.tolist()],
    )
    with axes_for(ax, 6.8, height_of(max(map(len, names)))) as axes:
        chosen = None if disease is None else 0
        draw_layers(axes, *names, edges.reshape(-1, 2), 1.0 - network.failures[kept], chosen)
    return axes


def drawn_layers(
    network: "NoisyOrNetwork", disease: Name | None, top: int
) -> tuple[Indices, Indices]:
    """Return the diseases and symptoms that are drawn, the one in question first."""
    structure = network.structure
    owners, caused = structure.edges.T
    strengths = 1.0 - network.failures
    if disease is None:
        return np.arange(structure.n_diseases)[:top], np.arange(structure.n_symptoms)[:top]
    chosen = structure.disease_index(disease)
    own = np.flatnonzero(owners == chosen)
    symptoms = caused[own[np.argsort(-strengths[own], kind="stable")]][:top]
    shared = np.zeros(structure.n_diseases)
    is_near = np.isin(caused, symptoms)
    np.add.at(shared, owners[is_near], strengths[is_near])
    shared[chosen] = np.inf
    order = np.argsort(-shared, kind="stable")[:top]
    return order[shared[order] > 0.0], symptoms
