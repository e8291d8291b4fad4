"""What is marked among lines, and what is left of what was drawn before."""

import pytest
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, LIGHT
from bertviewer.plots.callout import Callout
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import OUTPUT, PART, chart, curves, lines_in, marked, places, rings
from tests.plots.looking import colors, pixel, scene, set_ticks


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def test_drawing_twice_does_not_pile_up(plot: LinePlot) -> None:
    full = chart(
        Line("b", (1.0, 2.0), places("a", 2), (0, 1), (2, 3), (-1, 0), (3, 4)), OUTPUT, PART
    )
    plot.show_chart(full)
    plot.mark(SelectionKey("a.1"))
    items, total = len(plot.area.items), len(plot.scene().items())
    for theme in (DARK, LIGHT, DARK):
        plot.set_theme(theme)
        plot.show_chart(full)
        plot.mark(SelectionKey("a.1"))
    assert len(plot.area.items) == items
    assert len(plot.scene().items()) == total
    assert plot.legend.labels() == ("b", "layer: output", "layer: part")
    plot.show_chart(chart(OUTPUT))
    assert len(curves(plot)) == 1
    assert plot.legend.labels() == ("layer: output",)


@pytest.mark.parametrize("empty", [None, chart()])
def test_nothing_to_show(plot: LinePlot, empty: LineChart | None) -> None:
    plot.mark(SelectionKey("a.1"))
    plot.show_chart(empty)
    assert curves(plot) == []
    assert marked(plot) == []
    assert rings(plot) == []
    assert plot.legend.labels() == ()
    assert plot.place_at(scene(plot, 0, 0.5)) is None
    assert plot.text_at(scene(plot, 0, 0.5)) == ""
    # Nothing but the background, the two axes and their titles.
    image = plot.grab().toImage()
    assert image.pixelColor(pixel(plot, 0.1, 0.5)).name() == LIGHT.surface
    plot.show_chart(chart(OUTPUT, PART))
    assert len(curves(plot)) == 2
    assert set_ticks(plot, "left") is None


def test_marks(plot: LinePlot) -> None:
    for selection, xs, points in (
        (SelectionKey("a.1"), [1], [(1, 2.0)]),
        (SelectionKey("a.1.attention.self"), [1], [(1, 2.0)]),
        (SelectionKey("b.3"), [3], [(3, 4.5)]),
        (SelectionKey("b.1"), [1], []),  # a gap
        (SelectionKey("c"), [], []),
        (SelectionKey(token=3), [], []),
        (SelectionKey(), [], []),
    ):
        plot.mark(selection)
        assert marked(plot) == xs, selection
        assert rings(plot) == points, selection


def test_a_mark_stays_with_another_chart(plot: LinePlot) -> None:
    plot.mark(SelectionKey("a.1"))
    plot.show_chart(chart(Line("x", (5.0, 6.0, 7.0), places("a"))))
    assert rings(plot) == [(1, 6.0)]
    plot.set_theme(DARK)
    assert rings(plot) == [(1, 6.0)]
    assert DARK.text in colors(plot)


def test_two_lines_of_one_place_are_both_marked(plot: LinePlot) -> None:
    plot.show_chart(
        chart(Line("B", (1.0, 2.0), places("a", 2)), Line("A", (3.0, 4.0), places("a", 2)))
    )
    plot.mark(SelectionKey("a.1"))
    assert marked(plot) == [1]
    assert sorted(rings(plot)) == [(1, 2.0), (1, 4.0)]


def test_what_is_everywhere_marks_nothing(plot: LinePlot) -> None:
    """ALBERT's one layer gives all states but the first."""
    shared = (SelectionKey("start"), *(SelectionKey("shared"),) * 2)
    plot.show_chart(chart(Line("x", (1.0, 2.0, 3.0), shared)))
    plot.mark(SelectionKey("shared"))
    assert marked(plot) == []
    assert rings(plot) == []
    plot.mark(SelectionKey("start"))
    assert marked(plot) == [0]


def callouts(plot: LinePlot) -> list[Callout]:
    return [item for item in plot.area.items if isinstance(item, Callout)]


@pytest.mark.parametrize(("number", "text"), [(0, "layer 0: 1"), (3, "layer 3: 4")])
def test_the_selected_point_has_its_value_beside_it(plot: LinePlot, number: int, text: str) -> None:
    plot.show_chart(chart(OUTPUT))
    plot.mark(SelectionKey(f"a.{number}"))
    (callout,) = callouts(plot)
    assert callout.text == text
    plot.grab()
    place = callout.deviceTransform(plot.viewportTransform()).mapRect(callout.boundingRect())
    assert plot.area.vb.sceneBoundingRect().contains(place)
    plot.mark(SelectionKey())
    assert callouts(plot) == []


def test_a_point_without_a_value_has_none_beside_it(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT))
    plot.mark(SelectionKey("a.2"))
    assert callouts(plot) == []


def test_on_paper_the_ring_is_enough(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT))
    plot.mark(SelectionKey("a.1"))
    plot.paper_scale = 2
    plot.draw()
    assert (len(rings(plot)), callouts(plot)) == (1, [])
