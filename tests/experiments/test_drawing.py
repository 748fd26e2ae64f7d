"""Pictures: what is drawn of curves, where their names stand, and the same file each time."""

import numpy as np
import pytest

from noisyor.experiments import drawing
from noisyor.experiments.results import Cell, Results


@pytest.fixture
def axis():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.subplots()


def test_what_was_not_measured_is_not_drawn(axis):
    drawing.curve(axis, [1, 2, 3], [0.1, float("nan"), 0.3], "pooled", spread=[0.01, 0.01, 0.01])
    drawing.curve(axis, [1, 2], [float("nan")] * 2, "refined")
    (line,) = axis.get_lines()
    assert line.get_xydata().tolist() == [[1.0, 0.1], [3.0, 0.3]]
    assert line.get_color() == drawing.COLOURS["pooled"]
    assert len(axis.collections) == 1  # the shade


def test_methods_that_do_not_compete_have_dashes(axis):
    for method in "refined", "observed":
        drawing.curve(axis, [1, 2], [1, 2], method)
    assert [line.get_linestyle() for line in axis.get_lines()] == ["-", "--"]


def test_names_of_curves_do_not_cover_each_other(axis):
    for name, end in ("low", 1.0), ("middle", 1.001), ("high", 1.002):
        drawing.curve(axis, [1, 2], [0, end], "pooled", label=name)
    axis.plot([1, 2], [0, 5])  # without a name
    drawing.label_curves(axis)
    heights = {text.get_text(): axis.transData.transform((0, text.xy[1]))[1] for text in axis.texts}
    assert list(heights) == ["low", "middle", "high"]
    step = 11.0 * axis.figure.dpi / 72.0
    assert np.diff(list(heights.values())) == pytest.approx([step, step])


def test_a_curve_that_another_covers_is_seen_below_it(axis):
    drawing.curve(axis, [1, 2], [1, 2], "exact_em", is_below=True)
    drawing.curve(axis, [1, 2], [1, 2], "maximum_likelihood")
    below, above = axis.get_lines()
    assert below.get_linewidth() > 2 * above.get_linewidth()
    assert below.get_zorder() < above.get_zorder()


def test_one_legend_names_the_curves_of_all_panels(axis):
    other = axis.figure.add_subplot()
    drawing.curve(axis, [1, 2], [1, 2], "pooled")
    for method in "pooled", "observed":
        drawing.curve(other, [1, 2], [1, 2], method)
    drawing.legend_of_all([axis, other])
    (legend,) = axis.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["pooled", "diseases seen"]


def test_a_logarithmic_axis_has_plain_numbers(axis):
    axis.plot([1, 2], [0.004, 0.3])
    axis.set_yscale("log")
    drawing.plain_numbers(axis.yaxis)
    axis.figure.canvas.draw()
    texts = [label.get_text() for label in axis.get_yticklabels()]
    assert {"0.005", "0.01", "0.02", "0.05", "0.1", "0.2"} <= set(texts)


def test_means_over_seeds_are_drawn_against_the_records(axis):
    results = Results(None)
    for n_records, seed, error in (1000, 0, 0.2), (1000, 1, 0.4), (2_000_000, 0, 0.1):
        results.add(Cell("clinic", n_records, seed, "pooled"), {"failures": error})
    drawing.curves(axis, results, "clinic", ["pooled", "refined"], "failures")
    (line,) = axis.get_lines()
    assert line.get_ydata().tolist() == pytest.approx([0.3, 0.1])
    assert [label.get_text() for label in axis.get_xticklabels()] == ["1,000", "2M"]
    assert axis.get_title() == "clinic"


def test_the_same_results_give_the_same_files(tmp_path):
    for name in "a", "b":
        (tmp_path / name).mkdir()
        with drawing.picture(tmp_path / name / "p", 3, (4.0, 3.0), n_rows=2) as axes:
            assert len(axes) == 3
            drawing.curve(axes[0], [1, 2], [1, 2], "pooled")
    for ending in "png", "svg":
        one, other = ((tmp_path / name / f"p.{ending}").read_bytes() for name in "ab")
        assert one == other
