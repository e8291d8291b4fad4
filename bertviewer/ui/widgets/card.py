"""Cards: rounded fields with a line around them, some of which come up over their window."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame, QWidget

from bertviewer.charts.theme import ROUND


def draw_card(painter: QPainter, widget: QWidget, ground: QColor, line: QColor) -> None:
    """Draw a card as large as a widget."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(line)
    painter.setBrush(ground)
    painter.drawRoundedRect(QRectF(widget.rect()).adjusted(0.5, 0.5, -0.5, -0.5), ROUND, ROUND)


class CardPopup(QFrame):
    """A card that goes by a click elsewhere.

    It is a part of its window and no window of its own: it moves and closes with it, and all ways
    to type work in it. A subclass finds its place in ``fit()``, also when the window's size is
    another one, and goes out of sight in ``leave()``.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._watched: list[QObject] = []
        self.hide()

    def fit(self) -> None:
        """Find size and place."""
        raise NotImplementedError

    def leave(self, *, gives_back: bool) -> None:
        """Go out of sight; the keys may go back to where they were."""
        raise NotImplementedError

    def is_own(self, place: QPoint) -> bool:
        """Tell whether a press at a place of the screen is no turn to something else."""
        return holds(self, place)

    def come(self) -> None:
        """Come into sight."""
        window = self.window()
        self.show()
        self.raise_()
        self._watched = [it for it in (window, window.windowHandle()) if it is not None]
        for watched in self._watched:
            watched.installEventFilter(self)

    def go(self) -> None:
        """Go out of sight."""
        for watched in self._watched:
            watched.removeEventFilter(self)
        self._watched = []
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Leave when a person turns to something else; Qt calls it."""
        if event.type() == QEvent.Type.Resize and watched is self.window():
            self.fit()
        elif (
            isinstance(event, QMouseEvent)
            and event.type() == QEvent.Type.MouseButtonPress
            and not self.is_own(event.globalPosition().toPoint())
        ):
            self.leave(gives_back=False)
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the card; Qt calls it."""
        painter, role = QPainter(self), QPalette.ColorRole
        draw_card(painter, self, self.palette().color(role.Base), self.palette().color(role.Mid))
        painter.end()


def holds(widget: QWidget, place: QPoint) -> bool:
    """Tell whether a place of the screen is on a widget."""
    return widget.rect().contains(widget.mapFromGlobal(place))
