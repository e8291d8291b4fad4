"""Words that are pressed like a button: by a click, by Enter or by the space bar."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QEnterEvent, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractButton


class WordLink(QAbstractButton):
    """A link, with a line below while it would be pressed."""

    alignment = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    """How its words stand in its room, as Qt's flags."""
    spacing = 2
    """Pixels that it is higher than its letters."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        """Return room for all of it on one line; Qt calls it."""
        metrics = self.fontMetrics()
        width = metrics.horizontalAdvance(self.text()) + 2
        return QSize(width, metrics.height() + self.spacing)

    def shown_text(self) -> str:
        """Return as much of its words as there is room for."""
        return self.text()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Enter as well; Qt calls it."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Draw the line below it; Qt calls it."""
        super().enterEvent(event)
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Draw the line below it; Qt calls it."""
        super().focusInEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw it, with a line below while it would be pressed; Qt calls it."""
        del event
        painter = QPainter(self)
        font = self.font()
        font.setUnderline(self.underMouse() or self.hasFocus())
        painter.setFont(font)
        painter.setPen(self.palette().color(QPalette.ColorRole.Link))
        painter.drawText(self.rect(), self.alignment, self.shown_text())
        painter.end()
