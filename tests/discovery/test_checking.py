"""What functions of this room refuse."""

import pytest

from noisyor import datasets
from noisyor.discovery import certify, discover, match_causes, repair, suggest
from noisyor.errors import ParameterError

NETWORK = datasets.figure1(rng=0)
RECORDS = NETWORK.sample(50, rng=0)


@pytest.mark.parametrize("level", [0.0, 1.0, float("nan"), "a", True, None])
def test_levels_lie_between_0_and_1(level):
    for function in (suggest, certify):
        with pytest.raises(ParameterError, match="level must lie between 0 and 1"):
            function(NETWORK, RECORDS, level=level)


def test_what_is_not_a_network_is_refused():
    with pytest.raises(ParameterError, match="expected a NoisyOrNetwork, not Structure"):
        certify(NETWORK.structure, RECORDS)
    with pytest.raises(ParameterError, match="expected a NoisyOrNetwork, not int"):
        match_causes(NETWORK, 5)


def test_settings_are_of_their_kind():
    with pytest.raises(
        ParameterError, match=r"settings must be DiscoverySettings\(...\), not dict"
    ):
        discover(RECORDS, settings={"n_init": 2})


def test_a_seed_is_a_whole_number():
    with pytest.raises(ParameterError, match="rng must be a whole number"):
        suggest(NETWORK, RECORDS, rng="x")


def test_edges_that_are_there_cannot_be_forbidden():
    disease, symptom = (names[0] for names in NETWORK.structure.edge_names().values())
    with pytest.raises(ParameterError, match="is forbidden, but in the structure"):
        repair(NETWORK.structure, RECORDS, forbidden=[(disease, symptom)])
