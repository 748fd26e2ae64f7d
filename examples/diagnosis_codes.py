"""What noisy diagnosis codes bring: they enter as further findings, one for each disease.

A code is set for some of the patients that have the disease, and for a few that do not; nobody
knows for whom. To the learner it is a symptom of that disease alone.
"""

import numpy as np

from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, datasets

N_RECORDS = 5_000
CODED = 0.6  # of the patients with the disease
MISCODED = 0.01  # of those without


def with_codes(network: NoisyOrNetwork) -> NoisyOrNetwork:
    """Return the network with a code for each disease as one more symptom."""
    structure = network.structure
    n = structure.n_symptoms
    codes = [f"code {disease}" for disease in structure.diseases]
    edges = [[i, n + i] for i in range(structure.n_diseases)]
    grown = Structure(
        structure.diseases, [*structure.symptoms, *codes], [*structure.edges.tolist(), *edges]
    )
    failures = np.empty(grown.n_edges)
    failures[grown.edges[:, 1] >= n] = 1 - CODED
    failures[grown.edges[:, 1] < n] = network.failures
    leaks = np.concatenate([network.leaks, np.full(len(codes), MISCODED)])
    return NoisyOrNetwork(grown, network.priors, failures, leaks)


def main() -> None:
    """Learn the clinic with and without codes, and compare."""
    clinic = datasets.clinic()
    coded = with_codes(clinic)
    records = coded.sample(N_RECORDS, rng=0)
    n = clinic.structure.n_symptoms
    print(f"{N_RECORDS:,} records; mean absolute errors and standard errors")
    for title, structure in ("symptoms alone", clinic.structure), ("with codes", coded.structure):
        cells = records.to_numpy()[:, : structure.n_symptoms]
        estimate = NoisyOrLearner(structure).fit(cells).estimate_
        of_symptoms = structure.edges[:, 1] < n
        wrong = np.abs(estimate.failures.values[of_symptoms] - clinic.failures).mean()
        uncertain = estimate.failures.standard_errors[of_symptoms].mean()
        priors = np.abs(estimate.priors.values - clinic.priors).mean()
        print(f"{title:15}  failures {wrong:.4f} ({uncertain:.4f})  priors {priors:.4f}")
    is_code = coded.structure.edges[:, 1] >= n
    found = 1 - estimate.failures.values[is_code]
    print(f"share of patients that are coded, learned: {found.min():.2f} to {found.max():.2f}")


if __name__ == "__main__":
    main()
