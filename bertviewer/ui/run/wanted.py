"""What a view wants to have computed in the background: one thing at a time, the latest."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from PySide6.QtCore import QObject, QTimer, Signal

from bertviewer.ui.run.view import View
from bertviewer.ui.watched_run import Task

Found = TypeVar("Found")

PATIENCE = 300
"""Milliseconds until a person is told that something is being computed."""


class _Signals(QObject):
    came = Signal()
    late = Signal()


class Wanted(Generic[Found]):
    """Results of the last run and of run A, by a key that says what they are of.

    ``came`` tells that they are there, or why not, in ``error``; ``late`` that it takes a while.
    What was there before stays until then.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._signals = _Signals(view)
        self.came, self.late = self._signals.came, self._signals.late
        self.b: Found | None = None
        self.a: Found | None = None
        self.error = ""
        self._key: Hashable = None
        self._asked: Hashable = None
        self._patience = QTimer(view)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self.late)

    def want(self, key: Hashable, task: Task) -> bool:
        """Return whether this is there; if not, it is on its way."""
        if key == self._key:
            self.give_up()
            return True
        if key != self._asked:
            self.give_up()
            self._asked = key
            self._patience.start()
            self._view.look_at_both(
                task,
                lambda b, a: self._take(key, b, a),
                lambda error: self._take(key, None, None, str(error)),
            )
        return False

    def give_up(self) -> None:
        """Want nothing more."""
        self._patience.stop()
        if self._asked is not None:
            self._asked = None
            for name in self._view.looks:
                self._view.workspace.forget_look(name)

    def forget(self) -> None:
        """Want nothing more, and keep nothing."""
        self.give_up()
        self._key, self.b, self.a, self.error = None, None, None, ""

    def _take(self, key: Hashable, b: Found | None, a: Found | None, error: str = "") -> None:
        self._patience.stop()
        self._asked = None
        self._key, self.b, self.a, self.error = key, b, a, error
        self.came.emit()
