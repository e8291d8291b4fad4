"""A short word on a ground of its own colour: what weights are, how a check came out."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QSizePolicy

from bertviewer.charts.theme import GRID, SMALL
from bertviewer.plots.fonts import sized, weighted

_TINT = 34  # of 255: how much of its colour lies behind the word


class Pill(QLabel):
    """A short word on a rounded ground of its own colour."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(weighted(sized(self.font(), SMALL)))
        self.setContentsMargins(2 * GRID, 1, 2 * GRID, 1)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Maximum)

    def show_word(self, word: str, role: QPalette.ColorRole) -> None:
        """Show a word in the colour that the palette has for a role."""
        self.setText(word)
        self.setForegroundRole(role)
        self.setVisible(bool(word))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the ground; Qt calls it."""
        color = QColor(self.palette().color(self.foregroundRole()))
        color.setAlpha(_TINT)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        rect = QRectF(self.rect())
        painter.drawRoundedRect(rect, rect.height() / 2, rect.height() / 2)
        painter.end()
        super().paintEvent(event)
