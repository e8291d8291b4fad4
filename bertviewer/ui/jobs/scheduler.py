"""What the worker does next: what a person asked for first, then what views request."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from PySide6.QtCore import QObject, Signal

from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.draw_queue import DrawQueue
from bertviewer.ui.jobs.requests import RequestQueue
from bertviewer.ui.jobs.worker import Worker

Activity = Literal[
    "", "open", "run", "corpus", "check", "export", "save", "examine", "compare", "download"
]
"""What a person waits for; empty where nobody does."""


class Scheduler(QObject):
    """One activity of a person at a time, and requests when there is none.

    The signals: ``activity_changed``; ``cancelled`` with the activity that was stopped; ``errored``
    with the exception that ended one; ``idle`` when the worker has nothing to do and nothing is
    requested; ``progressed`` with done, total and label of what is going on.
    """

    activity_changed = Signal()
    progressed = Signal(int, int, str)
    cancelled = Signal(str)
    errored = Signal(object)
    idle = Signal()

    def __init__(self, worker: Worker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.activity: Activity = ""
        self.retry: Callable[[], None] | None = None
        """Starts the activity that failed once more, while ``errored`` is emitted for one."""
        self.draw_queue = DrawQueue(self)
        self.requests = RequestQueue(worker, self)
        self._worker = worker
        self._started = 0
        self.requests.added.connect(self._start_request)
        self.requests.errored.connect(self.errored)
        worker.progressed.connect(self.progressed)
        worker.busy_changed.connect(self._on_busy)

    def start(
        self,
        activity: Activity,
        work: Callable[[Progress], Any],
        returned: Callable[[Any], None],
        *,
        until_drawn: bool = False,
    ) -> None:
        """Do what a person waits for; a newer one takes its place.

        ``until_drawn``: the activity lasts until all that ``returned`` asked to be drawn has been.
        """
        self._started += 1
        number = self._started
        self._set_activity(activity)

        def rest() -> None:
            # A job that was cancelled by a newer one must not end that one's activity.
            if number == self._started:
                self._set_activity("")

        def take(result: Any) -> None:
            if activity == "open" and number != self._started:
                # What was asked for since then is about the model that is still open.
                stop()
                return
            if not until_drawn:
                rest()
                returned(result)
                return
            returned(result)
            self.draw_queue.later(rest)
            self.draw_queue.later(self._start_request)

        def fail(error: BaseException) -> None:
            rest()
            self.retry = partial(self.start, activity, work, returned, until_drawn=until_drawn)
            self.errored.emit(error)
            self.retry = None

        def stop() -> None:
            rest()
            self.cancelled.emit(activity)

        self._worker.start(work, take, fail, stop)

    def start_idle(
        self,
        work: Callable[[Progress], Any],
        returned: Callable[[Any], None],
        errored: Callable[[BaseException], None],
    ) -> None:
        """Do something that nobody waits for, when the worker is idle; anything interrupts it."""
        self._worker.start(work, returned, errored)

    def go_on(self) -> None:
        """Say that the worker is idle once more: there is something new for it."""
        if not self._worker.busy and not self.activity:
            self._on_busy(False)

    def cancel(self) -> None:
        """Stop what is going on."""
        self._worker.cancel()

    def _start_request(self) -> None:
        if not self.activity and not self.requests.is_running:
            self.requests.start()

    def _set_activity(self, activity: Activity) -> None:
        self.activity = activity
        self.activity_changed.emit()

    def _on_busy(self, busy: bool) -> None:
        # Requests come before anything that nobody waits for. The worker is free: what is still
        # drawn in turns of the window's thread, as after a run, does not hold them up.
        if not busy and not self.requests.start():
            self.idle.emit()
