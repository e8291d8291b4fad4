"""Base class of the run's views, and results for the current run and the baseline."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from bertviewer.charts.comparison import Alignment
from bertviewer.charts.table import DataTable
from bertviewer.core.analysis.tokens import align
from bertviewer.core.replay.recorded_run import FROM_FILE, RecordedRun, RunWork
from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.job_queue import Request
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.data_view import DataView, Notice, Query
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.views.figure_view import FigureView

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_maps import AttentionMaps
    from bertviewer.core.analysis.predictions import Predictions
    from bertviewer.core.loading.loaded_model import LoadedModel

EXPLAINED = ("Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens", "Sentence")
"""Titles of the views about which there are common questions."""

_RUN_HERE = QT_TRANSLATE_NOOP("RunView", "Run here")
_TRY_AGAIN = QT_TRANSLATE_NOOP("RunView", "Try again")
_SHOW_BOTH = QT_TRANSLATE_NOOP("RunView", "Show A and B")

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Result = TypeVar("Result")


class RunResults(Struct, Generic[Value], frozen=True, eq=False):
    """The same result for the current run and for the baseline, which may be one run."""

    key: Hashable
    values: dict[RecordedRun, Value]
    current: RecordedRun
    baseline: RecordedRun | None

    @property
    def b(self) -> Value:
        """The result for the current run."""
        return self.values[self.current]

    @property
    def a(self) -> Value | None:
        """The result for the baseline, ``None`` without one or if it was loaded from a file."""
        return None if self.baseline is None else self.values.get(self.baseline)


class ViewTopic(Struct, frozen=True):
    """What an explanation of a view is about: its title, and what of a run it shows."""

    title: str
    maps: "AttentionMaps | None" = None
    state: int | None = None
    predictions: "Predictions | None" = None


class RunView(DataView[Result]):
    """View of the current run, and of the baseline if there is one."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._runs = workspace.runs.both
        workspace.runs.run_changed.connect(self._on_runs_changed)
        workspace.runs.comparison_changed.connect(self._on_runs_changed)

    def topic(self, title: str) -> ViewTopic:
        """Return what the view, which has this title, currently shows."""
        return ViewTopic(title)

    def query_runs(
        self, key: Hashable, job: RunWork[Value]
    ) -> Query[RunResults[Value]] | Notice | None:
        """Return the query for a job's result of the current run and of the baseline.

        Results that the view has for the same key and one of these runs are used again.
        """
        runs = self.workspace.runs
        current, baseline = runs.current, runs.baseline
        if current is None:
            return None
        if current.capture is None:
            return from_file_notice(self.workspace)
        before, values = self.request.result, dict[RecordedRun, Value]()
        if isinstance(before, RunResults) and before.key == key:
            values.update(before.values)

        def work(model: "LoadedModel", progress: Progress) -> RunResults[Value]:
            found = {}
            for run in (current, baseline):
                # A baseline that was loaded from a file has statistics only.
                if run is not None and run.capture is not None:
                    if run not in values:  # which keeps them if the job is interrupted
                        values[run] = job(run.model or model, run, progress)
                    found[run] = values[run]
            return RunResults(key, found, current, baseline)

        return Query((current, baseline, key), work)

    def partners(self, rows: bool = False, columns: bool = True) -> Alignment:
        """Return which tokens of the baseline and of the current run are the same."""
        a, b = self.workspace.runs.baseline, self.workspace.runs.run
        pairs = () if a is None or b is None else align(a.run.tokens, b.tokens)
        return Alignment(pairs, pairs if rows else None, pairs if columns else None)

    def clear(self) -> None:
        """Show nothing, in the views inside this one either: the model has changed.

        A view keeps its last drawing until the next one is computed, which may take a while.
        """
        self.forget()
        for panel in self.findChildren(ChartPanel):
            panel.set_title("")
            panel.show_charts(None)
        for table in self.findChildren(FigureView):
            table.show_table(DataTable((), ()))
        for view in self.findChildren(RunView):
            view.clear()

    def release(self) -> None:
        """Keep no results of the runs: the view is hidden and they have changed."""
        self.forget()

    def _on_runs_changed(self) -> None:
        runs = self.workspace.runs.both
        if runs != self._runs:  # and not only how they are compared
            self._runs = runs
            self.request.cancel()
            if not self.isVisible():
                self.release()


class RunCache(QObject, Generic[Key, Value]):
    """Values of a run by key, computed in batches and kept as long as the runs are shown.

    ``changed`` is emitted after each batch, in a deferred call; ``failed`` carries
    a ``Notice``; ``late`` says that a batch takes a while.
    """

    changed = Signal()
    failed = Signal(object)
    late = Signal()

    def __init__(
        self,
        view: RunView[Any],
        job: "Callable[[Sequence[Key], LoadedModel, RecordedRun, Progress], Mapping[Key, Value]]",
        batch: int | None = None,
    ) -> None:
        """Compute so many keys in a batch, all by default."""
        super().__init__(view)
        self._view = view
        self._runs = view.workspace.runs
        self._job, self._batch = job, batch
        self._values: dict[RecordedRun, dict[Key, Value]] = {}
        self._keys: Sequence[Key] = ()
        self._request = Request[RunResults[Mapping[Key, Value]]](view.workspace.jobs, self)
        self._request.finished.connect(self._on_finished)
        self._request.late.connect(self.late)
        self._runs.run_changed.connect(self._on_run_changed)
        self._runs.comparison_changed.connect(self._drop)

    def of(self, run: RecordedRun) -> Mapping[Key, Value]:
        """Return the known values of a run."""
        return self._values.get(run, {})

    def missing(self, keys: Sequence[Key]) -> list[Key]:
        """Return the keys without a value for a run; runs from files never have any."""
        runs = [run for run in self._runs.both if run.capture is not None]
        return [key for key in dict.fromkeys(keys) if any(key not in self.of(r) for r in runs)]

    def request(self, keys: Sequence[Key]) -> bool:
        """Return whether the values of all keys are known; if not, request them."""
        self._keys = tuple(keys)
        current = self._runs.current
        if current is not None and current.capture is None and keys:
            self.failed.emit(from_file_notice(self._view.workspace))
            return False
        batch = tuple(self.missing(keys)[: self._batch])
        if not batch:
            self._request.cancel()
            return True
        query = self._view.query_runs(batch, lambda *run: self._job(batch, *run))
        if isinstance(query, Query):
            self._request.want(query.key, query.work)
        return False

    def cancel(self) -> None:
        """Request nothing more; known values are kept."""
        self._keys = ()
        self._request.cancel()

    def _on_run_changed(self) -> None:
        self._request.cancel()
        self._drop()

    def _drop(self) -> None:
        """Drop the values of runs that are not shown any more."""
        runs = self._runs.both
        self._values = {run: found for run, found in self._values.items() if run in runs}

    def _on_finished(self) -> None:
        result, error = self._request.result, self._request.error
        self._request.forget()
        if result is None:
            again = CallToAction(translate("RunView", _TRY_AGAIN), self._view.refresh)
            self.failed.emit(Notice(error, again))
            return
        for run, found in result.values.items():
            if run in self._runs.both:
                self._values[run] = {**self.of(run), **found}
        # The next batch waits until this one is drawn, or the two would compete for the GIL.
        queue = self._view.workspace.deferred
        queue.add(self.changed.emit)
        queue.add(self._continue)

    def _continue(self) -> None:
        if self._keys:
            self.request(self._keys)


def from_file_notice(workspace: Workspace) -> Notice:
    """Return the notice for a run from a file, of which only statistics are known."""
    reason = workspace.run_input.disabled_reason
    run_here = CallToAction(translate("RunView", _RUN_HERE), workspace.run_next, reason)
    return Notice(FROM_FILE, run_here)


def show_view_action(workspace: Workspace, page: Page, text: str) -> CallToAction:
    """Return the action that shows a page."""
    return CallToAction(text, lambda: workspace.show_page(page))


def show_both_action(workspace: Workspace) -> CallToAction:
    """Return the action that shows both runs instead of their difference."""
    return CallToAction(translate("RunView", _SHOW_BOTH), lambda: workspace.runs.compare("overlay"))
