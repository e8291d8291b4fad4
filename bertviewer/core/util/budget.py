"""Time and memory limits for work whose cost depends on a file, such as deriving formulas.

``limited`` starts a thread that watches the clock and the process's memory. The work calls
``check`` often. Code that does not, such as a long loop in a library's constructor, is interrupted
by an asynchronous exception (``PyThreadState_SetAsyncExc``). Python ignores exceptions in
destructors and in callbacks of the garbage collector, so it is raised until the work stops.
"""

import contextlib
import ctypes
import functools
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from bertviewer.core.util.errors import Cancelled, Stopped
from bertviewer.core.util.memory import resident_memory
from bertviewer.core.util.progress import Progress

SECONDS = 60.0
"""The time limit for all formulas of one model."""
MEMORY = 1_500_000_000
"""The limit of additional memory in bytes."""

_INTERVAL = 0.02
"""Seconds between two measurements."""
_SILENCE = 0.1
"""Seconds without a call of ``check`` after which the work is interrupted."""
_SMALL = 2**22
"""Bytes that may be allocated without measuring memory."""


class OverBudget(Stopped):
    """The work reached a limit, which the text names.

    Args:
        reason: the text; by default that of the limits in force.
    """

    def __init__(self, reason: str = "") -> None:
        limits = _active.get()
        super().__init__(reason or (limits and limits.reason) or "a limit was reached")


class Limits:
    """The limits of one thread, and the thread that watches it.

    Attributes:
        reason: the limit that is exceeded now, empty for none.
        was_reached: whether one was ever exceeded.
        cancelled: the exception that ``progress`` raised in the watching thread.
    """

    def __init__(self, progress: Progress, seconds: float, memory: int, base: int | None) -> None:
        self.reason = ""
        self.was_reached = False
        self.cancelled: Exception | None = None
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        self._memory = memory
        self._base = base
        self._progress = progress
        self._last = (0, 0, "")
        self._is_report_due = False
        self._checks = 0
        self._is_interrupted = False
        self._work = threading.get_ident()
        self._lock = threading.Lock()
        self._reporting = threading.Lock()
        self._ended = threading.Event()
        self._caller = _calling_frame()
        self._watcher = threading.Thread(target=self._watch, name="bertviewer-limits", daemon=True)

    def start(self) -> None:
        """Start watching."""
        _hide_ignored_interruptions()
        self.reason = self._exceeded()
        self.was_reached = bool(self.reason)
        self._watcher.start()

    def end(self) -> None:
        """Stop watching."""
        with self._lock:
            self._ended.set()
        if self._is_interrupted:
            self._take_interruption()
        self._watcher.join()

    def _take_interruption(self) -> None:
        """Raise an asynchronous exception here, in place of one that may still be pending.

        Clearing it with a null exception would make CPython 3.11 check for one at every later call,
        which is slow and hangs a profiled thread.
        """
        try:
            _interrupt(self._work, OverBudget)
            while True:
                pass
        except Stopped:
            return

    def report(self, done: int, total: int, label: str) -> None:
        """Report the work's progress."""
        self._last = (done, total, label)
        self._is_report_due = True
        self.check()

    def check(self) -> None:
        """Raise ``OverBudget`` or what ``progress`` raised, if the work should stop."""
        self._checks += 1
        if self._is_report_due:
            self._is_report_due = False
            with self._reporting:
                self._progress(*self._last)
        if self.cancelled is not None:
            raise self.cancelled
        if self.reason:
            raise OverBudget(self.reason)

    def reserve(self, needed: int) -> None:
        """Raise ``OverBudget`` if allocating this many bytes would exceed the memory limit."""
        if needed > _SMALL and self._used() + needed > self._memory:
            self.was_reached = True
            raise OverBudget(
                f"{needed / 1e9:.1f} GB more would exceed the memory limit of "
                f"{self._memory / 1e9:.1f} GB"
            )

    def _used(self) -> int:
        now = resident_memory()
        return 0 if now is None or self._base is None else now - self._base

    def _exceeded(self) -> str:
        if time.monotonic() > self._deadline:
            return f"the time limit of {self._seconds:.3g} s was reached"
        if self._used() > self._memory:
            return f"the memory limit of {self._memory / 1e9:.1f} GB was reached"
        return ""

    def _watch(self) -> None:
        checks, last = self._checks, time.monotonic()
        while not self._ended.wait(_INTERVAL):
            if checks != self._checks:
                checks, last = self._checks, time.monotonic()
            is_silent = time.monotonic() - last > _SILENCE
            if is_silent:
                self._report_silence()
            with self._lock:
                if self._ended.is_set():
                    return
                self.reason = self._exceeded()
                self.was_reached |= bool(self.reason)
                self._is_report_due = True
                error = Cancelled if self.cancelled else OverBudget if self.reason else None
                if is_silent and error is not None and self._is_interruptible():
                    self._is_interrupted = True
                    _interrupt(self._work, error)

    def _report_silence(self) -> None:
        """Report progress for silent work, and keep the exception if it is cancelled."""
        with self._reporting:
            try:
                self._progress(*self._last)
            except Exception as error:  # noqa: BLE001 - raised again by check()
                self.cancelled = error

    def _is_interruptible(self) -> bool:
        """Return whether the work is running, outside imports and context managers' enter and exit.

        An interrupted import can't be repeated; a context manager must restore what it changed.
        """
        frame: FrameType | None = sys._current_frames().get(self._work)
        while frame is not None and id(frame) != self._caller:
            code = frame.f_code
            if code.co_filename.startswith("<frozen importlib") or code.co_name in (
                "__enter__",
                "__exit__",
            ):
                return False
            frame = frame.f_back
        return frame is not None


_active: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextmanager
def limited(
    progress: Progress, seconds: float = SECONDS, memory: int = MEMORY, base: int | None = None
) -> Iterator["Limits"]:
    """Limit the work inside the ``with``, in this thread.

    Args:
        progress: is called at least every 0.1 s, by another thread if the work is silent.
        seconds: the time limit.
        memory: the limit of bytes in addition to ``base``.
        base: the process's memory without the work; by default its memory now.

    Yields:
        The limits; the work calls their ``report`` instead of ``progress``.

    Raises:
        OverBudget: inside the ``with``, at a limit.
        Cancelled: by ``progress``.
    """
    limits = Limits(progress, seconds, memory, resident_memory() if base is None else base)
    token = _active.set(limits)
    limits.start()
    try:
        yield limits
    except Cancelled as error:
        if limits.cancelled is None or error is limits.cancelled:
            raise
        raise limits.cancelled  # noqa: B904 - an asynchronous one has no cause
    finally:
        limits.end()
        _active.reset(token)


class Budget:
    """The time and memory for deriving all formulas of one model.

    Attributes:
        was_exceeded: whether a limit was ever reached.
    """

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self.was_exceeded = False
        self._left = seconds
        self._memory = memory
        self._base: int | None = None

    def measure_memory(self) -> None:
        """Count memory from now on."""
        self._base = resident_memory()

    @contextmanager
    def spend(self, progress: Progress, part: float) -> Iterator[Progress]:
        """Limit the work inside the ``with`` to a fraction of the remaining time.

        Yields:
            What the work calls instead of ``progress``.

        Raises:
            OverBudget: inside the ``with``, at a limit.
        """
        start, seconds = time.monotonic(), part * self._left
        with limited(progress, seconds, self._memory, self._base) as limits:
            try:
                yield limits.report
            except Cancelled:
                start = time.monotonic()  # the work will be repeated
                raise
            finally:
                self.was_exceeded |= limits.was_reached
                self._left = max(0.0, self._left - (time.monotonic() - start))


def is_limited() -> bool:
    """Return whether limits are in force in this thread."""
    return _active.get() is not None


def check() -> None:
    """Stop the work here if a limit in force was reached.

    Raises:
        OverBudget: one was reached.
        Cancelled: the work was cancelled.
    """
    limits = _active.get()
    if limits is not None:
        limits.check()


def reserve(needed: int) -> None:
    """Stop before allocating this many bytes if that would exceed the memory limit in force.

    Raises:
        OverBudget: it would be exceeded.
    """
    limits = _active.get()
    if limits is not None:
        limits.reserve(needed)


def _calling_frame() -> int:
    """Return the id of the frame that enters the ``with``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in (__file__, contextlib.__file__):
        frame = frame.f_back
    return id(frame)


@functools.cache
def _hide_ignored_interruptions() -> None:
    """Keep ``sys.unraisablehook`` from reporting interruptions, which are repeated."""
    report = sys.unraisablehook

    def hook(ignored: "sys.UnraisableHookArgs") -> None:
        if not issubclass(ignored.exc_type, Stopped):
            report(ignored)

    sys.unraisablehook = hook


def _interrupt(thread: int, error: type[Stopped]) -> None:
    """Raise an asynchronous exception in a thread, in place of a pending one."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
