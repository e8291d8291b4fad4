"""Images of the map and of the treemap, for files and the clipboard."""

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.file_names import MAX_LENGTH
from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.graph.layout import CANVAS
from bertviewer.charts.map.camera import Camera
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import Theme
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import window_font
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.ui.map.canvas import FlowCanvas
from bertviewer.ui.map.drawing_cache import DrawingCache
from bertviewer.ui.map.map_style import NodeStyle
from bertviewer.ui.map.painting import HeadImages, paint_levels
from bertviewer.ui.map.treemap import Treemap, TreemapView
from bertviewer.ui.map.viewport import Level
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_picture, copy_picture

_MARGIN = 8.0


class _Image(CanvasPlot):
    """A plot without places to point at."""

    @override
    def place_at(self, position: QPointF) -> SelectionKey | None:
        return None

    @override
    def text_at(self, position: QPointF) -> str:
        return ""


class TreemapImage(_Image):
    """The treemap as large as in the window."""

    def __init__(self, view: TreemapView, color: Callable[[str], NodeColor]) -> None:
        super().__init__(view)
        self._cell, self._color = view.cell, color
        self.resize(view.size())

    @override
    def draw_on(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._cell is not None:
            paint_cells(painter, self._cell, self._color, self.theme, window_font())


class PartImage(_Image):
    """A whole part at its natural size, without selection."""

    def __init__(
        self, cache: DrawingCache, scope: Scope, images: HeadImages, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._cache, self._images = cache, images
        bounds = cache.bounds(scope)
        self._level = Level(scope, Camera(1.0, _MARGIN - bounds.x, _MARGIN - bounds.y), 1.0)
        self.resize(round(bounds.width + 2 * _MARGIN), round(bounds.height + 2 * _MARGIN))

    @override
    def set_theme(self, theme: Theme) -> None:
        self._cache.set_theme(theme)
        super().set_theme(theme)

    @override
    def draw_on(self, painter: QPainter) -> None:
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        paint_levels(painter, [self._level], self._cache, self._images)


def treemap_image(treemap: Treemap, coloring: MapColoring) -> TreemapImage:
    """Return the treemap in the colours of a measure."""
    return TreemapImage(treemap.view, partial(treemap.color, coloring))


def part_image(canvas: FlowCanvas, style: NodeStyle, images: HeadImages) -> PartImage | None:
    """Return the opened part with all texts, whatever the size of the window."""
    if canvas.viewport is None:
        return None
    cache = DrawingCache(canvas.viewport.cache.graphs)
    cache.set_style(style)
    cache.set_size(CANVAS, CANVAS)
    return PartImage(cache, canvas.scope, images, canvas)


def export_image(image: CanvasPlot, title: str, workspace: Workspace, *, is_saved: bool) -> None:
    """Ask for a file and save an image, or copy it to the clipboard."""
    if is_saved:
        name = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[: MAX_LENGTH - len(".png")]
        choose_picture(image, f"{name}.png", workspace)
    else:
        copy_picture(image)
    image.deleteLater()
