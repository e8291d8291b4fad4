"""Looks: what a view has computed in the background because it is in sight."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from bertviewer.core.errors import Cancelled
from bertviewer.core.progress import Progress
from bertviewer.core.system import libraries
from bertviewer.ui.background.worker import Job, Worker


@dataclass(frozen=True, slots=True)
class Look:
    """A task, and whom to tell its result or why there is none.

    One that ``needs_torch`` waits until torch is imported, and others go before it.
    """

    task: Callable[[Progress], Any]
    done: Callable[[Any], None]
    failed: Callable[[BaseException], None]
    needs_torch: bool = False


class Looks:
    """Wishes of the views, the latest of each: they wait for what a person started.

    They share the worker with everything else, because only its thread may touch the model. A look
    that is interrupted waits again; one whose view wants something else by now is given up.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._waiting: dict[str, Look] = {}
        self._running: tuple[str, Look, Job] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the worker is busy with a look."""
        return self._running is not None

    def ask(self, view: str, look: Look) -> None:
        """Put a view's wish in place of the one it had."""
        self._waiting[view] = look
        self._give_up(view)

    def forget(self, view: str | None = None) -> None:
        """Give up a view's wish, or all of them."""
        for name in [view] if view is not None else [*self._waiting, *self._names()]:
            self._waiting.pop(name, None)
            self._give_up(name)

    def start(self) -> bool:
        """Take up the next wish; return whether there was one. The worker must have time for it."""
        # Where torch cannot be imported, the look itself tells why.
        may_start = libraries.are_settled()
        ready = (view for view, look in self._waiting.items() if may_start or not look.needs_torch)
        if (view := next(ready, None)) is None:
            return False
        look = self._waiting.pop(view)
        done, failed = partial(self._finish, look), partial(self._fail, view, look)
        self._running = view, look, self._worker.start(look.task, done, failed)
        return True

    def _give_up(self, view: str) -> None:
        if self._running is not None and self._running[0] == view:
            # Not the worker's cancel(): a person may wait for what comes after this one.
            self._running[2].cancel()
            self._running = None

    def _names(self) -> list[str]:
        return [] if self._running is None else [self._running[0]]

    def _is_running(self, look: Look) -> bool:
        return self._running is not None and self._running[1] is look

    def _finish(self, look: Look, result: Any) -> None:
        # A wish that was given up at the last moment may have come true all the same.
        if self._is_running(look):
            self._running = None
            look.done(result)

    def _fail(self, view: str, look: Look, error: BaseException) -> None:
        if not self._is_running(look):
            return
        self._running = None
        if isinstance(error, Cancelled):
            self._waiting.setdefault(view, look)
        else:
            look.failed(error)
