"""What looks like a field in the top bar, and opens the palette."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QPushButton, QSizePolicy

from bertviewer.charts.theme import GRID, RADIUS, SMALL
from bertviewer.plots.fonts import sized
from bertviewer.ui.palette.palette import Palette

WIDTH, WISHED, NARROWEST = 380, 220, 80
GLASS = 5
"""The radius of the glass, in pixels."""


class PaletteField(QPushButton):
    """A click, Enter, or any letter opens the palette below it."""

    def __init__(self, palette: Palette) -> None:
        super().__init__()
        self._palette = palette
        palette.set_field(self)
        self._keys = palette.keys.replace("+", " ")
        self.setObjectName("paletteField")
        self.setText(self.tr("Search modules, tensors, commands"))
        self.setAccessibleName(self.text())
        self.setToolTip(self.tr("Find modules, tensors, commands ({0})").format(palette.keys))
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(WIDTH)
        self.clicked.connect(self._open)

    def _open(self) -> None:
        self._palette.open()

    def sizeHint(self) -> QSize:
        """Return the room that it wishes for; it takes more where there is some. Qt calls it."""
        return QSize(WISHED, self.fontMetrics().height() + 3 * GRID)

    def minimumSizeHint(self) -> QSize:
        """Return room for a few words; Qt calls it."""
        return QSize(NARROWEST, self.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open at Enter too, and hand on what is typed; Qt calls it."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open()
        elif event.text().strip() and event.text().isprintable():
            self._palette.open(event.text())
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw a field with a glass, words, and the keys; Qt calls it."""
        colors = self.palette()
        muted = colors.color(QPalette.ColorRole.PlaceholderText)
        line = colors.color(
            QPalette.ColorRole.Accent if self.hasFocus() else QPalette.ColorRole.Mid
        )
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(line, 1))
        filled = QPalette.ColorRole.Base if self.underMouse() else QPalette.ColorRole.Window
        painter.setBrush(colors.color(filled))
        whole = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(whole, RADIUS, RADIUS)
        painter.setPen(QPen(muted, 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        middle = QPointF(4.5 * GRID, whole.center().y() - 1)
        painter.drawEllipse(middle, GLASS, GLASS)
        edge = middle + QPointF(GLASS, GLASS) * 0.75
        painter.drawLine(edge, edge + QPointF(4, 4))
        room = self.rect().adjusted(8 * GRID, 0, -2 * GRID, 0)
        room = room.adjusted(0, 0, -self._draw_keys(painter) - 2 * GRID, 0)
        painter.setPen(muted)
        right = Qt.TextElideMode.ElideRight
        words = self.fontMetrics().elidedText(self.text(), right, room.width())
        painter.drawText(room, int(Qt.AlignmentFlag.AlignVCenter), words)
        painter.end()

    def _draw_keys(self, painter: QPainter) -> int:
        """Draw the keys at the right, like a key, and return their width."""
        font = painter.font()
        painter.setFont(sized(font, SMALL))
        metrics = painter.fontMetrics()
        width, height = metrics.horizontalAdvance(self._keys) + 2 * GRID, metrics.height() + 2
        key = QRectF(self.width() - width - 2 * GRID, (self.height() - height) / 2, width, height)
        painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Mid), 1))
        painter.drawRoundedRect(key, GRID, GRID)
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        painter.drawText(key, int(Qt.AlignmentFlag.AlignCenter), self._keys)
        painter.setFont(font)
        return width
