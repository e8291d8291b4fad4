"""What parts of the window want the worker to compute, and the queue in which that waits.

A request waits until no activity of a person is going on (``Scheduler``). What a person starts
then cancels the worker's job: the request is put back, and begins again when the worker is free.
A new run gives up what was wanted of the runs before it (``RunRequest``).
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakSet

from msgspec import Struct
from PySide6.QtCore import QObject, QTimer, Signal
from shiboken6 import isValid

from bertviewer.core.util import libraries
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.jobs.worker import Job, Worker

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Found = TypeVar("Found")
ModelWork = Callable[["LoadedModel", Progress], Found]
"""Computes something of the open model."""

PATIENCE = 300
"""Milliseconds until a person is told that something is being computed."""


class Request(QObject, Generic[Found]):
    """A result, by a key that says what it is of; the latest key that is wanted counts.

    The signals: ``finished`` when it is there, or, in ``error``, why it cannot be had; ``late``
    when it takes a while; ``progressed`` with done and total. What was there before stays until
    then. Without ``needs_torch`` it does not wait until torch is imported.
    """

    finished = Signal()
    late = Signal()
    progressed = Signal(int, int)

    def __init__(self, queue: "RequestQueue", parent: QObject, *, needs_torch: bool = True) -> None:
        super().__init__(parent)
        self.needs_torch = needs_torch
        self.key: Hashable = None
        self.result: Found | None = None
        self.error = ""
        self._queue = queue
        self._wanted: Hashable = None
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self.late)
        queue.progressed.connect(self._on_progress)
        queue.known.add(self)

    @property
    def is_waiting(self) -> bool:
        """Whether something is on its way."""
        return self._wanted is not None

    def want(self, key: Hashable, work: ModelWork[Found]) -> bool:
        """Return whether this is there; if not, it is on its way."""
        if key == self.key:
            self.cancel()
            return True
        if key != self._wanted:
            self._wanted = key
            self._patience.start()
            self._queue.put(self, work)
        return False

    def refuse(self, key: Hashable, why: str) -> bool:
        """Return whether it is known that this cannot be had, and why; if not, it is now."""
        if key == self.key:
            return True
        self.cancel()
        self._wanted = key
        self._finish(None, why)
        return False

    def cancel(self) -> None:
        """Want nothing more; what is there stays."""
        self._patience.stop()
        self._wanted = None
        self._queue.remove(self)

    def forget(self) -> None:
        """Want nothing more, and keep nothing."""
        self.cancel()
        self.key, self.result, self.error = None, None, ""

    def return_result(self, result: Found) -> None:
        """Take what was wanted; the queue calls it."""
        self._finish(result, "")

    def return_error(self, error: BaseException) -> None:
        """Take why it cannot be had; the queue calls it."""
        self._finish(None, as_sentence(str(error)))

    def _finish(self, result: Found | None, error: str) -> None:
        self._patience.stop()
        self.key, self._wanted = self._wanted, None
        self.result, self.error = result, error
        self.finished.emit()

    def _on_progress(self, done: int, total: int, _label: str) -> None:
        # While this is waited for the worker does it, or what has to be done first.
        if self.is_waiting:
            self.progressed.emit(done, total)


class _Entry(Struct, frozen=True, eq=False):
    """A request, and what it wanted when it was put here."""

    request: Request[Any]
    work: ModelWork[Any]


class RequestQueue(QObject):
    """Has requests computed when the worker has nothing to do for a person.

    They share the worker with everything else, because only its thread may touch the model. One
    that is interrupted waits again; one that wants something else by now is given up.

    The signals: ``added`` when one is new; ``progressed`` with done, total and label of what the
    worker does; ``errored`` with an exception that is the program's own fault.
    """

    added = Signal()
    progressed = Signal(int, int, str)
    errored = Signal(object)

    def __init__(self, worker: Worker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.model: LoadedModel | None = None
        """What is open; without a model nothing is computed."""
        self.known: WeakSet[Request[Any]] = WeakSet()
        """All requests of the window: their results are of what is open."""
        self._worker = worker
        self._waiting: dict[Request[Any], _Entry] = {}
        self._running: tuple[_Entry, Job] | None = None
        worker.progressed.connect(self.progressed)

    @property
    def is_running(self) -> bool:
        """Whether the worker is busy with a request."""
        return self._running is not None

    def put(self, request: Request[Any], work: ModelWork[Any]) -> None:
        """Have this computed for a request, in place of what it wanted before."""
        self._waiting[request] = _Entry(request, work)
        self._interrupt(request)
        self.added.emit()

    def remove(self, request: Request[Any]) -> None:
        """Give up what a request wants, if it wants anything."""
        self._waiting.pop(request, None)
        self._interrupt(request)

    def clear(self) -> None:
        """Forget all results, and cancel what is on its way: what they are of is gone.

        Another model has tensors and modules of the same names, and so requests of the same keys.
        """
        for request in tuple(self.known):
            if isValid(request):
                request.forget()

    def start(self) -> bool:
        """Take up the next one; return whether there was one. The worker must have time for it."""
        # Where torch cannot be imported, the request itself tells why.
        may_start = libraries.are_settled()
        entries = self._waiting.values()
        ready = (one for one in entries if may_start or not one.request.needs_torch)
        if self.model is None or (entry := next(ready, None)) is None:
            return False
        del self._waiting[entry.request]
        job = self._worker.start(
            partial(entry.work, self.model),
            partial(self._on_returned, entry),
            partial(self._on_errored, entry),
            partial(self._on_cancelled, entry),
        )
        self._running = entry, job
        return True

    def _interrupt(self, request: Request[Any]) -> None:
        if self._running is not None and self._running[0].request is request:
            # Not the worker's cancel(): a person may wait for what comes after this one.
            self._running[1].cancel()
            self._running = None

    def _ends(self, entry: _Entry) -> bool:
        """Take note of an end; one that was given up at the last moment may come all the same."""
        is_running = self._running is not None and self._running[0] is entry
        if is_running:
            self._running = None
        return is_running

    def _on_returned(self, entry: _Entry, result: Any) -> None:
        if self._ends(entry):
            entry.request.return_result(result)

    def _on_errored(self, entry: _Entry, error: BaseException) -> None:
        if self._ends(entry):
            entry.request.return_error(error)
            if not isinstance(error, UserError):
                self.errored.emit(error)

    def _on_cancelled(self, entry: _Entry) -> None:
        if self._ends(entry):
            self._waiting.setdefault(entry.request, entry)
