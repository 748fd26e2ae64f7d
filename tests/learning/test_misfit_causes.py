"""Causes of misfits: each kind is named where it is what is wrong."""

import numpy as np
import pytest

from noisyor import MomentPlan, NoisyOrNetwork, Structure, count_moments
from noisyor.experiments import misfits
from noisyor.experiments.results import Cell
from noisyor.experiments.settings import ExperimentSettings
from noisyor.learning.misfit_causes import DEPENDENCE, HIDDEN
from noisyor.learning.misfits import Misfits
from noisyor.network import Trait
from noisyor.parameters import Parameters


@pytest.mark.parametrize("wrong", misfits.WRONG)
def test_the_cause_is_named(wrong):
    cells = [Cell("clinic", 5000, seed, wrong) for seed in range(3)]
    found = [misfits.measure(cell, ExperimentSettings()) for cell in cells]
    assert sum(each["noticed"] for each in found) >= 2
    assert sum(each["named"] for each in found) >= 2


EDGES = [(f"d{i}", f"s{i}{x}") for i in range(6) for x in range(4)]
KNOWN = Structure.from_edges(EDGES)


def first_cause(truth):
    """Return what explains best the records that a network of independent diseases does not."""
    moments = count_moments(truth.sample(4000, rng=1), MomentPlan.all_pairs(KNOWN))
    assumed = NoisyOrNetwork(KNOWN, truth.priors[:6], truth.failures[:24], np.full(24, 0.02))
    fitted = Parameters.full(KNOWN, 0, np.uint16)  # residuals are what fitted parameters leave
    return Misfits(assumed, moments, flags=fitted).causes[0]


@pytest.mark.parametrize("loading", [0.7, 2.0])
@pytest.mark.parametrize("spread", [0.0, 0.5])
def test_a_trait_is_no_disease_with_all_symptoms(loading, spread):
    loadings = loading + spread * np.linspace(-1.0, 1.0, 6)[:, np.newaxis]
    failures = 0.3 + spread * np.linspace(-0.4, 0.6, 24)
    truth = NoisyOrNetwork(
        KNOWN, None, failures, np.full(24, 0.02), causes=Trait(np.full(6, -1.5), loadings)
    )
    cause = first_cause(truth)
    assert cause.kind == DEPENDENCE
    assert set(cause.members) >= {2, 3, 4, 5}  # who hardly depends on the trait may be left out


def test_a_disease_with_symptoms_of_many_others_is_no_trait():
    hidden = [("h", f"s{i}{x}") for i in range(6) for x in range(2)]
    structure = Structure.from_edges([*EDGES, *hidden], symptoms=KNOWN.symptoms)
    truth = NoisyOrNetwork(structure, np.full(7, 0.2), np.full(36, 0.3), np.full(24, 0.02))
    cause = first_cause(truth)
    assert cause.kind == HIDDEN
    assert {KNOWN.symptoms[j] for j in cause.members} == {symptom for _, symptom in hidden}
