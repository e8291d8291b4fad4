"""Ctrl+C ends a command, wherever it meets it.

Python would raise ``KeyboardInterrupt`` wherever the main thread happens to be: in a function that
Qt calls, where it is lost or ends the process with a segmentation fault, in an import of torch's
libraries, or in a callback of the garbage collector. So nothing is raised there. The signal is
noted, and the next report of progress raises ``Cancelled``. A command that reports none for
``GRACE_SECONDS``, or is interrupted twice, is ended by another thread.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bertviewer.core.util.errors import Cancelled

GRACE_SECONDS = 1.0
"""How long a command may take to stop by itself."""

_noted = threading.Event()


def interruptible(command: Callable[[], None], give_up: Callable[[], None]) -> None:
    """Carry out a command that Ctrl+C ends.

    Args:
        command: called in this thread, the main one.
        give_up: ends the process; called by another thread if the command does not stop.

    Raises:
        KeyboardInterrupt: it was interrupted, whatever it failed of then.
        Exception: whatever the command raises otherwise.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        command()  # as in the background of a shell
        return
    with _noting(give_up):
        try:
            command()
        except Exception as error:
            if _noted.is_set():
                raise KeyboardInterrupt from error
            raise


def check_interrupted() -> None:
    """Return if Ctrl+C was not pressed since the command began.

    Raises:
        Cancelled: it was.
    """
    if _noted.is_set():
        raise Cancelled


@contextmanager
def _noting(give_up: Callable[[], None]) -> Iterator[None]:
    # Python's own handler writes to it at once, even while the main thread is in native code.
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):  # Windows has no such function, and does not ask for it
        os.set_blocking(write, False)
    watcher = threading.Thread(target=_watch, args=(read, give_up), daemon=True)
    watcher.start()
    signal.signal(signal.SIGINT, lambda *_: _noted.set())
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(write)
        watcher.join()
        os.close(read)
        _noted.clear()


def _watch(read: int, give_up: Callable[[], None]) -> None:
    """Give up after the second signal, or some time after the first, unless the pipe is closed."""
    timer: threading.Timer | None = None
    while number := os.read(read, 1):
        if number[0] != signal.SIGINT:
            continue
        _noted.set()
        if timer is not None:
            give_up()
            return
        timer = threading.Timer(GRACE_SECONDS, give_up)
        timer.daemon = True
        timer.start()
    if timer is not None:
        timer.cancel()
