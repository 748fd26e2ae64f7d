"""What an estimate tells of its parameters."""

from dataclasses import replace

import numpy as np
import pytest

from noisyor import (
    Estimate,
    Moments,
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    count_moments,
    datasets,
    find_schedule,
)
from noisyor.flags import Flag
from noisyor.learning import fit, learn_sequential
from noisyor.network import Joint
from noisyor.parameters import Parameters, check_summary, read_standard_errors


def test_the_summary_has_a_row_for_each_parameter():
    network = datasets.figure1(0)
    schedule = find_schedule(network.structure)
    moments = count_moments(network.sample(10_000, rng=0), schedule.plan())
    estimate = learn_sequential(moments, schedule)
    rows = estimate.summary().to_pylist()
    assert len(rows) == 2 + 7 + 5
    by_name = {(row["disease"], row["symptom"]): row for row in rows}
    row = by_name["A", "b"]
    edge = network.structure.edge_index("A", "b")
    assert row["parameter"] == "failure"
    assert row["value"] == estimate.failures.values[edge]
    error = estimate.standard_errors.failures[edge]
    assert row["standard_error"] == error
    lower, upper = estimate.failures.intervals()
    assert (row["lower"], row["upper"]) == (lower[edge], upper[edge])
    assert row["lower"] <= row["value"] - 1.96 * error < row["value"] + 1.96 * error <= row["upper"]
    assert (row["depth"], row["moments"], row["flags"]) == (1, "triplet a, b, c", "")
    assert by_name["B", None]["moments"] == "triplet b, d, e"
    assert by_name[None, "a"]["parameter"] == "leak"
    assert by_name[None, "a"]["depth"] == 2
    assert by_name[None, "e"]["depth"] == 1
    assert estimate.n_records == 10_000


def test_where_nearly_all_is_flagged_the_estimate_says_so():
    network = datasets.clinic()
    learner = NoisyOrLearner(network.structure)
    estimate = learner.fit(network.sample(1, rng=0)).estimate_
    assert estimate.doubt == ("Beware: all 200 parameters that were to be learned are flagged.")
    assert repr(estimate).endswith(
        "learned; beware: all 200 parameters that were to be learned are flagged)"
    )
    good = learner.fit(network.sample(2000, rng=0)).estimate_
    assert good.doubt == ""
    assert repr(good).endswith("60 of 60 leaks learned)")


def test_what_trades_off_names_its_partner_and_the_method_that_shows_how_far():
    network = datasets.figure1(rng=0)
    estimate = fit(network.sample(2000, rng=1), network.structure, "pooled")
    numbers = np.full(network.structure.n_parameters, -1)
    numbers[0] = 9
    partners = Parameters.split(network.structure, numbers)
    flags = Parameters.full(network.structure, Flag.WEAK, np.uint16)
    texts = replace(estimate, partners=partners, flags=flags).summary()["flags"].to_pylist()
    assert "it trades off with" in texts[0]
    assert texts[0].endswith("(method='bayesian' shows how far)")
    assert "trades off" not in texts[1]


def test_a_summary_says_how_diseases_occur_together(tmp_path):
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(2) for x in range(4)])
    causes = Joint([0.6, 0.05, 0.05, 0.3])
    network = NoisyOrNetwork(structure, None, [0.3] * 8, [0.02] * 8, causes=causes)
    estimate = NoisyOrLearner(structure, causes="joint").fit(network.sample(500, rng=0)).estimate_
    table = estimate.summary().to_pylist()
    assert len(table) == structure.n_parameters + 4
    last = table[-1]
    assert (last["parameter"], last["name"]) == ("share", "d0 + d1")
    assert last["value"] == estimate.learned_causes.values[-1]
    assert last["lower"] < last["value"] < last["upper"]
    estimate.save_summary(tmp_path / "summary.csv")
    # What reads priors, failures and leaks passes over them.
    errors = read_standard_errors(tmp_path / "summary.csv", structure)
    np.testing.assert_allclose(errors.vector, estimate.standard_errors.vector)
    check_summary(tmp_path / "summary.csv", structure, estimate.values)


@pytest.mark.parametrize("method", ["refined", "pooled", "exact_em"])
def test_nothing_whose_interval_is_everything_goes_without_a_flag(method):
    for seed in range(20):
        network = datasets.figure1(rng=seed)
        learner = NoisyOrLearner(network.structure, method=method, n_init=1)
        estimate = learner.fit(network.sample(80, rng=seed + 1)).estimate_
        for part in estimate.parts.values():
            lower, upper = part.intervals()
            assert not ((upper - lower > 0.9) & (part.flags == 0)).any()


def test_a_verdict_is_there_before_it_is_saved(tmp_path):
    """It was empty until a file was written and read."""
    network = datasets.figure1(0)
    estimate = NoisyOrLearner(network.structure).fit(network.sample(2000, rng=0)).estimate_
    assert estimate.verdict is not None
    assert estimate.verdict.fits is True
    assert estimate.verdict.sentences == estimate.misfits().sentences
    estimate.save(tmp_path / "learned.json")
    assert Estimate.load(tmp_path / "learned.json").verdict == estimate.verdict
    schedule = find_schedule(network.structure)
    exact = learn_sequential(Moments.exact(network, schedule.plan()), schedule)
    assert exact.verdict is None
