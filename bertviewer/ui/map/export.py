"""Images of the map and of the treemap, for files and the clipboard."""

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.file_names import MAX_LENGTH
from bertviewer.charts.graph.layout import CANVAS
from bertviewer.charts.map.camera import Camera
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.theme import Theme
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import window_font
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.drawing_cache import DrawingCache
from bertviewer.ui.map.map_style import NodeStyle
from bertviewer.ui.map.painting import HeadImages, paint_levels
from bertviewer.ui.map.treemap import Treemap
from bertviewer.ui.map.viewport import Level
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_picture, copy_picture

_MARGIN = 8.0


Paint = Callable[[QPainter, Theme], None]


class MapImage(CanvasPlot):
    """A plot that is painted by a function, and has no selectable places."""

    def __init__(self, parent: QWidget, size: QSize, paint: Paint) -> None:
        super().__init__(parent)
        self._paint = paint
        self.resize(size)

    @override
    def draw_on(self, painter: QPainter) -> None:
        self._paint(painter, self.theme)


def treemap_image(treemap: Treemap, coloring: MapColoring) -> MapImage:
    """Return the treemap in the colours of a measure, as large as in the window."""
    cell, color = treemap.view.cell, partial(treemap.color, coloring)

    def paint(painter: QPainter, theme: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if cell is not None:
            paint_cells(painter, cell, color, theme, window_font())

    return MapImage(treemap.view, treemap.view.size(), paint)


def part_image(canvas: FlowCanvas, style: NodeStyle, images: HeadImages) -> MapImage | None:
    """Return the whole opened part with all texts, whatever the size of the window."""
    if canvas.viewport is None:
        return None
    cache, scope = DrawingCache(canvas.viewport.cache.graphs), canvas.scope
    cache.set_style(style)
    cache.set_size(CANVAS, CANVAS)
    bounds = cache.bounds(scope)
    size = QSize(round(bounds.width + 2 * _MARGIN), round(bounds.height + 2 * _MARGIN))
    level = Level(scope, Camera(1.0, _MARGIN - bounds.x, _MARGIN - bounds.y), 1.0)

    def paint(painter: QPainter, theme: Theme) -> None:
        cache.set_theme(theme)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        paint_levels(painter, [level], cache, images)

    return MapImage(canvas, size, paint)


def export_image(image: CanvasPlot, title: str, workspace: Workspace, *, is_saved: bool) -> None:
    """Ask for a file and save an image, or copy it to the clipboard."""
    if is_saved:
        name = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[: MAX_LENGTH - len(".png")]
        choose_picture(image, f"{name}.png", workspace)
    else:
        copy_picture(image)
    image.deleteLater()
