"""Waits of tests in the window's thread: long enough for a machine that is busy with others."""

from collections.abc import Callable
from typing import Any

from pytestqt.qtbot import QtBot

PATIENCE = 120_000
"""Milliseconds that a test waits for what must come; only one that fails waits as long."""


class PatientBot(QtBot):
    """pytest-qt's bot; its own 5 seconds are too few where the worker imports torch meanwhile."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE, **options: Any) -> Any:
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitExposed(self, widget: Any, *, timeout: int = PATIENCE) -> Any:
        return super().waitExposed(widget, timeout=timeout)
