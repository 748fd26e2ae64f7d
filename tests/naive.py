"""Slow, obvious twins of the fast functions. Nothing here imports the package.

A network is given as plain lists: `priors[i]`, `failures[i][j]` (1.0 where there is no edge) and
`leaks[j]`. Records are lists of rows, one entry per symptom: 1 present, 0 absent, None unknown.
"""

import hashlib
import itertools
import math
from collections import Counter


def probability_of_states(priors, states):
    return math.prod(p if d else 1 - p for p, d in zip(priors, states, strict=True))


def probability_absent(failures, leaks, symptom, states):
    """Eq. 2: the leak fails and so does every disease that is present."""
    failing = [failures[i][symptom] for i, present in enumerate(states) if present]
    return (1 - leaks[symptom]) * math.prod(failing)


def joint_probability(priors, failures, leaks, values):
    """Eq. 1: sum over all states of the diseases; `values` maps symptoms to 0 or 1."""
    total = 0
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


def edge_depths(edges, pairs=True):
    """Return the round in which Algorithm 1 learns each edge; those it never learns are left out.

    Symptoms x, y are admissible for disease i if no other parent of both has an unknown edge to
    either. An edge is learned by a triangle of admissible pairs, or next to a learned edge.
    Sets of diseases are whole numbers with a bit per disease.
    """
    parents, children = {}, {}
    for disease, symptom in edges:
        parents[symptom] = parents.get(symptom, 0) | 1 << disease
        children.setdefault(disease, []).append(symptom)
    unknown = dict(parents)
    depths, learned, depth = {}, set(edges), 0
    while learned:
        learned = set()
        for i, symptoms in children.items():
            if all((i, a) in depths for a in symptoms):
                continue
            near = {a: set() for a in symptoms}
            for x, y in itertools.combinations(symptoms, 2):
                if (parents[x] & parents[y]) & (unknown[x] | unknown[y]) & ~(1 << i) == 0:
                    near[x].add(y)
                    near[y].add(x)
            for a in symptoms:
                by_triplet = any(not near[a].isdisjoint(near[b]) for b in near[a])
                by_pair = pairs and any((i, j) in depths for j in near[a])
                if (i, a) not in depths and (by_triplet or by_pair):
                    learned.add((i, a))
        for disease, symptom in learned:
            depths[disease, symptom] = depth
            unknown[symptom] &= ~(1 << disease)
        depth += 1
    return depths


def learnable_rounds(edges, pairs=True):
    """Return how many edges each round of Algorithm 1 learns, and the edges that are left."""
    depths = edge_depths(edges, pairs)
    per_round = Counter(depths.values())
    return [per_round[depth] for depth in sorted(per_round)], set(edges) - set(depths)


def count_sets(records, sets):
    """For each set: records in which all of it is known, and in which all of it is present."""
    counts = []
    for members in sets:
        known = [row for row in records if all(row[j] is not None for j in members)]
        counts.append((len(known), sum(1 for row in known if all(row[j] == 1 for j in members))))
    return counts


def ratio(records, members):
    """R(S) over the records in which all of S is known, and its delta-method variance."""
    known = [row for row in records if all(row[j] is not None for j in members)]
    n = len(known)

    def moment(subset):
        return sum(1 for row in known if all(row[j] == 0 for j in subset)) / n

    all_absent, absent = moment(members), {j: moment([j]) for j in members}
    value = all_absent / math.prod(absent.values())
    # The variance of the mean of 1_S / M_S - sum_j 1_j / M_j over records, times R squared.
    terms = [
        all(row[j] == 0 for j in members) / all_absent
        - sum((row[j] == 0) / absent[j] for j in members)
        for row in known
    ]
    mean = sum(terms) / n
    return value, value**2 * sum((term - mean) ** 2 for term in terms) / n / n


def mixed(x):
    """The finaliser of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
    return x ^ (x >> 31)


def group_of_id(record_id, n_groups):
    if isinstance(record_id, int):
        return mixed((record_id + 0x9E3779B97F4A7C15) % 2**64) % n_groups
    x = 0xCBF29CE484222325
    for byte in record_id.encode():
        x = (x ^ byte) * 0x100000001B3 % 2**64
    return mixed(x) % n_groups


def groups_of_rows(file_name, n_rows, n_groups):
    """Deal runs of rows to the groups: 64 rows each, 64 again, then doubling up to 8,192."""
    groups, runs = (
        [],
        itertools.chain([64, 64, 128, 256, 512, 1024, 2048, 4096], itertools.repeat(8192)),
    )
    for number, run in enumerate(runs):
        digest = hashlib.blake2b(f"{number}:{file_name}".encode(), digest_size=16).digest()
        steps = [step for step in range(1, n_groups + 1) if math.gcd(step, n_groups) == 1]
        step = steps[int.from_bytes(digest[:8], "little") % len(steps)]
        start = int.from_bytes(digest[8:], "little")
        for position in range(n_groups):
            groups += [(start + step * position) % n_groups] * run
        if len(groups) >= n_rows:
            return groups[:n_rows]
    return groups
