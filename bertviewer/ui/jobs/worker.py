"""Worker thread with a priority queue of jobs."""

import itertools
import queue
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from enum import IntEnum
from typing import Any, Generic, TypeVar

from msgspec import Struct, field
from PySide6.QtCore import QObject, Qt, Signal

from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.progress import Progress

REPORT_INTERVAL = 0.03  # seconds; a forward pass would report hundreds of times

Item = TypeVar("Item", bound=Hashable)


class Priority(IntEnum):
    """Which waiting job runs first; it interrupts a running one of a lower priority."""

    USER = 0
    """Started by the user: the newest one cancels the others of this priority."""
    VIEW = 1
    """Requested by a view."""
    IDLE = 2
    """Imports and formulas that nobody waits for."""


class PriorityQueue(Generic[Item]):
    """Items by priority, the lowest number first, then in the order in which they were added."""

    def __init__(self) -> None:
        self._ranks: dict[Item, tuple[int, int]] = {}
        self._count = itertools.count()

    def __bool__(self) -> bool:
        return bool(self._ranks)

    def __iter__(self) -> Iterator[Item]:
        return iter(sorted(self._ranks, key=self._ranks.__getitem__))

    def add(self, item: Item, priority: int) -> None:
        """Add an item; one in the queue keeps its place unless this priority is higher."""
        known = self._ranks.get(item)
        if known is None or priority < known[0]:
            self._ranks[item] = priority, next(self._count)

    def remove(self, item: Item) -> None:
        """Remove an item, if it is in the queue."""
        self._ranks.pop(item, None)

    def pop(self) -> tuple[Item, int]:
        """Remove the first item; return it with its priority."""
        first = next(iter(self))
        return first, self._ranks.pop(first)[0]


def _ignore() -> None:
    """Do nothing when a job is cancelled."""


def _always() -> bool:
    return True


class Job(Struct, eq=False):
    """A function for the worker thread, and the callbacks for its end.

    Attributes:
        work: the function.
        returned: called with its result.
        errored: called with the exception it raised.
        cancelled: called if it was cancelled before it ended.
        priority: a job of a higher priority interrupts this one.
        is_ready: whether it may start now; asked each time that the worker is free.
        is_interrupted: whether it is stopped for a more important job, to run again after it.
        is_discarded: whether none of its callbacks may be called any more.
    """

    work: Callable[[Progress], Any]
    returned: Callable[[Any], None]
    errored: Callable[[BaseException], None]
    cancelled: Callable[[], None]
    priority: Priority = Priority.USER
    is_ready: Callable[[], bool] = _always
    is_interrupted: bool = False
    is_discarded: bool = False
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def is_stopping(self) -> bool:
        """Whether its next report of progress raises ``Cancelled``."""
        return self._stop.is_set()

    def cancel(self) -> None:
        """Raise ``Cancelled`` at its next report of progress, and don't run it again."""
        self.is_interrupted = False
        self._stop.set()

    def interrupt(self) -> None:
        """Raise ``Cancelled`` at its next report of progress; it runs again later."""
        self.is_interrupted = not self._stop.is_set() or self.is_interrupted
        self._stop.set()

    def reset(self) -> None:
        """Make a job that was interrupted ready to run again."""
        self.is_interrupted = False
        self._stop.clear()

    def check(self) -> None:
        """Raise ``Cancelled`` if the job is to stop."""
        if self._stop.is_set():
            raise Cancelled


class Worker(QObject):
    """Runs jobs one at a time in its thread; their callbacks run in the GUI thread.

    Signals:
        progressed: done, total and label of the running job.
        busy_changed: whether a job is running.
    """

    progressed = Signal(int, int, str)
    busy_changed = Signal(bool)
    _reported = Signal(object, int, int, str)
    _ended = Signal(object, object, object)

    def __init__(self) -> None:
        super().__init__()
        self._inbox: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._current: Job | None = None
        self._waiting = PriorityQueue[Job]()
        self._stopped = False
        self._reported.connect(self._on_reported, Qt.ConnectionType.QueuedConnection)
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)
        # A daemon: work deep inside a library must not keep a closed program alive.
        self._thread = threading.Thread(target=self._work, name="bertviewer-worker", daemon=True)
        self._thread.start()

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._current is not None

    def start(
        self,
        work: Callable[[Progress], Any],
        returned: Callable[[Any], None],
        errored: Callable[[BaseException], None],
        cancelled: Callable[[], None] = _ignore,
        *,
        priority: Priority = Priority.USER,
        is_ready: Callable[[], bool] = _always,
    ) -> Job:
        """Queue a job and return it; the arguments are its attributes."""
        job = Job(work, returned, errored, cancelled, priority, is_ready)
        self._submit(job)
        return job

    def cancel(self) -> None:
        """Cancel the jobs that the user has started, the running and the waiting one."""
        self._cancel_waiting()
        if self._current is not None and self._current.priority == Priority.USER:
            self._current.cancel()

    def discard(self, job: Job) -> None:
        """Cancel one job; none of its callbacks will be called."""
        self._waiting.remove(job)
        job.is_discarded = True
        job.cancel()

    def stop(self, seconds: float) -> bool:
        """End the thread, without callbacks; return whether it ended in time."""
        self._stopped = True
        if self._current is not None:
            self._current.cancel()
        self._inbox.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _submit(self, job: Job) -> None:
        if job.priority == Priority.USER:
            self._cancel_waiting()
        self._waiting.add(job, job.priority)
        running = self._current
        if running is None:
            self._start_next()
        elif running.priority == job.priority == Priority.USER:
            running.cancel()
        elif running.priority > job.priority and job.is_ready():
            running.interrupt()

    def _cancel_waiting(self) -> None:
        for job in self._waiting:
            if job.priority == Priority.USER:
                self._waiting.remove(job)
                if not self._stopped:
                    job.cancelled()

    def _start_next(self) -> None:
        job = next((job for job in self._waiting if job.is_ready()), None)
        if job is not None:
            self._waiting.remove(job)
            self._current = job
            self.busy_changed.emit(True)
            self._dispatch(job)

    def _dispatch(self, job: Job) -> None:
        """Have the thread run a job."""
        self._inbox.put(job)

    def _work(self) -> None:
        while (job := self._inbox.get()) is not None:
            self._run(job)

    def _run(self, job: Job) -> None:
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
            if now - last >= REPORT_INTERVAL and not self._stopped:
                last = now
                self._reported.emit(job, done, total, label)

        return report

    def _on_reported(self, job: Job, done: int, total: int, label: str) -> None:
        # Not a report from before the job was cancelled.
        if job is self._current and not job.is_stopping and not self._stopped:
            self.progressed.emit(done, total, label)

    def _on_ended(self, job: Job, result: Any, error: BaseException | None) -> None:
        if self._stopped:
            return  # it was on its way when the worker was stopped
        self._current = None
        # The user has started this one after the job that ends, whose callbacks may start more.
        following = next((one for one in self._waiting if one.priority == Priority.USER), None)
        if following is not None:
            self._waiting.remove(following)
        try:
            self._call_back(job, result, error)
        finally:
            if following is not None:
                self._submit(following)
            elif self._current is None:
                self._start_next()
            if self._current is None:
                self.busy_changed.emit(False)

    def _call_back(self, job: Job, result: Any, error: BaseException | None) -> None:
        if job.is_discarded:
            return
        if error is None:
            job.returned(result)
        elif not isinstance(error, Cancelled):
            job.errored(error)
        elif job.is_interrupted:
            job.reset()
            self._waiting.add(job, job.priority)
        else:
            job.cancelled()
