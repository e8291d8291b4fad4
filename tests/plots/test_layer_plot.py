"""The layer plot: where a click leads, and what is left of what was drawn before."""

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from bertviewer.plots.layer_plot import LayerPlot
from bertviewer.plots.layers import LayerSeries
from bertviewer.plots.theme import DARK, LIGHT

OUTPUT = LayerSeries("layer: output", (1.0, 2.0, None, 4.0), ("a.0", "a.1", "a.2", "a.3"))
PART = LayerSeries("layer: part", (3.0, None, None, 4.5), ("b.0", "b.1", "b.2", "b.3"))


@pytest.fixture
def plot(qtbot: QtBot) -> LayerPlot:
    plot = LayerPlot()
    qtbot.addWidget(plot)
    plot.resize(640, 320)
    plot.show()
    qtbot.waitExposed(plot)
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


def colors(image: QImage) -> set[str]:
    return {
        image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())
    }


@pytest.mark.parametrize(
    ("layer", "value", "path"),
    [
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
    ],
)
def test_the_nearest_layer(plot: LayerPlot, layer: float, value: float, path: str | None) -> None:
    assert plot.layer_at(scene(plot, layer, value)) == path


def test_outside_of_the_axes_is_no_layer(plot: LayerPlot) -> None:
    assert plot.layer_at(scene(plot, 1, 1.0) + QPointF(0, 500)) is None
    assert plot.layer_at(QPointF(2, 2)) is None
    assert plot.layer_at(scene(plot, -0.5, 1.0)) is None


def test_a_click_tells_the_path(plot: LayerPlot, qtbot: QtBot) -> None:
    with qtbot.waitSignal(plot.layer_clicked, timeout=2000) as clicked:
        qtbot.mouseClick(
            plot.viewport(), Qt.MouseButton.LeftButton, pos=pixel(plot, 3, OUTPUT.values[3] or 0)
        )
    assert clicked.args == ["a.3"]


def test_a_click_on_a_gap_tells_nothing(plot: LayerPlot, qtbot: QtBot) -> None:
    told: list[str] = []
    plot.layer_clicked.connect(told.append)
    qtbot.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=pixel(plot, 2, 3.0))
    qtbot.wait(50)
    assert told == []


def test_dragging_and_the_wheel_move_nothing(plot: LayerPlot, qtbot: QtBot) -> None:
    before = plot.getPlotItem().vb.viewRange()
    viewport = plot.viewport()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=pixel(plot, 1, 2.0))
    qtbot.mouseMove(viewport, pixel(plot, 3, 3.0))
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=pixel(plot, 3, 3.0))
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
    light = colors(plot.grab().toImage())
    assert {LIGHT.background, *LIGHT.series[:2]} <= light
    plot.set_theme(DARK)
    dark = colors(plot.grab().toImage())
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


@pytest.mark.parametrize(("layers", "ticks"), [(1, 1), (12, 12), (24, 24), (25, 13), (100, 20)])
def test_many_layers_have_fewer_numbers(plot: LayerPlot, layers: int, ticks: int) -> None:
    line = LayerSeries("x", tuple(map(float, range(layers))), tuple(map(str, range(layers))))
    plot.show_series((line,), "std")
    (shown,) = plot.getPlotItem().getAxis("bottom")._tickLevels
    assert len(shown) == ticks
    assert shown[0] == (0, "0")
    assert all(str(place) == text for place, text in shown)
    assert plot.layer_at(scene(plot, layers - 1, layers - 1)) == str(layers - 1)


@pytest.mark.parametrize("value", [0.0, 7.25, -3e-12])
def test_a_constant_figure_is_drawn_and_found(plot: LayerPlot, value: float) -> None:
    plot.show_series((LayerSeries("x", (value,) * 3, ("p", "q", "r")),), "zero_fraction")
    bottom, top = plot.getPlotItem().vb.viewRange()[1]
    assert bottom < value < top
    assert plot.layer_at(scene(plot, 1, value)) == "q"
    assert QColor(LIGHT.series[0]).name() in colors(plot.grab().toImage())
