"""evaluate: two networks compared, against loops over all names."""

import numpy as np
import pytest

import naive
from conftest import as_lists, random_network
from noisyor import NoisyOrLearner, NoisyOrNetwork, Structure, datasets, evaluate
from noisyor.errors import ParameterError, StructureError
from noisyor.evaluation import check_intervals


def by_name(network):
    structure = network.structure
    edges = {
        (structure.diseases[i], structure.symptoms[j]): failure
        for (i, j), failure in zip(structure.edges, network.failures, strict=True)
    }
    return (
        dict(zip(structure.diseases, network.priors, strict=True)),
        edges,
        dict(zip(structure.symptoms, network.leaks, strict=True)),
    )


def redrawn(network, rng):
    """The same structure with other parameters."""
    return NoisyOrNetwork(
        network.structure,
        rng.uniform(0.05, 0.9, len(network.priors)),
        rng.uniform(0.05, 0.9, len(network.failures)),
        rng.uniform(0.01, 0.3, len(network.leaks)),
    )


def shuffled(network, rng):
    """The same network with its diseases, symptoms and edges in another order."""
    priors, failures, leaks = by_name(network)
    diseases, symptoms = rng.permutation(list(priors)), rng.permutation(list(leaks))
    edges = [list(failures)[k] for k in rng.permutation(len(failures))]
    structure = Structure.from_edges(edges, diseases=diseases.tolist(), symptoms=symptoms.tolist())
    names = [(structure.diseases[i], structure.symptoms[j]) for i, j in structure.edges]
    return NoisyOrNetwork(
        structure,
        [priors[name] for name in structure.diseases],
        [failures[name] for name in names],
        [leaks[name] for name in structure.symptoms],
    )


def test_differences_are_those_of_loops_over_names(rng):
    for _ in range(200):
        truth = random_network(rng)
        learned = redrawn(truth, rng)
        found = evaluate(shuffled(learned, rng), truth, n_records=0)
        assert found.posteriors is None
        for mine, theirs, errors in zip(
            by_name(learned), by_name(truth), (found.priors, found.failures, found.leaks),
            strict=True,
        ):  # fmt: skip
            wrong = [abs(mine[name] - theirs[name]) for name in theirs]
            assert errors.n == len(wrong)
            if wrong:
                assert errors.mean == pytest.approx(np.mean(wrong))
                assert errors.median == pytest.approx(np.median(wrong))
                assert errors.largest == pytest.approx(max(wrong))
        assert sum(errors.n for errors in found.by_depth.values()) == found.failures.n


def test_posteriors_are_those_of_sums_over_all_states(rng):
    for seed in range(10):
        truth = random_network(rng, 3, 5)
        learned = redrawn(truth, rng)
        found = evaluate(learned, truth, n_records=20, rng=seed).posteriors
        different, same = [], []
        for row in truth.sample(20, rng=seed).to_numpy().astype(float):
            ours, theirs = (
                naive.expectations(*as_lists(network), row)[1] for network in (learned, truth)
            )
            different.append(np.abs(np.array(ours) - theirs))
            same.append(np.argmax(ours) == np.argmax(theirs))
        assert found.n_exact == found.n_records == 20
        assert found.mean == pytest.approx(np.mean(different))
        assert found.largest == pytest.approx(np.max(different))
        assert found.same_top == np.mean(same)


def test_other_structures_are_refused():
    clinic = datasets.clinic()
    with pytest.raises(StructureError, match="only the second network has the diseases 'A', 'B'"):
        evaluate(clinic, datasets.figure1(0))
    one = Structure.from_edges([("a", "x"), ("a", "y"), ("b", "x")])
    other = Structure.from_edges([("a", "x"), ("b", "y"), ("b", "x")])
    networks = [NoisyOrNetwork(each, [0.5] * 2, [0.5] * 3, [0.1] * 2) for each in (one, other)]
    with pytest.raises(StructureError, match=r"only the second network has the edges \('b', 'y'\)"):
        evaluate(*networks)
    with pytest.raises(ParameterError, match="n_records"):
        evaluate(clinic, clinic, n_records=-1)


def test_intervals_are_checked_one_by_one():
    truth = datasets.clinic()
    learner = NoisyOrLearner(truth.structure, method="pooled").fit(truth.sample(5000, rng=0))
    estimate = learner.estimate_
    values = {"prior": truth.priors, "failure": truth.failures, "leak": truth.leaks}
    found = check_intervals(estimate, truth)
    assert list(found) == list(values)
    rows = iter(estimate.summary().to_pylist())
    for kind, part in estimate.parts.items():
        for index, true in enumerate(values[kind]):
            error, flag, row = part.standard_errors[index], part.flags[index], next(rows)
            assert found[kind].is_flagged[index] == (flag != 0)
            assert found[kind].is_sound[index] == (flag == 0 and not np.isnan(error))
            assert found[kind].holds[index] == (row["lower"] <= true <= row["upper"])
    assert np.concatenate([each.is_sound for each in found.values()]).any()
