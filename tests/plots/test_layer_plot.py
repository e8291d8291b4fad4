"""The layer plot: where a click leads, and what is left of what was drawn before."""

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from bertviewer.plots.layer_plot import LayerPlot
from bertviewer.plots.layers import LayerSeries
from bertviewer.plots.theme import DARK, LIGHT
from tests.plots.test_token_heatmap import colors, hover

OUTPUT = LayerSeries("layer: output", (1.0, 2.0, None, 4.0), ("a.0", "a.1", "a.2", "a.3"))
PART = LayerSeries("layer: part", (3.0, None, None, 4.5), ("b.0", "b.1", "b.2", "b.3"))


@pytest.fixture
def plot(window: QWidget) -> LayerPlot:
    plot = LayerPlot(window)
    plot.resize(640, 320)
    plot.show()
    plot.show_series((OUTPUT, PART), "std")
    plot.grab()
    return plot


def scene(plot: LayerPlot, layer: float, value: float) -> QPointF:
    position: QPointF = plot.getPlotItem().vb.mapViewToScene(QPointF(layer, value))
    return position


def pixel(plot: LayerPlot, layer: float, value: float) -> QPoint:
    position: QPoint = plot.mapFromScene(scene(plot, layer, value))
    return position


def curves(plot: LayerPlot) -> list[pg.PlotDataItem]:
    return [item for item in plot.getPlotItem().items if isinstance(item, pg.PlotDataItem)]


PLACES = (
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
    (2, 3.0, None),
    (-0.39, 1.0, "a.0"),
    (3.39, 4.5, "b.3"),
)


def test_the_nearest_layer(plot: LayerPlot) -> None:
    for layer, value, path in PLACES:
        assert plot.layer_at(scene(plot, layer, value)) == path, (layer, value)


def test_exact_values_under_the_mouse(plot: LayerPlot) -> None:
    exact = LayerSeries("x", (1.23456789, -1e-9), ("p", "q"))
    plot.show_series((exact,), "std")
    assert plot.text_at(scene(plot, 0, 1.0)) == "p: 1.234568"
    assert plot.text_at(scene(plot, 1, 1.0)) == "q: -1e-09"
    told: list[str] = []
    plot.layer_hovered.connect(told.append)
    hover(plot, pixel(plot, 0, 1.0))
    hover(plot, pixel(plot, 1, 0.0))
    hover(plot, QPoint(2, 2))
    assert told == ["p: 1.234568", "q: -1e-09", ""]


def test_outside_of_the_axes_is_no_layer(plot: LayerPlot) -> None:
    assert plot.layer_at(scene(plot, 1, 1.0) + QPointF(0, 500)) is None
    assert plot.layer_at(QPointF(2, 2)) is None
    assert plot.layer_at(scene(plot, -0.5, 1.0)) is None


def test_a_click_tells_the_path(plot: LayerPlot, qtbot: QtBot) -> None:
    with qtbot.waitSignal(plot.layer_clicked, timeout=2000) as clicked:
        QTest.mouseClick(
            plot.viewport(), Qt.MouseButton.LeftButton, pos=pixel(plot, 3, OUTPUT.values[3] or 0)
        )
    assert clicked.args == ["a.3"]


def test_a_click_on_a_gap_tells_nothing(plot: LayerPlot, qtbot: QtBot) -> None:
    told: list[str] = []
    plot.layer_clicked.connect(told.append)
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=pixel(plot, 2, 3.0))
    qtbot.wait(50)
    assert told == []


def test_dragging_moves_nothing(plot: LayerPlot) -> None:
    before = plot.getPlotItem().vb.viewRange()
    viewport = plot.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=pixel(plot, 1, 2.0))
    hover(plot, pixel(plot, 3, 3.0))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=pixel(plot, 3, 3.0))
    assert plot.getPlotItem().vb.viewRange() == before


def test_lines_have_the_values(plot: LayerPlot) -> None:
    first, second = curves(plot)
    assert first.yData[[0, 1, 3]].tolist() == [1.0, 2.0, 4.0]
    assert str(first.yData[2]) == "nan"
    assert first.xData.tolist() == [0, 1, 2, 3]
    assert second.yData[[0, 3]].tolist() == [3.0, 4.5]
    assert plot.series() == (OUTPUT, PART)


def test_all_points_are_in_view(plot: LayerPlot) -> None:
    (left, right), (bottom, top) = plot.getPlotItem().vb.viewRange()
    assert left < 0
    assert right > 3
    assert bottom < 1.0
    assert top > 4.5


def test_drawing_twice_does_not_pile_up(plot: LayerPlot) -> None:
    items = len(plot.getPlotItem().items)
    total = len(plot.scene().items())
    for theme in (DARK, LIGHT, DARK):
        plot.set_theme(theme)
        plot.show_series((OUTPUT, PART), "std")
    assert len(plot.getPlotItem().items) == items
    assert len(plot.scene().items()) == total
    assert legend(plot) == ["layer: output", "layer: part"]
    plot.show_series((OUTPUT,), "mean")
    assert len(curves(plot)) == 1
    assert legend(plot) == ["layer: output"]
    plot.show_series((), "mean")
    assert curves(plot) == []
    assert legend(plot) == []
    assert plot.layer_at(scene(plot, 0, 0.5)) is None


def legend(plot: LayerPlot) -> list[str]:
    return [label.text for _, label in plot.getPlotItem().legend.items]


def test_the_theme_changes_every_colour(plot: LayerPlot) -> None:
    light = colors(plot)
    assert {LIGHT.background, *LIGHT.series[:2]} <= light
    plot.set_theme(DARK)
    dark = colors(plot)
    assert {DARK.background, *DARK.series[:2]} <= dark
    assert not {LIGHT.background, LIGHT.foreground, *LIGHT.series} & dark


def test_axes_have_their_titles(plot: LayerPlot) -> None:
    left, bottom = plot.getPlotItem().getAxis("left"), plot.getPlotItem().getAxis("bottom")
    assert (bottom.labelText, left.labelText) == ("Layer", "std")
    plot.show_series((OUTPUT,), "rms")
    assert left.labelText == "rms"
    tiny = LayerSeries("tiny", (1e-6, 2e-6), ("a", "b"))
    plot.show_series((tiny,), "std")
    plot.grab()
    # A quiet "x1e-6" in a corner would be overlooked.
    assert left.autoSIPrefixScale == 1.0


def test_many_layers_have_fewer_numbers(plot: LayerPlot) -> None:
    for layers, ticks in ((1, 1), (12, 12), (24, 24), (25, 13), (100, 20)):
        line = LayerSeries("x", tuple(map(float, range(layers))), tuple(map(str, range(layers))))
        plot.show_series((line,), "std")
        (shown,) = plot.getPlotItem().getAxis("bottom")._tickLevels
        assert len(shown) == ticks
        assert shown[0] == (0, "0")
        assert all(str(place) == text for place, text in shown)
        assert plot.layer_at(scene(plot, layers - 1, layers - 1)) == str(layers - 1)


def test_a_constant_figure_is_drawn_and_found(plot: LayerPlot) -> None:
    for value in (0.0, 7.25, -3e-12):
        plot.show_series((LayerSeries("x", (value,) * 3, ("p", "q", "r")),), "zero_fraction")
        bottom, top = plot.getPlotItem().vb.viewRange()[1]
        assert bottom < value < top
        assert plot.layer_at(scene(plot, 1, value)) == "q"
        assert LIGHT.series[0] in colors(plot)


def test_the_legend_hides_no_line(plot: LayerPlot) -> None:
    long = tuple(
        LayerSeries(f"a.rather.long.name.of.layers.{n}: output", (1.0, 1.0 + n), ("p", "q"))
        for n in range(3)
    )
    for width, height in ((900, 400), (640, 320), (300, 250)):
        plot.resize(width, height)
        plot.show_series(long, "std")
        plot.grab()
        legend = plot.getPlotItem().legend
        names = [name for _, name in legend.items]
        bottom = max(name.mapRectToScene(name.boundingRect()).bottom() for name in names)
        assert scene(plot, 1, 3.0).y() > bottom, (width, height)
