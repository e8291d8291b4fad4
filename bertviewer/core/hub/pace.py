"""How slow a hub may be before that is told instead of waited for."""

import time
from collections.abc import Callable

from msgspec import Struct


class TooSlow(Exception):
    """A hub takes longer than it may; the text says how, and follows the hub's name."""


class Limits(Struct, frozen=True):
    """How much has to come, and by when.

    Attributes:
        window: seconds of waiting after which it is looked how much came in them.
        least_rate: bytes that have to come in a second, on average over a window.
        overall: seconds that anything may take beside what its bytes take at the least rate: the
            waits that a hub asks for are among them.
    """

    window: float = 30.0
    least_rate: float = 1000.0
    overall: float = 600.0


LIMITS = Limits()


class Pace:
    """Watches over one thing that is asked for, through all redirects and tries.

    Only waiting counts for the rate, and nothing but the content counts as coming: a hub that sends
    headers without end sends nothing. ``tick`` may raise, as to stop.
    """

    def __init__(self, limits: Limits, nbytes: int, tick: Callable[[], None]) -> None:
        self._limits = limits
        self._tick = tick
        self._end = time.monotonic() + limits.overall + nbytes / limits.least_rate
        self._waited = 0.0
        self._came = 0

    def came(self, nbytes: int) -> None:
        """Count what came of the content."""
        self._came += nbytes

    def tick(self) -> None:
        """Let whoever waits stop, and look at the time as a whole.

        Raises:
            TooSlow: it is over.
        """
        self._tick()
        if time.monotonic() > self._end:
            raise TooSlow("is too slow")

    def waited(self, seconds: float) -> None:
        """Count time in which there was nothing to do but wait.

        Raises:
            TooSlow: too little came in a whole window of it.
        """
        self._waited += seconds
        if self._waited < self._limits.window:
            return
        if self._came < self._limits.least_rate * self._waited:
            raise TooSlow(f"sends {self._came:,} bytes of it in {self._waited:,.0f} seconds")
        self._waited, self._came = 0.0, 0
