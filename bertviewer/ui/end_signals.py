"""Ends the window in order when the system asks for it: Ctrl+C in its terminal, or SIGTERM."""

import signal
import socket
from collections.abc import Callable
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class EndSignals(QObject):
    """Calls ``end`` once in the window's thread, when the first of the signals has come.

    While Qt waits for events no Python runs that could handle a signal. Python writes each one's
    number into a socket, and that is an event. A second signal ends the process, whatever the
    window is waiting for.
    """

    def __init__(self, end: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._end = end
        self._read, self._written = socket.socketpair()
        for one in (self._read, self._written):
            one.setblocking(False)
        self._before_fd = signal.set_wakeup_fd(self._written.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _leave_to_the_socket) for number in SIGNALS}
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_activated)

    def close(self) -> None:
        """Handle signals as before."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._before_fd)
        for number, before in self._before.items():
            signal.signal(number, before)
        self._read.close()
        self._written.close()

    def _on_activated(self) -> None:
        if not set(self._read.recv(4096)) & set(SIGNALS):
            return
        self._notifier.setEnabled(False)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        self._end()


def _leave_to_the_socket(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: Python only writes into the socket what has a handler of its own."""
