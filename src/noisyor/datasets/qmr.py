"""A network with the size and the troubles of QMR-DT, which itself may not be shared.

What the paper says of QMR-DT (Sections 1, 2.1 and 4.2) holds exactly: 570 diseases, 4,075
symptoms, 45,470 edges, a symptom with 570 parents, and one pair of diseases with 61 children each,
60 of them shared, that triplets and pairs cannot learn. All else they learn, at depth up to 3, and
without pairs only in more rounds. This is not left to chance but built in:

====================  ===========================================================================
ordinary diseases     have two symptoms of their own: every edge is learned at depth 0
tier t = 1, 2, 3      have two symptoms shared with one disease of tier t - 1, all others common:
                      every edge is learned by depth t
the two chains        have one symptom of their own and one in common with each predecessor: pairs
                      learn link t at depth 1, triplets alone at depth t
the troublesome pair  shares all but one symptom each: never learned
====================  ===========================================================================
"""

import numpy as np
from numpy.typing import NDArray

from noisyor.network import NoisyOrNetwork
from noisyor.network.sampling import Rng, seed_sequence
from noisyor.structure import Structure

N_DISEASES, N_SYMPTOMS, N_EDGES = 570, 4_075, 45_470
SHARED_BY_PAIR = 60
TIER_SIZES = (40, 12, 4)
CHAIN_LENGTH = 6
N_COMMON = 120
"""So many of the most frequent symptoms have enough parents to couple any two of them."""

FREQUENCY_CLASSES = (0.025, 0.20, 0.50, 0.80, 0.985)
"""P(symptom | disease) of QMR's frequencies 1 to 5 (Shwe et al. 1991)."""
CLASS_SHARES = (0.255, 0.375, 0.212, 0.116, 0.042)

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def qmr_shaped(rng: Rng = None) -> NoisyOrNetwork:
    """Return a random network that has the size, the degrees and the depths of QMR-DT.

    About 3.6 diseases (Zipf priors) and 96 findings a record; failures in the five frequency
    classes of QMR; leaks log-uniform in [0.0002, 0.01].
    """
    generator = np.random.default_rng(seed_sequence(rng, "qmr_shaped"))
    structure = _named_at_random(_Draft(generator).edges(), generator)
    classes = generator.choice(len(FREQUENCY_CLASSES), size=N_EDGES, p=CLASS_SHARES)
    return NoisyOrNetwork(
        structure,
        zipf_priors(N_DISEASES, generator),
        1.0 - np.array(FREQUENCY_CLASSES)[classes],
        random_leaks(N_SYMPTOMS, generator),
    )


def zipf_priors(n_diseases: int, rng: np.random.Generator) -> Floats:
    """Return priors 0.12 / rank^0.6, clipped to [0.001, 0.3], the ranks in random order.

    With 570 diseases about 3.6 are present in a record.
    """
    ranks = rng.permutation(n_diseases) + 1.0
    return np.clip(0.12 / ranks**0.6, 0.001, 0.3)


def random_leaks(n_symptoms: int, rng: np.random.Generator) -> Floats:
    """Return leaks that are log-uniform in [0.0002, 0.01]."""
    return np.exp(rng.uniform(np.log(0.0002), np.log(0.01), n_symptoms))


def _named_at_random(edges: Indices, rng: np.random.Generator) -> Structure:
    """Number diseases and symptoms in random order, so that no position gives a role away."""
    disease_of, symptom_of = rng.permutation(N_DISEASES), rng.permutation(N_SYMPTOMS)
    return Structure(
        [f"D{number}" for number in range(N_DISEASES)],
        [f"S{number}" for number in range(N_SYMPTOMS)],
        np.column_stack([disease_of[edges[:, 0]], symptom_of[edges[:, 1]]]),
    )


class _Draft:
    """The edges as they are being drawn; diseases and symptoms in the order of their roles.

    Symptoms come in two kinds: witnesses, whose parents are set by the table above and never
    added to, and the others, from the most to the least frequent.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.matrix = np.zeros((N_DISEASES, N_SYMPTOMS), dtype=np.bool_)

    def edges(self) -> Indices:
        """Draw all edges."""
        self._assign_roles()
        self._witness_symptoms()
        self._troublesome_pair()
        self._chains()
        self.matrix[:, self.others[0]] = True  # the most frequent symptom: a child of all diseases
        self._first_parents()
        self._remaining_edges()
        return np.argwhere(self.matrix)

    def _assign_roles(self) -> None:
        sizes = [2, *TIER_SIZES, CHAIN_LENGTH, CHAIN_LENGTH]
        roles = np.split(np.arange(N_DISEASES), np.cumsum(sizes))
        self.pair, *self.tiers, self.chain_a, self.chain_b, self.ordinary = roles
        n_witnesses = 2 * len(self.ordinary) + 2 * sum(TIER_SIZES) + 3 * 2 * CHAIN_LENGTH
        self.witnesses = np.arange(n_witnesses)
        self.others = np.arange(n_witnesses, N_SYMPTOMS)
        self.common = self.others[:N_COMMON]

    def _witness_symptoms(self) -> None:
        """Give each disease the symptoms by which it is learned."""
        free = iter(self.witnesses)

        def share(*diseases: int) -> None:
            self.matrix[list(diseases), next(free)] = True

        for disease in self.ordinary:
            share(disease)
            share(disease)
        for tier, below in zip(self.tiers, [self.ordinary, *self.tiers], strict=False):
            for disease in tier:
                known_before = self.rng.choice(below)
                share(disease, known_before)
                share(disease, known_before)
        # Both chains hang from ordinary diseases; each link refers to the links before it.
        self.chain_starts = self.rng.choice(self.ordinary, 2, replace=False)
        before_a, before_b = self.chain_starts
        for link_a, link_b in zip(self.chain_a, self.chain_b, strict=True):
            for link, same, other in (link_a, before_a, before_b), (link_b, before_b, before_a):
                share(link)
                share(link, same)
                share(link, other)
            before_a, before_b = link_a, link_b

    def _troublesome_pair(self) -> None:
        hub, *others = self.others
        own = self.rng.choice(others, SHARED_BY_PAIR + 1, replace=False)
        for disease, private in zip(self.pair, own[:2], strict=True):
            self.matrix[disease, [hub, *own[2:], private]] = True

    def _chains(self) -> None:
        """Let the children of each link be among those of the links before it."""
        children = self.rng.choice(self.common[1:], 100, replace=False)
        self.matrix[np.ix_(self.chain_starts, children)] = True
        for link_a, link_b in zip(self.chain_a, self.chain_b, strict=True):
            self.matrix[np.ix_([link_a, link_b], children)] = True
            children = children[: len(children) - 8]

    def _first_parents(self) -> None:
        """Give every symptom at least one parent."""
        orphans = self.others[~self.matrix[:, self.others].any(axis=0)]
        self.matrix[self.rng.choice(self.ordinary, len(orphans)), orphans] = True

    def _remaining_edges(self) -> None:
        """Draw children, frequent symptoms more often, until each disease has its number."""
        weights = 1.0 / (np.arange(len(self.others)) + 10.0) ** 0.7
        open_diseases = np.concatenate([*self.tiers, self.ordinary])
        for disease, degree in zip(open_diseases, self._degrees(open_diseases), strict=True):
            pool, weight = self.others, weights
            if disease not in self.ordinary:
                pool, weight = self.common, weights[:N_COMMON]
            is_free = ~self.matrix[disease, pool]
            # The largest of log(weight) + Gumbel noise: weighted sampling without replacement.
            keys = np.log(weight[is_free]) + self.rng.gumbel(size=is_free.sum())
            n_new = degree - self.matrix[disease].sum()
            self.matrix[disease, pool[is_free][np.argsort(keys)[::-1][:n_new]]] = True

    def _degrees(self, diseases: Indices) -> Indices:
        """Draw how many children each disease has, with the sum that makes the edges exact."""
        has = self.matrix[diseases].sum(axis=1)
        total = N_EDGES - (self.matrix.sum() - has.sum())
        tail = np.exp(self.rng.normal(0.0, 0.5, len(diseases)))
        degrees: Indices = np.maximum((tail / tail.sum() * total).astype(np.int64), has + 5)
        is_tier = ~np.isin(diseases, self.ordinary)
        degrees[is_tier] = np.clip(degrees[is_tier], 40, N_COMMON - 20)
        while (excess := int(degrees.sum() - total)) != 0:
            adjustable = np.flatnonzero(~is_tier & ((degrees > has + 5) | (excess < 0)))
            chosen = self.rng.permutation(adjustable)[: abs(excess)]
            degrees[chosen] -= np.sign(excess)
        return degrees
