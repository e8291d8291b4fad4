"""Lines: what is drawn, what is marked, and what is left of what was drawn before."""

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QGraphicsPathItem, QWidget

from bertviewer.plots.chart import Line, LineChart, Place
from bertviewer.plots.curve import Curve
from bertviewer.plots.export import png
from bertviewer.plots.legend import Legend
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.theme import DARK, LIGHT, PlotTheme
from tests.plots.lines import OUTPUT, PART, chart, lines_in, places
from tests.plots.looking import colors, pixel, scene


@pytest.fixture
def plot(window: QWidget) -> LinePlot:
    return lines_in(window)


def curves(plot: LinePlot) -> list[Curve]:
    found = [item for item in plot.getPlotItem().items if isinstance(item, Curve)]
    return [curve for curve in found if curve.pen.style() != Qt.PenStyle.NoPen]


def rings(plot: LinePlot) -> list[tuple[float, float]]:
    """Return the points that are marked with a ring."""
    found = [item for item in plot.getPlotItem().items if isinstance(item, Curve)]
    return [
        (float(x), height)
        for curve in found
        if curve.pen.style() == Qt.PenStyle.NoPen
        for x, height in enumerate(curve.heights)
        if height is not None
    ]


def marked(plot: LinePlot) -> list[float]:
    """Return the x that are marked with a vertical line."""
    items = plot.getPlotItem().items
    return [i.value() for i in items if isinstance(i, pg.InfiniteLine) and i.angle == 90]


def test_lines_have_the_values(plot: LinePlot) -> None:
    first, second = curves(plot)
    assert first.heights == (1.0, 2.0, None, 4.0)
    assert (second.heights[0], second.heights[3]) == (3.0, 4.5)


def test_a_value_that_is_not_finite_is_a_gap(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (1.0, float("inf"), float("nan"), 2.0), places("p"))))
    (curve,) = curves(plot)
    assert curve.heights == (1.0, None, None, 2.0)
    assert plot.place_at(scene(plot, 1, 1.5)) is None
    bottom, top = plot.getPlotItem().vb.viewRange()[1]
    assert 0.5 < bottom < 1.0
    assert 2.0 < top < 3.0


def test_everything_is_in_view(plot: LinePlot) -> None:
    (left, right), (bottom, top) = plot.getPlotItem().vb.viewRange()
    assert left < 0
    assert right > 3
    assert bottom < 1.0
    assert top > 4.5
    plot.show_chart(chart(Line("x", (1.0, 2.0), low=(-5.0, None), high=(4.0, 5.0), max=(8.0, 9.0))))
    bottom, top = plot.getPlotItem().vb.viewRange()[1]
    assert bottom < -5
    assert top > 9


def test_a_band_is_where_it_should_be(plot: LinePlot) -> None:
    plot.show_chart(chart(Line("x", (2.0, 2.0, 2.0), low=(1.0,) * 3, high=(3.0,) * 3)))
    image = plot.grab().toImage()

    def at(x: float, y: float) -> str:
        name: str = image.pixelColor(pixel(plot, x, y)).name()
        return name

    tint = QColor(at(0.5, 1.6))
    assert tint.name() not in (LIGHT.background, LIGHT.series[0])
    assert tint.blue() > tint.red()
    assert at(1.5, 2.6) == at(0.5, 1.6)
    for x, y in ((0.5, 0.97), (0.5, 3.12), (-0.2, 2.45), (2.2, 2.45)):
        assert at(x, y) == LIGHT.background, (x, y)


def test_a_band_has_the_gaps_of_its_edges(plot: LinePlot) -> None:
    low = (1.0, 1.0, None, 1.0, 1.0, float("nan"), 1.0)
    plot.show_chart(chart(Line("x", (2.0,) * 7, low=low, high=(3.0,) * 7)))
    (band,) = (i for i in plot.getPlotItem().items if isinstance(i, QGraphicsPathItem))
    inside = {x / 4 for x in range(-2, 28) if band.path().contains(QPointF(x / 4 + 0.01, 2.0))}
    assert inside == {0, 0.25, 0.5, 0.75, 3, 3.25, 3.5, 3.75, 6}


def test_drawing_twice_does_not_pile_up(plot: LinePlot) -> None:
    full = chart(
        Line("b", (1.0, 2.0), places("a", 2), (0, 1), (2, 3), (-1, 0), (3, 4)), OUTPUT, PART
    )
    plot.show_chart(full)
    plot.mark(Place("a.1"))
    items, total = len(plot.getPlotItem().items), len(plot.scene().items())
    for theme in (DARK, LIGHT, DARK):
        plot.set_theme(theme)
        plot.show_chart(full)
        plot.mark(Place("a.1"))
    assert len(plot.getPlotItem().items) == items
    assert len(plot.scene().items()) == total
    assert plot.legend.labels() == ("b", "layer: output", "layer: part")
    plot.show_chart(chart(OUTPUT))
    assert len(curves(plot)) == 1
    assert plot.legend.labels() == ("layer: output",)


@pytest.mark.parametrize("empty", [None, chart()])
def test_nothing_to_show(plot: LinePlot, empty: LineChart | None) -> None:
    plot.mark(Place("a.1"))
    plot.show_chart(empty)
    assert curves(plot) == []
    assert marked(plot) == []
    assert rings(plot) == []
    assert plot.legend.labels() == ()
    assert plot.place_at(scene(plot, 0, 0.5)) is None
    assert plot.text_at(scene(plot, 0, 0.5)) == ""
    # Nothing but the background, the two axes and their titles.
    image = plot.grab().toImage()
    assert image.pixelColor(pixel(plot, 0.1, 0.5)).name() == LIGHT.background
    plot.show_chart(chart(OUTPUT, PART))
    assert len(curves(plot)) == 2
    assert plot.getPlotItem().getAxis("left")._tickLevels is None


def test_the_theme_changes_every_colour(plot: LinePlot) -> None:
    plot.mark(Place("a.1"))
    light = colors(plot)
    assert {LIGHT.background, *LIGHT.series[:2]} <= light
    plot.set_theme(DARK)
    dark = colors(plot)
    assert {DARK.background, *DARK.series[:2]} <= dark
    assert not {LIGHT.background, LIGHT.foreground, *LIGHT.series} & dark


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_six_lines_have_six_colours(plot: LinePlot, theme: PlotTheme) -> None:
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


def test_axes_have_their_titles(plot: LinePlot) -> None:
    left, bottom = plot.getPlotItem().getAxis("left"), plot.getPlotItem().getAxis("bottom")
    assert (bottom.labelText, left.labelText) == ("Layer", "std")
    plot.show_chart(chart(OUTPUT, title="rms"))
    assert left.labelText == "rms"
    plot.show_chart(chart(Line("tiny", (1e-6, 2e-6))))
    plot.grab()
    # A quiet "x1e-6" in a corner would be overlooked.
    assert left.autoSIPrefixScale == 1.0


def test_many_layers_have_fewer_numbers(plot: LinePlot) -> None:
    for layers in (1, 12, 24, 48, 100):
        line = Line("x", tuple(map(float, range(layers))), places("p", layers))
        plot.show_chart(chart(line))
        (shown,) = plot.getPlotItem().getAxis("bottom")._tickLevels
        assert len(shown) == layers if layers <= 24 else 15 < len(shown) < 35
        assert shown[0] == (0, "0")
        assert all(str(at) == text for at, text in shown)
        last = Place(f"p.{layers - 1}")
        assert plot.place_at(scene(plot, layers - 1, layers - 1)) == last


def test_a_constant_figure_is_drawn_and_found(plot: LinePlot) -> None:
    for value in (0.0, 7.25, -3e-12):
        plot.show_chart(chart(Line("x", (value,) * 3, places("p"))))
        bottom, top = plot.getPlotItem().vb.viewRange()[1]
        assert bottom < value < top
        assert plot.place_at(scene(plot, 1, value)) == Place("p.1")
        assert LIGHT.series[0] in colors(plot)


def test_the_legend_hides_no_line(plot: LinePlot) -> None:
    for count in (3, 6):
        lines = [
            Line(f"a.rather.long.name.of.layers.{n}: output", (1.0, 1.0 + n)) for n in range(count)
        ]
        for width, height in ((900, 400), (640, 320), (300, 250)):
            plot.resize(width, height)
            plot.show_chart(chart(*lines))
            plot.grab()
            legend: Legend = plot.legend
            names = legend.mapRectToScene(legend.boundingRect())
            assert names.height() > 20
            assert scene(plot, 1, float(count)).y() > names.bottom(), (count, width, height)
            # Most of the height stays the lines'.
            box = plot.getPlotItem().vb.sceneBoundingRect()
            assert names.height() < 0.45 * box.height()
            assert names.right() <= box.right() + 1


def test_a_name_is_drawn_as_it_is(plot: LinePlot) -> None:
    """Tags take room like other letters; as markup these would all look the same."""
    pictures = []
    for name in ("<s>", "<b>", "<s>"):
        plot.show_chart(chart(Line(name, (1.0, 2.0)), title=f"norm of {name}"))
        pictures.append(plot.grab().toImage())
    assert pictures[0] == pictures[2]
    assert pictures[0] != pictures[1]


def test_marks(plot: LinePlot) -> None:
    for selection, xs, points in (
        (Place("a.1"), [1], [(1, 2.0)]),
        (Place("a.1.attention.self"), [1], [(1, 2.0)]),
        (Place("b.3"), [3], [(3, 4.5)]),
        (Place("b.1"), [1], []),  # a gap
        (Place("c"), [], []),
        (Place(token=3), [], []),
        (Place(), [], []),
    ):
        plot.mark(selection)
        assert marked(plot) == xs, selection
        assert rings(plot) == points, selection


def test_a_mark_stays_with_another_chart(plot: LinePlot) -> None:
    plot.mark(Place("a.1"))
    plot.show_chart(chart(Line("x", (5.0, 6.0, 7.0), places("a"))))
    assert rings(plot) == [(1, 6.0)]
    plot.set_theme(DARK)
    assert rings(plot) == [(1, 6.0)]
    assert DARK.foreground in colors(plot)


def test_two_lines_of_one_place_are_both_marked(plot: LinePlot) -> None:
    plot.show_chart(
        chart(Line("B", (1.0, 2.0), places("a", 2)), Line("A", (3.0, 4.0), places("a", 2)))
    )
    plot.mark(Place("a.1"))
    assert marked(plot) == [1]
    assert sorted(rings(plot)) == [(1, 2.0), (1, 4.0)]


def test_zero_is_drawn_where_values_are_on_both_sides(plot: LinePlot) -> None:
    def zeros() -> int:
        items = plot.getPlotItem().items
        return sum(isinstance(i, pg.InfiniteLine) and i.angle == 0 for i in items)

    assert zeros() == 0
    plot.show_chart(chart(Line("difference", (-1.0, 2.0))))
    assert zeros() == 1


def test_what_is_everywhere_marks_nothing(plot: LinePlot) -> None:
    """ALBERT's one layer gives all states but the first."""
    shared = (Place("start"), *(Place("shared"),) * 2)
    plot.show_chart(chart(Line("x", (1.0, 2.0, 3.0), shared)))
    plot.mark(Place("shared"))
    assert marked(plot) == []
    assert rings(plot) == []
    plot.mark(Place("start"))
    assert marked(plot) == [0]


def test_names_keep_their_room_where_the_axis_gets_longer_numbers(plot: LinePlot) -> None:
    for values in ((1.0, 2.0), (12345678.0, 12345679.0)):
        plot.show_chart(chart(Line("a", values), Line("b", values)))
        plot.grab()  # the axis finds its width while it is drawn
        QTest.qWait(20)
        assert plot.legend.boundingRect().width() <= plot.getPlotItem().vb.width()


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
    axis = plot.getPlotItem().getAxis("left")
    assert axis.pen().widthF() == 2
