"""What `--min-count` promises: no subtraction of published counts describes a few people."""

import itertools

import numpy as np
import pytest

from conftest import as_rows, random_records
from noisyor import Findings, MomentPlan, Structure, count_moments

KNOWN, PRESENT = 1, 2
ORDERS = ("symptoms", "pairs", "triplets", "quartets")


def published(moments):
    """Return every count of a file that is not hidden: event (symptom, least state) to records."""
    margins = moments.with_margins()
    found = {(): moments.n_records}
    for order in (1, 2, 3, 4):
        states_of = _states(order)
        for row, members in enumerate(moments.plan.sets(order).tolist()):
            if moments.hidden is not None and moments.hidden[order - 1][row]:
                continue
            known = np.atleast_1d(margins[order - 1][0, row]).tolist()
            counts = [*known, int(moments.present[order - 1][0, row])]
            for states, count in zip(states_of, counts, strict=True):
                found[tuple(zip(members, states, strict=True))] = count
    return found


def _states(order):
    """In the order of a file: all known, one present, two present, ..., all present."""
    return [
        tuple(PRESENT if k in chosen else KNOWN for k in range(order))
        for size in range(order + 1)
        for chosen in itertools.combinations(range(order), size)
    ]


def implies(event, other):
    states = dict(event)
    return all(states.get(symptom, 0) >= state for symptom, state in other)


def smallest_differences(counts, min_count):
    """Return the differences of two counts, one of which contains the other, that are small."""
    return [
        (larger, smaller)
        for larger, smaller in itertools.permutations(counts, 2)
        if implies(smaller, larger) and 0 < counts[larger] - counts[smaller] < min_count
    ]


def counted(rng, n_records):
    n_symptoms = int(rng.integers(2, 5))
    structure = Structure.from_matrix(np.ones((1, n_symptoms)))
    records = random_records(rng, n_records, n_symptoms, unknown=float(rng.choice([0.02, 0.3])))
    triplets = list(itertools.combinations(range(n_symptoms), 3))
    quartets = list(itertools.combinations(range(n_symptoms), 4))
    more = MomentPlan(structure, triplets=triplets, quartets=quartets)
    plan = MomentPlan.all_pairs(structure) | more
    return records, count_moments(Findings.from_numpy(records, structure), plan, n_groups=3)


@pytest.mark.parametrize("number", range(40))
def test_no_subtraction_of_published_counts_is_small(rng, number):
    min_count = int(rng.integers(2, 8))
    _, moments = counted(rng, int(rng.integers(20, 400)))
    assert smallest_differences(published(moments.suppressed(min_count)), min_count) == []


@pytest.mark.parametrize("number", range(20))
def test_no_cell_of_a_published_set_is_small_with_unknown_as_a_state(rng, number):
    min_count = int(rng.integers(2, 8))
    records, moments = counted(rng, int(rng.integers(20, 400)))
    rows, hidden = as_rows(records), moments.suppressed(min_count).hidden
    for order, is_hidden in zip((1, 2, 3, 4), hidden, strict=True):
        for members, hide in zip(moments.plan.sets(order).tolist(), is_hidden, strict=True):
            cells = {}
            for record in rows:
                cell = tuple(record[symptom] for symptom in members)
                cells[cell] = cells.get(cell, 0) + 1
            has_small = any(count < min_count for count in cells.values())
            assert hide or not has_small


def test_the_test_finds_what_is_not_hidden(rng):
    """Without suppression, one person whose cough is unknown shows by subtraction."""
    structure = Structure.from_matrix(np.ones((1, 2)))
    records = np.array([[1.0, 1.0]] * 30 + [[1.0, 0.0]] * 30 + [[0.0, 0.0]] * 30 + [[1.0, np.nan]])
    plan = MomentPlan.all_pairs(structure)
    moments = count_moments(Findings.from_numpy(records, structure), plan, n_groups=3)
    fever, with_known_cough = ((0, PRESENT),), ((0, PRESENT), (1, KNOWN))
    assert (fever, with_known_cough) in smallest_differences(published(moments.in_groups(1)), 5)
    assert moments.suppressed(5).hidden[1].all()
    assert moments.suppressed(1).hidden[1].tolist() == [False]
