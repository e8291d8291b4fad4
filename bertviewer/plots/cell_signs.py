"""Cells of a grid that have no value but a word: a letter on a quiet ground."""

from collections.abc import Mapping

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QTransform

from bertviewer.charts.theme import NORMAL, Theme
from bertviewer.plots.cells import SPACE
from bertviewer.plots.fonts import sized

LEAST = 7.0
"""Pixels of a cell, across or down, below which it has no letter."""


class CellSigns(pg.GraphicsObject):  # type: ignore[misc]
    """Letters by row and column, in unit squares from the origin; as large as type is elsewhere."""

    def __init__(self, signs: Mapping[tuple[int, int], str], bounds: QRectF, theme: Theme) -> None:
        super().__init__()
        self._signs = signs
        self._bounds = bounds
        self._theme = theme

    def boundingRect(self) -> QRectF:
        """Return the grid's rectangle; Qt calls it."""
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        if not self._signs:
            return
        transform = painter.worldTransform()
        unit = transform.mapRect(QRectF(0, 0, 1, 1))
        room = min(unit.width(), unit.height())
        # How many of the painter's units make one pixel of the plot.
        scale = unit.height() / (self.sceneTransform().mapRect(QRectF(0, 0, 1, 1)).height() or 1.0)
        painter.save()
        # Letters are not to be stretched, nor stood on their heads, with the cells.
        painter.setWorldTransform(QTransform())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.setFont(sized(pg.QtWidgets.QApplication.font(), min(NORMAL * scale, room)))
        painter.setPen(QColor(self._theme.muted))
        ground = QColor(self._theme.line)
        space = SPACE * scale / 2
        for (row, column), sign in self._signs.items():
            box = transform.mapRect(QRectF(column, row, 1, 1))
            painter.fillRect(box.adjusted(space, space, -space, -space), ground)
            if room >= LEAST * scale:
                painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), sign)
        painter.restore()
