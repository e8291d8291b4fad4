"""Logarithmic axes: each power of ten takes the same room, and values are told as they are."""

import pytest
from msgspec.structs import replace
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, HistogramChart, Line, LineChart
from bertviewer.charts.comparison import line_difference
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.number_axis import LOWEST, PowerAxis, log_height
from tests.plots.looking import color, scene

COUNTS = HistogramChart((0.0, 1.0, 2.0, 3.0), (Bars("B", (1, 1000, 0)),), is_log=True)
PLACES = tuple(SelectionKey(path=f"layer.{n}") for n in range(3))
RANKS = LineChart(
    (Line("mat", (10_000, 100, 1), PLACES),), "Layer", "Rank", ("emb", "0", "1"), is_log=True
)


def test_heights() -> None:
    assert [log_height(value) for value in (1, 10, 1000)] == [0, 1, 3]
    assert log_height(0) == log_height(0.1) == LOWEST < 0


@pytest.fixture
def axis(window: QWidget) -> PowerAxis:
    return PowerAxis("left")


@pytest.mark.parametrize(
    ("low", "high", "size", "expected"),
    [
        (-0.3, 5.2, 400, ["1", "10", "100", "1,000", "10,000", "100,000"]),
        (-0.3, 5.2, 80, ["1", "100", "10,000"]),
        (-0.3, 0.8, 200, ["1", "2", "5"]),
        (0.2, 1.5, 200, ["2", "5", "10", "20"]),
    ],
)
def test_labels(axis: PowerAxis, low: float, high: float, size: float, expected: list[str]) -> None:
    axis.setLogMode(True)
    found = [value for _, values in axis.tickValues(low, high, size) for value in values]
    assert axis.tickStrings(sorted(found), 1.0, 1.0) == expected


def test_counts_stand_at_their_logarithms(window: QWidget) -> None:
    plot = HistogramPlot(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(COUNTS)
    plot.grab()

    def is_filled(x: float, y: float) -> bool:
        found = QColor(color(plot, x, y))
        return found.blue() > found.red() + 80

    assert is_filled(0.5, -0.1)
    assert not is_filled(0.5, 0.2)
    assert is_filled(1.5, 2.9)
    assert not is_filled(1.5, 3.1)
    assert not is_filled(2.5, -0.2)
    assert plot.text_at(scene(plot, 1.5, 1.0)) == "1 … 2: 1,000"
    plot.show_chart(HistogramChart((0.0, 1.0), (Bars("B", (7,)),)))
    assert not plot.area.getAxis("left").logMode
    assert is_filled(0.5, 6)


def test_lines_are_found_at_their_logarithms_and_told_plainly(window: QWidget) -> None:
    plot = LinePlot(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(RANKS)
    plot.grab()
    low, high = plot.y_range()
    assert low < 0
    assert high > 4
    assert plot.text_at(scene(plot, 1, 2)) == "mat, Layer 0: 100"
    assert plot.place_at(scene(plot, 0, 4)) == PLACES[0]
    assert plot.text_at(scene(plot, -0.3, 4)) == "mat, Layer emb: 10000"


def test_a_difference_is_not_logarithmic() -> None:
    assert not line_difference(RANKS, RANKS).is_log


def test_no_label_is_beyond_the_lowest_rank_there_is(window: QWidget) -> None:
    plot = LinePlot(window)
    plot.resize(300, 200)
    plot.show()
    left = plot.area.getAxis("left")

    def last() -> float:
        """Return the largest number at the axis, in a plot with many names above the lines."""
        plot.grab()
        shown = left.tickValues(*left.range, left.size().height())
        return float(10 ** max(height for _, heights in shown for height in heights))

    lines = tuple(replace(RANKS.lines[0], label=f"a long name {n}") for n in range(8))
    plot.show_chart(replace(RANKS, lines=lines))
    assert last() > 30_000
    plot.show_chart(replace(RANKS, lines=lines, bounds=(1.0, 30_000.0)))
    assert last() == pytest.approx(10_000)
