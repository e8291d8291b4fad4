"""The opened part, or the treemap, as a plot: to be taken along as plots are."""

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.file_names import MAX_LENGTH
from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.graph.layout import CANVAS
from bertviewer.charts.map.camera import Camera
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.charts.theme import Theme
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.fonts import window_font
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.ui.map.drawing_cache import Sheets
from bertviewer.ui.map.map_style import Dress
from bertviewer.ui.map.painting import Tiles, paint_levels
from bertviewer.ui.map.picture import FlowPicture
from bertviewer.ui.map.treemap_page import TreemapPage
from bertviewer.ui.map.treemap_view import TreemapView
from bertviewer.ui.map.viewport import Level
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_menu import choose_picture, copy_picture

_MARGIN = 8.0


class AreasPaper(CanvasPlot):
    """The rectangles of a treemap, as large as they are in the window."""

    def __init__(self, view: TreemapView, tint: Callable[[str], NodeColor]) -> None:
        super().__init__(view)
        self._cell, self._tint = view.cell, tint
        self.resize(view.size())

    def draw_on(self, painter: QPainter) -> None:
        """Draw all of it."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._cell is not None:
            paint_cells(painter, self._cell, self._tint, self.theme, window_font())


class MapPaper(CanvasPlot):
    """All of a part, as large as it is drawn, without what only tells where one is."""

    def __init__(self, sheets: Sheets, part: Scope, tiles: Tiles, parent: QWidget) -> None:
        super().__init__(parent)
        self._sheets, self._tiles = sheets, tiles
        bounds = sheets.bounds(part)
        self._level = Level(part, Camera(1.0, _MARGIN - bounds.x, _MARGIN - bounds.y), 1.0)
        self.resize(round(bounds.width + 2 * _MARGIN), round(bounds.height + 2 * _MARGIN))

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self._sheets.set_theme(theme)
        super().set_theme(theme)

    def draw_on(self, painter: QPainter) -> None:
        """Draw all of it."""
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        paint_levels(painter, [self._level], self._sheets, self._tiles)


def areas_paper(page: TreemapPage, coloring: MapColoring) -> AreasPaper:
    """Return the treemap in the colours of a measure."""
    return AreasPaper(page.view, partial(page.tint, coloring))


def part_paper(picture: FlowPicture, dress: Dress, tiles: Tiles) -> MapPaper | None:
    """Return the opened part in the colours and figures of ``dress``.

    It has all words, however small the window is.
    """
    if picture.sight is None:
        return None
    part, sheets = picture.part, Sheets(picture.sight.sheets.atlas)
    sheets.set_dress(dress)
    sheets.set_size(CANVAS, CANVAS)
    return MapPaper(sheets, part, tiles, picture)


def take(paper: CanvasPlot, title: str, workspace: Workspace, *, is_saved: bool) -> None:
    """Ask for a file and write a picture to it, or put it on the clipboard."""
    if is_saved:
        name = "-".join(re.findall(r"[a-z0-9]+", title.lower()))[: MAX_LENGTH - len(".png")]
        choose_picture(paper, f"{name}.png", workspace)
    else:
        copy_picture(paper)
    paper.deleteLater()
