"""The window's one place for state: the open model, the selected row, the last run."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from bertviewer.core.architecture import Architecture
from bertviewer.core.check_step import Check
from bertviewer.core.errors import Cancelled
from bertviewer.core.folding import TreeRow, fold
from bertviewer.core.progress import Progress
from bertviewer.core.run.activation_run import ActivationRun, Sentence
from bertviewer.core.source import ModelSource
from bertviewer.report.document import DrawnRun
from bertviewer.ui import tasks
from bertviewer.ui.lane import Lane

if TYPE_CHECKING:
    from bertviewer.core.loading import LoadedModel


Derive = Callable[["LoadedModel", Progress], Architecture]
"""Puts formulas into the architecture of an open model."""


class Workspace(QObject):
    """State, and the actions that change it; widgets listen to it and never to one another.

    The signals say that a part of the state is new; what it is stands in the attributes.
    """

    architecture_changed = Signal()
    formulas_changed = Signal()
    row_changed = Signal()
    run_changed = Signal()
    check_changed = Signal()
    activity_changed = Signal()
    progressed = Signal(int, int, str)
    exported = Signal(str)
    cancelled = Signal(str)
    failed = Signal(object)

    def __init__(self, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.architecture: Architecture | None = None
        self.tree: TreeRow | None = None
        self.row: TreeRow | None = None
        self.run: ActivationRun | None = None
        self.checks: dict[str, Check] = {}  # of the last run, by the path that was asked for
        self.activity: str = ""
        self.writes_letters_by_others = False  # I as 4·D in counts, a wish that lasts
        self._model: LoadedModel | None = None
        self._to_derive: list[Derive] = []
        self._wishes = 0
        self._lane = lane
        lane.progressed.connect(self.progressed)
        lane.busy_changed.connect(self._on_lane_busy)

    @property
    def is_deriving(self) -> bool:
        """Whether the formulas of the open model are still to come."""
        return bool(self._to_derive)

    def open(self, source: ModelSource) -> None:
        """Open a model in place of the one that is open; that one stays if the new one is bad."""
        self._start("open", partial(tasks.open_model, source), self._on_opened)

    def run_sentence(self, sentence: Sentence, random_weights: bool) -> None:
        """Run a sentence through the open model."""
        if self._model is None:
            return
        task = partial(tasks.run_sentence, self._model, sentence, random_weights)
        self._start("run", task, self._on_run)

    def check(self, path: str) -> None:
        """Check what the module at ``path`` gave in the last run."""
        if self._model is None or self.run is None:
            return
        run = self.run

        def keep(check: Check) -> None:
            if self.run is run:
                self.checks[path] = check
                self.check_changed.emit()

        self._start("check", partial(tasks.check_module, self._model, path), keep)

    def export(self, path: Path, drawn: DrawnRun | None) -> None:
        """Write the PDF of the open model, and of a run whose plots are drawn already."""
        if self.architecture is None:
            return
        task = partial(tasks.write_report, path, self.architecture, drawn)
        self._start("export", task, lambda written: self.exported.emit(str(written)))

    def cancel(self) -> None:
        """Stop what is going on."""
        self._lane.cancel()

    def select(self, key: str) -> None:
        """Select the row with that key, or the module at that path inside a folded row."""
        if self.tree is None or (self.row is not None and self.row.key == key):
            return
        if (row := _find(self.tree, key)) is not None:
            self.row = row
            self.row_changed.emit()

    def _start(self, activity: str, task: Callable[..., Any], done: Callable[[Any], None]) -> None:
        self._wishes += 1
        wish = self._wishes
        self._set_activity(activity)

        def rest() -> None:
            # A job that was cancelled by a newer wish must not end that one's activity.
            if wish == self._wishes:
                self._set_activity("")

        def finish(result: Any) -> None:
            rest()
            done(result)

        def fail(error: BaseException) -> None:
            rest()
            if isinstance(error, Cancelled):
                self.cancelled.emit(activity)
            else:
                self.failed.emit(error)

        self._lane.start(task, finish, fail)

    def _set_activity(self, activity: str) -> None:
        self.activity = activity
        self.activity_changed.emit()

    def _on_opened(self, model: "LoadedModel") -> None:
        self._model = model
        self._to_derive = [tasks.derive_counts, tasks.derive_costs]
        self.architecture = model.architecture
        self.tree = self.row = fold(model.architecture)
        self.run = None
        self.checks = {}
        self.architecture_changed.emit()
        self.run_changed.emit()
        self.row_changed.emit()

    def _on_run(self, run: ActivationRun) -> None:
        self.run = run
        self.checks = {}
        if self.architecture is not None:
            # A first run may have drawn random weights, and everything must say so.
            self.architecture = replace(self.architecture, source=run.source)
        self.run_changed.emit()

    def _on_lane_busy(self, busy: bool) -> None:
        # The formulas are derived whenever there is nothing else to do, and again after
        # something else has interrupted them.
        if not busy and self._to_derive and self._model is not None:
            task = partial(self._to_derive[0], self._model)
            self._lane.start(task, self._on_derived, self._on_not_derived)

    def _on_derived(self, architecture: Architecture) -> None:
        # A cache has all formulas at once.
        self._to_derive = [] if architecture.compute else self._to_derive[1:]
        self.architecture = architecture
        self.tree = fold(architecture)
        if self.row is not None:
            self.row = _find(self.tree, self.row.key) or self.tree
        self.formulas_changed.emit()

    def _on_not_derived(self, error: BaseException) -> None:
        if not isinstance(error, Cancelled):
            self._to_derive = []
            self.failed.emit(error)


def _find(row: TreeRow, key: str) -> TreeRow | None:
    if row.key == key:
        return row
    for child in (*row.members, *(() if row.is_folded else row.children)):
        if (found := _find(child, key)) is not None:
            return found
    return None
