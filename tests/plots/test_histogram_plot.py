"""Histograms: bars where the counts are, few values still visible, NaN and Inf told."""

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots.axes import axis_metrics
from bertviewer.plots.export import svg
from bertviewer.plots.histogram_plot import HistogramPlot
from tests.plots.looking import box, click, color, colors, hover, leave, pixel, position
from tests.plots.test_svg import texts

EDGES = (-1.0, 0.0, 1.0, 2.0)
ONE = HistogramChart(EDGES, (Bars("B", (10, 40, 0)),), "Value", "Elements")
TWO = HistogramChart(EDGES, (Bars("B", (10, 40, 0), 3, 1), Bars("A", (20, 0, 30))))


@pytest.fixture
def plot(window: QWidget) -> HistogramPlot:
    plot = HistogramPlot(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(ONE)
    return plot


def is_filled(plot: HistogramPlot, x: float, y: float) -> bool:
    """Tell a bar, through which the lines of the grid shine, from the background."""
    found = QColor(color(plot, x, y))
    return found.blue() > found.red() + 80


def test_bars_are_as_high_as_the_counts(plot: HistogramPlot) -> None:
    for x, y, expected in (
        (-0.5, 5, True),
        (-0.5, 9, True),
        (-0.5, 11, False),
        (0.5, 39, True),
        (0.5, 41, False),
        (1.5, 1, False),
    ):
        assert is_filled(plot, x, y) == expected, (x, y)


def test_few_among_many_are_still_visible(plot: HistogramPlot) -> None:
    plot.show_chart(HistogramChart(EDGES, (Bars("B", (1, 1_000_000, 0)),)))
    image = plot.grab().toImage()

    def seen(left: float, right: float) -> float:
        """Return how much of the way from one place to another has a bar just above 0."""
        ends = pixel(plot, left, 0), pixel(plot, right, 0)
        columns = [
            [image.pixelColor(x, ends[0].y() - rise) for rise in range(3)]
            for x in range(ends[0].x(), ends[1].x())
        ]
        bars = [any(found.blue() > found.red() + 80 for found in column) for column in columns]
        return sum(bars) / len(bars)

    # A tick of the axis may hide one pixel of it.
    assert seen(-0.9, -0.1) > 0.95
    assert seen(1.1, 1.9) == 0


def test_the_second_series_is_an_outline(plot: HistogramPlot) -> None:
    plot.show_chart(TWO)
    assert {LIGHT.series[0], LIGHT.series[1]} <= colors(plot)
    assert color(plot, 1.5, 14) == LIGHT.surface
    # Of a line of two pixels one at least is all its own.
    assert LIGHT.series[1] in {color(plot, 1.5, 30 + offset / 10) for offset in range(-5, 6)}
    # Where the second has nothing, no line hides the first one's low bars.
    assert color(plot, 0.5, 0.3) != LIGHT.series[1]
    assert plot.legend.labels == ("B", "A")
    plot.show_chart(ONE)
    assert not plot.legend.entries


def test_bars_may_go_down(plot: HistogramPlot) -> None:
    plot.show_chart(HistogramChart(EDGES, (Bars("B − A", (-0.25, 0.5, 0.0)),)))
    for x, y, expected in (
        (0.5, 0.25, True),
        (-0.5, -0.22, True),
        (-0.5, 0.1, False),
        (0.5, -0.1, False),
    ):
        assert is_filled(plot, x, y) == expected, (x, y)
    assert plot.text_at(position(plot, -0.5, 0)) == "−1 … 0: −0.25"


def test_bins_in_words(plot: HistogramPlot) -> None:
    plot.show_chart(
        HistogramChart((0.123456789, 1.0, 2.0), (Bars("B", (1234, 5)), Bars("A", (6, 7))))
    )
    assert plot.text_at(position(plot, 0.5, 1)) == "0.1234568 … 1: B: 1,234, A: 6"
    assert plot.text_at(position(plot, 1.01, 1)) == "1 … 2: B: 5, A: 7"
    plot.show_chart(ONE)
    told: list[str] = []
    plot.hovered.connect(told.append)
    hover(plot, pixel(plot, 0.5, 10))
    hover(plot, QPoint(2, 2))
    hover(plot, pixel(plot, 1.5, 10))
    leave(plot)
    assert told == ["0 … 1: 40", "", "1 … 2: 0", ""]


def test_what_is_in_no_bin_is_told(plot: HistogramPlot) -> None:
    top = box(plot).top()
    assert plot.note() == ""
    plot.show_chart(TWO)
    assert plot.note() == "B: NaN: 3, Inf: 1"
    assert plot.note() in texts(svg(plot).decode())
    assert box(plot).top() > top + 20
    plot.show_chart(HistogramChart(EDGES, (Bars("B", (1, 2, 3), inf_count=12345),)))
    assert plot.note() == "Inf: 12,345"
    plot.show_chart(ONE)
    assert box(plot).top() == top


def test_nothing_but_nan(plot: HistogramPlot) -> None:
    plot.show_chart(HistogramChart((0.0, 1.0), (Bars("B", (0,), nan_count=7),)))
    assert plot.note() == "NaN: 7"
    assert plot.text_at(position(plot, 0.5, 0.5)) == "0 … 1: 0"
    # Numbers of nothing would look like figures.
    layout = plot.layout_of_axes()
    assert (layout.ticks, layout.below.labels) == ([], ())
    plot.show_chart(HistogramChart((0.0, 1.0), (Bars("B − A", (0.0,)),)))
    layout = plot.layout_of_axes()
    assert layout.ticks
    assert layout.below.labels


def test_one_value_everywhere(plot: HistogramPlot) -> None:
    plot.show_chart(HistogramChart((2.0, 2.0), (Bars("B", (7,)),)))
    left, right = plot.layout_of_axes().x_range
    assert left < 2 < right


def test_a_bar_stands_for_no_place(plot: HistogramPlot) -> None:
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 0.5, 10))
    assert plot.key_at(position(plot, 0.5, 10)) is None
    assert told == []


def test_themes_and_nothing_left_of_before(plot: HistogramPlot) -> None:
    plot.show_chart(TWO)
    plot.set_theme(DARK)
    assert {DARK.surface, *DARK.series[:2]} <= colors(plot)
    assert not {LIGHT.surface, LIGHT.text, *LIGHT.series} & colors(plot)
    plot.show_chart(None)
    assert plot.text_at(position(plot, 0.5, 0.5)) == ""
    assert DARK.series[0] not in colors(plot)


def test_labels_at_both_ends_are_visible(window: QWidget) -> None:
    plot = HistogramPlot(window)
    plot.resize(260, 160)
    edges = tuple(-0.0025 + 0.0005 * n for n in range(11))
    plot.show_chart(HistogramChart(edges, (Bars("x", (5,) * 10),), "Value", "Elements"))
    layout = plot.layout_of_axes()
    below = [text for _, text in layout.below.labels]
    assert "0" in [tick.text for tick in layout.ticks]
    assert "0.000" in below
    assert below[0].startswith("−")
    assert set(below) <= set(texts(svg(plot).decode()))
    for width in range(200, 400, 7):
        plot.resize(width, 160)
        layout = plot.layout_of_axes()
        ends = [
            layout.x(x) + axis_metrics().horizontalAdvance(text) / 2
            for x, text in layout.below.labels
        ]
        assert max(ends) < width + 3
