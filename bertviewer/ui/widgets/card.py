"""Cards with rounded corners, and popups inside a window."""

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QFrame, QWidget
from typing_extensions import override

from bertviewer.charts.theme import ROUND


def draw_card(painter: QPainter, widget: QWidget, background: QColor, border: QColor) -> None:
    """Draw a card as large as a widget."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(border)
    painter.setBrush(background)
    painter.drawRoundedRect(QRectF(widget.rect()).adjusted(0.5, 0.5, -0.5, -0.5), ROUND, ROUND)


class CardPopup(QFrame):
    """Card over its window that is dismissed by a click outside.

    It is a child widget, not a ``Qt.Popup`` window: it moves and closes with its window, and input
    methods work in it. A subclass sets its geometry in ``fit()`` and hides it in ``dismiss()``.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._watched: list[QObject] = []
        self.hide()

    def fit(self) -> None:
        """Set the geometry, for the present size of the window."""
        raise NotImplementedError

    def dismiss(self, *, restores_focus: bool) -> None:
        """Hide, and possibly give the focus back to where it was."""
        raise NotImplementedError

    def contains_click(self, position: QPoint) -> bool:
        """Return whether a click at a global position belongs to the popup."""
        return contains(self, position)

    def show_popup(self) -> None:
        """Show it over the window."""
        window = self.window()
        self.show()
        self.raise_()
        self._watched = [it for it in (window, window.windowHandle()) if it is not None]
        for watched in self._watched:
            watched.installEventFilter(self)

    def hide_popup(self) -> None:
        """Hide it."""
        for watched in self._watched:
            watched.removeEventFilter(self)
        self._watched = []
        self.hide()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and watched is self.window():
            self.fit()
        elif (
            isinstance(event, QMouseEvent)
            and event.type() == QEvent.Type.MouseButtonPress
            and not self.contains_click(event.globalPosition().toPoint())
        ):
            self.dismiss(restores_focus=False)
        return False

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter, role = QPainter(self), QPalette.ColorRole
        draw_card(painter, self, self.palette().color(role.Base), self.palette().color(role.Mid))
        painter.end()


def contains(widget: QWidget, position: QPoint) -> bool:
    """Return whether a global position is inside a widget."""
    return widget.rect().contains(widget.mapFromGlobal(position))
