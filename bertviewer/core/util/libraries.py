"""torch and transformers: importing them takes seconds and must not block other threads."""

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from bertviewer.core.util.memory import gc_paused
from bertviewer.core.util.progress import Progress, no_progress

LABEL = "Loading torch and transformers"
MODULES = ("bertviewer.core.building.backend", "bertviewer.core.loading.meta_model")
"""The modules of this program that import the libraries and what builds a model."""
SWITCH_INTERVAL = 0.001
"""Seconds that a thread keeps the GIL when another one waits for it; Python's default is 5 ms."""

_POLL = 0.05  # seconds until a cancellation is noticed


class Import:
    """One import, which the first thread that needs it does.

    Attributes:
        done: set once it has succeeded.
        failed: set once it has failed.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self.done = threading.Event()
        self.failed = threading.Event()
        self._work = work
        self._starting = threading.Lock()
        self._thread: _Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether a thread is importing now."""
        return self._thread is not None and self._thread.is_alive()

    def run(self) -> None:
        """Import in the calling thread."""
        self._work()
        self.done.set()

    def wait(self, progress: Progress) -> None:
        """Wait for a thread that imports; it continues if ``progress`` cancels the waiting."""
        with self._starting:
            self._thread = thread = self._thread or _Thread(self.run)
        while thread.is_alive():
            progress(0, 0, LABEL)
            thread.join(_POLL)
        if thread.error is not None:
            self.failed.set()
            self._thread = None  # the next call tries again
            raise thread.error


class _Thread(threading.Thread):
    """Starts at once, and keeps the exception that it ends with."""

    def __init__(self, work: Callable[[], None]) -> None:
        # A daemon: an import must not keep a closed program alive.
        super().__init__(name="bertviewer-import", daemon=True)
        self.error: BaseException | None = None
        self._work = work
        self.start()

    def run(self) -> None:
        """Do the work."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting threads
            self.error = error


def import_modules() -> None:
    """Import ``MODULES`` and with them the libraries."""
    with background_import():
        for part in MODULES:
            import_module(part)


shared_import = Import(import_modules)
"""The program's only import of the libraries."""


def are_loaded() -> bool:
    """Return whether the libraries are imported."""
    return shared_import.done.is_set()


def are_settled() -> bool:
    """Return whether the libraries are imported or could not be."""
    return shared_import.done.is_set() or shared_import.failed.is_set()


def are_loading() -> bool:
    """Return whether a thread is importing them now."""
    return shared_import.is_running


def load(progress: Progress = no_progress) -> None:
    """Return once the libraries are imported.

    The main thread, in commands, imports them itself. Other threads wait for a thread that does,
    because waiting can be cancelled and an import can't.

    Raises:
        Cancelled: by ``progress``; the import continues.
        ImportError: a library is not installed correctly.
    """
    if shared_import.done.is_set():
        return
    progress(0, 0, LABEL)
    if threading.current_thread() is threading.main_thread():
        shared_import.run()
    else:
        shared_import.wait(progress)


@contextmanager
def background_import() -> Iterator[None]:
    """Import large libraries inside the ``with`` without blocking other threads.

    Three things would block them: cyclic garbage collections of 0.1 to 0.2 s over hundreds of
    thousands of new objects, loading torch's largest library (0.2 to 0.4 s) with the GIL held, and
    waiting 5 ms for the GIL each time.

    Afterwards all existing objects are frozen: the collector ignores them, and they are still
    freed by reference counting. Most live as long as the program, and a full collection would stop
    the window for a third of a second.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        with gc_paused():
            _load_torch_library()
            yield
            gc.freeze()
    finally:
        sys.setswitchinterval(interval)


def _load_torch_library() -> None:
    """Load libtorch_cpu with ``dlopen``, without the GIL; ``import torch`` then finds it loaded.

    Python holds the GIL in ``ctypes.CDLL`` and in an import, but not in a foreign function call.
    The library does not use Python. If loading fails, the import loads it or raises the error.
    """
    if sys.platform != "linux" or "torch" in sys.modules:
        return
    spec = find_spec("torch")  # does not import it
    if spec is None or spec.origin is None:
        return
    try:
        dlopen = ctypes.CDLL(None).dlopen
    except (OSError, AttributeError):  # in another library of the system
        return
    dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    library = Path(spec.origin).parent / "lib" / "libtorch_cpu.so"
    dlopen(os.fsencode(library), os.RTLD_NOW)  # as the import does; it is never closed
