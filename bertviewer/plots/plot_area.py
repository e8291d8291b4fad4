"""What a plot is made of: the box that its items are drawn in, axes beside it, a line above it."""

from typing import cast

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsItem, QSizePolicy

_PLACES = {"bottom": (3, 1), "left": (2, 0), "right": (2, 2)}
_BOX, _TITLE = (2, 1), (0, 1)
_TITLE_HEIGHT = 30  # pixels
_ABOVE_ITEMS = 0.5  # what is to stand before the axes has 1 or more


class PlotArea(pg.GraphicsWidget):  # type: ignore[misc]
    """As much of pyqtgraph's ``PlotItem`` as plots need, by the names that this has there.

    That one makes 45 controls of a menu that nobody sees: a window has many plots, and Qt gives
    each of these its style again whenever one of them finds its place or the theme changes.
    """

    def __init__(self, axes: dict[str, pg.AxisItem]) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.items: list[QGraphicsItem] = []
        self.vb = pg.ViewBox(parent=self, enableMenu=False)
        self.vb.setMouseEnabled(x=False, y=False)
        self.titleLabel = pg.LabelItem("", parent=self)
        self.layout = QGraphicsGridLayout()
        self.layout.setSpacing(0)
        self.setLayout(self.layout)
        self.layout.addItem(self.vb, *_BOX)
        self.layout.addItem(self.titleLabel, *_TITLE)
        self.layout.setRowStretchFactor(_BOX[0], 100)
        self.layout.setColumnStretchFactor(_BOX[1], 100)
        self._axes = axes
        for side, axis in axes.items():
            axis.linkToView(self.vb)
            axis.setZValue(_ABOVE_ITEMS)
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            self.layout.addItem(axis, *_PLACES[side])
        self.setTitle(None)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Pixels around all of it: left, above, right, below."""
        return cast("tuple[float, float, float, float]", self.layout.getContentsMargins())

    def getAxis(self, side: str) -> pg.AxisItem:
        """Return the axis at this side."""
        return self._axes[side]

    def addItem(self, item: QGraphicsItem, ignoreBounds: bool = False) -> None:
        """Draw this too; ``ignoreBounds``: the range does not follow it."""
        self.items.append(item)
        self.vb.addItem(item, ignoreBounds=ignoreBounds)

    def removeItem(self, item: QGraphicsItem) -> None:
        """Draw this no more."""
        self.items.remove(item)
        self.vb.removeItem(item)

    def clear(self) -> None:
        """Remove all items."""
        for item in tuple(self.items):
            self.removeItem(item)

    def setRange(self, rect: QRectF) -> None:
        """Show this part of what is drawn, and nothing around it."""
        self.vb.setRange(rect, padding=0)

    def setXRange(self, low: float, high: float, padding: float = 0) -> None:
        """Show what is between two places, and a part of that at both sides."""
        self.vb.setXRange(low, high, padding=padding)

    def setYRange(self, low: float, high: float) -> None:
        """Show what is between two heights."""
        self.vb.setYRange(low, high, padding=0)

    def setTitle(self, title: str | None, **style: str) -> None:
        """Write a line above, or take it away."""
        height = 0 if title is None else _TITLE_HEIGHT
        self.titleLabel.setVisible(title is not None)
        self.titleLabel.setMaximumHeight(height)
        self.layout.setRowFixedHeight(_TITLE[0], height)
        if title is not None:
            self.titleLabel.setText(title, **style)
