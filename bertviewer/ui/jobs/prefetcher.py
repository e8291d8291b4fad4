"""Prefetcher: imports, formulas and checks of a new model, while the worker has nothing else."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from PySide6 import QtCore, QtGui, QtSvg, QtWidgets
from PySide6.QtCore import QObject, QTimer, Signal

from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.job_queue import JobQueue
from bertviewer.ui.jobs.worker import Job, Priority

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

SLICE = 0.006  # seconds of the GUI thread at a time; all of it takes 0.15
PAUSE = 30  # milliseconds before the first slice


class _Step(Struct, frozen=True):
    """A job and who takes its result; ``is_needed``: if it fails, those after it are dropped."""

    work: Callable[[Progress], Any]
    returned: Callable[[Any], None]
    is_needed: bool = True


class Prefetcher(QObject):
    """Runs the steps for a new model one by one, at the lowest priority.

    Signals:
        overview_ready: the description of modules is imported.
        views_ready: the views of runs are imported.
        libraries_ready: torch is imported; carries the devices.
        confirmed: the model is built; carries its structure if it differs from the cached one.
        derived: more formulas or data flows.
        failed: a step has failed, and what depends on it will not come.
    """

    overview_ready = Signal()
    views_ready = Signal()
    libraries_ready = Signal(object)
    confirmed = Signal(object)
    derived = Signal(object)
    failed = Signal()

    def __init__(self, jobs: JobQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._job: Job | None = None
        self._steps: list[_Step] = []
        self._is_held = True
        self._emit_derived: Callable[[model_jobs.Derived], None] = self.derived.emit
        self._qt_types = QtTypes(self)

    @property
    def is_deriving(self) -> bool:
        """Whether formulas are still to come."""
        return any(step.returned == self._emit_derived for step in self._steps)

    def begin(self, model: "LoadedModel") -> None:
        """Replace the steps by those of a new model; none runs before ``start()``."""
        if self._job is not None:
            self._jobs.worker.discard(self._job)
            self._job = None
        self._steps = [
            _Step(model_jobs.prepare_overview_job, lambda _: self.overview_ready.emit(), False),
            # Before torch: it would share the interpreter with what is drawn now.
            _Step(model_jobs.prepare_views_job, lambda _: self.views_ready.emit(), False),
            _Step(partial(model_jobs.load_libraries_job, model), self.libraries_ready.emit),
            _Step(partial(model_jobs.confirm_job, model), self.confirmed.emit),
        ]
        self._is_held = True

    def derive(self, model: "LoadedModel") -> None:
        """Derive the data flows and formulas that a model lacks, unless that is going on."""
        if self.is_deriving:
            return
        # Data flows come first: they take no time, and put the walkthrough in order.
        if model.architecture.flows is None:
            flows = partial(model_jobs.derive_flows_job, model)
            self._steps.append(_Step(flows, self._emit_derived, False))
        if model.architecture.costs is None:
            for work in (model_jobs.derive_counts_job, model_jobs.derive_costs_job):
                self._steps.append(_Step(partial(work, model), self._emit_derived))

    def start(self) -> None:
        """Run the steps once all Qt types are loaded."""
        self._qt_types.load_then(self._release)

    def load_qt_types(self) -> None:
        """Load all Qt types now: a job is about to import what uses them."""
        self._qt_types.load()

    def _release(self) -> None:
        self._is_held = False
        self._start_next()

    def _start_next(self) -> None:
        if self._is_held or self._job is not None or not self._steps:
            return
        step = self._steps[0]
        self._job = self._jobs.worker.start(
            step.work,
            partial(self._on_returned, step),
            partial(self._on_errored, step),
            priority=Priority.IDLE,
        )

    def _on_returned(self, step: _Step, result: Any) -> None:
        self._end(step)
        step.returned(result)
        self._start_next()

    def _on_errored(self, step: _Step, error: BaseException) -> None:
        self._end(step)
        if step.is_needed:
            self._steps = []
        self.failed.emit()
        self._jobs.errored.emit(error)
        self._start_next()

    def _end(self, step: _Step) -> None:
        self._job = None
        self._steps = [other for other in self._steps if other is not step]


class QtTypes(QObject):
    """Loads all types of PySide6, a few per event-loop turn.

    PySide6 makes a type when it is first used, which is not documented to be safe in two threads.
    The worker imports the views of runs, which use many, so they are made here before.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._left = _load_types()
        self._is_loaded = False
        self._then: Callable[[], None] | None = None
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._load_slice)

    def load_then(self, then: Callable[[], None]) -> None:
        """Call a function, instead of any given before, when all types are loaded."""
        self._then = then
        if self._is_loaded:
            self._finish()
        else:
            # The tree, which has come in this turn, is painted first.
            QTimer.singleShot(PAUSE, self, self._timer.start)

    def load(self) -> None:
        """Load what is left in one go."""
        for _ in self._left:
            pass
        self._finish()

    def _load_slice(self) -> None:
        until = time.monotonic() + SLICE
        for _ in self._left:
            if time.monotonic() > until:
                return
        self._finish()

    def _finish(self) -> None:
        self._is_loaded = True
        self._timer.stop()
        then, self._then = self._then, None
        if then is not None:
            then()


def _load_types() -> Iterator[object]:
    for module in (QtCore, QtGui, QtWidgets, QtSvg):
        for name in dir(module):
            yield getattr(module, name)
