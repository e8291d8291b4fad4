"""What the worker does for the window: what a person asked for first, then what views look for."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from bertviewer.core.errors import Cancelled
from bertviewer.core.progress import Progress
from bertviewer.ui.background.draw_queue import DrawQueue
from bertviewer.ui.background.looks import Look, Looks
from bertviewer.ui.background.worker import Worker


class Scheduler(QObject):
    """One activity of a person at a time, and the looks of the views when there is none.

    The signals: ``activity_changed``; ``cancelled`` with the activity that was stopped; ``failed``
    with the exception that ended one; ``idle`` when the worker has nothing to do and no view
    looks for anything; ``progressed`` with done, total and label of what is going on.
    """

    activity_changed = Signal()
    progressed = Signal(int, int, str)
    cancelled = Signal(str)
    failed = Signal(object)
    idle = Signal()

    def __init__(self, worker: Worker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.activity: str = ""
        self.draw_queue = DrawQueue(self)
        self._worker = worker
        self._looks = Looks(worker)
        self._wishes = 0
        worker.progressed.connect(self.progressed)
        worker.busy_changed.connect(self._on_worker_busy)

    def start(
        self,
        activity: str,
        task: Callable[[Progress], Any],
        done: Callable[[Any], None],
        *,
        until_drawn: bool = False,
    ) -> None:
        """Do what a person waits for; a newer wish takes its place.

        ``until_drawn``: the activity lasts until all that ``done`` asked to be drawn has been.
        """
        self._wishes += 1
        wish = self._wishes
        self._set_activity(activity)

        def rest() -> None:
            # A job that was cancelled by a newer wish must not end that one's activity.
            if wish == self._wishes:
                self._set_activity("")

        def finish(result: Any) -> None:
            if not until_drawn:
                rest()
                done(result)
                return
            done(result)
            self.draw_queue.later(rest)
            self.draw_queue.later(self._look)

        def fail(error: BaseException) -> None:
            rest()
            if isinstance(error, Cancelled):
                self.cancelled.emit(activity)
            else:
                self.failed.emit(error)

        self._worker.start(task, finish, fail)

    def start_idle(
        self,
        task: Callable[[Progress], Any],
        done: Callable[[Any], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Do something that nobody waits for, when the worker is idle; anything interrupts it."""
        self._worker.start(task, done, failed)

    def go_on(self) -> None:
        """Tell of an idle worker once more: there is something new for it."""
        if not self._worker.busy and not self.activity:
            self._on_worker_busy(False)

    def look(self, view: str, look: Look) -> None:
        """Have something computed for a view, in place of what it wanted before."""
        self._looks.ask(view, look)
        self._look()

    def forget_look(self, view: str | None = None) -> None:
        """Give a view's wish up; without a name, all views' wishes."""
        self._looks.forget(view)

    def cancel(self) -> None:
        """Stop what is going on."""
        self._worker.cancel()

    def _look(self) -> None:
        if not self.activity and not self._looks.is_running:
            self._looks.start()

    def _set_activity(self, activity: str) -> None:
        self.activity = activity
        self.activity_changed.emit()

    def _on_worker_busy(self, busy: bool) -> None:
        # Views get what they look for before anything that nobody waits for.
        if not busy and not self._looks.start():
            self.idle.emit()
