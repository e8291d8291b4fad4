"""The value under the mouse, in a small field beside it."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import GRID, NORMAL, RADIUS
from bertviewer.plots.fonts import sized

BESIDE = 14  # pixels between the mouse and the field
WIDEST = 360
LONGEST = 400  # letters; a token may have thousands


class Readout(QLabel):
    """A text that is wrapped and never cut at its ends; the mouse sees through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._around = parent
        self.setObjectName("hoveredValue")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(sized(self.font(), NORMAL))
        self.setForegroundRole(QPalette.ColorRole.ToolTipText)
        self.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_text(self, text: str, pointer: QPoint) -> None:
        """Show a text beside a point of the parent, inside of that; none where there is none."""
        self.setText(_shortened(text))
        self.setVisible(bool(text))
        if not text:
            return
        around = self._around.rect()
        self.setWordWrap(False)
        width = min(self.sizeHint().width(), WIDEST, around.width())
        self.setWordWrap(True)
        height = max(self.heightForWidth(width), self.minimumSizeHint().height())
        # To the right of the mouse and above it, where there is room; never below it.
        x, y = pointer.x() + BESIDE, pointer.y() - BESIDE - height
        if x + width > around.right():
            x = pointer.x() - BESIDE - width
        if y < 0:
            y = pointer.y() + BESIDE
        x = min(max(0, x), max(0, around.width() - width))
        y = min(max(0, y), max(0, around.height() - height))
        self.setGeometry(x, y, width, height)
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the field, and the text on it; Qt calls it."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.palette().color(QPalette.ColorRole.ToolTipBase))
        painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        painter.end()
        super().paintEvent(event)


def _shortened(text: str) -> str:
    """Leave out the middle of a very long text: its ends tell what it is of and the value."""
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"
