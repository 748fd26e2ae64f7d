"""Pictures: axes in and out, what is drawn where, and names that are odd."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from noisyor import (
    NoisyOrLearner,
    NoisyOrNetwork,
    Structure,
    best_questions,
    datasets,
    evaluate_diagnoses,
    explain,
    posterior,
    sensitivity,
)
from noisyor.drawing import shown_name
from noisyor.errors import ParameterError
from noisyor.flags import Flag
from noisyor.parameters import Parameters

CLINIC = datasets.clinic()
FINDINGS, DISEASES = CLINIC.sample(2000, rng=0, return_diseases=True)
PATIENT = {"present": ["fever", "cough"], "absent": ["runny nose"]}


@pytest.fixture(scope="module")
def estimate():
    return NoisyOrLearner(CLINIC.structure, method="pooled").fit(FINDINGS).estimate_


def pictures_of(estimate):
    return {
        "estimate": estimate.plot,
        "posterior": posterior(estimate, **PATIENT).plot,
        "questions": best_questions(estimate, **PATIENT).plot,
        "explanation": explain(estimate, **PATIENT).plot,
        "misfits": estimate.misfits().plot,
        "network": CLINIC.plot,
        "trace": NoisyOrLearner(datasets.figure1(0).structure)
        .fit(datasets.figure1(0).sample(500, rng=0)).estimate_.trace.plot,
        "calibration": evaluate_diagnoses(CLINIC, FINDINGS, DISEASES).plot,
        "sensitivity": sensitivity(estimate, **PATIENT).plot,
    }  # fmt: skip


def test_axes_come_in_and_go_out_and_nothing_else_changes(estimate):
    before = dict(mpl.rcParams)
    for name, plot in pictures_of(estimate).items():
        new = plot()
        assert isinstance(new, plt.Axes), name
        new.figure.canvas.draw()  # nothing in it fails to be drawn
        _, ax = plt.subplots()
        assert plot(ax=ax) is ax, name
        with pytest.raises(ParameterError, match="ax must be axes of matplotlib, not str"):
            plot(ax="here")
    assert dict(mpl.rcParams) == before


def labels_of(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_a_posterior_is_drawn_as_it_stands(estimate):
    found = posterior(estimate, **PATIENT)
    ax = found.plot(top=4)
    rows = found.table()[:4].to_pydict()
    assert labels_of(ax) == rows["disease"]
    widths = [bar.get_width() for bar in ax.patches if bar.get_width() > 0][:4]
    np.testing.assert_allclose(widths, rows["probability"])


@pytest.mark.parametrize("top", [0, -1, True, 2.5, "all"])
def test_how_many_lines_are_drawn(estimate, top):
    with pytest.raises(ParameterError, match="top must be a whole number from 1"):
        estimate.plot(top=top)


def test_names_that_would_be_formulas_or_act():
    assert shown_name("a $b$") == r"a \$b\$"
    assert "\x1b" not in shown_name("x\x1b[2J")
    structure = Structure.from_edges([("$x^2$", "a_b"), ("$x^2$", "c<d>"), ("$x^2$", "é" * 80)])
    odd = NoisyOrNetwork(structure, [0.1], [0.5] * 3, [0.1] * 3)
    odd.plot().figure.canvas.draw()
    posterior(odd, ["a_b"]).plot().figure.canvas.draw()


def test_an_explanation_of_certainty_is_finite_on_paper():
    structure = Structure.from_edges([("flu", "fever")])
    sure = NoisyOrNetwork(structure, [0.1], [0.2], [0.0])
    ax = explain(sure, ["fever"]).plot()
    assert np.isfinite([bar.get_width() for bar in ax.patches]).all()
    assert ax.texts[0].get_text() == "+inf"
    with pytest.raises(ParameterError, match="no findings that could be drawn"):
        explain(sure, []).plot()


def test_the_legend_has_the_colour_of_flagged_bars(estimate):
    everything = Parameters.full(CLINIC.structure, True)
    ax = posterior(estimate.flagging(Flag.WEAK, everything), **PATIENT).plot(top=3)
    handles, labels = ax.get_legend_handles_labels()
    colour = handles[labels.index("rests on flagged parameters")].patches[0].get_facecolor()
    assert colour == ax.patches[0].get_facecolor()
