"""Progress bar that also moves while progress is unknown."""

from PySide6.QtCore import QEvent, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QProgressBar
from typing_extensions import override

from bertviewer.ui.theme.appearance import has_motion
from bertviewer.ui.widgets.layouts import named

INTERVAL, REDUCED_INTERVAL = 33, 700  # milliseconds; the second with reduced motion
PERIOD = 1_600  # milliseconds from the left edge to the right one
GLINT_WIDTH = 0.3
"""Width of the moving part, as a fraction of the bar's."""
THIN = 3  # pixels of a bar at an edge, or below a title
GLINT_OPACITY = 0.45
"""Opacity of the moving part over known progress."""


class ProgressBar(QProgressBar):
    """Progress bar with a moving part; a range of 0 to 0 means unknown progress.

    Qt fills a styled bar of unknown range completely, which looks stuck.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setTextVisible(False)
        self.setRange(0, 0)
        self._elapsed = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._move)

    @override
    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show:
            self._elapsed = 0
            self._timer.start(INTERVAL if has_motion() else REDUCED_INTERVAL)
        elif event.type() == QEvent.Type.Hide:
            self._timer.stop()
        return super().event(event)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        room = QRectF(self.rect())
        whole = self.maximum() - self.minimum()
        done = max(0, self.value() - self.minimum()) / whole if whole > 0 else 0.0
        distance = room.width() * (1 + GLINT_WIDTH)
        left = distance * (self._elapsed % PERIOD) / PERIOD - room.width() * GLINT_WIDTH
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = room.height() / 2
        accent = self.palette().color(QPalette.ColorRole.Accent)
        glint = QColor(accent)
        glint.setAlphaF(1.0 if whole <= 0 else GLINT_OPACITY)
        for start, width, color in (
            (0.0, room.width(), self.palette().color(QPalette.ColorRole.Mid)),
            (0.0, room.width() * done, accent),
            (left, room.width() * GLINT_WIDTH, glint),
        ):
            painter.setBrush(color)
            box = QRectF(start, 0, width, room.height()) & room
            painter.drawRoundedRect(box, radius, radius)
        painter.end()

    def _move(self) -> None:
        self._elapsed += self._timer.interval()
        self.update()


def thin_bar(name: str, accessible_name: str) -> ProgressBar:
    """Return a hidden bar of a few pixels' height."""
    bar = named(ProgressBar(), name, accessible_name=accessible_name)
    bar.setFixedHeight(THIN)
    bar.hide()
    return bar
