"""Deferred calls in the GUI thread, one per event-loop turn."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from bertviewer.ui.jobs.worker import PriorityQueue


class DeferredCalls(QObject):
    """Calls functions one per event-loop turn, so that mouse and keyboard are served in between.

    A new run changes half of the window: drawn in one turn, it would freeze the window noticeably.
    What a call defers itself comes before what was deferred earlier.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting = PriorityQueue[Callable[[], None]]()
        self._nested = 0  # priority of what is deferred now; lower during a call
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._call_next)

    @property
    def pending(self) -> bool:
        """Whether a call is still to come."""
        return bool(self._waiting)

    def add(self, function: Callable[[], None]) -> None:
        """Call a function in a later turn; once, however often it is added before that."""
        self._waiting.add(function, self._nested)
        self._timer.start(0)

    def _call_next(self) -> None:
        function, priority = self._waiting.pop()
        self._nested = priority - 1
        try:
            function()
        finally:
            self._nested = 0
            if self._waiting:
                self._timer.start(0)
