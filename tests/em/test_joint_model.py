"""The shares of a joint distribution as a vector."""

import numpy as np
import pytest

from em.test_cause_models import model_case
from noisyor import Beliefs


def test_names_of_shares_follow_the_structure_and_tell_blocks_apart():
    network, model = model_case("blocks")
    names = [name for kind, _, name in model.names(network.structure) if kind == "share"]
    assert len(set(names)) == len(names)
    diseases = network.structure.diseases
    pair = sorted(diseases.index(name) for name in names[3].split(" + "))
    assert names[3] == " + ".join(diseases[i] for i in pair)
    assert names[0] == f"none of {names[3].replace(' + ', ', ')}"


def test_fixed_shares_and_priors_hold_together():
    network, model = model_case("joint")
    names = network.structure.diseases
    beliefs = Beliefs(network.structure, shares={names: 0.0, names[:2]: 0.1})
    known = model.knowing(network.structure, beliefs.of_causes)
    wanted = np.array([0.5, np.nan, 0.3, np.nan])
    moved = known.causes_at(known.with_marginals(model.position_of(network.causes), wanted))
    assert moved.marginals()[[0, 2]] == pytest.approx([0.5, 0.3], rel=1e-6)
    assert moved.shares[0][[15, 12]] == pytest.approx([1e-9, 0.1], rel=1e-6)
    assert known.as_given(moved).shares[0][15] == 0.0
