"""What is done with a model once it is open and nobody waits: imports, formulas, a second look."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bertviewer.ui.jobs import model_jobs as jobs
from bertviewer.ui.jobs.idle_work import IdleWork, Step
from bertviewer.ui.jobs.scheduler import Scheduler

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel


class Preparing(QObject):
    """Does it step by step, whenever the worker has nothing else.

    ``overview_ready``: what describes a module is imported; ``views_ready``: all is there that
    views are drawn with; ``libraries_ready`` carries the devices; ``confirmed`` a structure that is
    another one than the first, or ``None``; ``derived`` formulas and flows as they come;
    ``failed``: a step ended with an error, and what needs its result will not come.
    """

    overview_ready = Signal()
    views_ready = Signal()
    libraries_ready = Signal(object)
    confirmed = Signal(object)
    derived = Signal(object)
    failed = Signal()

    def __init__(self, scheduler: Scheduler, parent: QObject) -> None:
        super().__init__(parent)
        self._steps = IdleWork(scheduler, self)
        self._steps.failed.connect(self.failed)
        self._on_derived: Callable[[jobs.Derived], None] = self.derived.emit

    @property
    def is_deriving(self) -> bool:
        """Whether formulas are still to come."""
        return self._steps.awaits(self._on_derived)

    def begin(self, model: "LoadedModel") -> None:
        """Prepare another model; nothing is begun until ``release()``."""
        self._steps.hold()
        self._steps.add(
            (
                Step(
                    jobs.prepare_overview_job, lambda _: self.overview_ready.emit(), is_needed=False
                ),
                # At once, before the worker goes on: it would take turns with what is built now.
                Step(jobs.prepare_views_job, lambda _: self.views_ready.emit(), is_needed=False),
                Step(partial(jobs.load_libraries_job, model), self.libraries_ready.emit),
                Step(partial(jobs.confirm_job, model), self.confirmed.emit),
            )
        )

    def derive(self, model: "LoadedModel") -> None:
        """Have what a model lacks of flows and formulas derived, unless that is going on."""
        if self.is_deriving:
            return
        # Flows come first: they are there at once, and put the walk in order.
        if model.architecture.flows is None:
            flows = partial(jobs.derive_flows_job, model)
            self._steps.add([Step(flows, self._on_derived, is_needed=False)])
        if model.architecture.costs is None:
            for work in (jobs.derive_counts_job, jobs.derive_costs_job):
                self._steps.add([Step(partial(work, model), self._on_derived)])

    def release(self) -> None:
        """Begin, once the worker is idle."""
        self._steps.release()
