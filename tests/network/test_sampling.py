import numpy as np
import pytest

from conftest import random_network
from noisyor import NoisyOrNetwork, Structure, datasets
from noisyor.findings.blocks import BLOCK_RECORDS
from noisyor.network.sampling import sample_blocks


def joint_chi_square(network, findings):
    """Compare the counts of all patterns of symptoms with their exact probabilities."""
    n_symptoms = network.structure.n_symptoms
    patterns = findings.to_numpy() @ (1 << np.arange(n_symptoms)[::-1])
    counts = np.bincount(patterns.astype(int), minlength=2**n_symptoms)
    expected = network.joint(range(n_symptoms)).ravel() * findings.n_records
    return float((((counts - expected) ** 2) / expected).sum()), 2**n_symptoms - 1


def test_records_follow_the_joint_distribution():
    statistics, freedom = [], 0
    for seed in range(20):
        network = datasets.figure1(seed)
        statistic, cells = joint_chi_square(network, network.sample(20_000, rng=seed))
        statistics.append(statistic)
        freedom += cells
    # The sum of the chi-squares is chi-square itself; five standard deviations either way.
    assert abs(sum(statistics) - freedom) < 5 * np.sqrt(2 * freedom)


def test_records_of_another_network_do_not_follow_it():
    """Negative control: the test above can fail."""
    network = datasets.figure1(0)
    failures = network.failures.copy()
    failures[2] += 0.02
    other = NoisyOrNetwork(network.structure, network.priors, failures, network.leaks)
    statistic, freedom = joint_chi_square(network, other.sample(200_000, rng=0))
    assert statistic > freedom + 5 * np.sqrt(2 * freedom)


def test_diseases_and_their_symptoms_have_the_right_frequencies():
    rng = np.random.default_rng(3)
    network = random_network(rng, n_diseases=4, n_symptoms=5)
    findings, diseases = network.sample(200_000, rng=5, return_diseases=True)
    assert diseases.shape == (200_000, 4)
    assert diseases.dtype == np.bool_
    error = (diseases.mean(axis=0) - network.priors) * np.sqrt(200_000)
    assert (np.abs(error) < 5 * np.sqrt(network.priors * (1 - network.priors))).all()
    present = findings.to_numpy()
    alone = diseases[:, 0] & ~diseases[:, 1:].any(axis=1)
    for j in network.structure.children(0):
        exact = 1 - network.failures[network.structure.edge_index(0, int(j))] * (
            1 - network.leaks[j]
        )
        deviation = np.sqrt(exact * (1 - exact) / alone.sum())
        assert abs(present[alone, j].mean() - exact) < 5 * deviation


def test_priors_leaks_and_failures_of_0_and_1_are_exact():
    structure = Structure.from_matrix([[1, 1, 0, 0], [0, 0, 1, 0]])
    network = NoisyOrNetwork(structure, [1, 0], [0, 1, 0], [0, 0, 0, 1])
    assert (network.sample(10_000, rng=0).to_numpy() == [True, False, False, True]).all()


@pytest.mark.parametrize("records", [0, 1, 63, 64, 65, BLOCK_RECORDS, BLOCK_RECORDS + 1, 20_000])
def test_the_same_seed_gives_the_same_records_whatever_the_threads(records):
    network = datasets.clinic()
    findings, diseases = network.sample(records, rng=7, return_diseases=True)
    assert findings.n_records == len(diseases) == records
    assert findings == network.sample(records, rng=7)
    for n_jobs in 1, 3:
        blocks = sample_blocks(
            network.structure, network.parameters, records, 7, keep_diseases=True, n_jobs=n_jobs
        )
        for mine, theirs in zip(findings.blocks, blocks, strict=True):
            assert np.array_equal(mine.present, theirs.block.present)
    if records > 10:
        assert findings != network.sample(records, rng=8)


def test_a_generator_is_a_seed_too():
    network = datasets.clinic()
    first, again = (network.sample(100, rng=np.random.default_rng(1)) for _ in range(2))
    assert first == again
    rng = np.random.default_rng(1)
    assert network.sample(100, rng=rng) != network.sample(100, rng=rng)


def test_a_seed_sequence_is_not_used_up():
    network = datasets.clinic()
    seed = np.random.SeedSequence(5)
    assert network.sample(1000, rng=seed) == network.sample(1000, rng=seed)


def test_drawing_a_network_and_sampling_it_use_different_random_numbers(tmp_path):
    from noisyor.network.sampling import seed_sequence

    states = {
        tuple(stream.generate_state(4))
        for purpose in ("records", "folder", "figure", "qmr_shaped")
        for stream in [seed_sequence(0, purpose), *seed_sequence(0, purpose).spawn(3)]
    }
    assert len(states) == 16


def test_without_a_seed_records_differ():
    network = datasets.clinic()
    assert network.sample(1000) != network.sample(1000)
