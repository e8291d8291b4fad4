"""Shows over a window, while a file or folder is dragged over it, that it can be dropped there."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from bertviewer.charts.theme import GRID, LARGE, ROUND
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.theme.appearance import theme_of

TINT = 40  # of 255: the accent over the window


class DropHint(QWidget):
    """Covers its parent while it is shown; the mouse goes through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._covered = parent
        self.setObjectName("dropHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFont(weighted(sized(self.font(), LARGE)))
        self.hide()

    def show_over(self, is_over: bool) -> None:
        """Cover the parent, or uncover it."""
        self.setGeometry(self._covered.rect())
        self.setVisible(is_over)
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a dashed frame and the words; Qt calls it."""
        theme, painter = theme_of(self), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = QColor(theme.accent)
        pen = QPen(color, 2)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        color.setAlpha(TINT)
        painter.setBrush(color)
        margin = float(2 * GRID)
        frame = QRectF(self.rect()).adjusted(margin, margin, -margin, -margin)
        painter.drawRoundedRect(frame, ROUND, ROUND)
        words, center = self.tr("Drop to open"), int(Qt.AlignmentFlag.AlignCenter)
        place = QRectF(painter.boundingRect(frame.toRect(), center, words))
        painter.setBrush(QColor(theme.surface))
        painter.drawRoundedRect(place.adjusted(-24, -12, 24, 12), ROUND, ROUND)
        painter.setPen(QColor(theme.text))
        painter.drawText(frame, center, words)
        painter.end()
