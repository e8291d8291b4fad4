"""Histograms: bars, outlines, marks, labels, notes and keys."""

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, HistogramChart
from bertviewer.charts.theme import DARK, LIGHT, Theme
from bertviewer.plots.axes import axis_metrics
from bertviewer.plots.export import pdf, svg
from bertviewer.plots.histogram_plot import HistogramPlot
from tests.plots.kinds import RANGES
from tests.plots.looking import box, click, grab, hover, leave, pixel, position, press, sheet, texts

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


def test_bars_outlines_and_marks(window: QWidget, image: Callable[[str, Any], None]) -> None:
    def drawn(*series: Bars, theme: Theme = LIGHT, is_log: bool = False) -> QImage:
        plot = HistogramPlot(window)
        plot.set_theme(theme)
        plot.show_chart(HistogramChart(EDGES, series, "Value", "Elements", is_log=is_log))
        return grab(plot, 300, 180)

    focused = HistogramPlot(window)
    focused.show_chart(ONE)
    press(focused, Qt.Key.Key_Right, Qt.Key.Key_Right)
    pictures = sheet(
        drawn(Bars("B", (10, 40, 0), mean=0.3, std=0.4)),
        drawn(*TWO.series),
        drawn(*TWO.series, theme=DARK),
        drawn(Bars("B − A", (-0.25, 0.5, 0.0))),
        drawn(Bars("B", (1, 1_000_000, 0))),  # few among many are a line
        drawn(Bars("B", (1, 1000, 0)), is_log=True),
        drawn(Bars("B", (0, 0, 0), nan_count=7)),  # no numbers of nothing
        grab(focused, 300, 180),
    )
    image("histogram", pictures)


def test_texts_of_bins(plot: HistogramPlot) -> None:
    plot.show_chart(
        HistogramChart((0.123456789, 1.0, 2.0), (Bars("B", (1234, 5)), Bars("A", (6, 7))))
    )
    assert plot.text_at(position(plot, 0.5, 1)) == "0.1234568 … 1: B: 1,234, A: 6"
    assert plot.text_at(position(plot, 1.01, 1)) == "1 … 2: B: 5, A: 7"
    plot.show_chart(HistogramChart(EDGES, (Bars("B − A", (-0.25, 0.5, 0.0)),)))
    assert plot.text_at(position(plot, -0.5, 0)) == "−1 … 0: −0.25"
    plot.show_chart(HistogramChart(EDGES, (Bars("B", (1, 1000, 0)),), is_log=True))
    assert plot.text_at(position(plot, 0.5, 1.0)) == "0 … 1: 1,000"
    plot.show_chart(ONE)
    received: list[str] = []
    plot.hovered.connect(received.append)
    for place in (pixel(plot, 0.5, 10), QPoint(2, 2), pixel(plot, 1.5, 10)):
        hover(plot, place)
    leave(plot)
    assert received == ["0 … 1: 40", "", "1 … 2: 0", ""]


def test_values_outside_of_all_bins_are_counted_above(plot: HistogramPlot) -> None:
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


def test_axes_have_no_numbers_without_values(plot: HistogramPlot) -> None:
    plot.show_chart(HistogramChart((0.0, 1.0), (Bars("B", (0,), nan_count=7),)))
    assert plot.text_at(position(plot, 0.5, 0.5)) == "0 … 1: 0"
    layout = plot.layout_of_axes()
    assert (layout.ticks, layout.below.labels) == ([], ())
    plot.show_chart(HistogramChart((0.0, 1.0), (Bars("B − A", (0.0,)),)))
    layout = plot.layout_of_axes()
    assert layout.ticks
    assert layout.below.labels
    plot.show_chart(HistogramChart((2.0, 2.0), (Bars("B", (7,)),)))
    left, right = plot.layout_of_axes().x_range
    assert left < 2 < right


def test_only_several_series_are_named(plot: HistogramPlot) -> None:
    plot.show_chart(TWO)
    assert plot.legend.labels == ("B", "A")
    plot.show_chart(ONE)
    assert not plot.legend.entries
    plot.show_chart(HistogramChart(EDGES, (Bars("B", (1, 2, 3), mean=0.5, std=0.1),)))
    assert plot.legend.labels == ("mean", "mean ± std")


def test_a_bar_selects_nothing(plot: HistogramPlot) -> None:
    received: list[object] = []
    plot.clicked.connect(received.append)
    click(plot, pixel(plot, 0.5, 10))
    assert plot.key_at(position(plot, 0.5, 10)) is None
    assert received == []


def test_keys_go_from_bar_to_bar(plot: HistogramPlot) -> None:
    received: list[tuple[str, QPoint]] = []
    plot.reached.connect(lambda text, at: received.append((text, at)))
    right, left = Qt.Key.Key_Right, Qt.Key.Key_Left
    press(plot, right, right, Qt.Key.Key_End, right, left, Qt.Key.Key_Home, left)
    found = [text for text, _ in received]
    assert found == ["−1 … 0: 10", "0 … 1: 40", "1 … 2: 0", "0 … 1: 40", "−1 … 0: 10"]
    assert (received[-1][1] - pixel(plot, -0.5, 10)).manhattanLength() <= 2


def test_labels_at_both_ends_are_visible(plot: HistogramPlot) -> None:
    edges = tuple(-0.0025 + 0.0005 * n for n in range(11))
    plot.show_chart(HistogramChart(edges, (Bars("x", (5,) * 10),), "Value", "Elements"))
    plot.resize(260, 160)
    layout = plot.layout_of_axes()
    below = [text for _, text in layout.below.labels]
    assert "0" in [tick.text for tick in layout.ticks]
    assert "0.000" in below
    assert below[0].startswith("−")
    assert set(below) <= set(texts(svg(plot).decode()))
    for width in range(200, 400, 21):
        plot.resize(width, 160)
        layout = plot.layout_of_axes()
        halves = [axis_metrics().horizontalAdvance(text) / 2 for _, text in layout.below.labels]
        ends = [
            layout.x(x) + half for (x, _), half in zip(layout.below.labels, halves, strict=True)
        ]
        assert max(ends) < width + 3


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_bars_of_extreme_values_are_where_their_bins_are(
    plot: HistogramPlot, low: float, high: float
) -> None:
    edges = tuple(low * (1 - part) + high * part for part in (0, 0.5, 1))
    plot.show_chart(HistogramChart(edges, (Bars("a", (3, 4), mean=low, std=high),)))
    assert len(plot.layout_of_axes().below.labels) > 1
    rect = box(plot)
    for part, count in ((0.25, 3), (0.75, 4)):
        place = rect.topLeft() + (rect.bottomRight() - rect.topLeft()) * part
        assert plot.text_at(place).endswith(f": {count}")
    assert pdf(plot)
