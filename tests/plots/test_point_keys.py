"""From point to point of lines, and from bar to bar, with the keys."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Bars, HistogramChart, Line
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import LIGHT
from bertviewer.plots.callout import Callout
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.plot import Plot
from tests.plots.lines import OUTPUT, PART, chart, curves, lines_in, marked, places, rings
from tests.plots.looking import pixel

Told = list[tuple[str, QPoint]]
LEFT, RIGHT, UP, DOWN = Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def follow(plot: Plot) -> Told:
    """Select what is clicked, as the window does; return what is told of it."""
    told: Told = []
    plot.clicked.connect(plot.mark)
    plot.reached.connect(lambda text, at: told.append((text, at)))
    return told


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
    assert told == []
    assert plot.selection == SelectionKey(start)


def test_points_that_stand_for_nothing_are_told_all_the_same(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, 2.0))))
    told, clicked = follow(plot), list[SelectionKey]()
    plot.clicked.connect(clicked.append)
    for key in (RIGHT, RIGHT, RIGHT):
        QTest.keyClick(plot, key)
    assert [text for text, _ in told] == ["x, Layer 0: 1", "x, Layer 1: 2"]
    assert clicked == []
    assert rings(plot) == [(1, 2.0)]


def test_an_empty_plot_leads_nowhere(plot: LinePlot) -> None:
    plot.show_chart(None)
    told = follow(plot)
    for key in (RIGHT, UP, Qt.Key.Key_End):
        QTest.keyClick(plot, key)
    assert told == []


def test_what_was_reached_stays_in_another_chart_of_the_same_line(plot: LinePlot) -> None:
    told = follow(plot)
    plot.mark(SelectionKey("a.0"))
    QTest.keyClick(plot, RIGHT)
    plot.show_chart(chart(PART, Line("layer: output", (5.0, 6.0), places("a", 2))))
    assert rings(plot) == [(1, 6.0)]
    plot.tell_reached()
    assert told[-1][0] == "layer: output, Layer 1: 6"
    plot.show_chart(chart(Line("other", (1.0, 1.5), places("c", 2))))
    QTest.keyClick(plot, RIGHT)  # begins anew
    assert told[-1][0] == "other, Layer 0: 1"


def test_who_leaves_the_plot_sees_the_selection_with_its_value_again(
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
    assert not [item for item in plot.area.items if isinstance(item, Callout)]
    other.setFocus()
    assert hovered[-1:] == [""]
    (callout,) = (item for item in plot.area.items if isinstance(item, Callout))
    assert callout.text == "layer 0: 1"
    assert rings(plot) == [(0, 1.0)]


def test_the_value_hides_no_line_where_there_is_room(plot: LinePlot) -> None:
    for values in ((1.0, 2.0, 3.0, 4.0), (4.0, 3.0, 2.0, 1.0), (1.0, 4.0, 1.0), (2.0, 1.0, 2.0)):
        plot.show_chart(chart(Line("x", values, places("a", len(values)))))
        for number in range(len(values)):
            plot.mark(SelectionKey(f"a.{number}"))
            plot.grab()
            (callout,) = (item for item in plot.area.items if isinstance(item, Callout))
            at = callout.scenePos()
            field = callout.boundingRect().translated(at)
            (curve,) = curves(plot)
            (line,) = curve.lines()
            points = [
                line.at(n) + (line.at(n + 1) - line.at(n)) * (part / 50)
                for n in range(len(values) - 1)
                for part in range(51)
            ]
            assert not any(field.contains(point) for point in points), (values, number)
            assert plot.area.vb.sceneBoundingRect().contains(field)


def test_keys_go_from_bar_to_bar(window: QWidget) -> None:
    plot = HistogramPlot(window)
    plot.resize(400, 300)
    plot.show()
    plot.show_chart(HistogramChart((0.0, 1.0, 2.0, 3.0), (Bars("values", (4, 0, 7)),)))
    plot.grab()
    told = follow(plot)
    for key in (RIGHT, RIGHT, Qt.Key.Key_End, RIGHT, LEFT, Qt.Key.Key_Home, LEFT):
        QTest.keyClick(plot, key)
    assert [text for text, _ in told] == [
        "0 … 1: 4",
        "1 … 2: 0",
        "2 … 3: 7",
        "1 … 2: 0",
        "0 … 1: 4",
    ]
    assert (told[-1][1] - pixel(plot, 0.5, 4)).manhattanLength() <= 2
    plot.show_chart(None)
    QTest.keyClick(plot, RIGHT)
    assert len(told) == 5


def test_a_plot_that_keys_go_to_has_a_frame(window: QWidget, plot: LinePlot) -> None:
    def edge() -> str:
        name: str = plot.grab().toImage().pixelColor(1, plot.height() // 2).name()
        return name

    plot.setFocus()
    window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange, True)
    assert edge() == plot.palette().color(QPalette.ColorRole.Accent).name()
    window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange, False)
    assert edge() == LIGHT.surface
