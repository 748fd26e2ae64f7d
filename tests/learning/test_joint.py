"""The joint fit of all parameters of a part."""

import numpy as np
import pytest

from conftest import network_on
from learning.cleanup_cases import SHAPES, without_pieces
from noisyor import Fixed, Moments, Structure, datasets, find_schedule
from noisyor.learning.cleanup.clean import clean_up
from noisyor.learning.cleanup.pieces import cleanup_plan, find_pieces
from noisyor.learning.decompose import edge_strengths, lambdas_of


@pytest.mark.parametrize("seed", range(5))
def test_figure_2_is_recovered_from_exact_moments(seed):
    network = datasets.figure2(seed)
    pieces, result = find_pieces(find_schedule(network.structure), Fixed(network.structure))
    assert result.order == 3
    moments = Moments.exact(network, cleanup_plan(network.structure, pieces))
    strengths, lambdas = without_pieces(network, pieces)
    cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert cleaned.edges.all()
    assert cleaned.priors.all()
    owners = network.structure.edges[:, 0]
    assert lambdas == pytest.approx(lambdas_of(network.priors), abs=1e-6)
    expected = edge_strengths(network.priors[owners], network.failures)
    assert strengths == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_joint_fit_recovers_exact_moments(shape, rng):
    structure = Structure.from_matrix(shape)
    network = network_on(structure, rng)
    pieces, result = find_pieces(find_schedule(structure), Fixed(structure))
    moments = Moments.exact(network, cleanup_plan(structure, pieces))
    strengths, lambdas = without_pieces(network, pieces)
    cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert cleaned.edges.all()
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    for group in result.swaps or [(disease,) for disease in range(structure.n_diseases)]:
        found = sorted(strengths[structure.edges_of(disease)].tolist() for disease in group)
        expected = sorted(truth[structure.edges_of(disease)].tolist() for disease in group)
        assert np.array(found) == pytest.approx(np.array(expected), abs=1e-5)


def test_what_is_identifiable_of_a_part_is_learned_and_the_rest_is_not():
    # Twins with five symptoms each, of which one is also that of a disease with one more only.
    shape = np.array([[1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 0], [0, 0, 0, 1, 1, 0]])
    shape[:2, 5] = [1, 0]
    structure = Structure.from_matrix(shape)
    pieces, result = find_pieces(find_schedule(structure), Fixed(structure))
    known = result.orders.failures >= 0
    assert known.any()
    assert not known.all()
    rng = np.random.default_rng(1)
    network = network_on(structure, rng)
    moments = Moments.exact(network, cleanup_plan(structure, pieces))
    strengths, lambdas = without_pieces(network, pieces)
    cleaned = clean_up(moments, pieces, (strengths, lambdas), [])
    assert (cleaned.edges == known).all()
    truth = edge_strengths(network.priors[structure.edges[:, 0]], network.failures)
    assert strengths[known] == pytest.approx(truth[known], abs=1e-5)
    assert (strengths[~known] == 0.0).all()
