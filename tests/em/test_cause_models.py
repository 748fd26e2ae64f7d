"""The parameters of causes as a vector, and what follows from it."""

import numpy as np
import pytest

from em.test_mixed import random_case
from noisyor.em.cause_models import LogisticModel
from noisyor.em.joint_model import JointModel
from together import KINDS, random_together


def model_case(kind, seed=3):
    network = random_together(np.random.default_rng(seed), 4, 6, kind)
    causes = network.causes
    if kind in ("joint", "blocks"):
        return network, JointModel(causes.blocks, 4)
    model = LogisticModel(4, causes.loadings.shape[1], causes.effects, np.full(4, 2.0))
    return network, model if causes.effects is not None else LogisticModel.of(
        4, causes.n_traits, None
    )


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_marginals_agree_with_differences(kind):
    network, model = model_case(kind)
    position = model.position_of(network.causes)
    values, slopes = model.marginals(network.causes)
    assert values == pytest.approx(network.causes.marginals())
    for entry in range(len(position)):
        ends = []
        for step in (1e-6, -1e-6):
            moved = position + step * (np.arange(len(position)) == entry)
            ends.append(model.causes_at(moved).marginals())
        assert slopes[:, entry] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_become_what_they_are_to_be(kind):
    network, model = model_case(kind)
    wanted = np.array([0.02, np.nan, 0.6, np.nan])
    moved = model.with_marginals(model.position_of(network.causes), wanted)
    found = model.causes_at(moved).marginals()
    assert found[[0, 2]] == pytest.approx([0.02, 0.6], rel=1e-9)
    before = model.position_of(network.causes)
    free = np.isnan(wanted)
    if isinstance(model, LogisticModel):  # nothing else moves
        is_moved = (np.abs(moved - before) > 1e-9).reshape(4, -1)
        assert not is_moved[:, 1:].any()
        assert not is_moved[free].any()


def test_the_spread_of_categories_is_learned():
    _, _, network, model = random_case(0, "covariates")
    position = model.position_of(network.causes)
    pooled = model.with_learned_spreads(position, np.zeros(len(position)))
    levels = position.reshape(4, -1)[:, 2:]
    assert pooled.spreads[1:] == pytest.approx(np.full(3, np.sqrt((levels**2).mean())))
    assert pooled.spreads[0] == model.spreads[0]


def test_names_of_parameters():
    _, _, network, model = random_case(0, "joint")
    names = [name for _, _, name in model.names(network.structure)]
    diseases = network.structure.diseases
    assert names[0] == "none"
    assert names[-1] == " + ".join(diseases)
    _, _, network, model = random_case(0, "trait with covariates")
    kinds = [(kind, name) for kind, disease, name in model.names(network.structure)[:6]]
    assert kinds == [
        ("intercept", ""), ("loading", "trait"), ("effect", "age"), ("effect", "site=a"),
        ("effect", "site=b"), ("effect", "site=c"),
    ]  # fmt: skip
