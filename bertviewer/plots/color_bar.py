"""The colours of a grid beside it, with the values that they stand for."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtGui import QPen

from bertviewer.charts.levels import Levels
from bertviewer.plots.cells import Cells
from bertviewer.plots.color_axis import ColorAxis
from bertviewer.plots.color_scale import ColorScale
from bertviewer.plots.colors import SHADES

WIDTH, GAP = 12, 5  # pixels
_FRAME = ("left", "right", "top", "bottom")


class ColorBar(pg.PlotItem):  # type: ignore[misc]
    """All shades, the lowest below, as cells that are lines and not a bitmap on paper too."""

    def __init__(self, beside: pg.PlotItem) -> None:
        super().__init__(axisItems={"right": ColorAxis()}, enableMenu=False)
        self.levels: Levels = (0.0, 1.0)
        self._cells: Cells | None = None
        self.hideButtons()
        self.setMouseEnabled(x=False, y=False)
        self.setRange(xRange=(0, 1), yRange=(0, SHADES), padding=0)
        self.layout.setColumnFixedWidth(1, WIDTH)
        for side in _FRAME:
            self.showAxis(side)
            self.getAxis(side).setZValue(0.5)
            if side != "right":
                self.getAxis(side).setTicks([])
                self.getAxis(side).setStyle(showValues=False)
        # Its numbers are values, and not the shades' own.
        self.getAxis("right").unlinkFromView()
        # To the right of the plot's own right axis.
        beside.layout.addItem(self, 2, 5)
        beside.layout.setColumnFixedWidth(4, GAP)

    @property
    def room(self) -> float:
        """How wide the bar is with its labels and its title."""
        left, _, right, _ = self.layout.getContentsMargins()
        return float(left + WIDTH + self.getAxis("right").maximumWidth() + right)

    def fit(self, height: float) -> None:
        """Be wide enough for the labels of a bar that is no higher than that."""
        self.getAxis("right").fit(height)

    def show_scale(self, scale: ColorScale, title: str, color: str, pen: QPen) -> None:
        """Draw the colours from that of the lowest value to that of the highest."""
        self.levels = scale.levels
        if self._cells is not None:
            self.removeItem(self._cells)
        shades = np.arange(float(SHADES))[:, None]
        self._cells = Cells(shades, ColorScale((0.0, SHADES - 1.0), scale.table))
        self.addItem(self._cells)
        for side in _FRAME:
            if side != "right":
                self.getAxis(side).setPen(pen)
        axis = self.getAxis("right")
        axis.dress(title, color, pen)
        axis.show_scale(scale)
