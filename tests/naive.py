"""Slow, obvious twins of the fast functions. Nothing here imports the package.

A network is given as plain lists: `priors[i]`, `failures[i][j]` (1.0 where there is no edge) and
`leaks[j]`. Records are lists of rows, one entry per symptom: 1 present, 0 absent, None unknown.
"""

import bisect
import hashlib
import itertools
import math
import statistics
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction


class Mixed(list):
    """The priors of diseases that occur together, and the mixture that these are the means of."""

    def __init__(self, weights, rows):
        self.components = list(zip(weights, rows, strict=True))
        columns = zip(*rows, strict=True)
        super().__init__(sum(map(math.prod, zip(weights, each, strict=True))) for each in columns)


def probability_of_states(priors, states):
    if isinstance(priors, Mixed):
        return sum(w * probability_of_states(row, states) for w, row in priors.components)
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


def edge_depths(edges, pairs=True, given=()):
    """Return the round in which Algorithm 1 learns each edge; those it never learns are left out.

    Symptoms x, y are admissible for disease i if no other parent of both has an unknown edge to
    either. An edge is learned by a triangle of admissible pairs, or next to a learned edge.
    Given edges are known before the first round. Sets of diseases are whole numbers with a bit per
    disease.
    """
    parents, children = {}, {}
    for disease, symptom in edges:
        parents[symptom] = parents.get(symptom, 0) | 1 << disease
        children.setdefault(disease, []).append(symptom)
    unknown = dict(parents)
    for disease, symptom in given:
        unknown[symptom] &= ~(1 << disease)
    depths, learned, depth = dict.fromkeys(given, -1), set(edges), 0
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


def joint_tensor(priors, failures, leaks, members):
    """T[i][j][k] = P(a = i, b = j, c = k)."""

    def entry(*values):
        return joint_probability(priors, failures, leaks, dict(zip(members, values, strict=True)))

    return [[[entry(i, j, k) for k in (0, 1)] for j in (0, 1)] for i in (0, 1)]


def joint_of_records(records, members):
    """The same as a dictionary from values to the share of records, for any number of symptoms.

    In decimals of many digits, so that what is built on it is exact.
    """
    states = Counter(tuple(row[j] for j in members) for row in records)
    values = itertools.product([0, 1], repeat=len(members))
    return {state: Decimal(states[state]) / len(records) for state in values}


def remove_influence(joint, prior, failures):
    """Section 3.2 on a dictionary: negative moments of all subsets, divided, and back again."""
    order = len(failures)
    subsets = [s for size in range(order + 1) for s in itertools.combinations(range(order), size)]
    moments = {}
    for subset in subsets:
        moment = sum(mass for state, mass in joint.items() if not any(state[x] for x in subset))
        all_fail = math.prod(failures[x] for x in subset)
        moments[subset] = moment / (1 - prior + prior * all_fail)
    adjusted = {}
    for state in joint:
        zeros = {x for x in range(order) if not state[x]}
        # P(zeros absent, the others present) by inclusion and exclusion over the others.
        adjusted[state] = sum(
            (-1) ** (len(subset) - len(zeros)) * moments[subset]
            for subset in subsets
            if zeros <= set(subset)
        )
    return adjusted


class UndecidedError(ArithmeticError):
    """The slightest rounding would decide."""


def parts_of_tensor(tensor):
    """Lines 1 to 9 of Algorithm 2: (lambda, u v^T) of both parts; None if lambda is not real."""
    (a, b), (c, d) = tensor[0]
    (e, f), (g, h) = tensor[1]
    determinant = a * d - b * c
    if abs(determinant) < type(a)("1e-14") * (abs(a * d) + abs(b * c)):
        raise UndecidedError("a slice has determinant 0")
    y = [
        [(e * d - f * c) / determinant, (f * a - e * b) / determinant],
        [(g * d - h * c) / determinant, (h * a - g * b) / determinant],
    ]
    trace, product = y[0][0] + y[1][1], y[0][0] * y[1][1] - y[0][1] * y[1][0]
    discriminant = trace * trace / 4 - product
    if abs(discriminant) < type(discriminant)("1e-20") * trace * trace:
        raise UndecidedError("the eigenvalues are equal")
    if discriminant < 0:
        return None
    root = discriminant ** type(discriminant)("0.5")
    values = trace / 2 + root, trace / 2 - root
    parts = []
    for value, other in (values, values[::-1]):
        scale = 1 / (value - other)
        matrix = [
            [scale * (tensor[1][j][k] - other * tensor[0][j][k]) for k in (0, 1)] for j in (0, 1)
        ]
        parts.append((value, matrix))
    return parts


def decompose(tensor):
    """Algorithm 2, corrected: the prior and the three failures; None if there are none."""
    parts = parts_of_tensor(tensor)
    if parts is None:
        return None
    conditionals = []
    for value, matrix in parts:
        total = sum(map(sum, matrix))
        absent = [
            1 / (1 + value),
            sum(matrix[0]) / total,
            (matrix[0][0] + matrix[1][0]) / total,
        ]
        conditionals.append((math.prod(absent), (1 + value) * total, absent))
    (larger, _, without), (smaller, mass, with_disease) = sorted(conditionals, reverse=True)
    if math.isclose(larger, smaller, rel_tol=1e-9):
        raise UndecidedError("both states have the same P(0, 0, 0 | Z)")
    if min(abs(mass), abs(1 - mass), *map(abs, without)) < 1e-12:
        raise UndecidedError("a state has no records, or a symptom is always there")
    return mass, [one / other for one, other in zip(with_disease, without, strict=True)]


def decompose_as_printed(tensor):
    """Algorithm 2 as it stands in the paper: l on the third axis, unnormalised comparison."""
    parts = []
    for value, matrix in parts_of_tensor(tensor):
        v = matrix[0]
        u = [1, matrix[1][1] / matrix[0][1]]
        line = [1, value]
        parts.append(
            {(i, j, k): u[i] * v[j] * line[k] for i in (0, 1) for j in (0, 1) for k in (0, 1)}
        )
    if parts[0][0, 0, 0] > parts[1][0, 0, 0]:
        parts.reverse()
    absent = []
    for part in parts:
        total = sum(part.values())
        absent.append(
            [sum(mass for s, mass in part.items() if s[x] == 0) / total for x in range(3)]
        )
    failures = [one / other for one, other in zip(absent[1], absent[0], strict=True)]
    return sum(parts[1].values()), failures


def learn(records, parents, steps):
    """Algorithm 1, second pass, on joint distributions: priors, failures and leaks that it learns.

    `parents` maps each symptom to its diseases. Steps are (round, disease, symptoms, removed), in
    order; of a pair the first symptom is learned. A step uses what earlier rounds have learned;
    if something is missing it teaches nothing. A triplet teaches what is not learned yet.
    """

    def kept(value):
        """Within the bounds, and rounded as a parameter is when it is kept."""
        return Decimal(min(max(float(value), 1e-6), 1 - 1e-6))

    getcontext().prec = 80
    priors, failures = {}, {}
    for _, steps_of_round in itertools.groupby(steps, key=lambda step: step[0]):
        known = dict(priors), dict(failures)
        for _, disease, symptoms, removed in steps_of_round:
            found = learn_step(records, parents, disease, symptoms, removed, *known)
            for name, value in found.items():
                target = priors if name == "prior" else failures
                key = disease if name == "prior" else (disease, name)
                target.setdefault(key, kept(value))
    leaks = {}
    for symptom, diseases in parents.items():
        if all((disease, symptom) in failures and disease in priors for disease in diseases):
            absent = joint_of_records(records, [symptom])[0,]
            for disease in diseases:
                p = priors[disease]
                absent /= 1 - p + p * failures[disease, symptom]
            leaks[symptom] = kept(1 - absent)
    return priors, failures, leaks


def learn_step(records, parents, disease, symptoms, removed, priors, failures):
    """What one step teaches: "prior" and symptoms, with their values."""
    joint = joint_of_records(records, symptoms)
    for other in removed:
        edges = [(other, x) for x in symptoms if other in parents[x]]
        if other not in priors or any(edge not in failures for edge in edges):
            return {}
        fails = [failures[other, x] if other in parents[x] else 1 for x in symptoms]
        joint = remove_influence(joint, priors[other], fails)
    if len(symptoms) == 3:
        found = decompose([[[joint[i, j, k] for k in (0, 1)] for j in (0, 1)] for i in (0, 1)])
        if found is None:
            return {}
        return {"prior": found[0], **dict(zip(symptoms, found[1], strict=True))}
    learned, known = symptoms
    if disease not in priors or (disease, known) not in failures:
        return {}
    p, f = priors[disease], failures[disease, known]
    ratio = joint[0, 0] / (joint[0, 0] + joint[0, 1]) / (joint[0, 0] + joint[1, 0])
    # Eq. 6 is linear in the failure that it is solved for.
    left = ratio * (1 - p + p * f)
    return {learned: (1 - p) * (1 - left) / (p * (left - f))}


def moment_jacobian(edges, n_diseases, n_symptoms, order, numbers):
    """Return the derivatives of all negative moments up to an order, as exact fractions.

    Columns: priors, failures (in the order of the edges), leaks. `numbers` gives the parameters.
    """
    priors = [next(numbers) for _ in range(n_diseases)]
    failures = {edge: next(numbers) for edge in edges}
    absents = [next(numbers) for _ in range(n_symptoms)]
    rows = []
    for size in range(1, order + 1):
        for members in itertools.combinations(range(n_symptoms), size):
            row = [Fraction(0)] * (n_diseases + len(edges) + n_symptoms)
            for j in members:  # of log M, as all rows may be divided by M
                row[n_diseases + len(edges) + j] = -1 / absents[j]
            for i in range(n_diseases):
                within = [j for j in members if (i, j) in failures]
                product = math.prod((failures[i, j] for j in within), start=Fraction(1))
                influence = 1 - priors[i] + priors[i] * product
                row[i] = (product - 1) / influence
                for j in within:
                    column = n_diseases + edges.index((i, j))
                    row[column] = priors[i] * product / failures[i, j] / influence
            rows.append(row)
    return rows


def null_space(rows, n_columns):
    """Return a basis of all vectors that every row is orthogonal to, in exact fractions."""
    rows = [list(row) for row in rows]
    pivots = []
    for column in range(n_columns):
        found = next((r for r in rows[len(pivots) :] if r[column]), None)
        if found is None:
            continue
        rows.remove(found)
        leading = [value / found[column] for value in found]
        rows = [[a - row[column] * b for a, b in zip(row, leading, strict=True)] for row in rows]
        rows.insert(len(pivots), leading)
        pivots.append(column)
    basis = []
    for column in set(range(n_columns)) - set(pivots):
        vector = [Fraction(0)] * n_columns
        vector[column] = Fraction(1)
        for pivot, row in zip(pivots, rows, strict=False):
            vector[pivot] = -row[column]
        basis.append(vector)
    return basis


def expectations(priors, failures, leaks, row, labels=None):
    """Sum over all states of the diseases of a record, those that `labels` (1, 0, None) allow.

    Returns its probability, the posteriors, and for each finding that is present the probability
    that each disease, and the leak, has caused it (several can have).
    """
    known = {j: value for j, value in enumerate(row) if value is not None}
    total, posteriors = 0.0, [0.0] * len(priors)
    caused = {(i, j): 0.0 for i in range(len(priors)) for j in known if known[j]}
    leaked = {j: 0.0 for j in known if known[j]}
    for states in itertools.product([0, 1], repeat=len(priors)):
        if any(
            label not in (None, state)
            for label, state in zip(labels or states, states, strict=True)
        ):
            continue
        weight = probability_of_states(priors, states)
        for j, value in known.items():
            absent = probability_absent(failures, leaks, j, states)
            weight *= 1 - absent if value else absent
        total += weight
        for i, is_on in enumerate(states):
            posteriors[i] += weight * is_on
        for j in leaked:
            present = 1 - probability_absent(failures, leaks, j, states)
            if not weight:
                continue
            leaked[j] += weight * leaks[j] / present
            for i, is_on in enumerate(states):
                caused[i, j] += weight * is_on * (1 - failures[i][j]) / present
    return (
        total,
        [each / total for each in posteriors],
        {key: value / total for key, value in caused.items()},
        {key: value / total for key, value in leaked.items()},
    )


def em_step(priors, failures, leaks, records, labels=None):
    """One step of EM; returns the log likelihood before it and the new parameters."""
    n, m = len(priors), len(leaks)
    total, cases = 0.0, [0.0] * n
    at_risk, caused = ([[0.0] * m for _ in range(n)] for _ in range(2))
    known, leaked = [0] * m, [0.0] * m
    for row, seen in zip(records, labels or [None] * len(records), strict=True):
        found = expectations(priors, failures, leaks, row, seen)
        probability, posteriors, causes, leaks_of = found
        total += math.log(probability)
        for i in range(n):
            cases[i] += posteriors[i]
        for j, value in enumerate(row):
            if value is None:
                continue
            known[j] += 1
            leaked[j] += leaks_of.get(j, 0.0)
            for i in range(n):
                at_risk[i][j] += posteriors[i]
                caused[i][j] += causes.get((i, j), 0.0)
    new_failures = [
        [
            1 - caused[i][j] / at_risk[i][j] if failures[i][j] < 1 and at_risk[i][j] else 1.0
            for j in range(m)
        ]
        for i in range(n)
    ]
    new_leaks = [leaked[j] / known[j] for j in range(m)]
    return total, [each / len(records) for each in cases], new_failures, new_leaks


def variational_bound(priors, failures, leaks, row, posteriors, shares):
    """The bound of Singliar and Hauskrecht (2006); `shares` maps (disease, symptom) to q."""
    total = 0.0
    for p, mu in zip(priors, posteriors, strict=True):
        total += mu * math.log(p / mu) + (1 - mu) * math.log((1 - p) / (1 - mu))
    for j, value in enumerate(row):
        parents = [i for i in range(len(priors)) if failures[i][j] < 1]
        theta0 = -math.log(1 - leaks[j])
        if value == 0:
            total -= theta0
            total += sum(posteriors[i] * math.log(failures[i][j]) for i in parents)
        elif value == 1 and not parents:
            total += math.log(leaks[j])
        elif value == 1:
            for i in parents:
                q, theta = shares[i, j], -math.log(failures[i][j])
                within = math.log(1 - math.exp(-theta0 - theta / q))
                total += q * (posteriors[i] * within + (1 - posteriors[i]) * math.log(leaks[j]))
    return total


def weighted_states(priors, failures, leaks, row):
    """Each state of the diseases with the probability of it and the findings of a record."""
    for states in itertools.product([0, 1], repeat=len(priors)):
        weight = probability_of_states(priors, states)
        for j, value in enumerate(row):
            if value is not None:
                absent = probability_absent(failures, leaks, j, states)
                weight *= 1 - absent if value else absent
        yield states, weight


def states_given(priors, failures, leaks, row):
    """Each possible state of the diseases with its probability given a record, by fractions.

    However small the parameters are, nothing is rounded before the end.
    """
    exact = [Fraction(p) for p in priors], [list(map(Fraction, row)) for row in failures]
    weighted = list(weighted_states(*exact, list(map(Fraction, leaks)), row))
    total = sum(weight for _, weight in weighted)
    return [(states, float(weight / total)) for states, weight in weighted if weight]


def best_states(priors, failures, leaks, row, k):
    """The k most probable states of the diseases, as sorted probabilities with the findings."""
    weights = [weight for _, weight in weighted_states(priors, failures, leaks, row)]
    return sorted(weights, reverse=True)[:k]


def entropy(p):
    """Of a yes or no, in bits."""
    return -sum(x * math.log2(x) for x in (p, 1 - p) if x > 0)


def information(priors, failures, leaks, row, symptom, about=None):
    """The bits that asking for a symptom tells of all diseases, or of one of them."""
    total, chance, left = 0.0, 0.0, 0.0
    parts = {0: [0.0, 0.0], 1: [0.0, 0.0]}
    for states, weight in weighted_states(priors, failures, leaks, row):
        present = 1 - probability_absent(failures, leaks, symptom, states)
        total += weight
        chance += weight * present
        left += weight * entropy(present)
        if about is not None:
            parts[states[about]][0] += weight
            parts[states[about]][1] += weight * present
    if about is not None:
        left = sum(w * entropy(p / w) for w, p in parts.values() if w)
    return entropy(chance / total) - left / total


def noisy_or_rows(failures, leak):
    """The table of a symptom: for each state of its parents (the last changing fastest) a row.

    A row is (states, P(absent), P(present)).
    """
    rows = []
    for states in itertools.product([0, 1], repeat=len(failures)):
        absent = 1 - leak
        for failure, present in zip(failures, states, strict=True):
            absent *= failure if present else 1
        rows.append((states, absent, 1 - absent))
    return rows


def reduced_rum_correct(pi_star, r_star, required, mastered):
    """P(correct answer) of the reduced RUM: a penalty for each required skill that is lacking."""
    probability = pi_star
    for skill in required:
        if not mastered[skill]:
            probability *= r_star[skill]
    return probability


def reduced_rum_parameters(failures, leaks):
    """pi* of each item, and r* of each item and the skills it needs: by asking for the answers.

    Diseases are skills that are lacking, symptoms wrong answers; None: it is not needed.
    """
    n_skills, n_items = len(failures), len(leaks)
    all_skills = [0] * n_skills
    pi_star = [probability_absent(failures, leaks, j, all_skills) for j in range(n_items)]
    r_star = [[None] * n_items for _ in range(n_skills)]
    for k in range(n_skills):
        lacking = [int(i == k) for i in range(n_skills)]
        for j in range(n_items):
            right = probability_absent(failures, leaks, j, lacking)
            if failures[k][j] != 1.0:
                r_star[k][j] = right / pi_star[j]
    return pi_star, r_star


def tetrachoric(table):
    """The correlation of two normal variables that are cut into a table of two by two.

    By bisection; P(X > h, Y > k) is an integral over X, by the trapezoidal rule.
    """
    normal = statistics.NormalDist()
    h = normal.inv_cdf(table[0][0] + table[0][1])
    k = normal.inv_cdf(table[0][0] + table[1][0])

    def both(r):
        steps, top = 4000, 9.0
        width = (top - h) / steps
        total = 0.0
        for step in range(steps + 1):
            x = h + step * width
            inside = normal.cdf((r * x - k) / math.sqrt(1 - r * r))
            total += normal.pdf(x) * inside * (0.5 if step in (0, steps) else 1.0)
        return total * width

    low, high = -0.999999, 0.999999
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if both(middle) < table[1][1] else (low, middle)
    return (low + high) / 2


def classification(priors, failures, leaks):
    """Accuracy and consistency of classifying persons: for each skill, and for all together.

    By definition, over all answers that can be given (Cui, Gierl and Chang 2012): how often the
    classification is right, and how often two tests of the same person give the same one.
    """
    n_skills, n_items = len(failures), len(leaks)
    classes = list(itertools.product((0, 1), repeat=n_skills))
    told = {each: [Counter() for _ in range(n_skills + 1)] for each in classes}
    for row in itertools.product((0, 1), repeat=n_items):
        weights = dict(weighted_states(priors, failures, leaks, row))
        total = sum(weights.values())
        pattern = max(classes, key=lambda each: weights[each])
        lacks = [sum(w for c, w in weights.items() if c[k]) > total / 2 for k in range(n_skills)]
        for each, weight in weights.items():
            for k in range(n_skills):
                told[each][k][int(lacks[k])] += weight
            told[each][n_skills][pattern] += weight
    found = []
    for k in range(n_skills + 1):
        accuracy = sum(told[c][k][c if k == n_skills else c[k]] for c in classes)
        consistency = sum(
            sum(weight**2 for weight in told[c][k].values()) / probability_of_states(priors, c)
            for c in classes
            if probability_of_states(priors, c)
        )
        found.append((accuracy, consistency))
    return found


def pair_x2(priors, failures, leaks, records, one, other):
    """Pearson's statistic of the table of two symptoms, of records in which both are known."""
    known = [(row[one], row[other]) for row in records if None not in (row[one], row[other])]
    total = 0.0
    for states in itertools.product((0, 1), repeat=2):
        values = dict(zip((one, other), states, strict=True))
        expected = len(known) * joint_probability(priors, failures, leaks, values)
        total += (known.count(states) - expected) ** 2 / expected
    return total


def holm(p_values):
    """Adjusted p-values: the smallest level at which Holm's step-down procedure rejects each."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        found[i] = highest
    return found


def posterior_means(edges, n_diseases, n_symptoms, pseudo_counts, records, n_draws, random):
    """Posterior means of (priors, failures by edge, leaks): prior draws, weighted by likelihood.

    `pseudo_counts` are the pairs (a, b) of the Beta priors of priors, failures and leaks.
    """
    of_priors, of_failures, of_leaks = pseudo_counts
    total, sums = 0.0, [0.0] * (n_diseases + len(edges) + n_symptoms)
    rows = Counter(tuple(row) for row in records)
    for _ in range(n_draws):
        priors = [random.betavariate(*of_priors) for _ in range(n_diseases)]
        of_edges = [random.betavariate(*of_failures) for _ in edges]
        leaks = [random.betavariate(*of_leaks) for _ in range(n_symptoms)]
        failures = [[1.0] * n_symptoms for _ in range(n_diseases)]
        for (i, j), failure in zip(edges, of_edges, strict=True):
            failures[i][j] = failure
        weight = 1.0
        for row, n in rows.items():
            known = {j: value for j, value in enumerate(row) if value is not None}
            weight *= joint_probability(priors, failures, leaks, known) ** n
        total += weight
        for index, value in enumerate([*priors, *of_edges, *leaks]):
            sums[index] += weight * value
    return [each / total for each in sums]


def r_hat(chains):
    """The split R-hat of the normal scores of ranks, ties at their mean rank."""
    halves = _halves(chains)
    n = len(halves[0])
    means = [statistics.fmean(half) for half in halves]
    within = statistics.fmean(statistics.variance(half) for half in halves)
    return math.sqrt(((n - 1) / n * within + statistics.variance(means)) / within)


def effective_size(chains):
    """The number of draws over 1 and twice the sum of their correlations, in pairs (Geyer)."""
    halves = _halves(chains)
    m, n = len(halves), len(halves[0])
    means = [statistics.fmean(half) for half in halves]
    within = statistics.fmean(statistics.variance(half) for half in halves)
    total = (n - 1) / n * within + statistics.variance(means)

    def correlation(lag):
        covariances = [
            sum((half[t] - mean) * (half[t + lag] - mean) for t in range(n - lag)) / (n - 1)
            for half, mean in zip(halves, means, strict=True)
        ]
        return 1 - (within - statistics.fmean(covariances)) / total

    found, least = 0.0, math.inf
    for lag in range(0, 2 * (n // 2), 2):
        pair = correlation(lag) + correlation(lag + 1)
        if pair <= 0:
            break
        least = min(least, pair)
        found += least
    return min(m * n / (2 * found - 1), m * n * math.log10(m * n))


def _halves(chains):
    """The halves of chains, as normal scores of their ranks among all."""
    size = len(chains[0]) // 2
    halves = [chain[:size] for chain in chains] + [chain[-size:] for chain in chains]
    everything = sorted(itertools.chain(*halves))
    n = len(everything)

    def score(value):
        first, last = bisect.bisect_left(everything, value), bisect.bisect_right(everything, value)
        rank = (first + 1 + last) / 2
        return statistics.NormalDist().inv_cdf((rank - 0.375) / (n + 0.25))

    return [[score(value) for value in half] for half in halves]


def log_likelihood(priors, failures, leaks, records):
    """The log probability of records, by summing over all states of the diseases."""
    return sum(math.log(expectations(priors, failures, leaks, row)[0]) for row in records)


def edge_scores(priors, failures, leaks, row, step=1e-6):
    """Derivatives of a record's log likelihood by every strength -log f, numerically."""

    def value(i, j, change):
        moved = [list(each) for each in failures]
        moved[i][j] *= math.exp(-change)
        return math.log(expectations(priors, moved, leaks, row)[0])

    # From f = 1 upwards only: a difference over two steps on one side.
    return [
        [
            (4 * value(i, j, step) - 3 * value(i, j, 0) - value(i, j, 2 * step)) / (2 * step)
            for j in range(len(leaks))
        ]
        for i in range(len(priors))
    ]


def count_quartet(records, members):
    """The table of four symptoms, 2 x 2 x 2 x 2; records with an unknown one are left out."""
    table = [[[[0, 0], [0, 0]], [[0, 0], [0, 0]]], [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]]
    for row in records:
        a, b, c, d = (row[j] for j in members)
        if None not in (a, b, c, d):
            table[a][b][c][d] += 1
    return table


# --- probabilities of a disease against labels: 1 present, 0 absent ---


def without_rounding_errors(values, tolerance):
    """Each value, or the least of those that lead to it in steps of at most a tolerance of it."""
    found = {}
    for value in sorted(values):
        near = [low for low in found if value - low <= tolerance * value]
        found[value] = min(found[low] for low in near) if near else value
    return [found[value] for value in values]


def auc(probabilities, labels):
    """How often a case has a larger probability than a record without the disease; ties half."""
    above = [_above(p, q) for p, q in _case_pairs(probabilities, labels)]
    return sum(above) / len(above)


def _above(p, q):
    return 1.0 if p > q else 0.5 if p == q else 0.0


def _case_pairs(probabilities, labels):
    pairs = list(zip(probabilities, labels, strict=True))
    return [(p, q) for p, y in pairs if y == 1 for q, z in pairs if z == 0]


def delong_variance(probabilities, labels):
    """DeLong, DeLong and Clarke-Pearson (1988), for one test."""
    cases = [p for p, y in zip(probabilities, labels, strict=True) if y == 1]
    others = [p for p, y in zip(probabilities, labels, strict=True) if y == 0]
    of_cases = [statistics.fmean(_above(p, q) for q in others) for p in cases]
    of_others = [statistics.fmean(_above(p, q) for p in cases) for q in others]
    return statistics.variance(of_cases) / len(cases) + statistics.variance(of_others) / len(others)


def delong_variance_of_mean(columns):
    """The variance of the mean AUC of several diseases of the same records.

    `columns` are pairs of probabilities and labels, 1, 0 or None. The variance is that of a sum
    over all diseases: DeLong's covariance, over the records that are cases, or not, of both.
    """
    shares = []
    for probabilities, labels in columns:
        share = {}
        for wanted in 1, 0:
            here = [i for i, y in enumerate(labels) if y == wanted]
            there = [i for i, y in enumerate(labels) if y == 1 - wanted]
            of = {
                i: statistics.fmean(
                    _above(probabilities[i], probabilities[k])
                    if wanted
                    else _above(probabilities[k], probabilities[i])
                    for k in there
                )
                for i in here
            }
            mean, m = statistics.fmean(of.values()), len(here)
            share |= {i: (value - mean) / math.sqrt(m * (m - 1)) for i, value in of.items()}
        shares.append(share)
    total = sum(
        one[i] * other[i] for one in shares for other in shares for i in one.keys() & other.keys()
    )
    return total / len(columns) ** 2


def newcombe_interval(value, n_cases, n_others):
    """Newcombe (2006), method 5: where the squared distance is 1.96^2 variances, on a fine grid."""
    mean = (n_cases + n_others) / 2

    def distance(theta):
        spread = 1 + (mean - 1) * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        variance = theta * (1 - theta) * spread / (n_cases * n_others)
        return (value - theta) ** 2 - 1.959963984540054**2 * variance

    inside = [k / 20_000 for k in range(20_001) if distance(k / 20_000) <= 0]
    return min(inside), max(inside)


def brier(probabilities, labels):
    return statistics.fmean((p - y) ** 2 for p, y in zip(probabilities, labels, strict=True))


def log_score(probabilities, labels, least):
    """The mean log probability of what was seen; none counts as less than `least`."""
    given = [p if y else 1 - p for p, y in zip(probabilities, labels, strict=True)]
    return statistics.fmean(math.log(max(each, least)) for each in given)


def calibration(probabilities, labels, n_bins):
    """Of each bin of equal width: labels, those present, the mean probability; and the error."""
    bins = [[] for _ in range(n_bins)]
    for p, y in zip(probabilities, labels, strict=True):
        bins[min(int(p * n_bins), n_bins - 1)].append((p, y))
    rows = [
        (len(each), sum(y for _, y in each), statistics.fmean(p for p, _ in each) if each else None)
        for each in bins
    ]
    error = sum(n * abs(mean - seen / n) for n, seen, mean in rows if n) / len(probabilities)
    return rows, error


def mean_distance(probabilities):
    """How far the number of cases is from its mean, on average: a sum over all numbers."""
    shares = [1.0]
    for p in probabilities:
        shares = [
            (1 - p) * stay + p * rise
            for stay, rise in zip([*shares, 0.0], [0.0, *shares], strict=True)
        ]
    mean = sum(probabilities)
    return sum(share * abs(n - mean) for n, share in enumerate(shares))


def net_benefit(probabilities, labels, threshold):
    """Vickers and Elkin (2006): true positives less false ones times the threshold's odds."""
    pairs = list(zip(probabilities, labels, strict=True))
    right = sum(1 for p, y in pairs if p >= threshold and y == 1)
    wrong = sum(1 for p, y in pairs if p >= threshold and y == 0)
    return (right - wrong * threshold / (1 - threshold)) / len(pairs)


def rank_in_record(probabilities, disease):
    """1 for the most probable disease; of equal ones the first comes first."""
    mine = probabilities[disease]
    larger = sum(1 for p in probabilities if p > mine)
    return 1 + larger + sum(1 for p in probabilities[:disease] if p == mine)


def wilson_interval(n_seen, n):
    """Where the share's distance is 1.96 standard deviations of the end, on a fine grid."""
    share = n_seen / n
    inside = [
        p
        for p in (k / 20_000 for k in range(20_001))
        if (share - p) ** 2 <= 1.959963984540054**2 * p * (1 - p) / n
    ]
    return min(inside), max(inside)


def labelled_counts(records, labels, edges, n_diseases):
    """Records in which each disease was looked for, and seen; and for each edge those with the
    disease in which the symptom is known, and present, and the same without the disease."""
    looked = [[0, 0] for _ in range(n_diseases)]
    pairs = [[0, 0, 0, 0] for _ in edges]
    for row, label in zip(records, labels, strict=True):
        for disease, value in enumerate(label):
            if value is not None:
                looked[disease][0] += 1
                looked[disease][1] += value
        for (disease, symptom), found in zip(edges, pairs, strict=True):
            if label[disease] is None or row[symptom] is None:
                continue
            first = 0 if label[disease] == 1 else 2
            found[first] += 1
            found[first + 1] += row[symptom]
    return looked, pairs


def doubts(edges, flags, row, probabilities, sources_at, unknown_size):
    """Flags of one record's diseases: of what each rests on itself, of present findings' leaks, and
    of diseases it shares these with. `flags` are of priors, edges (in their order) and leaks.
    """
    of_priors, of_failures, of_leaks = flags
    own, with_leaks = list(of_priors), list(of_priors)
    for (i, j), flag in zip(edges, of_failures, strict=True):
        if row[j] is not None:
            own[i] |= flag
            with_leaks[i] |= flag
        if row[j] == 1:
            with_leaks[i] |= of_leaks[j]
    found = list(with_leaks)
    for i, j in edges:
        for k, other_j in edges:
            is_shared = j == other_j and row[j] == 1 and i != k
            if is_shared and (probabilities[k] >= sources_at or own[k] & unknown_size):
                found[i] |= own[k]
    return found


# --- labels beside posteriors ---


def label_sums(probabilities, labels, n_symptoms):
    """Log score, cases and symptoms of cases: (found, mean, standard deviation) of each."""
    found = []
    for on, off in (
        ([math.log(p) for p in probabilities], [math.log(1 - p) for p in probabilities]),
        ([1] * len(labels), [0] * len(labels)),
        (n_symptoms, [0] * len(labels)),
    ):
        terms = list(zip(probabilities, on, off, strict=True))
        total = sum(a if y else b for y, (_, a, b) in zip(labels, terms, strict=True))
        mean = sum(p * a + (1 - p) * b for p, a, b in terms)
        squares = sum(p * a * a + (1 - p) * b * b for p, a, b in terms)
        variance = squares - sum((p * a + (1 - p) * b) ** 2 for p, a, b in terms)
        found.append((total, mean, math.sqrt(max(variance, 0))))
    return found


def chance_of_sum(probabilities, on, off, total):
    """P(sum <= total), over all outcomes of the labels."""
    chance = 0
    for labels in itertools.product([0, 1], repeat=len(probabilities)):
        terms = zip(labels, on, off, strict=True)
        if sum(a if y else b for y, a, b in terms) <= total + 1e-9:
            chance += probability_of_states(probabilities, labels)
    return chance


def concordance(probabilities, labels):
    """How often a case has the greater probability than another record, and the standard deviation
    of that under chance, of Mann and Whitney.
    """
    pairs = [
        (p > q) + 0.5 * (p == q)
        for p, y in zip(probabilities, labels, strict=True)
        for q, z in zip(probabilities, labels, strict=True)
        if y and not z
    ]
    if not pairs:
        return 0.5, math.inf
    return sum(pairs) / len(pairs), math.sqrt((len(labels) + 1) / 12 / len(pairs))
