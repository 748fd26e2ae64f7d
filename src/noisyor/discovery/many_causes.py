"""EM over many causes, whose states are sampled, and causes that go."""

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.discovery.dense_em import CauseMatrix
from noisyor.discovery.simplify import ALIKE, cosines, merge
from noisyor.em.expected import inside
from noisyor.em.sampled import RecordSampler
from noisyor.em.stochastic import Rounds
from noisyor.findings import Findings
from noisyor.network import NoisyOrNetwork
from noisyor.parameters import Booleans

FIRST_RECORDS = 8192
"""The first rounds look at so many records: a block."""
FIRST_ROUNDS, MORE_ROUNDS, LAST_ROUNDS = 30, 15, 10
STARTING, STAYING = 0.03, 0.05
"""Edges below these strengths 1 - f are left out at first, and later."""
FEWEST_SYMPTOMS = 3
SURE = 0.2
"""A cause that is left has so many symptoms with at least this strength..."""
RAREST = 1e-3
"""... and this prior."""


class SampledCauses:
    """Causes of some records, found by stochastic EM."""

    def __init__(self, findings: Findings, seed: int, n_jobs: int | None) -> None:
        self._findings, self._seed, self._n_jobs = findings, seed, n_jobs

    def simplified(
        self, causes: CauseMatrix, is_given: Booleans
    ) -> tuple[CauseMatrix, Booleans, float]:
        """Fit causes to some records; leave out what died and merge what is alike.

        Returns the causes, which of them were given, and the log likelihood of all records if they
        are like these, bounded from below.
        """
        causes, is_given = self._pruned(causes, is_given, STARTING)
        for n_rounds in (FIRST_ROUNDS, MORE_ROUNDS):
            causes = self._rounds(causes, n_rounds, FIRST_RECORDS)
            causes, is_given = self._pruned(causes, is_given, STAYING)
            causes, is_given = self._merged(causes, is_given)
        causes = self._rounds(causes, MORE_ROUNDS, FIRST_RECORDS)
        return causes, is_given, self._log_likelihood(causes, FIRST_RECORDS)

    def fitted(
        self, causes: CauseMatrix, is_given: Booleans
    ) -> tuple[CauseMatrix, Booleans, float]:
        """Fit causes to all records; leave out what died meanwhile and merge what is alike."""
        n = self._findings.n_records
        causes, is_given = self._pruned(causes, is_given, STARTING)
        causes = self._rounds(causes, LAST_ROUNDS, n)
        left, kept = self._merged(*self._pruned(causes, is_given, STAYING))
        if len(left.priors) < len(causes.priors):
            left = self._rounds(left, LAST_ROUNDS, n)
        return left, kept, self._log_likelihood(left, n)

    def _rounds(self, causes: CauseMatrix, n_rounds: int, n_records: int) -> CauseMatrix:
        """Make rounds of stochastic EM; return the mean of the last third."""
        network = self._network(causes)
        sampler = self._sampler(network, n_records)
        rounds, n_blocks = Rounds(sampler, Beliefs(network.structure)), len(sampler.starts) - 1
        found = []
        for number in range(n_rounds):
            network = rounds.make(
                network, n_blocks, must_screen=True, n_sweeps=2, seed=self._seed * 1000 + number
            )
            found.append(network)
        return CauseMatrix.of(rounds.mean(found[-max(n_rounds // 3, 1) :]))

    def _sampler(self, network: NoisyOrNetwork, n_records: int) -> RecordSampler:
        findings = self._findings.with_structure(network.structure)
        blocks, n = [], 0
        for block in findings.blocks:
            if n >= n_records:
                break
            blocks.append(block)
            n += block.n_records
        return RecordSampler(network.structure, blocks, 1e-4, n_jobs=self._n_jobs)

    def _log_likelihood(self, causes: CauseMatrix, n_records: int) -> float:
        network = self._network(causes)
        sampler = self._sampler(network, n_records)
        bounded = sampler.bound(network, every=max(int(sampler.starts[-1]) // 4000, 1))
        return float(bounded.total[0] / bounded.n_records[0] * self._findings.n_records)

    def _network(self, causes: CauseMatrix) -> NoisyOrNetwork:
        names = [f"{i}" for i in range(len(causes.priors))]
        network = causes.network(names, self._findings.structure.symptoms)
        return network.with_parameters(inside(network.parameters))

    def _pruned(
        self, causes: CauseMatrix, is_given: Booleans, least: float
    ) -> tuple[CauseMatrix, Booleans]:
        """Leave out weak edges, and causes that have hardly any left."""
        weak = (causes.strengths < least) & ~is_given[:, np.newaxis]
        failures = np.where(weak, 1.0, causes.failures)
        is_left = ((1.0 - failures) > SURE).sum(axis=1) >= FEWEST_SYMPTOMS
        kept = np.flatnonzero((is_left & (causes.priors > RAREST)) | is_given)
        return CauseMatrix(causes.priors, failures, causes.leaks).at(kept), is_given[kept]

    def _merged(self, causes: CauseMatrix, is_given: Booleans) -> tuple[CauseMatrix, Booleans]:
        """Make one of causes that are alike."""
        while len(causes.priors) > 1:
            alike = np.triu(cosines(causes.strengths, causes.strengths), 1)
            alike[is_given] = alike[:, is_given] = 0.0
            a, b = divmod(int(np.argmax(alike)), len(alike))
            if alike[a, b] < (1.0 + ALIKE) / 2.0:
                break
            causes, is_given = merge(causes, a, b), np.delete(is_given, b)
        return causes, is_given
