"""What could be learned if the diseases were seen: the limit of learning without them."""

import numba
import numpy as np

STEPS = 30


def ratio_estimator(network, findings, diseases):
    """Return failures P(absent | disease) / P(absent | no disease) and priors."""
    structure, n = network.structure, findings.n_records
    cases, present = diseases.sum(axis=0).astype(float), findings.count_present()
    i, j = structure.edges.T
    # With failures of 0 a disease that is there is all that is expected to have caused a finding.
    records = _Records(structure, findings, diseases)
    both, _ = records.expect(np.zeros(structure.n_edges), np.zeros(structure.n_symptoms))
    with_disease = 1.0 - both / np.maximum(cases[i], 1.0)
    without = 1.0 - (present[j] - both) / (n - cases[i])
    return np.minimum(with_disease / without, 1.0), cases / n


def maximum_likelihood(network, findings, diseases):
    """Return the failures of the noisy-or regression on the diseases, by EM from the ratios."""
    structure = network.structure
    failures, priors = ratio_estimator(network, findings, diseases)
    failures = np.clip(failures, 0.01, 0.99)
    leaks = np.clip(network.leaks, 1e-4, 1.0)
    cases = diseases.sum(axis=0).astype(float)
    records = _Records(structure, findings, diseases)
    for _ in range(STEPS):
        caused, leaked = records.expect(failures, leaks)
        failures = 1.0 - caused / np.maximum(cases[structure.edges[:, 0]], 1.0)
        leaks = np.maximum(leaked / len(diseases), 1e-9)
    return failures, priors


class _Records:
    """Findings and diseases, listed record by record."""

    def __init__(self, structure, findings, diseases):
        self._sizes = structure.n_edges, structure.n_symptoms
        self._edge_of = np.full((structure.n_diseases, structure.n_symptoms), -1, dtype=np.int32)
        self._edge_of[structure.edges[:, 0], structure.edges[:, 1]] = np.arange(structure.n_edges)
        self._listed = [block.listed()[:2] for block in findings.blocks]
        rows, self._columns = np.nonzero(diseases)
        self._offsets = np.searchsorted(rows, np.arange(len(diseases) + 1))

    def expect(self, failures, leaks):
        """Return how many findings each edge, or no disease, is expected to have caused."""
        caused, leaked = (np.zeros(size) for size in self._sizes)
        first = 0
        for starts, symptoms in self._listed:
            last = first + len(starts) - 1
            _expect(starts, symptoms, self._offsets[first : last + 1], self._columns,
                    self._edge_of, failures, leaks, caused, leaked)  # fmt: skip
            first = last
        return caused, leaked


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
