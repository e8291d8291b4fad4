"""One line on a terminal that says how far a command is, rewritten in place."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from bertviewer.cli.interrupts import check_interrupted
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.text import printable

INTERVAL = 0.05
"""Seconds; a step of the same name is not told of more often."""
_ECHO = len("^C")


@contextmanager
def progress_line(stream: TextIO | None) -> Iterator[Progress]:
    """Give what tells of progress on a terminal, and nowhere else; clear the line at the end.

    Wherever it goes, it raises ``Cancelled`` after Ctrl+C. Results are for afterwards: inside of
    the ``with`` the line may stand where they would.
    """
    line = None if stream is None or not stream.isatty() else _Line(stream)
    tell = no_progress if line is None else line.tell

    def progress(done: int, total: int, label: str) -> None:
        check_interrupted()
        tell(done, total, label)

    try:
        yield progress
    finally:
        if line is not None:
            line.clear()


class _Line:
    """The line, and what stands on it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._label = ""
        self._shown = 0
        self._last = 0.0

    def tell(self, done: int, total: int, label: str) -> None:
        """Rewrite the line, unless the same step was told of just now."""
        now = time.monotonic()
        if label == self._label and now - self._last < INTERVAL:
            return
        self._label, self._last = label, now
        text = f"{100 * done // total:3d}%  {label}" if total else label
        # One column a letter, in every encoding; names come from strangers' files.
        text = printable(text).encode("ascii", "backslashreplace").decode()[: self._columns()]
        self._write(text.ljust(self._shown))
        self._shown = len(text)

    def clear(self) -> None:
        """Leave an empty line with the cursor at its start."""
        if self._label:
            # Ctrl+C may stand behind the text.
            self._write(" " * (self._shown + _ECHO))
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()

    def _columns(self) -> int:
        """Return how long a text may be so that neither it nor a ^C behind it begins a new line."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except OSError:
            columns = 0
        # Some terminals say 0.
        return max(1, (columns or 80) - 1 - _ECHO)
