"""Worker without a thread, for tests of views."""

from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from typing_extensions import override

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.module_tree import fold
from bertviewer.core.sources.parsing import parse_source
from bertviewer.ui.jobs.worker import Job, Worker
from bertviewer.ui.state.workspace import Workspace


class DirectWorker(Worker):
    """Runs each job in the GUI thread, in the next turn of the event loop."""

    @override
    def _dispatch(self, job: Job) -> None:
        QTimer.singleShot(0, self, partial(self._run, job))

    def finish(self) -> None:
        """Process events until no job is running or waiting."""
        while self.busy:
            QApplication.processEvents()


def settle(workspace: Workspace) -> None:
    """Process events until no job, no request and no deferred call is left."""
    jobs = workspace.jobs
    while jobs.worker.busy or jobs.activity or jobs.has_requests or workspace.deferred.pending:
        QApplication.processEvents()


def show_architecture(workspace: Workspace, architecture: Architecture, name: str = "") -> None:
    """Show an architecture without a model: nothing can be run, and no formulas are derived.

    ``name`` is what the model is opened by; the name in the architecture by default.
    """
    workspace.architecture = architecture
    workspace.source = parse_source(name or architecture.source.name)
    workspace.selection.set_tree(fold(architecture))
    workspace.run_input.set_model(workspace.source, architecture)
    workspace.architecture_changed.emit(architecture)
