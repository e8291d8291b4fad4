"""Lines: what is drawn of them, and in which colours."""

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication, QGraphicsPathItem, QWidget

from bertviewer.charts.chart import Line
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import DARK, GREY, LIGHT, Theme
from bertviewer.plots.callout import Callout
from bertviewer.plots.export import png
from bertviewer.plots.line_plot import LinePlot
from tests.plots.lines import chart, curves, lines_in, places
from tests.plots.looking import colors, pixel, scene


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def test_lines_have_the_values(plot: LinePlot) -> None:
    first, second = curves(plot)
    assert first.heights == (1.0, 2.0, None, 4.0)
    assert (second.heights[0], second.heights[3]) == (3.0, 4.5)


def test_a_value_that_is_not_finite_is_a_gap(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, float("inf"), float("nan"), 2.0), places("p"))))
    (curve,) = curves(plot)
    assert curve.heights == (1.0, None, None, 2.0)
    # What gave it can be selected all the same.
    assert plot.place_at(scene(plot, 1, 1.5)) == SelectionKey("p.1")
    bottom, top = plot.area.vb.viewRange()[1]
    assert 0.5 < bottom < 1.0
    assert 2.0 < top < 3.0


def test_everything_is_in_view(plot: LinePlot) -> None:
    (left, right), (bottom, top) = plot.area.vb.viewRange()
    assert left < 0
    assert right > 3
    assert bottom < 1.0
    assert top > 4.5
    plot.show_chart(chart(Line("x", (1.0, 2.0), low=(-5.0, None), high=(4.0, 5.0), max=(8.0, 9.0))))
    bottom, top = plot.area.vb.viewRange()[1]
    assert bottom < -5
    assert top > 9


def test_a_band_is_where_it_should_be(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (2.0, 2.0, 2.0), low=(1.0,) * 3, high=(3.0,) * 3)))
    image = plot.grab().toImage()

    def at(x: float, y: float) -> str:
        name: str = image.pixelColor(pixel(plot, x, y)).name()
        return name

    tint = QColor(at(0.5, 1.6))
    assert tint.name() not in (LIGHT.surface, LIGHT.series[0])
    assert tint.blue() > tint.red()
    assert at(1.5, 2.6) == at(0.5, 1.6)
    for x, y in ((0.5, 0.97), (0.5, 3.12), (-0.2, 2.45), (2.2, 2.45)):
        assert at(x, y) == LIGHT.surface, (x, y)


def test_a_band_has_the_gaps_of_its_edges(plot: LinePlot) -> None:
    low = (1.0, 1.0, None, 1.0, 1.0, float("nan"), 1.0)
    plot.show_chart(chart(Line("x", (2.0,) * 7, low=low, high=(3.0,) * 7)))
    (band,) = (i for i in plot.area.items if isinstance(i, QGraphicsPathItem))
    inside = {x / 4 for x in range(-2, 28) if band.path().contains(QPointF(x / 4 + 0.01, 2.0))}
    assert inside == {0, 0.25, 0.5, 0.75, 3, 3.25, 3.5, 3.75, 6}


def test_the_theme_changes_every_colour(plot: LinePlot) -> None:
    plot.mark(SelectionKey("a.1"))
    light = colors(plot)
    assert {LIGHT.surface, *LIGHT.series[:2]} <= light
    plot.set_theme(DARK)
    dark = colors(plot)
    assert {DARK.surface, *DARK.series[:2]} <= dark
    assert not {LIGHT.surface, LIGHT.text, *LIGHT.series} & dark


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_six_lines_have_six_colours(plot: LinePlot, theme: Theme) -> None:
    lines = [Line(f"line {n}", (1.0 + n, 2.0 + n)) for n in range(6)]
    plot.set_theme(theme)
    plot.show_chart(chart(*lines))
    assert set(theme.series) <= colors(plot)
    symbols = [curve.symbol and curve.symbol.shape for curve in curves(plot)]
    assert len(set(symbols)) == 6


def test_lines_may_share_a_colour(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("b", (1.0, 2.0)), Line("a", (1.5, 1.0), style="dashed", color=0)))
    first, second = curves(plot)
    assert first.pen.color() == second.pen.color()
    assert first.pen.style() == Qt.PenStyle.SolidLine
    assert second.pen.style() == Qt.PenStyle.DashLine
    assert LIGHT.series[1] not in colors(plot)


def test_a_constant_figure_is_drawn_and_found(plot: LinePlot) -> None:
    for value in (0.0, 7.25, -3e-12):
        plot.show_chart(chart(Line("x", (value,) * 3, places("p"))))
        bottom, top = plot.area.vb.viewRange()[1]
        assert bottom < value < top
        assert plot.place_at(scene(plot, 1, value)) == SelectionKey("p.1")
        assert LIGHT.series[0] in colors(plot)


def test_a_fine_screen_has_no_thinner_lines(
    plot: LinePlot, monkeypatch: pytest.MonkeyPatch
) -> None:
    plot.show_chart(chart(Line("a", (1.0, 2.0))))

    def width() -> float:
        (curve,) = curves(plot)
        return curve.pen.widthF()

    coarse = width()
    monkeypatch.setattr(type(plot), "devicePixelRatioF", lambda _: 2.0)
    # The window has come to another screen.
    QApplication.sendEvent(plot, QEvent(QEvent.Type.DevicePixelRatioChange))
    assert width() == 2 * coarse
    png(plot, scale=3)
    assert width() == 2 * coarse
    axis = plot.area.getAxis("left")
    assert axis.tickPen().widthF() == 2


@pytest.mark.parametrize("unit", [1e-38, 1e-9, 1e15, 1e37, 1e300])
def test_lines_of_any_size_are_drawn(plot: LinePlot, unit: float) -> None:
    """Activations that explode are what a person may be looking for."""

    def picture(size: float) -> list[str]:
        values = tuple(n * size for n in (1.0, 3.0, 2.0))
        plot.show_chart(chart(Line("x", values, places("p", 3))))
        plot.area.getAxis("left").hide()  # its numbers differ
        plot.mark(SelectionKey("p.1"))
        for item in plot.area.items:
            item.setVisible(not isinstance(item, Callout))  # it says the value
        plot.grab()
        image = plot.grab().toImage()
        one = curves(plot)[0].heights[0]
        assert one is not None
        places_of_ink = [(x / 4, y * one) for x in range(9) for y in (1, 1.5, 2, 2.5, 3, 3.2)]
        return [image.pixelColor(pixel(plot, x, y)).name() for x, y in places_of_ink]

    one = picture(1.0)
    assert LIGHT.series[0] in one
    assert picture(unit) == one


def test_lines_without_hues_are_told_apart_by_dashes(window: QWidget) -> None:
    plot = LinePlot(window)
    both = (Line("a", (1.0, 2.0)), Line("b", (2.0, 3.0)), Line("c", (2.0, 1.0), style="dashed"))
    plot.show_chart(chart(*both))
    assert [curve.pen.dashPattern() for curve in curves(plot)] == [[], [], [4, 2]]
    plot.set_theme(GREY)
    first, second, compared = (curve.pen.dashPattern() for curve in curves(plot))
    assert (first, second, compared) == ([], list(GREY.dash(1)), [4, 2])
    assert [entry.pen.dashPattern() for entry in plot.legend.entries] == [first, second, compared]
