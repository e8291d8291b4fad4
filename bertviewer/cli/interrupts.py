"""Ctrl+C ends a command, wherever it meets it.

Python raises ``KeyboardInterrupt`` wherever the main thread happens to be. Amid an import that may
abort the process, as torch's libraries cannot pass it on, or be lost with what was not imported;
in a callback of the garbage collector it is lost as well, and the command goes on. So it is raised
outside of imports alone, and again where nothing came of it.
"""

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

IMPORT_SECONDS = 0.3
"""How long an import may go on; torch's and transformers' take seconds."""
AGAIN_SECONDS = 2.0
"""How long a command may take to tidy up before it is interrupted again."""
MOST_SECONDS = 15.0
"""After so long nothing helps any more."""

_POLL = 0.05  # seconds between two looks at what the main thread does


def interruptible(command: Callable[[], None], give_up: Callable[[], None]) -> None:
    """Carry out a command that Ctrl+C ends.

    Args:
        command: called in this thread, the main one.
        give_up: ends the process; called by another thread where it cannot be ended otherwise.

    Raises:
        KeyboardInterrupt: it was interrupted, whatever it failed of then.
        Exception: whatever the command raises otherwise.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # as in the background of a shell
        command()
        return
    interrupt = _Interrupt(give_up)
    signal.signal(signal.SIGINT, interrupt.note)
    try:
        command()
    except Exception as error:
        if interrupt.came:
            raise KeyboardInterrupt from error
        raise
    finally:
        interrupt.stop()
        signal.signal(signal.SIGINT, before)


class _Interrupt:
    """What became of Ctrl+C, and a thread that insists on it."""

    def __init__(self, give_up: Callable[[], None]) -> None:
        self._give_up = give_up
        self._over = threading.Event()
        self._raised: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def came(self) -> bool:
        return self._thread is not None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Raise it where that is of use; Python calls this for each signal, in the main thread."""
        if self._over.is_set():
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._insist, daemon=True)
            self._thread.start()
        if not _is_importing(frame):
            self._raised = time.monotonic()
            signal.default_int_handler(number, frame)

    def stop(self) -> None:
        """Leave it at that: the command has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _insist(self) -> None:
        start = time.monotonic()
        main = threading.main_thread().ident or 0
        while not self._over.wait(_POLL):
            now = time.monotonic()
            is_importing = _is_importing(sys._current_frames().get(main))
            most = IMPORT_SECONDS if is_importing and self._raised is None else MOST_SECONDS
            if now > start + most:
                self._give_up()
                return
            if not is_importing and (self._raised is None or now > self._raised + AGAIN_SECONDS):
                _send(main)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _send(thread: int) -> None:
    """Have Python call ``note`` in the main thread, which may be waiting for something."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        _thread.interrupt_main()
