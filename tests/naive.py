"""Slow, obvious twins of the fast functions. Nothing here imports the package.

A network is given as plain lists: `priors[i]`, `failures[i][j]` (1.0 where there is no edge) and
`leaks[j]`. Records are lists of rows, one entry per symptom: 1 present, 0 absent, None unknown.
"""

import itertools
import math


def probability_of_states(priors, states):
    return math.prod(p if d else 1 - p for p, d in zip(priors, states, strict=True))


def probability_absent(failures, leaks, symptom, states):
    """Eq. 2: the leak fails and so does every disease that is present."""
    failing = [failures[i][symptom] for i, present in enumerate(states) if present]
    return (1 - leaks[symptom]) * math.prod(failing)


def joint_probability(priors, failures, leaks, values):
    """Eq. 1: sum over all states of the diseases; `values` maps symptoms to 0 or 1."""
    total = 0.0
    for states in itertools.product([0, 1], repeat=len(priors)):
        term = probability_of_states(priors, states)
        for symptom, value in values.items():
            absent = probability_absent(failures, leaks, symptom, states)
            term *= 1 - absent if value else absent
        total += term
    return total


def negative_moment(priors, failures, leaks, symptoms):
    return joint_probability(priors, failures, leaks, dict.fromkeys(symptoms, 0))


def influence(priors, failures, disease, symptoms):
    all_fail = math.prod(failures[disease][j] for j in symptoms)
    return 1 - priors[disease] + priors[disease] * all_fail


def count_present(records):
    return [sum(1 for row in records if row[j] == 1) for j in range(len(records[0]))]


def records_from_long(rows, symptoms):
    """Rows are (id, symptom or None, state); ids come in the order of their first row."""
    records = {}
    for record, symptom, state in rows:
        row = records.setdefault(record, [0] * len(symptoms))
        if symptom is not None:
            row[symptoms.index(symptom)] = {"present": 1, "absent": 0, "unknown": None}[state]
    return list(records), list(records.values())


def learnable_rounds(edges, pairs=True):
    """Return how many edges each round of Algorithm 1 learns, and the edges that are left.

    Symptoms x, y are admissible for disease i if no other parent of both has an unknown edge to
    either. An edge is learned by a triangle of admissible pairs, or next to a learned edge.
    Sets of diseases are whole numbers with a bit per disease.
    """
    parents, children = {}, {}
    for disease, symptom in edges:
        parents[symptom] = parents.get(symptom, 0) | 1 << disease
        children.setdefault(disease, []).append(symptom)
    unknown = dict(parents)
    left, per_round = set(edges), []
    while True:
        learned = set()
        for i, symptoms in children.items():
            if not any((i, a) in left for a in symptoms):
                continue
            near = {a: set() for a in symptoms}
            for x, y in itertools.combinations(symptoms, 2):
                if (parents[x] & parents[y]) & (unknown[x] | unknown[y]) & ~(1 << i) == 0:
                    near[x].add(y)
                    near[y].add(x)
            for a in symptoms:
                by_triplet = any(not near[a].isdisjoint(near[b]) for b in near[a])
                by_pair = pairs and any((i, j) not in left for j in near[a])
                if (i, a) in left and (by_triplet or by_pair):
                    learned.add((i, a))
        if not learned:
            return per_round, left
        per_round.append(len(learned))
        left -= learned
        for disease, symptom in learned:
            unknown[symptom] &= ~(1 << disease)
