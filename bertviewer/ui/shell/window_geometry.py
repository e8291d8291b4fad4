"""Where a window can stand: on a screen that there is, and no larger than that."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMargins, QObject, QRect, QSize
from PySide6.QtWidgets import QLayout, QMainWindow

GRIP = QSize(120, 40)
"""As much of a window has to be on a screen for a person to take hold of it."""
FRAME = QMargins(4, 36, 4, 4)
"""What the desktop draws around a window, as far as that can be known before it does."""


def room_on(screen: QRect) -> QRect:
    """Return where in a screen's available area a window can be that has a frame."""
    return screen.marginsRemoved(FRAME)


def mended_place(place: QRect, screens: Sequence[QRect]) -> QRect:
    """Return a place like this one in one of the screens' available areas.

    One that no screen has any more is moved into the first, in the middle.
    """
    if not screens:
        return place
    shared = [place.intersected(screen) for screen in screens]
    best = max(range(len(screens)), key=lambda n: _area(shared[n]))
    screen = screens[best]
    title = QRect(place.x(), place.y(), place.width(), GRIP.height()).intersected(screen)
    is_there = title.width() >= min(GRIP.width(), place.width()) and title.height() > 0
    room = room_on(screen)
    if screen.contains(place) and place.size() == place.size().boundedTo(room.size()):
        return place
    made = QRect(place.topLeft(), place.size().boundedTo(room.size()))
    if not is_there:
        room = room_on(screens[0])
        made.setSize(place.size().boundedTo(room.size()))
        made.moveCenter(room.center())
    made.moveRight(min(made.right(), room.right()))
    made.moveBottom(min(made.bottom(), room.bottom()))
    made.moveLeft(max(made.left(), room.left()))
    made.moveTop(max(made.top(), room.top()))
    return made


def _area(box: QRect) -> int:
    return 0 if box.isEmpty() else box.width() * box.height()


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
