"""The least size of a window: what its content needs, and never more than its screen has."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QLayout, QMainWindow

from bertviewer.ui.frame.place import room_on


class LeastSize(QObject):
    """Keeps a window's least size within its screen: what does not fit is made narrower or lower.

    Qt itself would let the window grow beyond the screen with what its content needs.
    """

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._layout.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        window.installEventFilter(self)

    @property
    def _layout(self) -> QLayout:
        layout = self._window.layout()
        assert layout is not None  # a main window has its own
        return layout

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow what the content needs; Qt calls it."""
        if event.type() == QEvent.Type.LayoutRequest and watched is self._window:
            room = room_on(self._window.screen().availableGeometry())
            self._window.setMinimumSize(self._layout.totalMinimumSize().boundedTo(room.size()))
        return super().eventFilter(watched, event)
