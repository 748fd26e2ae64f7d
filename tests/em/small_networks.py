"""Networks that are small enough for slow twins, and starts for learning them."""

from conftest import network_on
from noisyor import Structure
from noisyor.learning import learn_exact_em, learn_maximum_likelihood, learn_variational_em

CLIMBERS = [learn_exact_em, learn_variational_em, learn_maximum_likelihood]


def small_network(rng, most_diseases=4, most_symptoms=5):
    n, m = rng.integers(1, most_diseases + 1), rng.integers(2, most_symptoms + 1)
    matrix = rng.random((n, m)) < 0.7
    matrix[0, 0] = True
    structure = Structure.from_matrix(matrix)
    return network_on(structure, rng, priors=(0.1, 0.6), leaks=(0.02, 0.3))


def random_start(structure, rng):
    return network_on(structure, rng, priors=(0.1, 0.9), leaks=(0.1, 0.5))
