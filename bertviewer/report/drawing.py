"""Pictures of a report as SVG, and single figures as files, drawn by the window's own plots."""

from collections.abc import Iterator, Mapping
from functools import partial

from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter

from bertviewer.charts.change_grid import MarkedGrid
from bertviewer.charts.chart import GridChart, HeadsChart, HistogramChart, LineChart
from bertviewer.charts.graph.draw_items import NodeColor, part_color
from bertviewer.charts.graph.drawing import Drawing, Rect
from bertviewer.charts.graph.layout import CANVAS, draw
from bertviewer.charts.graph.svg import svg_of as graph_svg
from bertviewer.charts.map.treemap import Area, treemap
from bertviewer.charts.parts import parts_of
from bertviewer.charts.theme import LIGHT, PAPER, SMALL, Theme
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.core.schema.outline import Outline
from bertviewer.core.util.numbers import short_count
from bertviewer.core.util.text import printable
from bertviewer.plots.cells import cells_as_images
from bertviewer.plots.export import IMAGE_FORMATS, pdf_of, plot_svg
from bertviewer.plots.fonts import window_font
from bertviewer.plots.graph_painting import paint, text_width
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.plots.stack_picture import paint_stack
from bertviewer.plots.svg import svg_of
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.report.pictures import Picture

MIN_FONT_SIZE = 6.5
"""Points of the smallest text of a graph on paper."""
TEXT_WIDTH = 160.0
"""Millimetres of a page's text."""
_SCALE = MIN_FONT_SIZE / SMALL
_POINTS_PER_MILLIMETRE = 72 / 25.4
_UNITS_PER_PIXEL = 8
"""Resolution of a PDF's page, so that letters are not aligned to whole pixels."""

# Plots are widgets: everything here needs a QApplication and belongs to its thread.


def draw_pictures(
    pictures: Mapping[str, Picture], architecture: Architecture, theme: Theme = PAPER
) -> Iterator[tuple[str, str]]:
    """Yield the name and the SVG of each picture, drawn one at a time."""
    for name, picture in pictures.items():
        yield name, _drawn(picture, architecture, theme)


def picture_file(picture: Picture, architecture: Architecture, kind: str) -> bytes:
    """Return a picture as an ``svg`` or ``pdf`` file; a chart also as ``png``."""
    if isinstance(picture.drawn, Flow):
        drawing = drawing_of(picture.drawn, architecture)
        if kind == "svg":
            return graph_svg(drawing, LIGHT).encode()
        title = printable(" ".join(label.text for label in drawing.title))
        painter = partial(paint, drawing)
        return pdf_of(painter, drawing.width, drawing.height, title, _UNITS_PER_PIXEL)
    content = next(each.content for each in IMAGE_FORMATS if each.name.lower() == kind)
    plot = _plot(picture)
    plot.resize(picture.width, picture.height)
    try:
        return content(plot, "")
    finally:
        plot.close()
        plot.deleteLater()


def drawing_of(flow: Flow, architecture: Architecture, canvas: float = CANVAS) -> Drawing:
    """Return the drawing of a module's data-flow graph, at most ``canvas`` pixels wide."""
    nodes = {node.path: node for node in architecture.modules}
    return draw(flow, text_width, nodes[flow.path].parameters, canvas)


def _drawn(picture: Picture, architecture: Architecture, theme: Theme) -> str:
    width, height = picture.width, picture.height
    match picture.drawn:
        case Flow() as flow:
            # A graph that is wider than the text is wrapped: its letters are not made smaller.
            canvas = TEXT_WIDTH * _POINTS_PER_MILLIMETRE / _SCALE
            return graph_svg(drawing_of(flow, architecture, canvas), theme, _SCALE)
        case Outline() as outline:
            rect = QRectF(0, 0, width, height)
            return svg_of(lambda painter: paint_stack(outline, painter, rect, theme), width, height)
        case Area() as area:
            return _treemap_svg(area, architecture, theme, width, height)
    plot = _plot(picture)
    with cells_as_images():
        drawing = plot_svg(plot, width, height, theme)
    plot.close()
    plot.deleteLater()
    return drawing


def _treemap_svg(
    area: Area, architecture: Architecture, theme: Theme, width: int, height: int
) -> str:
    """Draw a model as nested rectangles, coloured by part."""
    cell = treemap(area, Rect(0, 0, width, height))
    hues = parts_of(architecture.modules)
    counts = {each.area.path: short_count(round(each.area.value)) for each in cell.all_cells()}

    def tint(path: str) -> NodeColor:
        return part_color(hues.get(path, "plain"), counts[path], theme)

    def paint_treemap(painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_cells(painter, cell, tint, theme, window_font())

    return svg_of(paint_treemap, width, height)


def _plot(picture: Picture) -> LinePlot | Heatmap | HeadGrid | HistogramPlot | TokenMatrix:
    """Return a widget that shows a chart."""
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
        case other:
            raise TypeError(f"no plot shows a {type(other).__name__}")
