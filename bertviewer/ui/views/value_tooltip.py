"""Tooltip with the value under the mouse or at the keyboard's point of a chart."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QLabel, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, NORMAL, RADIUS
from bertviewer.plots.fonts import sized

OFFSET = 14  # pixels between the mouse and the tooltip
MAX_WIDTH = 360
MAX_LENGTH = 400  # characters; a token may have thousands


class ValueTooltip(QLabel):
    """Text near the mouse that stays within the parent widget; transparent for mouse events.

    Unlike ``QToolTip`` it follows the mouse without delay and can be read by tests.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._parent = parent
        self.setObjectName("hoveredValue")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(sized(self.font(), NORMAL))
        self.setForegroundRole(QPalette.ColorRole.ToolTipText)
        self.setContentsMargins(2 * GRID, GRID, 2 * GRID, GRID)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_text(self, text: str, pointer: QPoint) -> None:
        """Show a text next to a point of the parent, or hide if the text is empty."""
        self.setText(_shortened(text))
        self.setVisible(bool(text))
        if not text:
            return
        around = self._parent.rect()
        self.setWordWrap(False)
        width = min(self.sizeHint().width(), MAX_WIDTH, around.width())
        self.setWordWrap(True)
        height = max(self.heightForWidth(width), self.minimumSizeHint().height())
        # To the right of the mouse and above it, if there is room; never below it.
        x, y = pointer.x() + OFFSET, pointer.y() - OFFSET - height
        if x + width > around.right():
            x = pointer.x() - OFFSET - width
        if y < 0:
            y = pointer.y() + OFFSET
        x = min(max(0, x), max(0, around.width() - width))
        y = min(max(0, y), max(0, around.height() - height))
        self.setGeometry(x, y, width, height)
        self.raise_()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.palette().color(QPalette.ColorRole.ToolTipBase))
        painter.drawRoundedRect(self.rect(), RADIUS, RADIUS)
        painter.end()
        super().paintEvent(event)


def _shortened(text: str) -> str:
    """Replace the middle of a long text: the ends name the point and its value."""
    half = MAX_LENGTH // 2
    return text if len(text) <= MAX_LENGTH else f"{text[:half]}…{text[-half:]}"
