"""Progress of a command on one line of the terminal, which is rewritten in place."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from bertviewer.cli.interrupts import check_interrupted
from bertviewer.core.util.progress import Progress, no_progress
from bertviewer.core.util.text import printable

INTERVAL = 0.05
"""Minimum seconds between two updates with the same label."""
_ECHO = len("^C")


@contextmanager
def progress_line(stream: TextIO | None) -> Iterator[Progress]:
    """Yield a callback that shows progress if ``stream`` is a terminal; clear the line at the end.

    The callback raises ``Cancelled`` after Ctrl+C. Print results after the context, so that they
    do not mix with the line.
    """
    line = None if stream is None or not stream.isatty() else _Line(stream)
    show = no_progress if line is None else line.show

    def progress(done: int, total: int, label: str) -> None:
        check_interrupted()
        show(done, total, label)

    try:
        yield progress
    finally:
        if line is not None:
            line.clear()


class _Line:
    """The line and its current text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._label = ""
        self._shown = 0
        self._last = 0.0

    def show(self, done: int, total: int, label: str) -> None:
        """Rewrite the line, unless the same label was shown just before."""
        now = time.monotonic()
        if label == self._label and now - self._last < INTERVAL:
            return
        self._label, self._last = label, now
        text = f"{100 * done // total:3d}%  {label}" if total else label
        # ASCII has one column per letter in every encoding; labels may have names of files.
        text = printable(text).encode("ascii", "backslashreplace").decode()[: self._columns()]
        self._write(text.ljust(self._shown))
        self._shown = len(text)

    def clear(self) -> None:
        """Clear the line and move the cursor to its start."""
        if self._label:
            # The terminal may have written ^C after the text.
            self._write(" " * (self._shown + _ECHO))
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text}")
        self._stream.flush()

    def _columns(self) -> int:
        """Return the maximum length of a text that fits with ^C into the line."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except OSError:
            columns = 0
        # Some terminals report 0.
        return max(1, (columns or 80) - 1 - _ECHO)
