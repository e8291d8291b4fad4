"""What was measured token by token of the runs in sight: asked for once, kept as long as they."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.layers import Measured
from bertviewer.ui import tasks
from bertviewer.ui.run.view import View
from bertviewer.ui.run.wanted import Wanted
from bertviewer.ui.watched_run import WatchedRun

NOTHING: tuple[tuple[WatchedRun, ...], tuple[str, ...]] = (), ()


class PartMeasures(QObject):
    """The sums of modules' tokens in the last run and in run A, measured when they are wanted.

    ``came`` tells that there is more to show, ``late`` that it takes a while, ``failed`` carries
    why it cannot be had.
    """

    came = Signal()
    late = Signal()
    failed = Signal(str)

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._view = view
        self._known: dict[WatchedRun, Measured] = {}
        self._wanted = Wanted[Measured](view)
        self._wanted.came.connect(self._take)
        self._wanted.late.connect(self.late)
        # The runs and the modules that are being measured.
        self._asked = NOTHING
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
        self._asked = runs, missing
        self._wanted.want(self._asked, partial(tasks.measure_tokens, missing))
        return False

    def give_up(self) -> None:
        """Want nothing more."""
        self._asked = NOTHING
        self._wanted.give_up()

    def _on_runs(self) -> None:
        """Forget runs that are gone: they are large."""
        runs = self._runs()
        self._known = {run: found for run, found in self._known.items() if run in runs}
        if self._asked[0] != runs:
            self.give_up()

    def _runs(self) -> tuple[WatchedRun, ...]:
        """Return the last run and run A, which may be the same."""
        workspace = self._view.workspace
        return tuple(run for run in (workspace.watched, workspace.kept) if run is not None)

    def _take(self) -> None:
        (runs, paths), wanted = self._asked, self._wanted
        found, error = (wanted.b, wanted.a), wanted.error
        # What is known is kept here, for as long as its run.
        wanted.forget()
        self._asked = NOTHING
        if error:
            self.failed.emit(error)
            return
        nothing: Measured = dict.fromkeys(paths, ())
        for run, measured in zip(runs, found, strict=False):
            if measured is not None:
                self._known[run] = {**self.of(run), **nothing, **measured}
        self.came.emit()
