"""Work of the window's thread in pieces, so that no piece of it holds up the mouse."""

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class DrawQueue(QObject):
    """Does one piece in each turn of the event loop, in the order in which they were asked for.

    What a piece asks for comes right after it.
    A run changes half of the window: drawn at once, that would be felt.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], None]] = deque()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._take)

    @property
    def pending(self) -> bool:
        """Whether something is still to be done."""
        return bool(self._waiting)

    def later(self, work: Callable[[], None]) -> None:
        """Do this in a turn of its own; once, however often it is asked for before."""
        if work not in self._waiting:
            self._waiting.append(work)
            self._timer.start(0)

    def _take(self) -> None:
        work = self._waiting.popleft()
        behind, self._waiting = self._waiting, deque()
        try:
            work()
        finally:
            # What a piece asks for is a part of it, and comes before what was asked for later.
            self._waiting.extend(other for other in behind if other not in self._waiting)
            if self._waiting:
                self._timer.start(0)
