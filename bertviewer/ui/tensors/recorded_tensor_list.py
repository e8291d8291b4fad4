"""What there is to see of a module in the last run, and of which of its calls."""

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox

from bertviewer.core.schema.activation_run import ModuleTensor
from bertviewer.ui.jobs.recorded_run import FROM_FILE
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import jobs
from bertviewer.ui.views.choice_box import offer
from bertviewer.ui.widgets.layouts import named

Seen = tuple[ModuleTensor, ...]


class SeenList(QObject):
    """Asks the worker what a module took and gave; ``changed`` tells that it is there.

    ``late`` tells that it takes a while.
    ``choice`` offers the calls of a module that was called several times.
    """

    changed = Signal()
    late = Signal()

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._request = Request[Seen](workspace.requests, self, needs_torch=False)
        self.path = ""
        self.why = ""
        """Why there is nothing to see, or "" if there is or will be."""
        tip = self.tr("Call to show (the run called this module several times)")
        says = self.tr("Module call")
        self.choice = named(QComboBox(), "callChoice", accessible_name=says, tooltip=tip)
        self.choice.hide()
        self.choice.currentIndexChanged.connect(self.changed)
        self._request.finished.connect(self.changed)
        self._request.late.connect(self.late)
        # Nothing is kept of a run that was replaced; who is in sight asks for the new one.
        workspace.runs.run_changed.connect(self.forget)

    @property
    def call(self) -> int:
        """The call that is chosen, counted from 0."""
        return max(0, self.choice.currentIndex())

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to come."""
        return self._request.is_waiting

    @property
    def tensors(self) -> Seen:
        """What is known of the module; nothing of another one, or of another run."""
        is_known = self._request.key == self._key() and self._request.result is not None
        return (self._request.result or ()) if is_known else ()

    def show_module(self, path: str) -> None:
        """Ask for what a module took and gave in the last run."""
        watched = self._workspace.runs.watched
        activation = None if watched is None else watched.run.activation(path)
        calls = 0 if activation is None else len(activation.calls)
        says = self.tr("call {0} of {1}")
        offer(self.choice, ((says.format(n, calls), n) for n in range(calls)))
        self.choice.setVisible(calls > 1)
        self.path = path
        self.why = ""
        if watched is None or watched.capture is None or activation is None:
            self.cancel()
            if watched is not None:
                not_called = self.tr(
                    "The last run did not call this module, or it returned no tensor."
                )
                self.why = FROM_FILE if watched.capture is None else not_called
            return
        work = partial(jobs.seen_tensors_job, watched, path, self.call)
        if self._request.want(self._key(), work):
            self.why = self._request.error

    def cancel(self) -> None:
        """Want nothing more."""
        self._request.cancel()

    def forget(self) -> None:
        """Keep nothing: the model or the run is another one."""
        self._request.forget()

    def _key(self) -> object:
        return self._workspace.runs.watched, self.path, self.call
