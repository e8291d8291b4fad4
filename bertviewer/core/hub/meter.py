"""Tells how far a download is: bytes, of how many, and how fast."""

import time
from collections import deque

from bertviewer.core.util.progress import Progress

WINDOW = 3.0  # seconds over which the speed is taken
UNIT = 1024  # progress is in KiB: a signal's whole numbers end at 2^31


class Meter:
    """Counts the bytes of one download, which may be of several files."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._label = ""
        self._seen: deque[tuple[float, int]] = deque()

    def begin(self, label: str) -> None:
        """Say what comes now."""
        self._label = label

    def skip(self, nbytes: int) -> None:
        """Count bytes that were here already: they say nothing of the speed."""
        self._done += nbytes
        self._seen.clear()

    def add(self, nbytes: int) -> None:
        """Count bytes that have come; raises ``Cancelled`` where that is wished."""
        self._done += nbytes
        self.tick("")

    def tick(self, remark: str) -> None:
        """Tell how far it is; raises ``Cancelled`` where that is wished."""
        now = time.monotonic()
        self._seen.append((now, self._done))
        while now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        parts = [f"{_megabytes(self._done)} of {_megabytes(self._total)} MB"]
        seconds, came = now - self._seen[0][0], self._done - self._seen[0][1]
        if remark:
            parts.append(remark)
        elif seconds > 0.2:
            parts.append(f"{_megabytes(came / seconds)} MB/s")
        self._progress(
            self._done // UNIT, max(1, self._total // UNIT), f"{self._label}: {', '.join(parts)}"
        )


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.1f}"
