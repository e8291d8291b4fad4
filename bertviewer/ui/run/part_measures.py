"""What was measured token by token of the runs in sight: asked for once, kept as long as they."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from bertviewer.plots.layers import Measured
from bertviewer.ui import tasks
from bertviewer.ui.run.view import View
from bertviewer.ui.watched_run import WatchedRun

PATIENCE = 300
"""Milliseconds until a person is told that something is being computed."""


class PartMeasures(QObject):
    """The sums of modules' tokens in the last run and in run A, measured when they are wanted.

    ``came`` tells that there is more to show, ``late`` that it takes a while, ``failed`` carries
    why it cannot be had.
    """

    came = Signal()
    late = Signal()
    failed = Signal(Exception)

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._view = view
        self._known: dict[WatchedRun, Measured] = {}
        # The runs and the modules that are being measured.
        self._asked: tuple[tuple[WatchedRun, ...], tuple[str, ...]] | None = None
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self.late)
        view.workspace.run_changed.connect(self._on_runs)
        view.workspace.comparison_changed.connect(self._on_runs)

    def of(self, run: WatchedRun) -> Measured:
        """Return what is known of a run; a module that gives no token a vector has no calls."""
        return self._known.get(run, {})

    def want(self, paths: Sequence[str]) -> bool:
        """Return whether all of these modules are known; if not, they are being measured."""
        runs = self._runs()
        missing = tuple(
            path for path in dict.fromkeys(paths) if any(path not in self.of(run) for run in runs)
        )
        if not missing:
            self.give_up()
            return True
        if self._asked != (runs, missing):
            self.give_up()
            self._asked = runs, missing
            self._patience.start()
            task = partial(tasks.measure_tokens, missing)
            self._view.look_at_both(task, partial(self._take, runs, missing), self._fail)
        return False

    def give_up(self) -> None:
        """Want nothing more."""
        self._patience.stop()
        if self._asked is not None:
            self._asked = None
            for name in self._view.looks:
                self._view.workspace.forget_look(name)

    def _on_runs(self) -> None:
        """Forget runs that are gone: they are large."""
        runs = self._runs()
        self._known = {run: found for run, found in self._known.items() if run in runs}
        if self._asked is not None and self._asked[0] != runs:
            self.give_up()

    def _runs(self) -> tuple[WatchedRun, ...]:
        """Return the last run and run A, which may be the same."""
        workspace = self._view.workspace
        return tuple(run for run in (workspace.watched, workspace.kept) if run is not None)

    def _take(
        self,
        runs: tuple[WatchedRun, ...],
        paths: tuple[str, ...],
        b: Measured,
        a: Measured | None,
    ) -> None:
        self._asked = None
        self._patience.stop()
        for run, found in zip(runs, (b, a), strict=False):
            if found is not None:
                nothing: Measured = dict.fromkeys(paths, ())
                self._known[run] = {**self.of(run), **nothing, **found}
        self.came.emit()

    def _fail(self, error: BaseException) -> None:
        self._asked = None
        self._patience.stop()
        self.failed.emit(error)
