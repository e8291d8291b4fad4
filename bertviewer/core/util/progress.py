"""Progress callbacks, which also cancel."""

from typing import Protocol


class Progress(Protocol):
    """A callback that work calls at each step; it raises ``Cancelled`` to stop the work."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Report ``done`` of ``total`` steps; ``total`` is 0 if the number is unknown."""


def no_progress(done: int, total: int, label: str) -> None:
    """Ignore progress."""
