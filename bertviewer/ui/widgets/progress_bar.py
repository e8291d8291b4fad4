"""A bar that says how far something is, and that it goes on where nobody knows how far."""

from PySide6.QtCore import QEvent, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QProgressBar

from bertviewer.ui.theme.motion import has_motion
from bertviewer.ui.widgets.layouts import named

INTERVAL, SELDOM = 33, 700  # milliseconds; the second where the system wants no motion
ROUND_TRIP = 1_600  # milliseconds from the left edge to the right one
SHARE = 0.3
"""How much of the bar moves."""
THIN = 3
"""Pixels of a bar at an edge, or below a title."""
GLINT = 0.45
"""How strong that is where it is known how far the work is."""


class BusyBar(QProgressBar):
    """A progress bar in which something always moves, as far as it is known to be and without.

    A style sheet would fill one of unknown length, with a range of 0 to 0, as a whole: it looks
    stuck, and so does one that waits for a library.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setTextVisible(False)
        self.setRange(0, 0)
        self._passed = 0
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._move)

    def event(self, event: QEvent) -> bool:
        """Move while it is in sight, and never else; Qt calls it."""
        if event.type() == QEvent.Type.Show:
            self._passed = 0
            self._timer.start(INTERVAL if has_motion() else SELDOM)
        elif event.type() == QEvent.Type.Hide:
            self._timer.stop()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw track and part; Qt calls it."""
        room = QRectF(self.rect())
        whole = self.maximum() - self.minimum()
        done = max(0, self.value() - self.minimum()) / whole if whole > 0 else 0.0
        way = room.width() * (1 + SHARE)
        left = way * (self._passed % ROUND_TRIP) / ROUND_TRIP - room.width() * SHARE
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = room.height() / 2
        accent = self.palette().color(QPalette.ColorRole.Accent)
        glint = QColor(accent)
        glint.setAlphaF(1.0 if whole <= 0 else GLINT)
        for start, width, color in (
            (0.0, room.width(), self.palette().color(QPalette.ColorRole.Mid)),
            (0.0, room.width() * done, accent),
            (left, room.width() * SHARE, glint),
        ):
            painter.setBrush(color)
            box = QRectF(start, 0, width, room.height()) & room
            painter.drawRoundedRect(box, radius, radius)
        painter.end()

    def _move(self) -> None:
        self._passed += self._timer.interval()
        self.update()


def thin_bar(name: str, purpose: str) -> BusyBar:
    """Return a thin bar, out of sight until something is to be waited for."""
    bar = named(BusyBar(), name, says=purpose)
    bar.setFixedHeight(THIN)
    bar.hide()
    return bar
