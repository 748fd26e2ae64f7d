"""PeopleSampler: expected counts where diseases depend on covariates and hidden traits, sampled.

The M-step of their log odds is a logistic regression of each disease on the people as they were
sampled: what it needs of the records is a few sums (`PeopleCounts`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np

from noisyor.beliefs import Beliefs
from noisyor.em import people_kernels
from noisyor.em.candidate_kernels import SampledRecords, Seen
from noisyor.em.cause_models import LogisticModel
from noisyor.em.cells import Cells
from noisyor.em.expected import BetaPriors, ExpectedCounts, Trials, maximise, total_of
from noisyor.em.known_causes import KnownCauses
from noisyor.em.people_kernels import People, PeopleCounts, PeopleScores, Population
from noisyor.em.sampled import MATRIX_PARTS, RecordSampler, Sampler
from noisyor.em.sampling_kernels import SummedBounds, Sweeps
from noisyor.em.stochastic import Rounds
from noisyor.findings.blocks import Block
from noisyor.findings.labels import Labels
from noisyor.inference.flat import Floats, flatten
from noisyor.network import NoisyOrNetwork
from noisyor.network.causes import Causes, trait_grid
from noisyor.parallel import one_by_one
from noisyor.structure import Structure

NEWTON_STEPS = 2
"""Of each logistic regression: the next round goes on."""
LONGEST_STEP = 1.0
"""Of any parameter of the causes."""
MOST_ENUMERATED = 8
"""Records with more candidates are sampled: as people are sampled anyway, to sum up more states,
twice the work for each candidate, makes what is expected hardly less noisy."""
SCORED_AT_ONCE = 2000
MOST_SCORED = 1500
"""Parameters of a network whose information, failures and leaks too, is found together."""


class SamplerOfPeople(Sampler, Protocol):
    """Samples the people of records with their diseases, wherever these are."""

    design: Floats
    """Rows of covariates that people can have."""

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> PeopleCounts:
        """Sample the diseases and people of the first blocks; return the expected counts."""
        ...

    def inform_causes(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> "CauseInformation":
        """Return the information on the parameters of the causes.

        As if all records were such as those of every so many blocks. On small networks also on
        failures and leaks, which come last.
        """
        ...

    def thinned(self, every: int) -> Self:
        """Return a sampler of the records of every so many blocks, which leaves this as it is."""
        ...


def population_of(model: LogisticModel, causes: Causes, design: Floats) -> Population:
    """Return what people can be, by causes and the covariates that they can have."""
    flat = model.flat(causes, design)
    log_well = np.empty((len(flat.offsets), len(flat.weights)))
    for node, shift in enumerate(flat.shifts):
        log_well[:, node] = -np.logaddexp(0.0, flat.offsets + shift).sum(axis=1)
    return Population(
        flat.offsets, flat.shifts, np.exp(flat.offsets), np.exp(flat.shifts),
        np.log(flat.weights), log_well, flat.traits, flat.design,
    )  # fmt: skip


class PeopleSampler(RecordSampler, SamplerOfPeople):
    """Keeps the sampled diseases, traits and unknown covariates of records in memory."""

    def __init__(
        self,
        structure: Structure,
        blocks: Sequence[Block],
        model: LogisticModel,
        cells: Cells,
        *,
        least_odds: float = 1e-5,
        labels: Labels | None = None,
        first_record: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            structure, blocks, least_odds, labels=labels, first_record=first_record, n_jobs=n_jobs
        )
        self._model, self.design = model, cells.design
        people, n_nodes = cells.of_kinds(cells.kinds), len(trait_grid(model.n_traits)[1])
        first = people.cells[people.starts[:-1]].copy()
        nodes = np.full(len(first), n_nodes // 2, dtype=np.int64)
        self._people = People(nodes, first, people.starts, people.cells, people.weights)

    def copied(self) -> Self:
        """Return a sampler that goes on from here and leaves this one as it is."""
        other, people = super().copied(), self._people
        other._people = people._replace(nodes=people.nodes.copy(), cells=people.cells.copy())
        return other

    def thinned(self, every: int) -> Self:
        """Return a sampler of the records of every so many blocks, which leaves this as it is."""
        other, people = super().thinned(every), self._people
        rows = self._rows(range(0, len(self.blocks), every))
        sizes = np.diff(people.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        at = np.arange(starts[-1]) + np.repeat(people.starts[rows] - starts[:-1], sizes)
        other._people = People(
            people.nodes[rows], people.cells[rows], starts, people.possible[at], people.shares[at]
        )
        return other

    def _population(self, network: NoisyOrNetwork) -> Population:
        return population_of(self._model, network.causes, self.design)

    def _people_of(self, k: int) -> People:
        """Return the people of a block."""
        return _some_people(self._people, slice(self.starts[k], self.starts[k + 1]))

    def expect(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> PeopleCounts:
        """Sample the diseases and people of the first blocks; return the expected counts.

        Candidates are always looked for anew: they depend on who the person is, which changes.
        """
        net, population = flatten(network.as_independent()), self._population(network)

        def expect_part(part: range) -> PeopleCounts:
            counts = self._nothing(population)
            for k in part:
                is_start = not self.is_started[k]
                sweeps = Sweeps(
                    self.least_odds, bool(is_start), True, n_sweeps, seed, True, MOST_ENUMERATED
                )
                people_kernels.sample_people(
                    net, population, self._people_of(k), self._records(k), sweeps, counts
                )
                self.is_started[k] = True
            return counts

        return total_of(one_by_one(expect_part, self._parts(n_blocks), self._n_jobs))

    def _nothing(self, population: Population) -> PeopleCounts:
        width = 1 + population.traits.shape[1] + population.design.shape[1]
        return PeopleCounts(
            *ExpectedCounts.zeros(self.structure),
            np.zeros((self.structure.n_diseases, width)), np.zeros_like(population.log_well),
        )  # fmt: skip

    def bound(self, network: NoisyOrNetwork, every: int) -> SummedBounds:
        """Return lower bounds of the log evidences of every so many records."""
        net, population = flatten(network.as_independent()), self._population(network)

        def bound_block(k: int) -> SummedBounds:
            found = SummedBounds.zeros(self.structure)
            people_kernels.bound_people(
                net, population, self._people_of(k), self._records(k), every, found
            )
            return found

        return total_of(one_by_one(bound_block, self._blocks_of_every(every), self._n_jobs))

    def inform_causes(
        self, network: NoisyOrNetwork, n_sweeps: int, seed: int, every: int = 1
    ) -> "CauseInformation":
        """Return the information on the parameters of the causes."""
        net, population = flatten(network.as_independent()), self._population(network)
        width = 1 + population.traits.shape[1] + population.design.shape[1]
        n_causes, n_items = self.structure.n_diseases * width, self._n_scored_items
        size = n_causes + n_items
        chosen = range(0, len(self.blocks), every)
        sweeps = Sweeps(self.least_odds, False, True, n_sweeps, seed, True, MOST_ENUMERATED)

        def inform_part(first: int) -> CauseInformation:
            products = np.zeros((size, size))
            for k in chosen[first::MATRIX_PARTS]:
                people, records = self._people_of(k), self._records(k)
                n = len(people.nodes)
                for start in range(0, n, SCORED_AT_ONCE):
                    some = slice(start, min(start + SCORED_AT_ONCE, n))
                    m = some.stop - start
                    scores = PeopleScores(
                        np.empty((2, m, self.structure.n_diseases, width)),
                        np.empty((2, m, n_items)),
                    )
                    people_kernels.score_people(
                        net, population, _some_people(people, some), _some_records(records, some),
                        sweeps, scores,
                    )  # fmt: skip
                    rows = [scores.causes.reshape(2, m, n_causes), scores.items]
                    one, other = np.concatenate(rows, axis=2)
                    # Of some thousand records single precision is exact enough, at half the time.
                    products += one.astype(np.float32).T @ other.astype(np.float32)
            return CauseInformation(products)

        parts = one_by_one(inform_part, range(MATRIX_PARTS), self._n_jobs)
        found = total_of(parts, self._n_jobs).matrix
        factor = float(self.starts[-1]) / sum(self.blocks[k].n_records for k in chosen)
        return CauseInformation(factor * (found + found.T) / 2.0)

    @property
    def _n_scored_items(self) -> int:
        """How many failures and leaks are looked at together with the causes."""
        n_items = self.structure.n_edges + self.structure.n_symptoms
        return n_items if self.structure.n_parameters <= MOST_SCORED else 0


class CauseInformation(NamedTuple):
    """What records say of the parameters of the causes, as something that adds up."""

    matrix: Floats


def _some_people(people: People, some: slice) -> People:
    starts = people.starts[some.start : some.stop + 1]
    own = slice(starts[0], starts[-1])
    return People(
        people.nodes[some], people.cells[some], starts - starts[0], people.possible[own],
        people.shares[own],
    )  # fmt: skip


def _some_records(records: SampledRecords, some: slice) -> SampledRecords:
    offsets = records.offsets[some.start : some.stop + 1]
    own = slice(offsets[0], offsets[-1])
    return SampledRecords(
        offsets - offsets[0], records.listed[own], records.is_unknown[own],
        records.first + some.start, records.states[some], records.candidates[some],
        Seen(records.seen.known[some], records.seen.on[some]),
    )  # fmt: skip


class PeopleRounds(Rounds):
    """Rounds in which the parameters of the causes are learned too."""

    guarded_records = 100
    """Fewer: the evidence of each must be bounded for all that its person can be."""
    sampler: SamplerOfPeople

    def __init__(
        self, sampler: SamplerOfPeople, model: LogisticModel, fixed: Beliefs, share: float = 1.0
    ) -> None:
        super().__init__(sampler, fixed, share)
        self.model = model

    @property
    def n_free(self) -> int:
        """How many parameters are learned."""
        n_causes = int(self.model.is_free.sum())
        return n_causes + int((~self.fixed.mask.vector).sum()) - self.model.n_diseases

    @property
    def known(self) -> KnownCauses:
        """What is known of P(disease), and of the causes' parameters."""
        return KnownCauses(self.model, self.fixed)

    def make(
        self, network: NoisyOrNetwork, n_blocks: int, *, must_screen: bool, n_sweeps: int, seed: int
    ) -> NoisyOrNetwork:
        """Make a round over the first blocks."""
        told = self.sampler.expect(
            network, n_blocks, must_screen=must_screen, n_sweeps=n_sweeps, seed=seed
        )
        trials = Trials.of(network.structure, told, self.totals(n_blocks))
        weak = BetaPriors.weak(network.as_independent(), self.share).believing(self.fixed)
        plain = maximise(trials, network.as_independent(), self.fixed, weak)
        return self._regressed(plain.with_causes(network.causes), told)

    def _regressed(self, network: NoisyOrNetwork, told: PeopleCounts) -> NoisyOrNetwork:
        """Return the network whose causes explain the people best: a logistic regression each."""
        model, known = self.model, self.known
        free = model.is_free.reshape(model.n_diseases, -1)
        for _ in range(NEWTON_STEPS):
            position = model.position_of(network.causes)
            slope, hessian = self._derivatives(network, told)
            slope, hessian = known.believe_each(network.causes, slope, hessian)
            slope = np.where(free, slope, 0.0)
            hessian *= free[:, np.newaxis] & free[:, :, np.newaxis]
            hessian += np.eye(free.shape[1]) * ~free[:, np.newaxis]
            step = np.linalg.solve(hessian, slope[:, :, np.newaxis])[:, :, 0]
            step = np.clip(step, -LONGEST_STEP, LONGEST_STEP)
            position = known.put_into(position + step.ravel())
            network = network.with_causes(model.causes_at(position))
        moved = self._standardised(model.position_of(network.causes), told.occupancy)
        return network.with_causes(model.causes_at(moved))

    def _derivatives(self, network: NoisyOrNetwork, told: PeopleCounts) -> tuple[Floats, Floats]:
        """Return the first and negative second derivatives of each disease's regression.

        With those of the weak priors. The first are the derivatives of the log likelihood, too
        (Fisher's identity), if the people were sampled with this network.
        """
        expected = np.zeros_like(told.moments)
        hessian = np.zeros((*expected.shape, expected.shape[1]))
        population = population_of(self.model, network.causes, self.sampler.design)
        people_kernels.sum_logistic(population, told.occupancy, expected, hessian)
        position = self.model.position_of(network.causes)
        _, slope, curvature = self.model.penalty(position, self.share)
        hessian += np.eye(expected.shape[1]) * curvature.reshape(expected.shape)[:, np.newaxis]
        return told.moments - expected + slope.reshape(expected.shape), hessian

    def slope(self, network: NoisyOrNetwork, told: PeopleCounts) -> Floats:
        """Return the derivatives of the penalised log likelihood by the causes' parameters.

        `told` are the counts of people who were sampled with this network.
        """
        slope, _ = self._derivatives(network, told)
        return np.asarray(slope.ravel() + self.known.believed(network.causes).derivatives)

    def _standardised(self, position: Floats, occupancy: Floats) -> Floats:
        """Return the vector for traits of mean 0 and variance 1, which those of the people lack.

        EM is slow where people's traits are well known: these then follow the parameters, and the
        parameters these. To let traits have any variance, and any mean that depends on the
        covariates, in the M-step, and to change the parameters accordingly, takes that out
        (parameter expansion: Liu, Rubin and Wu 1998). Where something is known of priors, people's
        traits may well have another mean at the maximum; of loadings, another variance; of effects,
        a mean that depends on the covariates.
        """
        n_traits, known, entries = self.model.n_traits, self.known, self.model.known
        if not n_traits or known.has_fixed or known.has_believed or entries.has_scale:
            return position
        nodes, _ = trait_grid(n_traits)
        design = self.sampler.design
        if entries.has_effects:
            design = design[:, :0]
        x = np.concatenate([np.ones((len(design), 1)), design], axis=1)
        weights = occupancy / occupancy.sum()
        of_cells = weights.sum(axis=1)
        # The regression of the traits on the covariates; levels of a category overlap with the 1.
        means = np.linalg.pinv((x.T * of_cells) @ x, hermitian=True) @ (x.T @ (weights @ nodes))
        explained = (means.T @ x.T * of_cells) @ x @ means
        squares = (nodes.T * weights.sum(axis=0)) @ nodes
        spread = np.linalg.cholesky(squares - explained)
        table = position.reshape(self.model.n_diseases, -1).copy()
        loadings = table[:, 1 : 1 + n_traits].copy()
        table[:, 0] += loadings @ means[0]
        if not entries.has_effects:
            table[:, 1 + n_traits :] += loadings @ means[1:].T
        table[:, 1 : 1 + n_traits] = loadings @ spread
        return table.ravel()

    def prepared(self, start: NoisyOrNetwork) -> NoisyOrNetwork:
        """Return a start with what is fixed, and all else off 0 and 1."""
        return super().prepared(start.as_independent()).with_causes(start.causes)

    def mean(self, networks: list[NoisyOrNetwork]) -> NoisyOrNetwork:
        """Return the mean of the parameters of some networks."""
        positions = [self.model.position_of(each.causes) for each in networks]
        causes = self.model.causes_at(self.known.put_into(np.mean(positions, axis=0)))
        return super().mean([each.as_independent() for each in networks]).with_causes(causes)

    def log_density(self, network: NoisyOrNetwork) -> float:
        """Return that of the weak priors, which are those around the first network for all."""
        if self._weak is None:
            self._weak = BetaPriors.weak(network.as_independent(), self.share).believing(self.fixed)
        is_counted = ~self.fixed.mask.vector
        is_counted[: self.model.n_diseases] = False
        value, _, _ = self.model.penalty(self.model.position_of(network.causes), self.share)
        value += self.known.believed(network.causes).value
        return value + self._weak.log_density(network, is_counted)
