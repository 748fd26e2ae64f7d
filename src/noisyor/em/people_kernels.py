"""Compiled passes over records of people who differ, by covariates and by hidden traits.

Whose record it is sets the log odds of all diseases: a_i + B_i x of his cell of covariates, and
b_i z of the node at which his traits are for the moment. Given both, diseases are independent, and
a record is worked on as in `sampling_kernels`. Before, his node is drawn given the diseases that he
had so far,

    P(node | diseases) ~ weight  prod_i (1 - p_i)  prod of the shifts of those that he has,

where the first product is looked up in a table; and his cell, where his covariates are unknown.
"""

from typing import NamedTuple

import numpy as np

from noisyor.em import candidate_kernels, state_kernels
from noisyor.em.candidate_kernels import CERTAIN, OpenRecord, SampledRecords
from noisyor.em.expected import ExpectedCounts
from noisyor.em.sampling_kernels import NOTHING, SummedBounds, Sweeps, expect_record, gather
from noisyor.inference.flat import FlatNetwork, Floats, Integers
from noisyor.inference.gibbs_kernels import Random, next_uniform, random_of
from noisyor.kernels import kernel

MOST_BOUNDED = 10
"""Diseases whose states are summed up for a bound, for each value of the traits."""


class Population(NamedTuple):
    """What people can be: cells of covariates, nodes of the traits."""

    offsets: Floats
    """Cells x diseases: log odds where all traits are 0."""
    shifts: Floats
    """Nodes x diseases: added to these."""
    offset_odds: Floats
    shift_odds: Floats
    """The same, not as logarithms."""
    log_weights: Floats
    """Of the nodes."""
    log_well: Floats
    """Cells x nodes: the log probability of no disease."""
    traits: Floats
    """Nodes x traits."""
    design: Floats
    """Cells x columns."""


class People(NamedTuple):
    """Whose records those of a block are."""

    nodes: Integers
    """For the moment, of each."""
    cells: Integers
    starts: Integers
    """The cells that record r can be of are `starts[r] : starts[r + 1]` of the next two."""
    possible: Integers
    shares: Floats


class PeopleCounts(NamedTuple):
    """Expected counts, as `ExpectedCounts` has them, and what the M-step of the causes needs."""

    cases: Floats
    caused: Floats
    unknown: Floats
    leaked: Floats
    moments: Floats
    """Diseases x (1, traits, covariates): summed up over expected cases."""
    occupancy: Floats
    """Cells x nodes: how many people are there."""


@kernel
def set_person(
    population: Population, cell: int, node: int, silent: Floats, own: FlatNetwork
) -> None:
    """Write the odds of a person's diseases; `silent` are the chances that all findings fail."""
    for i in range(len(own.priors)):
        odds = population.offset_odds[cell, i] * population.shift_odds[node, i]
        own.priors[i] = odds / (1.0 + odds)
        own.odds[i] = odds * silent[i]
        own.log_odds[i] = (
            population.offsets[cell, i] + population.shifts[node, i] + own.log_absent[i]
        )


@kernel
def draw_index(log_chances: Floats, random: Random) -> int:
    """Draw a number with chances that are given as logarithms; they are written over."""
    top, total = log_chances.max(), 0.0
    for k in range(len(log_chances)):
        total += np.exp(log_chances[k] - top)
        log_chances[k] = total
    return min(
        int(np.searchsorted(log_chances, next_uniform(random) * total, side="right")),
        len(log_chances) - 1,
    )


@kernel
def draw_person(
    population: Population, people: People, record: int, workspace: OpenRecord, random: Random
) -> None:
    """Draw the node of a person given his diseases, then his cell where it is unknown."""
    n_nodes = len(population.log_weights)
    if n_nodes > 1:
        chances = population.log_weights + population.log_well[people.cells[record]]
        for i in range(len(workspace.is_on)):
            if workspace.is_on[i]:
                for k in range(n_nodes):
                    chances[k] += population.shifts[k, i]
        people.nodes[record] = draw_index(chances, random)
    first, last = people.starts[record], people.starts[record + 1]
    if last - first > 1:
        node = people.nodes[record]
        chances = np.log(people.shares[first:last])
        for x in range(last - first):
            cell = people.possible[first + x]
            chances[x] += population.log_well[cell, node]
            for i in range(len(workspace.is_on)):
                if workspace.is_on[i]:
                    chances[x] += population.offsets[cell, i]
        people.cells[record] = people.possible[first + draw_index(chances, random)]


@kernel
def sample_people(
    net: FlatNetwork,
    population: Population,
    people: People,
    records: SampledRecords,
    sweeps: Sweeps,
    told: PeopleCounts,
) -> None:
    """Sample diseases and people of each record; add the expected counts given who they are."""
    counts = ExpectedCounts(told.cases, told.caused, told.unknown, told.leaked)
    workspace, own = candidate_kernels.new_open_record(net), candidate_kernels.own_network(net)
    silent = np.exp(net.log_absent)
    for record in range(len(records.offsets) - 1):
        random = random_of(sweeps.seed, records.first + record)
        symptoms = candidate_kernels.open_record(net, records, record, workspace)
        if sweeps.is_start:
            set_person(population, people.cells[record], people.nodes[record], silent, own)
            candidate_kernels.explain(own, symptoms, workspace)
        draw_person(population, people, record, workspace, random)
        cell, node = people.cells[record], people.nodes[record]
        set_person(population, cell, node, silent, own)
        candidate_kernels.screen(
            own, symptoms, sweeps.least_odds, workspace, records.candidates[record]
        )
        chances = workspace.odds
        for disease in range(len(chances)):
            counts.cases[disease] += chances[disease]
            if chances[disease] > NOTHING:
                gather(own, disease, chances[disease], workspace, counts)
        n_chosen = candidate_kernels.list_elements(records.candidates[record], workspace.chosen)
        expect_record(own, symptoms, n_chosen, sweeps, random, workspace, counts)
        add_person(population, cell, node, chances, told)
        candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def add_person(
    population: Population, cell: int, node: int, chances: Floats, told: PeopleCounts
) -> None:
    """Add a person and his expected diseases."""
    n_traits = population.traits.shape[1]
    told.occupancy[cell, node] += 1.0
    told.moments[:, 0] += chances
    for t in range(n_traits):
        told.moments[:, 1 + t] += population.traits[node, t] * chances
    for column in range(population.design.shape[1]):
        told.moments[:, 1 + n_traits + column] += population.design[cell, column] * chances


@kernel
def bound_people(
    net: FlatNetwork,
    population: Population,
    people: People,
    records: SampledRecords,
    every: int,
    bounded: SummedBounds,
) -> None:
    """Add up lower bounds of the log evidences of some records, those of every so many.

    As `bound_records`, added up over all that the person can be, for each of which other diseases
    are plausible.
    """
    workspace, own = candidate_kernels.new_open_record(net), candidate_kernels.own_network(net)
    odds, silent = np.empty(len(net.priors)), np.exp(net.log_absent)
    fresh = SampledRecords(
        records.offsets, records.listed, records.is_unknown, records.first,
        np.zeros_like(records.states), records.candidates, records.seen,
    )  # fmt: skip
    n_nodes = len(population.log_weights)
    log_silent = np.log(1.0 - net.leaks)
    for record in range(len(records.offsets) - 1):
        if (records.first + record) % every != 0:
            continue
        first, last = people.starts[record], people.starts[record + 1]
        logs = np.empty((last - first, n_nodes))
        symptoms = candidate_kernels.open_record(net, fresh, record, workspace)
        n_chosen = min(len(odds), MOST_BOUNDED)
        for x in range(last - first):
            cell = people.possible[first + x]
            for node in range(n_nodes):
                set_person(population, cell, node, silent, own)
                workspace.is_on[:] = False
                candidate_kernels.open_record(net, fresh, record, workspace)
                candidate_kernels.explain(own, symptoms, workspace)
                candidate_kernels.find_plausible_odds(own, symptoms, workspace, odds)
                workspace.chosen[:n_chosen] = np.argsort(-odds)[:n_chosen]
                workspace.is_on[:] = False
                logs[x, node] = np.log(people.shares[first + x]) + population.log_weights[node]
                logs[x, node] += population.log_well[cell, node]
                logs[x, node] += state_kernels.enumerate_states(
                    own, symptoms, n_chosen, workspace, candidate_kernels.no_draws()
                )
                is_seen = workspace.labels[workspace.chosen[:n_chosen]] == 1
                logs[x, node] -= CERTAIN * is_seen.sum()
        log_evidence = logs.max() + np.log(np.exp(logs - logs.max()).sum()) + log_silent.sum()
        for x in range(len(symptoms)):
            log_evidence -= log_silent[symptoms[x]]
            if workspace.h[x] > 0.0:
                log_evidence += np.log(net.leaks[symptoms[x]])
        bounded.total[0] += log_evidence
        bounded.n_records[0] += 1.0
        candidate_kernels.close_record(symptoms, workspace, fresh.states[record])


class PeopleScores(NamedTuple):
    """Derivatives of records, in two halves of the sampling."""

    causes: Floats
    """2 x records x diseases x (1, traits, covariates): x (d - p)."""
    items: Floats
    """2 x records x failures and leaks, by their log odds; or no columns."""


@kernel
def add_items(
    net: FlatNetwork, workspace: OpenRecord, counts: ExpectedCounts, share: float, into: Floats
) -> None:
    """Add a record's scores by the log odds of failures and leaks; clear its expected counts.

    Successes less trials times the value (Fisher's identity), as in `Trials`.
    """
    n_edges = len(net.failures)
    for disease in range(len(net.priors)):
        for edge in range(net.child_offsets[disease], net.child_offsets[disease + 1]):
            at_risk = workspace.odds[disease] - counts.unknown[edge]
            score = at_risk * (1.0 - net.failures[edge]) - counts.caused[edge]
            into[edge] += share * score
            counts.unknown[edge] = counts.caused[edge] = 0.0
    for symptom in range(len(net.leaks)):
        x = workspace.slots[symptom] - 1
        if x < 0 or workspace.h[x] > 0.0:
            into[n_edges + symptom] += share * (counts.leaked[symptom] - net.leaks[symptom])
        counts.leaked[symptom] = 0.0


@kernel
def score_people(
    net: FlatNetwork,
    population: Population,
    people: People,
    records: SampledRecords,
    sweeps: Sweeps,
    scores: PeopleScores,
) -> None:
    """Write each record's expected scores, in two halves.

    What is sampled in one half is independent of the other, as good as: the products of both
    have no noise of their own.
    """
    rows, items = scores
    workspace, own = candidate_kernels.new_open_record(net), candidate_kernels.own_network(net)
    silent, n_traits = np.exp(net.log_absent), population.traits.shape[1]
    counts = ExpectedCounts(
        np.zeros(len(net.priors)), np.zeros(len(net.failures)), np.zeros(len(net.failures)),
        np.zeros(len(net.leaks)),
    )  # fmt: skip
    n_sweeps = sweeps.n_sweeps
    gap = 2  # between the halves, so that one forgets the other
    once = Sweeps(sweeps.least_odds, False, True, 1, sweeps.seed, True, sweeps.most_enumerated)
    rows[:] = 0.0
    items[:] = 0.0
    has_items = items.shape[2] > 0
    for record in range(len(records.offsets) - 1):
        random = random_of(sweeps.seed, records.first + record)
        for sweep in range(2 * n_sweeps + gap):
            symptoms = candidate_kernels.open_record(net, records, record, workspace)
            draw_person(population, people, record, workspace, random)
            cell, node = people.cells[record], people.nodes[record]
            set_person(population, cell, node, silent, own)
            # Who he may be in other sweeps hardly makes other diseases possible.
            if sweep == 0 or sweep == n_sweeps + gap or has_items:
                candidate_kernels.screen(
                    own, symptoms, sweeps.least_odds, workspace, records.candidates[record]
                )
            half = 0 if sweep < n_sweeps else 1
            counted = 1.0 / n_sweeps if half == 0 or sweep >= n_sweeps + gap else 0.0
            if has_items:
                for disease in range(len(own.priors)):
                    if workspace.odds[disease] > NOTHING:
                        gather(own, disease, workspace.odds[disease], workspace, counts)
            n_chosen = candidate_kernels.list_elements(records.candidates[record], workspace.chosen)
            expect_record(own, symptoms, n_chosen, once, random, workspace, counts)
            if has_items:
                add_items(own, workspace, counts, counted, items[half, record])
            into = rows[half, record]
            for i in range(len(own.priors)):
                surprise = (workspace.odds[i] - own.priors[i]) * counted
                into[i, 0] += surprise
                for t in range(n_traits):
                    into[i, 1 + t] += surprise * population.traits[node, t]
                for column in range(population.design.shape[1]):
                    into[i, 1 + n_traits + column] += surprise * population.design[cell, column]
            candidate_kernels.close_record(symptoms, workspace, records.states[record])


@kernel
def sum_logistic(
    population: Population, occupancy: Floats, expected: Floats, hessian: Floats
) -> None:
    """Sum p x and p (1 - p) x x^T over people, for each disease (see `PeopleCounts.moments`)."""
    n_traits, width = population.traits.shape[1], expected.shape[1]
    x = np.ones(width)
    for cell in range(occupancy.shape[0]):
        x[1 + n_traits :] = population.design[cell]
        for node in range(occupancy.shape[1]):
            n = occupancy[cell, node]
            if n == 0.0:
                continue
            x[1 : 1 + n_traits] = population.traits[node]
            for i in range(expected.shape[0]):
                odds = population.offset_odds[cell, i] * population.shift_odds[node, i]
                p = odds / (1.0 + odds)
                for a in range(width):
                    expected[i, a] += n * p * x[a]
                    for b in range(width):
                        hessian[i, a, b] += n * p * (1.0 - p) * x[a] * x[b]
