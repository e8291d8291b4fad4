"""Job queue of the window: what the user starts, what views request, and deferred calls."""

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from weakref import WeakSet

from PySide6.QtCore import QObject, QTimer, Signal
from shiboken6 import isValid

from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.jobs.deferred_calls import DeferredCalls
from bertviewer.ui.jobs.worker import Job, Priority, Worker

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Activity = Literal[
    "", "open", "run", "corpus", "check", "export", "save", "examine", "compare", "download"
]
"""What the user is waiting for; empty if nothing."""

Found = TypeVar("Found")
ModelWork = Callable[["LoadedModel", Progress], Found]
"""Computes something of the open model."""

LATE = 300
"""Milliseconds until a view says that it is waiting for a result."""


class JobQueue(QObject):
    """The jobs of a window: one activity of the user at a time, and requests when there is none.

    Only the worker's thread may touch the model, so everything shares one worker.

    Signals:
        activity_changed: another activity, or none.
        progressed: done, total and label of the running job.
        cancelled: the activity that was cancelled.
        errored: the exception that ended an activity, or an internal error of a request.
    """

    activity_changed = Signal()
    progressed = Signal(int, int, str)
    cancelled = Signal(str)
    errored = Signal(object)

    def __init__(self, worker: Worker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.worker = worker
        self.deferred = DeferredCalls(self)
        self.activity: Activity = ""
        self.retry: Callable[[], None] | None = None
        """Starts the failed activity again, while ``errored`` is emitted for one."""
        self.model: LoadedModel | None = None
        """The open model; requests wait until there is one."""
        self.requests: WeakSet[Request[Any]] = WeakSet()
        self._started = 0
        worker.progressed.connect(self.progressed)

    @property
    def has_requests(self) -> bool:
        """Whether a view waits for a result."""
        return any(request.is_waiting for request in self.requests)

    def start(
        self,
        activity: Activity,
        work: Callable[[Progress], Any],
        returned: Callable[[Any], None],
        *,
        until_drawn: bool = False,
    ) -> None:
        """Start an activity of the user, which cancels the one before.

        Args:
            activity: its name.
            work: the function for the worker.
            returned: called with the result.
            until_drawn: the activity lasts until all that ``returned`` has deferred is drawn.
        """
        self._started += 1
        number = self._started
        self._set_activity(activity)

        def end() -> None:
            # A job that was cancelled by a newer one must not end that one's activity.
            if number == self._started:
                self._set_activity("")

        def take(result: Any) -> None:
            if activity == "open" and number != self._started:
                # What was started since then is about the model that is still open.
                cancel()
                return
            if not until_drawn:
                end()
            returned(result)
            if until_drawn:
                self.deferred.add(end)

        def fail(error: BaseException) -> None:
            end()
            self.retry = partial(self.start, activity, work, returned, until_drawn=until_drawn)
            self.errored.emit(error)
            self.retry = None

        def cancel() -> None:
            end()
            self.cancelled.emit(activity)

        self.worker.start(work, take, fail, cancel)

    def cancel(self) -> None:
        """Cancel the activity of the user."""
        self.worker.cancel()

    def forget_requests(self) -> None:
        """Cancel all requests and forget their results, which are of a model that is closed.

        Another model has tensors and modules of the same names, and so requests of the same keys.
        """
        for request in tuple(self.requests):
            if isValid(request):
                request.forget()

    def _set_activity(self, activity: Activity) -> None:
        self.activity = activity
        self.activity_changed.emit()


class Request(QObject, Generic[Found]):
    """A result that a view needs, by a key that identifies it; the latest wanted key counts.

    An activity of the user interrupts it; it is computed again afterwards. The result before stays
    until the next one is there.

    Signals:
        finished: ``result`` or ``error`` is there.
        late: it takes a while.
        progressed: done and total.

    Attributes:
        needs_torch: whether it waits until torch is imported.
        key: what ``result`` or ``error`` belongs to.
        result: what was computed.
        error: why it could not be computed; otherwise empty.
    """

    finished = Signal()
    late = Signal()
    progressed = Signal(int, int)

    def __init__(self, jobs: JobQueue, parent: QObject, *, needs_torch: bool = True) -> None:
        super().__init__(parent)
        self.needs_torch = needs_torch
        self.key: Hashable = None
        self.result: Found | None = None
        self.error = ""
        self._jobs = jobs
        self._job: Job | None = None
        self._wanted: Hashable = None
        self._late = QTimer(self, singleShot=True, interval=LATE)
        self._late.timeout.connect(self.late)
        jobs.progressed.connect(self._on_progress)
        jobs.requests.add(self)

    @property
    def is_waiting(self) -> bool:
        """Whether a result is still to come."""
        return self._wanted is not None

    def want(self, key: Hashable, work: ModelWork[Found]) -> bool:
        """Return whether the result of this key is there; otherwise have it computed."""
        if key == self.key:
            self.cancel()
            return True
        if key != self._wanted:
            self.cancel()
            self._wanted = key
            self._late.start()
            self._job = self._jobs.worker.start(
                partial(self._compute, work),
                lambda result: self._finish(result, ""),
                self._on_errored,
                priority=Priority.VIEW,
                is_ready=self._is_ready,
            )
        return False

    def refuse(self, key: Hashable, why: str) -> bool:
        """Have an error for a key without computing anything; return whether it was there."""
        if key == self.key:
            return True
        self.cancel()
        self._wanted = key
        self._finish(None, why)
        return False

    def cancel(self) -> None:
        """Want nothing more; the result stays."""
        self._late.stop()
        self._wanted = None
        if self._job is not None:
            self._jobs.worker.discard(self._job)
            self._job = None

    def forget(self) -> None:
        """Want nothing more, and forget the result."""
        self.cancel()
        self.key, self.result, self.error = None, None, ""

    def _is_ready(self) -> bool:
        # If torch can't be imported, the request itself fails with the reason.
        return self._jobs.model is not None and (not self.needs_torch or libraries.are_settled())

    def _compute(self, work: ModelWork[Found], progress: Progress) -> Found:
        assert self._jobs.model is not None  # is_ready
        return work(self._jobs.model, progress)

    def _on_errored(self, error: BaseException) -> None:
        self._finish(None, as_sentence(str(error)))
        if not isinstance(error, UserError):
            self._jobs.errored.emit(error)

    def _finish(self, result: Found | None, error: str) -> None:
        self._late.stop()
        self._job = None
        self.key, self._wanted = self._wanted, None
        self.result, self.error = result, error
        self.finished.emit()

    def _on_progress(self, done: int, total: int, _label: str) -> None:
        # While this is waited for the worker computes it, or what has to be done before.
        if self.is_waiting:
            self.progressed.emit(done, total)
