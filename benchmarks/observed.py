"""What could be learned if the diseases were seen: the limit of learning without them."""

import numba
import numpy as np

STEPS = 30


def ratio_estimator(network, findings, diseases):
    """Return failures P(absent | disease) / P(absent | no disease) and priors."""
    structure, n = network.structure, findings.n_records
    both = np.zeros((structure.n_diseases, structure.n_symptoms))
    start = 0
    for block in findings.blocks:
        absent = 1 - block.unpacked()[0].astype(np.float32)
        both += diseases[start : start + block.n_records].astype(np.float32).T @ absent
        start += block.n_records
    cases, absent = diseases.sum(axis=0).astype(float), n - findings.count_present()
    i, j = structure.edges.T
    with_disease = both[i, j] / np.maximum(cases[i], 1.0)
    without = (absent[j] - both[i, j]) / (n - cases[i])
    return np.minimum(with_disease / without, 1.0), cases / n


def maximum_likelihood(network, findings, diseases):
    """Return the failures of the noisy-or regression on the diseases, by EM from the ratios."""
    structure = network.structure
    failures, priors = ratio_estimator(network, findings, diseases)
    failures = np.clip(failures, 0.01, 0.99)
    leaks = np.clip(network.leaks, 1e-4, 1.0)
    edge_of = np.full((structure.n_diseases, structure.n_symptoms), -1, dtype=np.int32)
    edge_of[structure.edges[:, 0], structure.edges[:, 1]] = np.arange(structure.n_edges)
    cases = diseases.sum(axis=0).astype(float)
    listed = [block.listed()[:2] for block in findings.blocks]
    rows, columns = np.nonzero(diseases)
    offsets = np.searchsorted(rows, np.arange(len(diseases) + 1))
    for _ in range(STEPS):
        caused, leaked = np.zeros(structure.n_edges), np.zeros(structure.n_symptoms)
        first = 0
        for starts, symptoms in listed:
            last = first + len(starts) - 1
            of_records = offsets[first : last + 1]
            _expect(starts, symptoms, of_records, columns, edge_of, failures, leaks, caused, leaked)
            first = last
        failures = 1.0 - caused / np.maximum(cases[structure.edges[:, 0]], 1.0)
        leaks = np.maximum(leaked / len(diseases), 1e-9)
    return failures, priors


@numba.njit(cache=True)
def _expect(starts, symptoms, of_records, columns, edge_of, failures, leaks, caused, leaked):
    """Add up what each disease, or none, is expected to have caused."""
    for record in range(len(starts) - 1):
        present = columns[of_records[record] : of_records[record + 1]]
        for symptom in symptoms[starts[record] : starts[record + 1]]:
            absent = 1.0 - leaks[symptom]
            for disease in present:
                if edge_of[disease, symptom] >= 0:
                    absent *= failures[edge_of[disease, symptom]]
            share = 1.0 / max(1.0 - absent, 1e-12)
            leaked[symptom] += leaks[symptom] * share
            for disease in present:
                edge = edge_of[disease, symptom]
                if edge >= 0:
                    caused[edge] += (1.0 - failures[edge]) * share
