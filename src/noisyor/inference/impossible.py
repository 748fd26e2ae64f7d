"""Why a network holds findings for impossible."""

from noisyor.names import Indices
from noisyor.network import NoisyOrNetwork


def why_impossible(network: NoisyOrNetwork, present: Indices, absent: Indices) -> str:
    """Return in words which finding contradicts the network, or that all are too improbable."""
    structure = network.structure
    for j in absent.tolist():
        if network.leaks[j] == 1.0:
            return f"{structure.symptoms[j]!r} is absent, but its leak is 1."
    excluded = set()
    for j in absent.tolist():
        for index in range(structure.parent_offsets[j], structure.parent_offsets[j + 1]):
            disease = int(structure.parent_diseases[index])
            if network.failures[structure.parent_edges[index]] == 0.0:
                excluded.add(disease)
                if network.priors[disease] == 1.0:
                    return (
                        f"{structure.symptoms[j]!r} is absent, but {structure.diseases[disease]!r} "
                        "is certain and always causes it."
                    )
    for j in present.tolist():
        if network.leaks[j] == 0.0 and not _has_cause(network, j, excluded):
            return f"{structure.symptoms[j]!r} is present, but nothing can have caused it."
    return "together they are less probable than the smallest number of a computer."


def _has_cause(network: NoisyOrNetwork, j: int, excluded: set[int]) -> bool:
    structure = network.structure
    for index in range(structure.parent_offsets[j], structure.parent_offsets[j + 1]):
        disease = int(structure.parent_diseases[index])
        can_fire = network.failures[structure.parent_edges[index]] < 1.0
        if can_fire and network.priors[disease] > 0.0 and disease not in excluded:
            return True
    return False
