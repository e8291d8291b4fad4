"""How fast sentences are run, and how long it will take until all are."""

import time
from collections.abc import Callable

from bertviewer.ui.settings.translation import translate

SETTLED = 2.0
"""Seconds until a rate says something."""
MINUTE, HOUR = 60, 3600


class Pace:
    """Is told how many are done, and tells of that; ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start: tuple[float, int] | None = None

    def told(self, done: int, total: int) -> str:
        """Return rate and time that is left, "" as long as nobody knows."""
        now = self._clock()
        if self._start is None or done < self._start[1]:
            self._start = now, done
        since, first = self._start
        if now - since < SETTLED or done <= first:
            return ""
        rate = (done - first) / (now - since)
        speed = translate("Pace", "{0} sentences per second").format(f"{rate:,.3g}")
        left = translate("Pace", "{0} left").format(_duration((total - done) / rate))
        return f"{speed} · {left}"


def _duration(seconds: float) -> str:
    if seconds < MINUTE:
        return translate("Pace", "{0} s").format(max(1, round(seconds)))
    if seconds < HOUR:
        return translate("Pace", "{0} min").format(round(seconds / MINUTE))
    hours, minutes = divmod(round(seconds / MINUTE), 60)
    return translate("Pace", "{0} h {1} min").format(hours, minutes)
