"""The opened part as a plot, to be taken along as plots are."""

import re

from PySide6.QtCore import QPointF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.file_names import LONGEST
from bertviewer.charts.flow.layout import CANVAS
from bertviewer.charts.map.camera import Camera
from bertviewer.charts.map.part import Part
from bertviewer.charts.place import Place
from bertviewer.charts.theme import Theme
from bertviewer.plots.painted import PaintedPlot
from bertviewer.ui.charts.chart_menu import choose_picture, copy_picture
from bertviewer.ui.map.dress import Dress
from bertviewer.ui.map.painting import Tiles, paint_levels
from bertviewer.ui.map.picture import FlowPicture
from bertviewer.ui.map.sheets import Sheets
from bertviewer.ui.map.sight import Level
from bertviewer.ui.workspace import Workspace

_MARGIN = 8.0


class MapPaper(PaintedPlot):
    """All of a part, as large as it is drawn, without what only tells where one is."""

    def __init__(self, sheets: Sheets, part: Part, tiles: Tiles, parent: QWidget) -> None:
        super().__init__(parent)
        self._sheets, self._tiles = sheets, tiles
        bounds = sheets.bounds(part)
        self._level = Level(part, Camera(1.0, _MARGIN - bounds.x, _MARGIN - bounds.y), 1.0)
        self.resize(round(bounds.width + 2 * _MARGIN), round(bounds.height + 2 * _MARGIN))

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self._sheets.set_theme(theme)
        super().set_theme(theme)

    def place_at(self, position: QPointF) -> Place | None:
        """Return nothing: nobody points at it."""
        del position
        return None

    def text_at(self, position: QPointF) -> str:
        """Return nothing: nobody points at it."""
        del position
        return ""

    def draw_on(self, painter: QPainter) -> None:
        """Draw all of it."""
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        paint_levels(painter, [self._level], self._sheets, self._tiles)


def take(
    picture: FlowPicture, dress: Dress, tiles: Tiles, workspace: Workspace, *, is_saved: bool
) -> None:
    """Ask for a file and write the opened part to it, or put it on the clipboard.

    It has all words, however small the window is, and the colours and figures of ``dress``.
    """
    if picture.sight is None:
        return
    part, sheets = picture.part, Sheets(picture.sight.sheets.atlas)
    sheets.set_dress(dress)
    sheets.set_size(CANVAS, CANVAS)
    paper = MapPaper(sheets, part, tiles, picture)
    if is_saved:
        words = re.findall(r"[a-z0-9]+", dress.name(part).lower())
        name = "-".join(["map", *words])[: LONGEST - len(".png")]
        choose_picture(paper, f"{name}.png", workspace)
    else:
        copy_picture(paper)
    paper.deleteLater()
