"""Frame with the background of a warning."""

from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame
from typing_extensions import override

from bertviewer.ui.theme.appearance import WARNING

TINT, LINE = 26, 110  # of 255: opacity of the warning colour


class WarningFrame(QFrame):
    """A tinted background with a line below."""

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        color = QColor(self.palette().color(WARNING))
        painter = QPainter(self)
        color.setAlpha(TINT)
        painter.fillRect(self.rect(), color)
        color.setAlpha(LINE)
        painter.setPen(color)
        painter.drawLine(self.rect().bottomLeft(), self.rect().bottomRight())
        painter.end()
