"""A frame in the warning's tint, for messages above everything else."""

from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame

from bertviewer.ui.theme.appearance import WARNING

TINT, LINE = 26, 110  # of 255: the warning's color over the window's


class WarningFrame(QFrame):
    """Tints the window's color with the warning's, with a line below."""

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the tint and the line; Qt calls it."""
        super().paintEvent(event)
        color = QColor(self.palette().color(WARNING))
        painter = QPainter(self)
        color.setAlpha(TINT)
        painter.fillRect(self.rect(), color)
        color.setAlpha(LINE)
        painter.setPen(color)
        painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())
        painter.end()
