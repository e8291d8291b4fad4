"""Work that nobody waits for: done one after the other, whenever the worker has nothing else."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.scheduler import Scheduler


class Step(Struct, frozen=True):
    """Some work, and who takes its result; ``is_needed``: without it what follows is of no use."""

    work: Callable[[Progress], Any]
    returned: Callable[[Any], None]
    is_needed: bool = True


class IdleWork(QObject):
    """Steps that follow one another. One that is interrupted is begun again.

    ``failed``: a step ended with an error.
    """

    failed = Signal()

    def __init__(self, scheduler: Scheduler, parent: QObject) -> None:
        super().__init__(parent)
        self._scheduler = scheduler
        self._steps: list[Step] = []
        self._is_held = False
        scheduler.idle.connect(self._go_on)

    def hold(self) -> None:
        """Forget what was still to be done, and begin nothing until ``release()``."""
        self._steps = []
        self._is_held = True

    def release(self) -> None:
        """Begin, once the worker is idle."""
        self._is_held = False
        self._scheduler.go_on()

    def add(self, steps: Iterable[Step]) -> None:
        """Do these when all others are done, and the worker is idle the next time."""
        self._steps += steps

    def awaits(self, returned: Callable[[Any], None]) -> bool:
        """Return whether a result is still to come for this one who takes it."""
        return any(step.returned == returned for step in self._steps)

    def _go_on(self) -> None:
        if self._is_held or not self._steps:
            return
        step = self._steps[0]

        def take(result: Any) -> None:
            self._steps = [other for other in self._steps if other is not step]
            step.returned(result)

        def give_up(error: BaseException) -> None:
            others = [other for other in self._steps if other is not step]
            self._steps = [] if step.is_needed else others
            self.failed.emit()
            self._scheduler.errored.emit(error)

        self._scheduler.start_idle(step.work, take, give_up)
