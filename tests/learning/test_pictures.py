"""Pictures of what was learned: the rows, and the cells of the heat map."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from noisyor import NoisyOrLearner, datasets
from noisyor.errors import ParameterError, UnknownNameError

CLINIC = datasets.clinic()


@pytest.fixture(scope="module")
def estimate():
    findings = CLINIC.sample(2000, rng=0)
    return NoisyOrLearner(CLINIC.structure, method="pooled").fit(findings).estimate_


def labels_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_an_estimate_is_drawn_by_kind_and_by_disease(estimate):
    rows = [row for row in estimate.table() if row["parameter"] == "leak"]
    assert labels_of(estimate.plot(kind="leak", top=5)) == [row["symptom"] for row in rows[:5]]
    assert "fever" in labels_of(estimate.plot(disease="influenza"))
    assert len(labels_of(estimate.plot(disease="influenza"))) == 9
    with pytest.raises(ParameterError, match="kind is 'prior', 'failure' or 'leak', not 'x'"):
        estimate.plot(kind="x")
    with pytest.raises(UnknownNameError, match="did you mean 'influenza'"):
        estimate.plot(disease="influensa")


def test_misfits_are_drawn_pair_by_pair(estimate):
    misfits = estimate.misfits()
    ax = misfits.plot(top=6)
    image = np.ma.filled(ax.images[0].get_array(), np.nan)
    names = labels_of(ax)
    structure = CLINIC.structure
    known = {
        frozenset(pair): residual
        for pair, residual in zip(
            misfits.pairs.members.tolist(), misfits.pairs.residuals.tolist(), strict=True
        )
    }
    for a in range(6):
        for b in range(a):
            pair = frozenset([structure.symptom_index(names[a]), structure.symptom_index(names[b])])
            assert image[a, b] == image[b, a] == known[pair]
