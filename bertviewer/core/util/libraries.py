"""Imports torch and transformers, which takes seconds, while everything else goes on."""

import threading
from collections.abc import Callable
from importlib import import_module

from bertviewer.core.util.background_import import quiet_imports
from bertviewer.core.util.progress import Progress, no_progress

LABEL = "Loading torch and transformers"
PARTS = ("bertviewer.core.building.backend", "bertviewer.core.loading.meta_model")
"""What of this program imports them, and what of them it takes to build a model."""

_POLL = 0.05  # seconds from a wish to stop until it is noticed


class Import:
    """One import, done by whoever needs it first; ``done`` and ``failed`` are set at its end."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.done = threading.Event()
        self.failed = threading.Event()
        self._work = work
        self._beginning = threading.Lock()
        self._thread: _Thread | None = None

    @property
    def is_going_on(self) -> bool:
        """Whether a thread is inside of it now."""
        return self._thread is not None and self._thread.is_alive()

    def run(self) -> None:
        """Do it in the thread that calls this."""
        self._work()
        self.done.set()

    def wait(self, progress: Progress) -> None:
        """Wait for a thread that does it, which goes on if ``progress`` stops the waiting."""
        with self._beginning:  # two lanes may ask at once
            self._thread = thread = self._thread or _Thread(self.run)
        while thread.is_alive():
            progress(0, 0, LABEL)
            thread.join(_POLL)
        if thread.error is not None:
            self.failed.set()
            self._thread = None  # who asks again has it tried again
            raise thread.error


class _Thread(threading.Thread):
    """Runs at once, and keeps why it could not."""

    def __init__(self, work: Callable[[], None]) -> None:
        # A daemon: an import must not keep a closed program alive.
        super().__init__(name="bertviewer-import", daemon=True)
        self.error: BaseException | None = None
        self._work = work
        self.start()

    def run(self) -> None:
        """Do the work; the thread's own beginning calls it."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 - told by whoever waits for them
            self.error = error


def import_parts() -> None:
    """Import what imports the libraries."""
    with quiet_imports():
        for part in PARTS:
            import_module(part)


program = Import(import_parts)
"""The import of this program."""


def are_loaded() -> bool:
    """Tell whether the libraries are there, so that nothing has to wait for them."""
    return program.done.is_set()


def are_settled() -> bool:
    """Tell whether there is nothing to wait for: they are there, or could not be imported."""
    return program.done.is_set() or program.failed.is_set()


def are_loading() -> bool:
    """Tell whether a thread is inside of their import now."""
    return program.is_going_on


def load(progress: Progress = no_progress) -> None:
    """Return once the libraries are imported.

    The main thread, as of a command, imports them itself. Any other one waits for a thread that
    does: an import cannot be stopped, but waiting for one can.

    Raises:
        Cancelled: by ``progress``; the import goes on for whoever needs it next.
        ImportError: one of them is not installed as it should be.
    """
    if program.done.is_set():
        return
    progress(0, 0, LABEL)
    if threading.current_thread() is threading.main_thread():
        program.run()
    else:
        program.wait(progress)
