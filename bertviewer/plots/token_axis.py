"""An axis with one text per token, set upright where there is no room to lay them side by side."""

from collections.abc import Sequence
from math import ceil
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter

GAP = 6


class TokenAxis(pg.AxisItem):  # type: ignore[misc]
    """The tick labels stand upright as soon as one is wider than its token's cell."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self._labels: list[tuple[float, str]] = []
        self._upright = False
        # The base class drops labels that would overlap when laid flat.
        self.setStyle(hideOverlappingLabels=False, textFillLimits=[(0, 10.0)])

    def set_labels(self, labels: Sequence[tuple[float, str]]) -> None:
        """Show a text at each position; positions are evenly spaced.

        Where not even upright labels have room side by side, only every second, third … is shown.
        """
        self._labels = list(labels)
        self._arrange()

    def resizeEvent(self, event: Any = None) -> None:
        """Choose again how the labels lie, for the width there is now."""
        super().resizeEvent(event)
        if hasattr(self, "_labels"):
            self._arrange()

    def _arrange(self) -> None:
        if not self._labels:
            return
        metrics = QFontMetricsF(self.font())
        widest = max(metrics.horizontalAdvance(text) for _, text in self._labels)
        cell = max(1.0, self.size().width()) / len(self._labels)
        self._upright = widest + GAP > cell
        room = widest + GAP if self._upright else metrics.height()
        step = max(1, ceil(metrics.height() / cell)) if self._upright else 1
        self.setTicks([self._labels[::step]])
        self.setStyle(autoExpandTextSpace=False, tickTextHeight=int(room))

    def drawPicture(
        self, p: QPainter, axisSpec: Any, tickSpecs: Any, textSpecs: list[tuple[QRectF, Any, str]]
    ) -> None:
        """Draw line and labels; the base class knows only flat ones."""
        if not self._upright:
            super().drawPicture(p, axisSpec, tickSpecs, textSpecs)
            return
        super().drawPicture(p, axisSpec, tickSpecs, [])
        p.setPen(self.textPen())
        metrics = QFontMetricsF(self.font())
        for rect, _, text in textSpecs:
            p.save()
            p.translate(QPointF(rect.center().x(), rect.top()))
            p.rotate(-90)
            width, height = metrics.horizontalAdvance(text) + 1, metrics.height()
            box = QRectF(-width, -height / 2, width, height)
            p.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), text)
            p.restore()
