"""Ctrl+C cancels a command through its progress callback.

Python would raise ``KeyboardInterrupt`` wherever the main thread is: in a function that Qt calls,
where it is lost or causes a segmentation fault, in an import of torch's libraries, or in a callback
of the garbage collector. Instead, the signal sets a flag, and the next progress callback raises
``Cancelled``. If there is none within ``GRACE_SECONDS``, or the signal comes twice, another thread
ends the process.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bertviewer.core.util.errors import Cancelled

GRACE_SECONDS = 1.0
"""Time for a command to stop by itself."""

_interrupted = threading.Event()


def interruptible(command: Callable[[], None], give_up: Callable[[], None]) -> None:
    """Run a command that Ctrl+C cancels.

    Args:
        command: called in this thread, which must be the main one.
        give_up: ends the process; called in another thread if the command does not stop.

    Raises:
        KeyboardInterrupt: the command was interrupted and raised any exception.
        Exception: the command's own exceptions.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        command()  # for example in the background of a shell
        return
    with _signal_handler(give_up):
        try:
            command()
        except Exception as error:
            if _interrupted.is_set():
                raise KeyboardInterrupt from error
            raise


def check_interrupted() -> None:
    """Check that Ctrl+C was not pressed since the command began.

    Raises:
        Cancelled: it was pressed.
    """
    if _interrupted.is_set():
        raise Cancelled


@contextmanager
def _signal_handler(give_up: Callable[[], None]) -> Iterator[None]:
    # Python's C handler writes to the pipe at once, even while native code runs.
    read, write = os.pipe()
    if hasattr(os, "set_blocking"):  # not on Windows, which does not need it
        os.set_blocking(write, False)
    watcher = threading.Thread(target=_watch, args=(read, give_up), daemon=True)
    watcher.start()
    signal.signal(signal.SIGINT, lambda *_: _interrupted.set())
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.close(write)
        watcher.join()
        os.close(read)
        _interrupted.clear()


def _watch(read: int, give_up: Callable[[], None]) -> None:
    """Give up after a second signal, or a while after the first; return if the pipe is closed."""
    timer: threading.Timer | None = None
    while number := os.read(read, 1):
        if number[0] != signal.SIGINT:
            continue
        _interrupted.set()
        if timer is not None:
            give_up()
            return
        timer = threading.Timer(GRACE_SECONDS, give_up)
        timer.daemon = True
        timer.start()
    if timer is not None:
        timer.cancel()
