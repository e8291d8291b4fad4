"""A worker with a thread of its own: one job at a time, and the newest takes the others' place."""

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from PySide6.QtCore import QObject, Qt, Signal

from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.progress import Progress

REPORT_EVERY = 0.03  # seconds; a forward pass would report hundreds of times


def _ignore() -> None:
    """Nobody asks whether it was cancelled."""


class Job(Struct, frozen=True, eq=False):
    """A piece of work on its way through the worker, and what to call when it ends."""

    work: Callable[[Progress], Any]
    returned: Callable[[Any], None]
    errored: Callable[[BaseException], None]
    cancelled: Callable[[], None]
    _is_to_end: threading.Event = field(default_factory=threading.Event)

    def cancel(self) -> None:
        """Make the next call of ``progress`` raise ``Cancelled``, or never begin it."""
        self._is_to_end.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether it is to end."""
        return self._is_to_end.is_set()

    def check(self) -> None:
        """Raise ``Cancelled`` if the job was cancelled."""
        if self._is_to_end.is_set():
            raise Cancelled


class Worker(QObject):
    """Runs plain functions in a thread of its own; tells their ends in the window's thread.

    The signals: ``progressed`` with done, total and label of the running job; ``busy_changed``
    when the worker takes up work or has nothing left to do.
    """

    progressed = Signal(int, int, str)
    busy_changed = Signal(bool)
    _reported = Signal(object, int, int, str)
    _ended = Signal(object, object, object)

    def __init__(self) -> None:
        super().__init__()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._current: Job | None = None
        self._waiting: Job | None = None
        self._stopped = False
        self._reported.connect(self._on_reported, Qt.ConnectionType.QueuedConnection)
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        # A daemon: work deep inside a library must not keep a closed program alive.
        self._thread = threading.Thread(target=self._work, name="bertviewer-worker", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a job is running or waiting."""
        return self._current is not None

    def start(
        self,
        work: Callable[[Progress], Any],
        returned: Callable[[Any], None],
        errored: Callable[[BaseException], None],
        cancelled: Callable[[], None] = _ignore,
    ) -> Job:
        """Do ``work`` next; a job that runs is cancelled, one that waits is given up.

        One of the others is called in the window's thread: ``returned`` with its result,
        ``errored`` with its exception, or ``cancelled`` where it was cancelled or given up before
        it ended. The job is returned to be cancelled by itself: ``cancel()`` gives up what waits
        for it as well.
        """
        job = Job(work, returned, errored, cancelled)
        if self._current is None:
            self._take_up(job)
        else:
            self._current.cancel()
            self._give_up_waiting()
            self._waiting = job
        return job

    def cancel(self) -> None:
        """Cancel the running job, and give up the waiting one."""
        self._give_up_waiting()
        if self._current is not None:
            self._current.cancel()

    def stop(self, seconds: float) -> bool:
        """End the thread; return whether it ended in time. No job's end is heard of any more."""
        self._stopped = True
        self.cancel()
        self._jobs.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _give_up_waiting(self) -> None:
        given_up, self._waiting = self._waiting, None
        if given_up is not None and not self._stopped:
            given_up.cancelled()

    def _take_up(self, job: Job) -> None:
        self._current = job
        self.busy_changed.emit(True)
        self._jobs.put(job)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            result: Any = None
            error: BaseException | None = None
            try:
                job.check()
                result = job.work(self._reporter(job))
            except BaseException as raised:  # noqa: BLE001 - Rust libraries panic past Exception
                error = raised
            if not self._stopped:
                self._ended.emit(job, result, error)

    def _reporter(self, job: Job) -> Progress:
        last = 0.0

        def report(done: int, total: int, label: str) -> None:
            nonlocal last
            job.check()
            now = time.monotonic()
            if now - last >= REPORT_EVERY and not self._stopped:
                last = now
                self._reported.emit(job, done, total, label)

        return report

    def _on_reported(self, job: Job, done: int, total: int, label: str) -> None:
        # What a job has told before it was cancelled says nothing of the one that follows.
        if job is self._current and not job.is_cancelled and not self._stopped:
            self.progressed.emit(done, total, label)

    def _on_ended(self, job: Job, result: Any, error: BaseException | None) -> None:
        if self._stopped:
            return  # it was on its way when the worker was stopped
        self._current = None
        following, self._waiting = self._waiting, None
        try:
            if error is None:
                job.returned(result)
            elif isinstance(error, Cancelled):
                job.cancelled()
            else:
                job.errored(error)
        finally:
            if following is not None:
                self._follow(following)
            elif not self.busy:
                self.busy_changed.emit(False)

    def _follow(self, following: Job) -> None:
        """Take up the job that waited, whatever was started when the one before it ended."""
        if self._current is None:
            self._take_up(following)
        else:
            self._current.cancel()
            self._give_up_waiting()
            self._waiting = following
