"""Mouse and keyboard on lines: the nearest point, its description, and the selection."""

from itertools import pairwise

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Bars, HistogramChart, Line
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.callout import callout_box
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import OUTPUT, PART, bottom_labels, chart, lines_in, marked, places, rings
from tests.plots.looking import click, hover, leave, pixel, position

Told = list[tuple[str, QPoint]]
LEFT, RIGHT, UP, DOWN = Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down
NEAREST = (
    (0, 1.0, "a.0"),
    (0, 3.0, "b.0"),
    (0, 1.9, "a.0"),
    (0, 2.1, "b.0"),
    (1, 4.4, "a.1"),  # the other line has no value there
    (3, 4.0, "a.3"),
    (3, 4.5, "b.3"),
    (0.4, 1.0, "a.0"),
    (0.6, 1.0, "a.1"),
    (2, 3.0, "a.2"),  # a gap of all lines: a layer of NaN is what one wants to look at
    (-0.39, 1.0, "a.0"),
    (3.39, 4.5, "b.3"),
)


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def follow(plot: CanvasPlot) -> Told:
    """Select what is clicked, as the window does; return what is described."""
    told: Told = []
    plot.clicked.connect(plot.mark)
    plot.reached.connect(lambda text, at: told.append((text, at)))
    return told


def test_the_nearest_point(plot: LinePlot) -> None:
    for x, value, path in NEAREST:
        assert plot.key_at(position(plot, x, value)) == SelectionKey(path), (x, value)
    nan = float("nan")
    short, long = Line("a", (1.0,), places("a", 1)), Line("b", (nan, nan), places("b", 2))
    plot.show_chart(chart(short, long))
    assert plot.key_at(position(plot, 1, 1.0)) == SelectionKey("b.1")
    plot.show_chart(chart(Line("no places", (1.0, None))))
    assert plot.key_at(position(plot, 1, 1.0)) is None


def test_exact_values_under_the_mouse(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.23456789, -1e-9), places("p"))))
    told: list[str] = []
    plot.hovered.connect(told.append)
    for place in (pixel(plot, 0, 1.0), pixel(plot, 1, 0.0), QPoint(2, 2), pixel(plot, 1, 0.0)):
        hover(plot, place)
    leave(plot)
    last = "x, Layer 1: −1e−09"
    assert told == ["x, Layer 0: 1.234568", last, "", last, ""]


def test_descriptions(plot: LinePlot) -> None:
    assert plot.text_at(position(plot, 2, 3.0)) == "Layer 2: no value"
    line = Line("x", (1.0, 2.0), low=(0.5, None), high=(1.5, 3.0), min=(-7.0, -8.0), max=(9.0, 9.5))
    plot.show_chart(chart(line))
    assert plot.text_at(position(plot, 0, 1)) == "x, Layer 0, min −7, max 9, from 0.5 to 1.5: 1"
    assert plot.text_at(position(plot, 1, 2)) == "x, Layer 1, min −8, max 9.5: 2"
    named = replace(chart(Line("x", (1.0, 2.0, None))), tick_names=("emb", "0", "1, after ln_f"))
    plot.show_chart(named)
    assert plot.text_at(position(plot, 1, 2.0)) == "x, Layer 0: 2"
    assert plot.text_at(position(plot, 2, 2.0)) == "Layer 1, after ln_f: no value"
    assert [text for _, text in bottom_labels(plot)] == ["0", "1", "2"]


def test_there_is_nothing_outside_of_the_axes(plot: LinePlot) -> None:
    for at in (position(plot, 1, 1.0) + QPointF(0, 500), QPointF(2, 2), position(plot, -0.5, 1.0)):
        assert plot.key_at(at) is None
        assert plot.text_at(at) == ""


def test_clicks_select_points_and_gaps(plot: LinePlot) -> None:
    told: list[SelectionKey] = []
    plot.clicked.connect(told.append)
    click(plot, pixel(plot, 3, 4.0))
    click(plot, pixel(plot, 2, 3.0))
    assert told == [SelectionKey("a.3"), SelectionKey("a.2")]
    click(plot, pixel(plot, 3, 4.0), Qt.MouseButton.RightButton)
    plot.show_chart(chart(Line("no places", (1.0, 2.0))))
    click(plot, pixel(plot, 1, 2.0))
    plot.show_chart(chart(Line("empty places", (1.0, 2.0), (SelectionKey(), SelectionKey()))))
    click(plot, pixel(plot, 1, 2.0))
    assert len(told) == 2


def test_a_drag_is_no_click(plot: LinePlot, qtbot: QtBot) -> None:
    before = plot.layout_of_axes().x_range
    with qtbot.assertNotEmitted(plot.clicked):
        QTest.mousePress(plot, Qt.MouseButton.LeftButton, pos=pixel(plot, 1, 2.0))
        hover(plot, pixel(plot, 3, 3.0))
        QTest.mouseRelease(plot, Qt.MouseButton.LeftButton, pos=pixel(plot, 3, 3.0))
    assert plot.layout_of_axes().x_range == before


@pytest.mark.parametrize(
    ("start", "keys", "end"),
    [
        (None, (RIGHT,), "layer: output, Layer 0: 1"),
        ("a.0", (RIGHT,), "layer: output, Layer 1: 2"),
        ("a.0", (RIGHT, RIGHT), "layer: output, Layer 3: 4"),  # over the gap
        ("a.3", (LEFT, LEFT), "layer: output, Layer 0: 1"),
        ("a.1", (Qt.Key.Key_End,), "layer: output, Layer 3: 4"),
        ("a.3", (Qt.Key.Key_Home,), "layer: output, Layer 0: 1"),
        ("a.0", (UP,), "layer: part, Layer 0: 3"),
        ("b.3", (DOWN,), "layer: output, Layer 3: 4"),
        ("a.0", (UP, RIGHT), "layer: part, Layer 3: 4.5"),
        ("a.0", (UP, DOWN, RIGHT), "layer: output, Layer 1: 2"),
    ],
)
def test_keys_go_along_a_line_and_from_line_to_line(
    plot: LinePlot, start: str | None, keys: tuple[Qt.Key, ...], end: str
) -> None:
    told = follow(plot)
    plot.mark(SelectionKey(start))
    for key in keys:
        QTest.keyClick(plot, key)
    assert told[-1][0] == end
    (ring,) = rings(plot)
    assert (told[-1][1] - pixel(plot, *ring)).manhattanLength() <= 2
    assert marked(plot) == [ring[0]]
    path = "b" if "part" in end else "a"
    assert plot.selection == SelectionKey(f"{path}.{int(ring[0])}")


@pytest.mark.parametrize(
    ("start", "key"), [("a.0", LEFT), ("a.0", DOWN), ("b.0", UP), ("a.3", RIGHT), ("a.1", UP)]
)
def test_at_an_end_a_key_leads_nowhere(plot: LinePlot, start: str, key: Qt.Key) -> None:
    told = follow(plot)
    plot.mark(SelectionKey(start))
    QTest.keyClick(plot, key)
    plot.show_chart(None)
    QTest.keyClick(plot, RIGHT)
    assert told == []
    assert plot.selection == SelectionKey(start)


def test_points_without_a_place_are_described(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, 2.0))))
    told, clicked = follow(plot), list[SelectionKey]()
    plot.clicked.connect(clicked.append)
    for key in (RIGHT, RIGHT, RIGHT):
        QTest.keyClick(plot, key)
    assert [text for text, _ in told] == ["x, Layer 0: 1", "x, Layer 1: 2"]
    assert clicked == []
    assert rings(plot) == [(1, 2.0)]


def test_the_focus_stays_in_another_chart_of_the_same_line(plot: LinePlot) -> None:
    told = follow(plot)
    plot.mark(SelectionKey("a.0"))
    QTest.keyClick(plot, RIGHT)
    plot.show_chart(chart(PART, Line("layer: output", (5.0, 6.0), places("a", 2))))
    assert rings(plot) == [(1, 6.0)]
    plot.describe_focused()
    assert told[-1][0] == "layer: output, Layer 1: 6"
    plot.show_chart(chart(Line("other", (1.0, 1.5), places("c", 2))))
    QTest.keyClick(plot, RIGHT)
    assert told[-1][0] == "other, Layer 0: 1"


def test_without_the_focus_the_selection_has_its_value_again(
    window: QWidget, plot: LinePlot
) -> None:
    other = LinePlot(window)
    other.show()
    follow(plot)
    hovered: list[str] = []
    plot.hovered.connect(hovered.append)
    plot.show_chart(chart(OUTPUT))
    plot.setFocus()
    QTest.keyClick(plot, RIGHT)
    assert plot.callout() == ""
    other.setFocus()
    assert hovered[-1:] == [""]
    assert plot.callout() == "layer 0: 1"


def test_a_callout_hides_no_line_where_there_is_room() -> None:
    within, covered = QRectF(0, 0, 600, 300), QRectF(0, 0, 200, 30)
    size = QSizeF(80, 22)
    for heights in ((280, 200, 120, 60), (60, 120, 200, 280), (280, 60, 280), (150, 280, 150)):
        line = [QPointF(40 + 170 * x, y) for x, y in enumerate(heights)]
        for point in line:
            box = callout_box(size, point, [line], within, covered)
            points = [a + (b - a) * (part / 50) for a, b in pairwise(line) for part in range(51)]
            assert not any(box.contains(each) for each in points), (heights, point)
            assert within.contains(box)
            assert not box.intersects(covered)


def test_keys_go_from_bar_to_bar(window: QWidget) -> None:
    plot = HistogramPlot(window)
    plot.resize(400, 300)
    plot.show_chart(HistogramChart((0.0, 1.0, 2.0, 3.0), (Bars("values", (4, 0, 7)),)))
    told = follow(plot)
    for key in (RIGHT, RIGHT, Qt.Key.Key_End, RIGHT, LEFT, Qt.Key.Key_Home, LEFT):
        QTest.keyClick(plot, key)
    texts = ["0 … 1: 4", "1 … 2: 0", "2 … 3: 7", "1 … 2: 0", "0 … 1: 4"]
    assert [text for text, _ in told] == texts
    assert (told[-1][1] - pixel(plot, 0.5, 4)).manhattanLength() <= 2
    plot.show_chart(None)
    QTest.keyClick(plot, RIGHT)
    assert len(told) == 5


def test_the_keyboard_focus_has_a_frame(window: QWidget, plot: LinePlot) -> None:
    def edge() -> str:
        return plot.grab().toImage().pixelColor(1, plot.height() // 2).name()

    plot.setFocus()
    window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange, True)
    assert edge() == plot.palette().color(QPalette.ColorRole.Accent).name()
    window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange, False)
    assert edge() == LIGHT.surface
