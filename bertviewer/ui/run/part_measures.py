"""What was measured token by token of the runs in sight: asked for once, kept as long as they."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.layers import Measured
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.run import jobs
from bertviewer.ui.run.view import View
from bertviewer.ui.views.run_request import RunRequest


class PartMeasures(QObject):
    """The sums of modules' tokens in the last run and in run A, measured when they are wanted.

    ``changed`` says that there is more to show, ``late`` that it takes a while, ``errored`` carries
    why it cannot be had.
    """

    changed = Signal()
    late = Signal()
    errored = Signal(str)

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._runs = view.workspace.runs
        self._known: dict[RecordedRun, Measured] = {}
        self._request = RunRequest[Measured](view.workspace, self)
        self._request.finished.connect(self._take)
        self._request.late.connect(self.late)
        self._wanted: tuple[str, ...] = ()  # the modules that are being measured
        self._runs.run_changed.connect(self._on_runs)
        self._runs.comparison_changed.connect(self._on_runs)

    def of(self, run: RecordedRun) -> Measured:
        """Return what is known of a run; a module that gives no token a vector has no calls."""
        return self._known.get(run, {})

    def want(self, paths: Sequence[str]) -> bool:
        """Return whether all of these modules are known; if not, they are being measured."""
        runs = self._runs.both
        missing = tuple(
            path for path in dict.fromkeys(paths) if any(path not in self.of(run) for run in runs)
        )
        if not missing:
            self.cancel()
            return True
        self._wanted = missing
        self._request.want_of_runs(missing, partial(jobs.measure_tokens_job, missing))
        return False

    def cancel(self) -> None:
        """Want nothing more."""
        self._request.cancel()

    def _on_runs(self) -> None:
        """Forget runs that are gone: they are large."""
        runs = self._runs.both
        self._known = {run: found for run, found in self._known.items() if run in runs}

    def _take(self) -> None:
        paths, result, error = self._wanted, self._request.result, self._request.error
        # What is known is kept here, for as long as its run.
        self._request.forget()
        if result is None:
            self.errored.emit(error)
            return
        nothing: Measured = dict.fromkeys(paths, ())
        for run, measured in result.found.items():
            # It may be gone by now.
            if run in self._runs.both:
                self._known[run] = {**self.of(run), **nothing, **measured}
        self.changed.emit()
