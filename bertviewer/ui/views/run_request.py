"""What a view wants to have computed of runs: one thing at a time, the latest."""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from PySide6.QtCore import QObject

from bertviewer.core.util.progress import Progress
from bertviewer.ui.jobs.recorded_run import FROM_FILE, RecordedRun, RunWork
from bertviewer.ui.jobs.requests import ModelWork, Request
from bertviewer.ui.state.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.loading.loaded_model import LoadedModel

Found = TypeVar("Found")


class OfRuns(Struct, Generic[Found], frozen=True):
    """The same of the last run and of run A, if one is kept; they may be one run."""

    found: dict[RecordedRun, Found]
    watched: RecordedRun
    run_a: RecordedRun | None


class RunRequest(Request[OfRuns[Found]]):
    """Results of the last run and of run A. A new run gives them up."""

    def __init__(self, workspace: Workspace, parent: QObject) -> None:
        super().__init__(workspace.requests, parent)
        self._workspace = workspace
        workspace.runs.run_changed.connect(self.cancel)

    @property
    def b(self) -> Found | None:
        """What was found of the last run."""
        result = self.result
        return None if result is None else result.found[result.watched]

    @property
    def a(self) -> Found | None:
        """What was found of run A."""
        result = self.result
        return None if result is None or result.run_a is None else result.found.get(result.run_a)

    def want_of_runs(self, key: Hashable, work: RunWork[Found]) -> bool:
        """Return whether this is there of the runs of now; if not, it is on its way."""
        watched, run_a = self._workspace.runs.watched, self._workspace.runs.watched_a
        if watched is None:
            return False
        wanted = watched, run_a, key
        if watched.capture is None:
            return self.refuse(wanted, FROM_FILE)
        return self.want(wanted, _of_runs(work, watched, run_a))


def _of_runs(
    work: RunWork[Found], watched: RecordedRun, run_a: RecordedRun | None
) -> ModelWork[OfRuns[Found]]:
    """Return the work for both runs; what it found before it was interrupted is not lost."""
    found: dict[RecordedRun, Found] = {}

    def compute(model: "LoadedModel", progress: Progress) -> OfRuns[Found]:
        for run in (watched, run_a):
            # Of a run A that was read from a file there is nothing but its figures.
            if run is not None and run.capture is not None and run not in found:
                found[run] = work(run.model or model, run, progress)
        return OfRuns(found, watched, run_a)

    return compute
