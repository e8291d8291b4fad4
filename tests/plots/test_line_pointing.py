"""The mouse over lines: the nearest point, what it says, and what a click tells."""

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import chart, lines_in, places
from tests.plots.looking import click, hover, leave, pixel, scene


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


NEAREST = (
    (0, 1.0, "a.0"),
    (0, 3.0, "b.0"),
    (0, 1.9, "a.0"),
    (0, 2.1, "b.0"),
    (1, 2.0, "a.1"),
    (1, 4.4, "a.1"),  # the other line has no value there
    (3, 4.0, "a.3"),
    (3, 4.5, "b.3"),
    (0.4, 1.0, "a.0"),
    (0.6, 1.0, "a.1"),
    (2, 3.0, "a.2"),  # no line has one: a layer of NaN is what a person wants to look at
    (-0.39, 1.0, "a.0"),
    (3.39, 4.5, "b.3"),
)


def test_the_nearest_point(plot: LinePlot) -> None:
    for x, value, path in NEAREST:
        assert plot.place_at(scene(plot, x, value)) == SelectionKey(path), (x, value)


def test_a_gap_of_the_first_line_that_reaches_it(plot: LinePlot) -> None:
    nan = float("nan")
    short, long = Line("a", (1.0,), places("a", 1)), Line("b", (nan, nan), places("b", 2))
    plot.show_chart(chart(short, long))
    assert plot.place_at(scene(plot, 1, 1.0)) == SelectionKey("b.1")
    plot.show_chart(chart(Line("no places", (1.0, None))))
    assert plot.place_at(scene(plot, 1, 1.0)) is None


def test_exact_values_under_the_mouse(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.23456789, -1e-9), places("p"))))
    assert plot.text_at(scene(plot, 0, 1.0)) == "x, Layer 0: 1.234568"
    assert plot.text_at(scene(plot, 1, 1.0)) == "x, Layer 1: −1e−09"
    told: list[str] = []
    plot.hovered.connect(told.append)
    hover(plot, pixel(plot, 0, 1.0))
    hover(plot, pixel(plot, 1, 0.0))
    hover(plot, QPoint(2, 2))
    hover(plot, pixel(plot, 1, 0.0))
    leave(plot)
    last = "x, Layer 1: −1e−09"
    assert told == ["x, Layer 0: 1.234568", last, "", last, ""]


def test_band_and_extremes_are_told(plot: LinePlot) -> None:
    line = Line("x", (1.0, 2.0), low=(0.5, None), high=(1.5, 3.0), min=(-7.0, -8.0), max=(9.0, 9.5))
    plot.show_chart(chart(line))
    assert plot.text_at(scene(plot, 0, 1)) == "x, Layer 0, min −7, max 9, from 0.5 to 1.5: 1"
    assert plot.text_at(scene(plot, 1, 2)) == "x, Layer 1, min −8, max 9.5: 2"


def test_a_gap_says_that_there_is_no_value(plot: LinePlot) -> None:
    assert plot.text_at(scene(plot, 2, 3.0)) == "Layer 2: no value"
    plot.show_chart(chart(Line("x", (1.0, float("nan")))))
    assert plot.text_at(scene(plot, 1, 1.0)) == "Layer 1: no value"


def test_a_position_is_told_in_words_where_it_has_some(plot: LinePlot) -> None:
    named = replace(chart(Line("x", (1.0, 2.0, None))), tick_names=("emb", "0", "1, after ln_f"))
    plot.show_chart(named)
    assert plot.text_at(scene(plot, 1, 2.0)) == "x, Layer 0: 2"
    assert plot.text_at(scene(plot, 2, 2.0)) == "Layer 1, after ln_f: no value"
    axis = plot.area.getAxis("bottom")
    assert axis.labels() == ("0", "1", "2")


def test_outside_of_the_axes_is_nothing(plot: LinePlot) -> None:
    for position in (
        scene(plot, 1, 1.0) + QPointF(0, 500),
        QPointF(2, 2),
        scene(plot, -0.5, 1.0),
    ):
        assert plot.place_at(position) is None
        assert plot.text_at(position) == ""


def test_a_click_tells_the_place(plot: LinePlot, qtbot: QtBot) -> None:
    with qtbot.waitSignal(plot.clicked) as clicked:
        click(plot, pixel(plot, 3, 4.0))
    assert clicked.args == [SelectionKey("a.3")]


def test_what_stands_for_nothing_tells_nothing(plot: LinePlot) -> None:
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 3, 4.0), Qt.MouseButton.RightButton)
    plot.show_chart(chart(Line("no places", (1.0, 2.0))))
    click(plot, pixel(plot, 1, 2.0))
    plot.show_chart(chart(Line("empty places", (1.0, 2.0), (SelectionKey(), SelectionKey()))))
    click(plot, pixel(plot, 1, 2.0))
    QApplication.processEvents()
    assert told == []


def test_a_click_on_a_gap_tells_the_layer(plot: LinePlot, qtbot: QtBot) -> None:
    with qtbot.waitSignal(plot.clicked) as clicked:
        click(plot, pixel(plot, 2, 3.0))
    assert clicked.args == [SelectionKey("a.2")]


def test_dragging_moves_nothing(plot: LinePlot) -> None:
    before = plot.area.vb.viewRange()
    viewport = plot.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=pixel(plot, 1, 2.0))
    hover(plot, pixel(plot, 3, 3.0))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=pixel(plot, 3, 3.0))
    assert plot.area.vb.viewRange() == before
