"""The pictures of a report, drawn as SVG: by the same widgets that the window has."""

from collections.abc import Iterator, Mapping

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from bertviewer.charts.change_grid import MarkedGrid
from bertviewer.charts.chart import GridChart, HeadsChart, HistogramChart, LineChart
from bertviewer.charts.graph.draw_items import NodeColor, part_color
from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.treemap import Area, treemap
from bertviewer.charts.parts import parts_of
from bertviewer.charts.theme import PAPER, Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.outline import Outline
from bertviewer.core.util.numbers import short_count
from bertviewer.plots.cells import cells_as_images
from bertviewer.plots.export import plot_svg
from bertviewer.plots.fonts import window_font
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.stack_picture import paint_stack
from bertviewer.plots.svg import svg_of
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.report.flow_drawing import flow_on_paper
from bertviewer.report.pictures import Picture


def draw_pictures(
    pictures: Mapping[str, Picture], architecture: Architecture, theme: Theme = PAPER
) -> Iterator[tuple[str, str]]:
    """Yield each picture's name and its drawing, one at a time.

    Plots are widgets: a ``QApplication`` must exist, and this must be its thread.
    """
    for name, picture in pictures.items():
        yield name, _drawn(picture, architecture, theme)


def _drawn(picture: Picture, architecture: Architecture, theme: Theme) -> str:
    width, height = picture.width, picture.height
    if isinstance(picture.drawn, Flow):
        return flow_on_paper(picture.drawn, architecture, theme)
    if isinstance(picture.drawn, Outline):
        room = QRectF(0, 0, width, height)
        outline = picture.drawn
        return svg_of(lambda painter: paint_stack(outline, painter, room, theme), width, height)
    if isinstance(picture.drawn, Area):
        return _treemap(picture.drawn, architecture, theme, width, height)
    plot = plot_of(picture)
    with cells_as_images():
        drawing = plot_svg(plot, width, height, theme)
    plot.close()
    plot.deleteLater()
    return drawing


def _treemap(area: Area, architecture: Architecture, theme: Theme, width: int, height: int) -> str:
    """Draw a model as rectangles, in the hues of its parts."""
    cell = treemap(area, Rect(0, 0, width, height))
    hues = parts_of(architecture.modules)
    figures = {one.area.path: short_count(round(one.area.value)) for one in cell.all_cells()}

    def tint(path: str) -> NodeColor:
        return part_color(hues.get(path, "plain"), figures[path], theme)

    def paint(painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_cells(painter, cell, tint, theme, window_font())

    return svg_of(paint, width, height)


def plot_of(picture: Picture) -> LinePlot | Heatmap | HeadGrid | HistogramPlot | TokenMatrix:
    """Return a widget that shows a chart; a ``QApplication`` must exist, and this be its thread."""
    match picture.drawn:
        case LineChart() as chart:
            lines = LinePlot()
            lines.show_chart(chart)
            return lines
        case HistogramChart() as chart:
            bars = HistogramPlot()
            bars.show_chart(chart)
            return bars
        case HeadsChart() as chart:
            heads = HeadGrid()
            heads.show_chart(chart)
            return heads
        case GridChart() as chart:
            is_square = chart.is_top_down and not isinstance(chart, MarkedGrid)
            grid = TokenMatrix() if is_square else Heatmap()
            grid.show_chart(chart)
            return grid
        case Flow() | Outline() | Area() as other:
            raise TypeError(f"no plot draws a {type(other).__name__}")
