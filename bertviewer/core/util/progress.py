"""How long work tells how far it is, and how it is told to stop."""

from typing import Protocol


class Progress(Protocol):
    """Called by work at each step; raises ``Cancelled`` where the work should stop."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Report ``done`` of ``total`` steps; ``total`` 0 means that the length is not known."""


def no_progress(done: int, total: int, label: str) -> None:
    """Report to nobody: for headless commands and tests."""
