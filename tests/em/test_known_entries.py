"""What is known of single loadings, effects and shares, as parts of a vector."""

import numpy as np
import pytest

from em.test_cause_models import model_case
from em.test_known_causes import likelihood_of
from noisyor import Beliefs
from noisyor.em.cause_models import LogisticModel
from noisyor.em.maximum import climb_penalised
from noisyor.em.runs import Limits
from noisyor.errors import NoisyOrError


def beliefs_of(kind, network):
    """Beliefs of which each kind of causes has some, and a fixed value."""
    names = network.structure.diseases
    if kind == "joint":
        both = {"shares": {names[:2]: (0.1, 50.0), (): (0.2, 50.0), names[:3]: 0.05}}
        return Beliefs(network.structure, **both)
    if kind == "blocks":
        one, other = network.causes.blocks[0]
        pair = tuple(names[i] for i in sorted((one, other)))
        return Beliefs(network.structure, shares={pair: (0.2, 30.0), pair[:1]: 0.1})
    found = {}
    if "trait" in kind:
        name = "trait 1" if kind == "traits" else "trait"
        found["loadings"] = {(names[0], name): (1.0, 0.3), (names[2], name): 0.5}
    if kind.endswith("covariates"):
        found["effects"] = {
            (names[0], "age"): (0.01, 0.02), (names[1], "age"): 0.0,
            (names[1], "site=b"): (0.3, 0.1), (names[3], "site"): 0.0,
        }  # fmt: skip
    return Beliefs(network.structure, **found)


def known_likelihood(kind, beliefs):
    network, likelihood = likelihood_of(kind, beliefs)
    model = likelihood.model.knowing(network.structure, beliefs.of_causes)
    likelihood = type(likelihood)(
        likelihood.expectation, model, likelihood.priors, beliefs, likelihood.share
    )
    position = model.position_of(network.causes)
    if isinstance(model, LogisticModel):
        position = model.start_at(position)
    return network.with_causes(model.causes_at(likelihood.known.put_into(position))), likelihood


KINDS = ("joint", "blocks", "trait", "traits", "covariates", "trait with covariates")


@pytest.mark.parametrize("kind", KINDS)
def test_beliefs_have_derivatives_and_information(kind):
    network, _ = model_case(kind)
    network, likelihood = known_likelihood(kind, beliefs_of(kind, network))
    model, known = likelihood.model, likelihood.known
    size = len(model.is_free)
    position = model.position_of(network.causes) + np.linspace(0.05, 0.2, size)
    value, slopes, information = known.believed(model.causes_at(position))
    for entry in range(size):
        ends = []
        for step in (1e-5, -1e-5):
            moved = position + step * (np.arange(size) == entry)
            ends.append(known.believed(model.causes_at(moved)))
        assert slopes[entry] == pytest.approx((ends[0].value - ends[1].value) / 2e-5, abs=1e-5)
        if "joint" not in kind and kind != "blocks":  # of normal distributions it is exact
            curve = -(ends[0].derivatives - ends[1].derivatives) / 2e-5
            assert information[entry] == pytest.approx(curve, abs=1e-4)
    assert value < 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_fixed_stays_and_nothing_else_is_left_to_gain(kind):
    network, _ = model_case(kind)
    beliefs = beliefs_of(kind, network)
    network, likelihood = known_likelihood(kind, beliefs)
    run = climb_penalised(likelihood, network, Limits(100, 0.0))
    model = likelihood.model
    names = model.names(network.structure)
    values, _ = model.reported(run.network.causes)
    scales = {"age": 20.0}
    for each in beliefs.of_causes:
        if each.is_fixed and each.key in names:
            wanted = each.value * (scales.get(each.name, 1.0))
            assert values[names.index(each.key)] == pytest.approx(wanted, rel=1e-9)
    if kind.endswith("covariates"):  # no level of the site
        assert not values.reshape(4, -1)[3, -3:].any()
    rng, at = np.random.default_rng(0), likelihood.position_of(run.network)
    for _ in range(20):
        moved = likelihood.moved(run.network, at + 0.02 * rng.normal(size=len(at)))
        again, _ = model.reported(moved.causes)
        is_fixed = model.known.is_fixed
        assert again[is_fixed] == pytest.approx(values[is_fixed], rel=1e-9)
        assert likelihood.at(moved).value < run.values[-1] + 0.01


@pytest.mark.parametrize("kind", ["joint", "trait with covariates"])
def test_a_great_weight_is_nearly_fixed(kind):
    network, _ = model_case(kind)
    name = network.structure.diseases[0]
    if kind == "joint":
        given = {"shares": {name: 0.2}}, {"shares": {name: (0.2, 1e7)}}
    else:
        given = {"loadings": {name: 0.7}}, {"loadings": {name: (0.7, 1e-4)}}
    found = []
    for each in given:
        start, likelihood = known_likelihood(kind, Beliefs(network.structure, **each))
        run = climb_penalised(likelihood, start, Limits(200, 0.0))
        found.append(likelihood.expectation.score(run.network, likelihood.model).log_likelihood)
    assert abs(found[0] - found[1]) < 0.5


def test_signs_of_a_trait_are_those_of_what_is_known():
    network, model = model_case("trait")
    names = network.structure.diseases
    known = model.knowing(
        network.structure, Beliefs(network.structure, loadings={names[0]: -1.0}).of_causes
    )
    start = np.tile([-1.0, 1.0], 4)
    assert known.start_at(start).reshape(4, 2)[:, 1].tolist() == [-1.0, -1.0, -1.0, -1.0]
    assert model.start_at(start).tolist() == start.tolist()


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("trait", {"shares": {"none": 0.5}}, "one of a joint distribution: take causes='joint'"),
        ("trait", {"effects": {(0, "age"): 0.0}}, r"needs the covariate: .*covariates=\['age'\]"),
        ("covariates", {"loadings": {0: 0.0}}, "needs a trait: take causes='trait'"),
        ("traits", {"loadings": {0: 1.0}}, "no loading on 'trait'; known are 'trait 1', 'trait 2'"),
        ("traits", {"loadings": {(0, "trait 2"): 1.0}}, "is 0 in any case, so that traits do not"),
        ("covariates", {"effects": {(0, "agee"): 0.0}}, "did you mean 'age'"),
        ("covariates", {"effects": {(0, "site"): 1.0}}, "can be fixed at 0 as a whole; otherwise"),
        ("covariates", {"effects": {(0, "site=a"): 0.0}}, "for all levels or for none"),
        (
            "covariates",
            {"effects": {(0, "site=a"): 1.0, (0, "site=b"): 1.0, (0, "site=c"): 1.0}},
            "their mean is 0",
        ),
        ("joint", {"loadings": {0: 0.0}}, "needs causes='trait'; a joint distribution has shares"),
        ("joint", {"shares": {"none": 0.6, 0: 0.5}}, "fixed add up to 1.1; they must to less"),
        ("joint", {"shares": {"none": (0.6, 9), 0: (0.3, 8)}}, "not by 8 and 9: give them one"),
        ("blocks", {"shares": {"none": 0.6}}, "there is no share 'none'; known are 'none of"),
    ],
)
def test_what_cannot_be_known_is_refused(kind, given, message):
    network, model = model_case(kind)
    with pytest.raises(NoisyOrError, match=message):
        model.knowing(network.structure, Beliefs(network.structure, **given).of_causes)


def test_shares_and_priors_that_contradict_each_other_are_refused():
    network, model = model_case("joint")
    given = Beliefs(network.structure, shares={network.structure.diseases: 0.5})
    known = model.knowing(network.structure, given.of_causes)
    known.check_possible(np.array([0.6, np.nan, np.nan, np.nan]))
    with pytest.raises(NoisyOrError, match="P\\(disease\\) is the sum of the shares"):
        known.check_possible(np.array([0.3, np.nan, np.nan, np.nan]))
