"""Imports torch and transformers, which takes seconds, while everything else goes on."""

import threading
from functools import cache
from importlib import import_module

from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.system.quiet_imports import quiet_imports

LABEL = "Loading torch and transformers"
PARTS = ("bertviewer.core.backend", "bertviewer.core.loading.meta_model")
"""What of this program imports them, and what of them it takes to build a model."""

_POLL = 0.05  # seconds from a wish to stop until it is noticed
_loaded = threading.Event()
_failed = threading.Event()
_beginning = threading.Lock()


def are_loaded() -> bool:
    """Tell whether the libraries are there, so that nothing has to wait for them."""
    return _loaded.is_set()


def are_settled() -> bool:
    """Tell whether there is nothing to wait for: they are there, or could not be imported."""
    return _loaded.is_set() or _failed.is_set()


def are_loading() -> bool:
    """Tell whether a thread is inside of their import now."""
    return any(isinstance(thread, _Import) for thread in threading.enumerate())


def load(progress: Progress = no_progress) -> None:
    """Return once the libraries are imported.

    The main thread, as of a command, imports them itself. Any other one waits for a thread that
    does: an import cannot be stopped, but waiting for one can.

    Raises:
        Cancelled: by ``progress``; the import goes on for whoever needs it next.
        ImportError: one of them is not installed as it should be.
    """
    if _loaded.is_set():
        return
    progress(0, 0, LABEL)
    if threading.current_thread() is threading.main_thread():
        _import()
        return
    with _beginning:  # two lanes may ask at once
        thread = _thread()
    while thread.is_alive():
        progress(0, 0, LABEL)
        thread.join(_POLL)
    if thread.error is not None:
        _failed.set()
        _thread.cache_clear()  # who asks again has it tried again
        raise thread.error


class _Import(threading.Thread):
    """Imports the libraries, and keeps why they could not be."""

    def __init__(self) -> None:
        # A daemon: an import must not keep a closed program alive.
        super().__init__(name="bertviewer-import", daemon=True)
        self.error: BaseException | None = None

    def run(self) -> None:
        """Import them; the thread's own beginning calls it."""
        try:
            _import()
        except BaseException as error:  # noqa: BLE001 - told by whoever waits for them
            self.error = error


@cache
def _thread() -> _Import:
    thread = _Import()
    thread.start()
    return thread


def _import() -> None:
    with quiet_imports():
        for part in PARTS:
            import_module(part)
    _loaded.set()
