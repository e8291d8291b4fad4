"""A few words in a small field beside a point of a plot."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter
from PySide6.QtWidgets import QGraphicsItem

from bertviewer.charts.theme import GRID, NORMAL, RADIUS, Theme
from bertviewer.plots.fonts import sized

BESIDE = 12  # pixels between the point and the field


class Callout(QGraphicsItem):
    """Stands at a point of the plot, as large as its words on the screen, however it is zoomed.

    ``to_left`` and ``below`` say on which side of the point.
    """

    def __init__(
        self, text: str, font: QFont, theme: Theme, *, to_left: bool = False, below: bool = False
    ) -> None:
        super().__init__()
        self.text = text
        self._font, self._theme = sized(font, NORMAL), theme
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemIgnoresTransformations)
        self.setAcceptedMouseButtons(Qt.MouseButton.NoButton)
        metrics = QFontMetricsF(self._font)
        width = metrics.horizontalAdvance(text) + 4 * GRID
        height = metrics.height() + 1.5 * GRID
        x = -BESIDE - width if to_left else BESIDE
        self._box = QRectF(x, 0.0 if below else -height, width, height)

    def boundingRect(self) -> QRectF:
        """Return the field; Qt calls it."""
        return self._box

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw; Qt calls it."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.text))
        painter.drawRoundedRect(self._box, RADIUS, RADIUS)
        painter.setFont(self._font)
        painter.setPen(QColor(self._theme.surface))
        painter.drawText(self._box, int(Qt.AlignmentFlag.AlignCenter), self.text)
