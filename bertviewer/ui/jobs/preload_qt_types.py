"""Has PySide6 make all of its classes, a few in each turn of the event loop.

PySide6 makes a class when it is first named, and nothing says that two threads may do so at once.
pyqtgraph names them all when it is imported, which the worker does: so they are made before, here.
"""

import time
from collections.abc import Callable, Iterator

from PySide6 import QtCore, QtGui, QtSvg, QtWidgets
from PySide6.QtCore import QObject, QTimer

SLICE = 0.006  # seconds of the window's thread at a time; all of it takes 0.15
PAUSE = 30  # milliseconds before the first of them


class QtClasses(QObject):
    """Makes them, and then does what waits for them."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._left = _made_one_by_one()
        self._is_done = False
        self._then: Callable[[], None] | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._make_some)

    def when_made(self, then: Callable[[], None]) -> None:
        """Call this when they are there; now if they are, and in place of what was to be called."""
        self._then = then
        if self._is_done:
            self._finish()
        else:
            # The tree, which has come in this turn, is painted first.
            QTimer.singleShot(PAUSE, self, self._timer.start)

    def make_all(self) -> None:
        """Make what is left at once: a worker is about to need them."""
        for _ in self._left:
            pass
        self._finish()

    def _make_some(self) -> None:
        until = time.monotonic() + SLICE
        for _ in self._left:
            if time.monotonic() > until:
                return
        self._finish()

    def _finish(self) -> None:
        self._is_done = True
        self._timer.stop()
        then, self._then = self._then, None
        if then is not None:
            then()


def _made_one_by_one() -> Iterator[object]:
    for module in (QtCore, QtGui, QtWidgets, QtSvg):
        for name in dir(module):
            yield getattr(module, name)
