"""A grid of coloured cells as vector graphics, without seams between them."""

from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPicture

from bertviewer.plots.theme import widened

# How far a cell reaches under its right and upper neighbours. Cells that only touch show the
# background between them as soon as edges are smoothed, as every PDF viewer does.
OVERLAP = 0.06


class Cells(pg.GraphicsObject):  # type: ignore[misc]
    """Values [rows, columns] as unit squares from the origin, row 0 at the bottom.

    Colours run from the colormap's start at the smallest value to its end at the largest. A cell
    that is NaN stays empty.
    """

    def __init__(self, values: "np.ndarray[Any, np.dtype[np.float64]]", colormap: str) -> None:
        super().__init__()
        self._rows, self._columns = values.shape
        finite = values[np.isfinite(values)]
        self.low, self.high = (
            widened(float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        )
        self._picture = self._draw(values, colormap)

    def boundingRect(self) -> QRectF:
        """Return the grid's rectangle; Qt calls it."""
        return QRectF(0, 0, self._columns, self._rows)

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        painter.drawPicture(0, 0, self._picture)

    def _draw(self, values: "np.ndarray[Any, np.dtype[np.float64]]", colormap: str) -> QPicture:
        span = self.high - self.low
        table = pg.colormap.get(colormap).getLookupTable(nPts=256)
        colors = [QColor(*(int(part) for part in color[:3])) for color in table]
        picture = QPicture()
        painter = QPainter(picture)
        painter.setPen(Qt.PenStyle.NoPen)
        for row in range(self._rows):
            height = 1 + (OVERLAP if row + 1 < self._rows else 0)
            for column in range(self._columns):
                value = values[row, column]
                if not np.isfinite(value):
                    continue
                width = 1 + (OVERLAP if column + 1 < self._columns else 0)
                color = colors[int((value - self.low) / span * 255)]
                painter.fillRect(QRectF(column, row, width, height), color)
        painter.end()
        return picture
