"""Networks whose diseases occur together, made at random, and their naive twins."""

import numpy as np

import naive
from conftest import as_lists
from noisyor import Structure
from noisyor.network import Covariate, Effects, Independent, Joint, NoisyOrNetwork, Trait


def random_effects(rng, n_diseases):
    """Effects of an age and a site with three levels, of people in four cells."""
    covariates = [Covariate("age", (), 50.0, 20.0), Covariate("site", ("a", "b", "c"))]
    cells = np.column_stack([rng.normal(size=4), np.eye(3)[rng.integers(3, size=4)]])
    return Effects(covariates, rng.normal(size=(n_diseases, 4)), cells, rng.dirichlet(np.ones(4)))


def random_causes(rng, n_diseases, kind):
    """Causes of a kind: joint, blocks, trait, traits, or with covariates."""
    if kind == "joint":
        return Joint(rng.dirichlet(np.full(2**n_diseases, 0.5)))
    if kind == "blocks":
        members = rng.permutation(n_diseases)
        blocks = [members[:2].tolist(), members[2:3].tolist()]
        shares = [rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(2))]
        return Joint(shares, blocks, rng.uniform(0.05, 0.5, n_diseases))
    effects = random_effects(rng, n_diseases) if kind.endswith("covariates") else None
    if kind == "covariates":
        return Independent(rng.uniform(0.05, 0.5, n_diseases), effects)
    n_traits = 2 if kind == "traits" else 1
    loadings = 1.5 * rng.normal(size=(n_diseases, n_traits))
    return Trait(rng.normal(-1.5, 1.0, n_diseases), loadings, effects)


KINDS = ("joint", "blocks", "trait", "traits", "covariates", "trait with covariates")


def random_together(rng, n_diseases, n_symptoms, kind):
    """A network whose diseases occur together."""
    structure = Structure.from_matrix(rng.random((n_diseases, n_symptoms)) < 0.6)
    return NoisyOrNetwork(
        structure, None, rng.uniform(0.1, 0.9, structure.n_edges),
        rng.uniform(0.01, 0.2, structure.n_symptoms),
        causes=random_causes(rng, structure.n_diseases, kind),
    )  # fmt: skip


def small_structure():
    """Four diseases with four symptoms of their own each, and four that two share."""
    edges = [(f"d{i}", f"s{i}{x}") for i in range(4) for x in range(4)]
    edges += [(f"d{i}", f"t{i}") for i in range(4)] + [
        (f"d{i}", f"t{(i + 1) % 4}") for i in range(4)
    ]
    return Structure.from_edges(edges)


def small_network(causes, rng):
    structure = small_structure()
    return NoisyOrNetwork(
        structure, None, rng.uniform(0.2, 0.6, structure.n_edges),
        np.full(structure.n_symptoms, 0.02), causes=causes,
    )  # fmt: skip


def as_naive(network):
    """The parameters of a network in the form that tests/naive.py takes."""
    weights, rows = network.components
    return naive.Mixed(weights.tolist(), rows.tolist()), *as_lists(network)[1:]
