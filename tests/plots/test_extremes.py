"""The largest and the smallest doubles: drawn in their places, labelled, and told as they are."""

from math import inf, nan

import numpy as np
import pytest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, GridChart, HistogramChart, Line
from bertviewer.charts.comparison import grid_difference
from bertviewer.charts.levels import levels_of, widened
from bertviewer.plots import export
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import chart, left_labels
from tests.plots.looking import HIGHEST, LOWEST, box, color, position

LARGEST = 1.7976931348623157e308
RANGES = [
    (-1.7e308, 1.7e308),
    (-LARGEST, LARGEST),
    (1e-300, 1.7e308),
    (-1e300, 1e300),
    (-3.4e38, 3.4e38),
    (1e-45, 3e-45),
    (1e-305, 2e-305),
    (1e-320, 2e-320),
    (-1e-320, 1e-320),
]


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    plot = LinePlot(window)
    plot.resize(400, 250)
    plot.show()
    return plot


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_lines_are_where_their_values_are(plot: LinePlot, low: float, high: float) -> None:
    plot.show_chart(chart(Line("a", (low, high), low=(low, low), high=(high, high))))
    rect, (heights,) = box(plot), plot.points.heights
    points = [position(plot, x, y) for x, y in enumerate(heights) if y is not None]
    below, above = points
    assert all(map(rect.contains, points))
    # Nearly all of the height is theirs, and the names are above.
    assert below.y() - above.y() > 0.7 * rect.height()
    assert [plot.text_at(point).split()[-1] for point in points] == [
        f"{value:.7g}".replace("-", "−") for value in (low, high)
    ]
    texts = left_labels(plot)
    assert len(set(texts)) == len(texts) > 2
    # A larger one than the largest double may stand there, but none is far from the values.
    exponents = [int(text.split("e")[1].replace("−", "-")) for text in texts if "e" in text]
    assert max(exponents) == pytest.approx(np.log10(max(abs(low), abs(high))), abs=1)
    assert export.pdf(plot)


@pytest.mark.parametrize("value", [1.7e308, LARGEST, 3.0, 0.0, 5e-324])
def test_equal_values_are_a_level_line(plot: LinePlot, value: float) -> None:
    for values in ((value,), (value, value)):
        plot.show_chart(chart(Line("a", values)))
        (height,) = {position(plot, 0, y).y() for y in plot.points.heights[0] if y is not None}
        assert box(plot).top() + 20 < height < box(plot).bottom() - 2


def test_without_a_value_there_is_no_zero_either(plot: LinePlot) -> None:
    for values in ((nan, nan), (None, None), (inf, -inf)):
        plot.show_chart(chart(Line("a", values)))
        assert left_labels(plot) == []
        assert not plot.has_zero
        assert plot.text_at(box(plot).center()).endswith("no value")


def test_usual_values_after_huge_ones_have_their_own_labels(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("a", (1.0, 2.0))))
    before = left_labels(plot)
    plot.show_chart(chart(Line("a", (1e300, 2e300))))
    assert all(label.endswith("e+300") for label in left_labels(plot))
    plot.show_chart(chart(Line("a", (1.0, 2.0))))
    assert left_labels(plot) == before


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_cells_have_the_colours_of_both_ends(
    window: QWidget, low: float, high: float, is_root: bool
) -> None:
    plot = Heatmap(window)
    plot.resize(400, 250)
    plot.show()
    values = np.array([[low, nan, high]])
    shown = GridChart(values, ("r",), ("a", "b", "c"), value_title="x", is_root=is_root)
    plot.show_chart(shown)
    assert (color(plot, 0.5, 0.5), color(plot, 2.5, 0.5)) == (LOWEST, HIGHEST)
    assert export.pdf(plot)


def test_equal_cells_of_the_largest_double_have_levels() -> None:
    low, high = levels_of(np.full((1, 2), LARGEST))
    assert low < high == LARGEST
    assert widened(-LARGEST, -LARGEST)[0] == -LARGEST


def test_a_difference_of_what_is_not_finite_is_none() -> None:
    a = GridChart(np.array([[inf, -LARGEST, 1.0]]), ("r",), ("a", "b", "c"))
    b = GridChart(np.array([[inf, LARGEST, 3.0]]), ("r",), ("a", "b", "c"))
    difference = grid_difference(b, a, [(n, n) for n in range(3)]).values[0]
    assert np.isfinite(difference).tolist() == [False, False, True]
    assert difference[2] == 2


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_bars_are_where_their_bins_are(window: QWidget, low: float, high: float) -> None:
    plot = HistogramPlot(window)
    plot.resize(400, 250)
    plot.show()
    edges = tuple(low * (1 - part) + high * part for part in (0, 0.5, 1))
    plot.show_chart(HistogramChart(edges, (Bars("a", (3, 4), mean=low, std=high),)))
    assert len(plot.layout_of_axes().below.labels) > 1
    rect = box(plot)
    for part, count in ((0.25, 3), (0.75, 4)):
        place = rect.topLeft() + (rect.bottomRight() - rect.topLeft()) * part
        assert plot.text_at(place).endswith(f": {count}")
    assert export.pdf(plot)
