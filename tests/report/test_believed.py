"""The section on beliefs: each with what the records say, and both."""

import pytest

from noisyor import (
    Estimate,
    NoisyOrLearner,
    NoisyOrNetwork,
    NoisyOrWarning,
    Structure,
    datasets,
)
from noisyor.network import Trait
from noisyor.report.believed import believed
from noisyor.report.content import content_of

NETWORK = datasets.figure1(rng=0)
RECORDS = NETWORK.sample(2000, rng=1)


@pytest.fixture(scope="module")
def estimate():
    beliefs = {"priors": {"A": (0.5, 100), "B": (0.05, 80)}}
    with pytest.warns(NoisyOrWarning, match="contradicted"):
        return NoisyOrLearner(NETWORK.structure).fit(RECORDS, beliefs=beliefs).estimate_


def test_beliefs_stand_beside_what_records_say(estimate, tmp_path):
    page = believed(content_of(estimate))
    assert 'id="beliefs"' in page
    assert "2 parameters" in page
    assert "1 belief is contradicted by the records" in page
    rows = [row for row in estimate.summary() if row["belief"] is not None]
    for row in rows:
        assert f"{row['records_alone']:.4f}" in page
        assert f"{row['value']:.4f}" in page
    assert page.index(">B<") < page.index(">A<")  # what is contradicted comes first
    estimate.save(tmp_path / "learned.json")
    assert believed(content_of(Estimate.load(tmp_path / "learned.json"))) == page


def test_without_beliefs_there_is_no_section(estimate):
    plain = NoisyOrLearner(NETWORK.structure).fit(RECORDS, fixed={"priors": {"A": 0.5}}).estimate_
    assert believed(content_of(plain)) == ""
    assert believed(content_of(estimate.network)) == ""


def test_beliefs_in_loadings_stand_there_too():
    structure = Structure.from_edges([(f"d{i}", f"s{i}{x}") for i in range(3) for x in range(4)])
    causes = Trait([-1.0] * 3, [1.2] * 3)
    network = NoisyOrNetwork(structure, None, [0.3] * 12, [0.02] * 12, causes=causes)
    learner = NoisyOrLearner(structure, causes="trait")
    beliefs = {"loadings": {"d1": (1.25, 0.35)}, "priors": {"d0": (0.3, 55)}}
    estimate = learner.fit(network.sample(2000, rng=2), beliefs=beliefs).estimate_
    page = believed(content_of(estimate))
    assert "2 parameters" in page
    for text in ("loading", "trait", ">0.35<", ">55<"):
        assert text in page
