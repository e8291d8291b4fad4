"""Line plots: lines, bands, marks, axes and legends; mouse and keys."""

from collections.abc import Callable
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint, QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import Line, LineChart
from bertviewer.charts.comparison import line_difference, line_overlay
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.tensor_charts import spectrum_chart
from bertviewer.charts.theme import DARK, GREY, LIGHT, Theme
from bertviewer.core.tensors.spectrum import Spectrum
from bertviewer.plots.callout import callout_box
from bertviewer.plots.export import pdf, svg
from bertviewer.plots.line_plot import LinePlot, SpectrumPlot
from tests.plots.kinds import LARGEST, RANGES
from tests.plots.looking import (
    box,
    click,
    colors_of,
    drag,
    grab,
    hover,
    leave,
    pixel,
    position,
    press,
    sheet,
    texts,
)

LEFT, RIGHT, UP, DOWN = Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down


def keys(name: str, count: int = 4) -> tuple[SelectionKey, ...]:
    return tuple(SelectionKey(f"{name}.{number}") for number in range(count))


def chart(*lines: Line, title: str = "std", **options: Any) -> LineChart:
    longest = max((len(line.values) for line in lines), default=0)
    return LineChart(lines, "Layer", title, tuple(map(str, range(longest))), **options)


OUTPUT = Line("layer: output", (1.0, 2.0, None, 4.0), keys("a"))
PART = Line("layer: part", (3.0, None, None, 4.5), keys("b"))
RANKS = LineChart(
    (Line("mat", (10_000, 100, 1), keys("layer", 3)),),
    "Layer",
    "Rank",
    ("emb", "0", "1"),
    is_log=True,
)
BANK, RIVER, SEA = (Line(name, (1.0, 2.0)) for name in ("bank", "river", "sea"))


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    """Return a plot of two lines with gaps."""
    plot = LinePlot(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_chart(chart(OUTPUT, PART))
    return plot


def rings(plot: LinePlot) -> list[tuple[float, float]]:
    """Return the points that are marked with a ring."""
    heights = ((point[1], plot.points.height(point)) for point in plot.marked_points())
    return [(x, height) for x, height in heights if height is not None]


def marked(plot: LinePlot) -> list[float]:
    """Return the x that are marked with a vertical line."""
    return sorted({x for _, x in plot.marked_points()})


def left_labels(plot: LinePlot) -> list[str]:
    return [tick.text for tick in plot.layout_of_axes().ticks]


def left_numbers(plot: LinePlot) -> list[float]:
    return [float(text.replace("−", "-").replace(",", "")) for text in left_labels(plot)]


def bottom_labels(plot: LinePlot) -> list[tuple[float, str]]:
    return list(plot.layout_of_axes().below.labels)


# Images.


def test_lines_bands_and_marks(window: QWidget, image: Callable[[str, Any], None]) -> None:
    def drawn(
        shown: LineChart,
        *,
        path: str = "",
        theme: Theme = LIGHT,
        kind: type[LinePlot] = LinePlot,
        size: tuple[int, int] = (300, 180),
    ) -> QImage:
        plot = kind(window)
        plot.set_theme(theme)
        plot.show_chart(shown)
        plot.mark(SelectionKey(path or None))
        return grab(plot, *size)

    gaps = Line("x", (1.0, 1.0, inf, nan, 2.0, 2.0))
    low = (1.0, 1.0, None, 1.0, 1.0, nan, 1.0)
    band = Line("x", (5.0,) * 7, low=low, high=(3.0,) * 7, min=(0.5,) * 7, max=(6.0,) * 7)
    six = [Line(f"line {n}", (1.0 + n, 2.0 + n)) for n in range(6)]
    both = line_overlay(chart(BANK, RIVER), chart(BANK, SEA))
    lines = sheet(
        drawn(chart(gaps)),
        drawn(chart(band)),
        drawn(chart(OUTPUT), path="a.1"),  # a ring, a vertical line and the value
        drawn(chart(OUTPUT, PART), path="b.1", theme=DARK),  # a gap
        drawn(chart(*six)),
        drawn(chart(*six), theme=GREY),
    )
    image("lines", lines)
    axes = sheet(
        drawn(both, theme=DARK),
        drawn(chart(Line("difference", (-1.0, 1.0, 2.0, 2.0)))),  # a line at 0
        drawn(RANKS),
        drawn(spectrum_chart(Spectrum(np.array([100.0, 1.0, 0.001, 0.0]), 4)), kind=SpectrumPlot),
        drawn(chart(OUTPUT, PART, title="Cosine to the layer before it, B − A"), size=(300, 120)),
        drawn(chart(Line("constant", (7.25,) * 3))),
    )
    image("axes and legends", axes)


def test_two_lines_of_one_place_are_both_marked(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("B", (1.0, 2.0), keys("a", 2)), Line("A", (3.0, 4.0), keys("a", 2))))
    plot.mark(SelectionKey("a.1"))
    assert marked(plot) == [1]
    assert sorted(rings(plot)) == [(1, 2.0), (1, 4.0)]


def test_marks_of_selections(plot: LinePlot) -> None:
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
    # ALBERT's one layer gives all states but the first: it distinguishes none.
    shared = (SelectionKey("start"), *(SelectionKey("shared"),) * 2)
    plot.show_chart(chart(Line("x", (1.0, 2.0, 3.0), shared)))
    for path, xs in (("shared", []), ("start", [0])):
        plot.mark(SelectionKey(path))
        assert marked(plot) == xs


def test_the_selected_value_is_shown_on_the_screen_only(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT))
    for number, text in ((0, "layer 0: 1"), (3, "layer 3: 4"), (2, "")):  # the last one is a gap
        plot.mark(SelectionKey(f"a.{number}"))
        assert plot.callout() == text
        assert "layer 0: 1" not in texts(svg(plot).decode())


def test_a_callout_hides_no_line_where_there_is_room() -> None:
    within, covered = QRectF(0, 0, 600, 300), QRectF(0, 0, 200, 30)
    size = QSizeF(80, 22)
    for heights in ((280, 200, 120, 60), (60, 120, 200, 280), (280, 60, 280), (150, 280, 150)):
        line = [QPointF(40 + 170 * x, y) for x, y in enumerate(heights)]
        for point in line:
            found = callout_box(size, point, [line], within, covered)
            points = [a + (b - a) * (part / 50) for a, b in pairwise(line) for part in range(51)]
            assert not any(found.contains(each) for each in points), (heights, point)
            assert within.contains(found)
            assert not found.intersects(covered)


# Axes.


def test_the_axis_contains_bands_and_extremes(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, 2.0), low=(-5.0, None), high=(4.0, 5.0), max=(8.0, 9.0))))
    low, high = plot.layout_of_axes().y_range
    assert low < -5
    assert high > 9


@pytest.mark.parametrize("unit", [1e-38, 1e-9, 1e15, 1e300])
def test_lines_of_any_size_look_the_same(plot: LinePlot, unit: float) -> None:
    def blue(size: float) -> list[bool]:
        plot.show_chart(chart(Line("x", tuple(n * size for n in (1.0, 3.0, 2.0)))))
        image, one = plot.grab().toImage(), plot.points.heights[0][0]
        assert one is not None
        places = [pixel(plot, x / 4, y * one) for x in range(9) for y in (1, 1.5, 2, 2.5, 3, 3.2)]
        found = [colors_of(image.copy(at.x() - 2, at.y() - 2, 5, 5)) for at in places]
        return [any(QColor(c).blue() > QColor(c).red() + 60 for c in near) for near in found]

    usual = blue(1.0)
    assert any(usual)
    assert blue(unit) == usual


def test_as_many_labels_as_fit(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT, title="rms"))
    assert {"Layer", "rms"} <= set(texts(svg(plot).decode()))
    for layers in (1, 12, 24, 48, 100):
        plot.show_chart(chart(Line("x", tuple(map(float, range(layers))))))
        shown = bottom_labels(plot)
        assert (len(shown) == layers) == (layers <= 24)
        assert len(shown) < 35
        assert shown[:1] == [(0, "0")]
        assert all(str(at) == text for at, text in shown)


def test_a_title_without_room_keeps_its_end(plot: LinePlot) -> None:
    plot.show_chart(chart(OUTPUT, title="Cosine to the layer before it, B − A <b>"))
    for height, is_whole in ((400, True), (150, False)):
        plot.resize(640, height)
        (title,) = (text for text in texts(svg(plot).decode()) if text.endswith("<b>"))
        assert ("…" not in title) == is_whole
        assert title.startswith("Cosine")


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ((-1.0, 0.2, 1.0), (-1.0, 1.0)),
        ((0.1, 1.0000001), (-1.0, 1.0)),
        ((0.0, 0.0), (0.0, inf)),
        ((0.0, 1.6e308), (0.0, 1.7e308)),
    ],
)
def test_no_label_is_beyond_the_bounds(
    plot: LinePlot, values: tuple[float, ...], bounds: tuple[float, float]
) -> None:
    # Several names take room above the lines, where there would be further labels.
    lines = chart(*(Line(f"a name that takes room {n}", values) for n in range(5)))

    def are_inside(within: tuple[float, float]) -> list[bool]:
        found = []
        for height in (150, 250, 350, 800):
            plot.resize(300, height)
            plot.show_chart(replace(lines, bounds=within))
            shown = left_numbers(plot)
            found.append(bounds[0] <= shown[0] <= shown[-1] <= bounds[1])
        return found

    assert all(are_inside(bounds))
    assert not all(are_inside((-inf, inf)))


def test_counts_have_whole_numbers(plot: LinePlot) -> None:
    for values, most in (((0.0, 0.0), 1), ((0.0, 2.0), 2), ((3.0, 4000.0), 4000)):
        for height in (150, 400):
            plot.resize(300, height)
            plot.show_chart(chart(Line("a", values), bounds=(0.0, inf), is_whole=True))
            found = [int(text.replace(",", "")) for text in left_labels(plot)]
            assert 0 in found
            assert max(found) <= 1.5 * most
    plot.show_chart(chart(Line("a", (0.0, 0.5))))
    assert any("." in text for text in left_labels(plot))


def test_logarithmic_axes(plot: LinePlot, window: QWidget) -> None:
    plot.show_chart(RANKS)
    low, high = plot.y_range()
    assert low < 0
    assert high > 4
    assert plot.text_at(position(plot, 1, 2)) == "mat, Layer 0: 100"
    assert plot.key_at(position(plot, 0, 4)) == SelectionKey("layer.0")
    assert plot.text_at(position(plot, -0.3, 4)) == "mat, Layer emb: 10000"
    lines = tuple(replace(RANKS.lines[0], label=f"a long name {n}") for n in range(8))
    plot.resize(300, 200)
    plot.show_chart(replace(RANKS, lines=lines))
    assert left_numbers(plot)[-1] > 30_000
    plot.show_chart(replace(RANKS, lines=lines, bounds=(1.0, 30_000.0)))
    assert left_labels(plot)[-1] == "10,000"
    spectrum = SpectrumPlot(window)
    spectrum.resize(400, 300)
    spectrum.show_chart(spectrum_chart(Spectrum(np.array([100.0, 1.0, 0.001, 0.0]), 4)))
    assert left_labels(spectrum) == ["0.001", "0.01", "0.1", "1", "10", "100"]


def test_without_finite_values_the_left_axis_has_no_labels(plot: LinePlot) -> None:
    for values in ((nan, nan), (None, None), (inf, -inf)):
        plot.show_chart(chart(Line("a", values)))
        assert left_labels(plot) == []
        assert bottom_labels(plot) == [(0, "0"), (1, "1")]
        assert not plot.has_zero
        assert plot.text_at(box(plot).center()).endswith("no value")


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_extreme_values_are_drawn_labelled_and_described(
    plot: LinePlot, low: float, high: float
) -> None:
    plot.show_chart(chart(Line("a", (low, high), low=(low, low), high=(high, high))))
    rect, (heights,) = box(plot), plot.points.heights
    below, above = (position(plot, x, y) for x, y in enumerate(heights) if y is not None)
    assert rect.contains(below)
    assert rect.contains(above)
    assert below.y() - above.y() > 0.7 * rect.height()
    for point, value in ((below, low), (above, high)):
        assert plot.text_at(point).split()[-1] == f"{value:.7g}".replace("-", "−")
    labels = left_labels(plot)
    assert len(set(labels)) == len(labels) > 2
    # A label may be larger than the largest double, but none is far from the values.
    exponents = [int(text.split("e")[1].replace("−", "-")) for text in labels if "e" in text]
    assert max(exponents) == pytest.approx(np.log10(max(abs(low), abs(high))), abs=1)
    assert pdf(plot)


def test_extreme_values_leave_later_charts_unchanged(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("a", (1.0, 2.0))))
    before = left_labels(plot)
    plot.show_chart(chart(Line("a", (1e300, 2e300))))
    assert all(label.endswith("e+300") for label in left_labels(plot))
    plot.show_chart(chart(Line("a", (1.0, 2.0))))
    assert left_labels(plot) == before


@pytest.mark.parametrize("value", [LARGEST, 7.25, -3e-12, 0.0, 5e-324])
def test_equal_values_are_a_level_line(plot: LinePlot, value: float) -> None:
    for values in ((value,), (value, value)):
        plot.show_chart(chart(Line("a", values, keys("a", 2))))
        (height,) = {position(plot, 0, y).y() for y in plot.points.heights[0] if y is not None}
        assert box(plot).top() + 20 < height < box(plot).bottom() - 2
        assert plot.key_at(QPointF(position(plot, 0, 0).x(), height)) == SelectionKey("a.0")


# Legends.


def test_the_legend_hides_no_line_and_leaves_most_of_the_height(plot: LinePlot) -> None:
    for count in (3, 6):
        lines = [Line(f"a.rather.long.name.of.{n}: output", (1.0, 1.0 + n)) for n in range(count)]
        for size in ((900, 400), (640, 320), (300, 250)):
            plot.resize(*size)
            plot.show_chart(chart(*lines))
            rect, (wide, high) = box(plot), plot.legend.size
            assert high > 20
            assert position(plot, 1, float(count)).y() > rect.top() + high
            assert high < 0.45 * rect.height()
            assert wide <= rect.width() + 1


def test_names_in_legends_of_two_runs(plot: LinePlot) -> None:
    def names(shown: LineChart) -> tuple[str, ...]:
        plot.show_chart(shown)
        return plot.legend.labels

    both = line_overlay(chart(BANK, SEA), chart(BANK, RIVER))
    assert names(both) == ("B", "A", "bank", "sea", "river")
    # Descriptions of points and exported data name run and thing.
    assert [line.label for line in both.lines] == ["B · bank", "B · sea", "A · bank", "A · river"]
    assert names(line_overlay(chart(BANK), chart(BANK))) == ("B · bank", "A · bank")
    assert names(chart(BANK, SEA)) == ("bank", "sea")
    assert names(line_difference(chart(BANK, SEA), chart(BANK, SEA))) == ("bank", "sea")
    assert names(line_overlay(chart(BANK, SEA), chart())) == ("B · bank", "B · sea")
    assert names(chart(Line("std", (1.0, 2.0)))) == ()  # the axis has the name


def test_samples_of_legends(plot: LinePlot) -> None:
    def dashes(*lines: Line) -> list[list[float]]:
        plot.show_chart(chart(*lines))
        return [entry.pen.dashPattern() for entry in plot.legend.entries]

    solid, dashed = Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine
    plot.show_chart(chart(Line("b", (1.0, 2.0)), Line("a", (1.5, 1.0), style="dashed", color=0)))
    first, second = (entry.pen for entry in plot.legend.entries)
    assert first.color() == second.color()
    assert (first.style(), second.style()) == (solid, dashed)
    three = (Line("a", (1.0, 2.0)), Line("b", (2.0, 3.0)), Line("c", (2.0, 1.0), style="dashed"))
    assert dashes(*three) == [[], [], [4, 2]]
    plot.set_theme(GREY)
    assert dashes(*three) == [[], list(GREY.dash(1)), [4, 2]]
    # Of two runs, the style is the run and the colour the thing.
    plot.set_theme(DARK)
    plot.show_chart(line_overlay(chart(BANK, RIVER), chart(BANK, RIVER)))
    b, a, bank, river = plot.legend.entries
    assert b.pen.color().name() == a.pen.color().name() == DARK.text
    assert (b.brush.color().name(), a.brush.color().name()) == (DARK.text, DARK.surface)
    assert (b.pen.style(), a.pen.style()) == (solid, dashed)
    assert [thing.pen.color().name() for thing in (bank, river)] == list(DARK.series[:2])
    assert {b.symbol, a.symbol} == {"circle"}
    assert bank.symbol != river.symbol
    # Symbols of long lines would hide one another.
    long = [Line(name, tuple(map(float, range(101)))) for name in "ab"]
    plot.show_chart(line_overlay(chart(*long), chart(*long)))
    assert {entry.symbol for entry in plot.legend.entries} == {""}


# Mouse.


def test_the_nearest_point(plot: LinePlot) -> None:
    for x, value, path in (
        (0, 1.0, "a.0"),
        (0, 3.0, "b.0"),
        (0, 1.9, "a.0"),
        (0, 2.1, "b.0"),
        (1, 4.4, "a.1"),  # the other line has no value there
        (3, 4.0, "a.3"),
        (3, 4.5, "b.3"),
        (0.4, 1.0, "a.0"),
        (0.6, 1.0, "a.1"),
        (2, 3.0, "a.2"),  # a gap of all lines can be selected
        (-0.39, 1.0, "a.0"),
        (3.39, 4.5, "b.3"),
    ):
        assert plot.key_at(position(plot, x, value)) == SelectionKey(path), (x, value)
    for at in (position(plot, 1, 1.0) + QPointF(0, 500), QPointF(2, 2), position(plot, -0.5, 1.0)):
        assert plot.key_at(at) is None
        assert plot.text_at(at) == ""
    short, long = Line("a", (1.0,), keys("a", 1)), Line("b", (nan, nan), keys("b", 2))
    plot.show_chart(chart(short, long))
    assert plot.key_at(position(plot, 1, 1.0)) == SelectionKey("b.1")
    plot.show_chart(chart(Line("no keys", (1.0, None))))
    assert plot.key_at(position(plot, 1, 1.0)) is None


def test_descriptions(plot: LinePlot) -> None:
    assert plot.text_at(position(plot, 2, 3.0)) == "Layer 2: no value"
    line = Line("x", (1.0, 2.0), low=(0.5, None), high=(1.5, 3.0), min=(-7.0, -8.0), max=(9.0, 9.5))
    plot.show_chart(chart(line))
    assert plot.text_at(position(plot, 0, 1)) == "x, Layer 0, min −7, max 9, from 0.5 to 1.5: 1"
    assert plot.text_at(position(plot, 1, 2)) == "x, Layer 1, min −8, max 9.5: 2"
    ticks = ("emb", "0", "1, after ln_f")
    plot.show_chart(chart(Line("x", (1.0, 2.0, None)), tick_names=ticks))
    assert plot.text_at(position(plot, 1, 2.0)) == "x, Layer 0: 2"
    assert plot.text_at(position(plot, 2, 2.0)) == "Layer 1, after ln_f: no value"
    assert [text for _, text in bottom_labels(plot)] == ["0", "1", "2"]


def test_exact_values_under_the_mouse(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.23456789, -1e-9))))
    received: list[str] = []
    plot.hovered.connect(received.append)
    for place in (pixel(plot, 0, 1.0), pixel(plot, 1, 0.0), QPoint(2, 2)):
        hover(plot, place)
    leave(plot)
    assert received == ["x, Layer 0: 1.234568", "x, Layer 1: −1e−09", "", ""]


def test_clicks_select_points_and_gaps(plot: LinePlot) -> None:
    received: list[SelectionKey] = []
    plot.clicked.connect(received.append)
    click(plot, pixel(plot, 3, 4.0))
    click(plot, pixel(plot, 2, 3.0))
    assert received == [SelectionKey("a.3"), SelectionKey("a.2")]
    drag(plot, pixel(plot, 1, 2.0), pixel(plot, 3, 3.0))
    for empty in ((), (SelectionKey(), SelectionKey())):
        plot.show_chart(chart(Line("no keys", (1.0, 2.0), empty)))
        click(plot, pixel(plot, 1, 2.0))
    assert len(received) == 2


# Keys.


def follow(plot: LinePlot) -> list[tuple[str, QPoint]]:
    """Select what is clicked, as the window does; return what is described."""
    received: list[tuple[str, QPoint]] = []
    plot.clicked.connect(plot.mark)
    plot.reached.connect(lambda text, at: received.append((text, at)))
    return received


@pytest.mark.parametrize(
    ("start", "pressed", "end"),
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
    plot: LinePlot, start: str | None, pressed: tuple[Qt.Key, ...], end: str
) -> None:
    received = follow(plot)
    plot.mark(SelectionKey(start))
    press(plot, *pressed)
    assert received[-1][0] == end
    (ring,) = rings(plot)
    assert (received[-1][1] - pixel(plot, *ring)).manhattanLength() <= 2
    assert marked(plot) == [ring[0]]
    path = "b" if "part" in end else "a"
    assert plot.selection == SelectionKey(f"{path}.{int(ring[0])}")


@pytest.mark.parametrize(
    ("start", "key"), [("a.0", LEFT), ("a.0", DOWN), ("b.0", UP), ("a.3", RIGHT), ("a.1", UP)]
)
def test_at_an_end_a_key_does_nothing(plot: LinePlot, start: str, key: Qt.Key) -> None:
    received = follow(plot)
    plot.mark(SelectionKey(start))
    press(plot, key)
    assert received == []
    assert plot.selection == SelectionKey(start)


def test_points_without_a_key_are_described(plot: LinePlot, qtbot: QtBot) -> None:
    plot.show_chart(chart(Line("x", (1.0, 2.0))))
    received = follow(plot)
    with qtbot.assertNotEmitted(plot.clicked):
        press(plot, RIGHT, RIGHT, RIGHT)
    assert [text for text, _ in received] == ["x, Layer 0: 1", "x, Layer 1: 2"]
    assert rings(plot) == [(1, 2.0)]


def test_the_focus_stays_on_the_line_of_that_name_in_another_chart(plot: LinePlot) -> None:
    received = follow(plot)
    plot.mark(SelectionKey("a.0"))
    press(plot, RIGHT)
    plot.show_chart(chart(PART, Line("layer: output", (5.0, 6.0), keys("a", 2))))
    assert rings(plot) == [(1, 6.0)]
    plot.describe_focused()
    assert received[-1][0] == "layer: output, Layer 1: 6"
    plot.show_chart(chart(Line("other", (1.0, 1.5), keys("c", 2))))
    press(plot, RIGHT)
    assert received[-1][0] == "other, Layer 0: 1"


def test_when_the_focus_leaves_the_selection_shows_its_value_again(
    window: QWidget, plot: LinePlot
) -> None:
    other = LinePlot(window)
    other.show()
    follow(plot)
    hovered: list[str] = []
    plot.hovered.connect(hovered.append)
    plot.show_chart(chart(OUTPUT))
    plot.setFocus()
    press(plot, RIGHT)
    assert plot.callout() == ""  # the window shows it in full
    other.setFocus()
    assert hovered[-1:] == [""]
    assert plot.callout() == "layer 0: 1"
