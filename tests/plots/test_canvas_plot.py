"""Behaviour of all plots: themes, empty charts, mouse, keyboard focus and tool tips."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent, QKeyEvent, QPalette
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.line_plot import LinePlot
from tests.plots.looking import click, colors, drag, hover, leave, press


def signals_of(plot: CanvasPlot) -> list[object]:
    """Return a list to which selections and the keyboard's values are appended."""
    emitted: list[object] = []
    plot.clicked.connect(emitted.append)
    plot.reached.connect(lambda text, _at: emitted.append(text))
    return emitted


def center(plot: QWidget) -> QPoint:
    return plot.rect().center()


def test_a_theme_replaces_all_colours(any_plot: CanvasPlot) -> None:
    before = any_plot.grab().toImage()
    any_plot.set_theme(DARK)
    found = colors(any_plot)
    assert {DARK.surface, DARK.muted} & found == {DARK.surface, DARK.muted}
    assert not {LIGHT.surface, LIGHT.text, LIGHT.muted, *LIGHT.series} & found
    any_plot.set_theme(LIGHT)
    assert any_plot.grab().toImage() == before


def test_without_a_chart_nothing_is_drawn_or_selected(any_plot: CanvasPlot) -> None:
    emitted, middle = signals_of(any_plot), QPointF(center(any_plot))
    hover(any_plot, center(any_plot))
    any_plot.show_chart(None)
    assert colors(any_plot) == {LIGHT.surface}
    assert any_plot.text_at(middle) == any_plot.name_at(middle) == ""
    assert any_plot.key_at(middle) is None
    hover(any_plot, center(any_plot))
    click(any_plot, center(any_plot))
    press(any_plot, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_End, Qt.Key.Key_Plus)
    assert emitted == []


def test_only_left_clicks_on_the_chart_select(any_plot: CanvasPlot) -> None:
    emitted = signals_of(any_plot)
    click(any_plot, center(any_plot), Qt.MouseButton.RightButton)
    click(any_plot, QPoint(1, 1))
    drag(any_plot, center(any_plot), center(any_plot) + QPoint(40, 20))
    assert emitted == []


def test_the_description_ends_when_the_mouse_leaves(any_plot: CanvasPlot) -> None:
    texts: list[str] = []
    any_plot.hovered.connect(texts.append)
    hover(any_plot, center(any_plot) + QPoint(3, 3))
    leave(any_plot)
    assert texts[-1] == ""


def test_other_keys_reach_the_window(any_plot: CanvasPlot) -> None:
    event = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_A, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(any_plot, event)
    assert not event.isAccepted()


def test_the_keyboard_focus_is_a_frame_that_changes_no_value(
    any_plot: CanvasPlot, window: QWidget
) -> None:
    any_plot.setFocus()
    before = any_plot.grab().toImage()
    window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)
    framed = any_plot.grab().toImage()
    accent = any_plot.palette().color(QPalette.ColorRole.Accent)
    assert framed.pixelColor(1, any_plot.height() // 2) == accent
    inside = any_plot.rect().adjusted(2, 2, -2, -2)
    assert framed.copy(inside) == before.copy(inside)


@pytest.mark.parametrize(("width", "tip"), [(120, "<p>&lt;s&gt; diagnostics<br>b</p>"), (600, "")])
def test_a_tool_tip_has_cut_names_as_plain_text(window: QWidget, width: int, tip: str) -> None:
    plot = LinePlot(window)
    lines = Line("<s> diagnostics", (1.0, 2.0)), Line("b", (2.0, 1.0))
    plot.show_chart(LineChart(lines, "Layer", "std", ("0", "1")))
    plot.resize(width, 130)
    at = (plot.layout_of_axes().rect.topLeft() + QPointF(20, 8)).toPoint()
    QToolTip.hideText()
    QApplication.sendEvent(plot, QHelpEvent(QEvent.Type.ToolTip, at, plot.mapToGlobal(at)))
    assert QToolTip.text() == tip
    QToolTip.hideText()
