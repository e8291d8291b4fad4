"""Axes of numbers, and their titles: what stands there, and that it has room."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Bars, HistogramChart, Line, LineChart
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.number_axis import NumberAxis, round_step
from bertviewer.plots.plot import Plot


def labels(low: float, high: float, size: float, side: str = "left") -> list[str]:
    axis = NumberAxis(side)
    ((step, values),) = axis.tickValues(low, high, size)
    return axis.tickStrings(values, 1.0, step)


@pytest.mark.parametrize(
    ("low", "high", "size", "expected"),
    [
        (0.42, 0.64, 240, ["0.45", "0.50", "0.55", "0.60"]),
        (-1, 1, 120, ["−1.0", "−0.5", "0.0", "0.5", "1.0"]),
        (0, 14_000, 100, ["0", "5,000", "10,000"]),
        (0, 3.1e-4, 200, ["0", "5.0e−05", "1.0e−04", "1.5e−04", "2.0e−04", "2.5e−04", "3.0e−04"]),
        (0.9995, 1.0005, 120, ["0.9995", "1.0000", "1.0005"]),
        (-3e-9, 3e-9, 100, ["−2e−09", "0", "2e−09"]),
        (0, 2.5e8, 100, ["0", "1e+08", "2e+08"]),
        (1, -1, 120, ["−1.0", "−0.5", "0.0", "0.5", "1.0"]),
    ],
)
def test_round_numbers_written_alike(
    qtbot: QtBot, low: float, high: float, size: float, expected: list[str]
) -> None:
    del qtbot
    assert labels(low, high, size) == expected


@given(
    low=st.floats(-1e12, 1e12),
    span=st.floats(1e-3, 1e12),
    size=st.floats(1, 2000),
    side=st.sampled_from(["left", "bottom", "right"]),
)
def test_labels_never_collide(
    qapp: object, low: float, span: float, size: float, side: str
) -> None:
    del qapp
    high = low + max(span, 1e-3 * abs(low))
    axis = NumberAxis(side)
    ((step, values),) = axis.tickValues(low, high, size)
    assert len(values) <= 13
    assert len(set(axis.tickStrings(values, 1.0, step))) == len(values)
    assert all(low - step / 2 <= value <= high + step / 2 for value in values)
    pixels = step * size / (high - low)
    assert all(after - before == pytest.approx(step) for before, after in pairwise(values))
    assert pixels >= 8


@pytest.mark.parametrize(
    ("least", "step"), [(1, 1), (1.01, 2), (0.3, 0.5), (6e7, 1e8), (2e-5, 2e-5)]
)
def test_a_round_step(least: float, step: float) -> None:
    assert round_step(least) == pytest.approx(step)


@pytest.mark.parametrize(("low", "high"), [(0.0, 5e-324), (0.0, 1e-310), (-1e308, 1e308)])
def test_a_range_without_steps_has_no_labels(qtbot: QtBot, low: float, high: float) -> None:
    del qtbot
    assert NumberAxis("left").tickValues(low, high, 0.5) == []


def test_a_range_without_extent_has_no_labels(qtbot: QtBot) -> None:
    del qtbot
    for low, high in ((5, 5), (float("nan"), 1), (0, float("inf"))):
        assert NumberAxis("left").tickValues(low, high, 100) == []


def drawn(plot: Plot, side: str) -> dict[str, QRectF]:
    """Return the labels that the axis draws, and where."""
    plot.grab()
    axis = plot.area.getAxis(side)
    found: dict[str, QRectF] = {}

    def note(painter: object, axis_spec: object, ticks: object, texts: list[Any]) -> None:
        del painter, axis_spec, ticks
        found.update({text: rect for rect, _, text in texts})

    axis.drawPicture = note
    axis.picture = None
    plot.grab()
    return found


def test_labels_at_both_ends_are_seen_and_have_room_below(window: QWidget) -> None:
    plot = HistogramPlot(window)
    plot.resize(260, 160)
    edges = tuple(-0.0025 + 0.0005 * n for n in range(11))
    plot.show_chart(HistogramChart(edges, (Bars("x", (5,) * 10),), "Value", "Elements"))
    plot.show()
    assert "0" in drawn(plot, "left")
    below = drawn(plot, "bottom")
    assert {"0.000"} < set(below)
    assert any(text.startswith("−") for text in below)
    rects = sorted(below.values(), key=QRectF.left)
    assert all(a.right() < b.left() for a, b in pairwise(rects))


def test_a_title_is_cut_to_its_room_and_comes_back(window: QWidget) -> None:
    plot = LinePlot(window)
    plot.show_chart(LineChart((Line("a", (1.0, 2.0)),), "Layer", "A long title <b>", ("0", "1")))
    axis = plot.area.getAxis("left")
    plot.show()
    for height, is_whole in ((300, True), (110, False), (300, True)):
        plot.resize(400, height)
        plot.grab()
        text = axis.label.toPlainText().strip()
        assert (text == "A long title <b>") == is_whole
        assert text.startswith("A")
        assert text.endswith("<b>")
        assert axis.label.boundingRect().width() <= axis.size().height() + 12
    assert axis.title == "A long title <b>"
