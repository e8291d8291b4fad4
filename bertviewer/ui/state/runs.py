"""The runs that the window shows: the last one, one kept beside it, and what was checked."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check

if TYPE_CHECKING:
    from bertviewer.charts.comparison import ComparisonMode
    from bertviewer.core.saved_runs.run_file import RunFile, RunsToSave


class Runs(QObject):
    """The last run, run A if one is kept, and how they are compared.

    The signals say that a part of it is new; what it is stands in the attributes.
    """

    run_changed = Signal()
    comparison_changed = Signal()
    check_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.watched: RecordedRun | None = None  # the last run
        self.watched_a: RecordedRun | None = None  # run A, to compare the last one with
        self.comparison: ComparisonMode = "overlay"  # how, if there is a run A
        self.checks: dict[str, Check] = {}  # of the last run, by the path that was asked for
        self.saved: RunFile | None = None  # what the runs were read from

    @property
    def run(self) -> ActivationRun | None:
        """The last run."""
        return None if self.watched is None else self.watched.run

    @property
    def both(self) -> tuple[RecordedRun, ...]:
        """The last run and run A, as far as they are there; they may be the same."""
        return tuple(run for run in (self.watched, self.watched_a) if run is not None)

    def set_run(self, watched: RecordedRun) -> None:
        """Put a new run in place of the last one; whoever calls this emits ``run_changed``."""
        self.watched = watched
        self.checks = {}

    def take_saved(self, saved: "RunFile", file: str) -> RecordedRun:
        """Take run A from a file of that name, and return the last run, to be shown then."""
        self.saved = saved
        self.watched_a = None
        if saved.baseline is not None:
            self.watched_a = RecordedRun(saved.baseline, None, file=file, is_saved_a=True)
        self.comparison = saved.comparison
        return RecordedRun(saved.run, None, file=file)

    def take_checks(self, saved: "RunFile") -> None:
        """Take what was checked of the last run."""
        self.checks = dict(saved.checks)
        self.check_changed.emit()
        self.comparison_changed.emit()

    def kept(self) -> "RunsToSave | None":
        """Return what there is to be saved, ``None`` without a run."""
        from bertviewer.core.saved_runs.run_file import RunsToSave

        if self.run is None:
            return None
        # A run of another model is none of the file's.
        is_own = self.watched_a is not None and self.watched_a.model is None
        run_a = self.watched_a.run if is_own and self.watched_a is not None else None
        origin = None if self.saved is None else self.saved.model
        return RunsToSave(self.run, run_a, self.comparison, dict(self.checks), origin)

    def set_check(self, watched: RecordedRun, path: str, check: Check) -> None:
        """Take what came of the check of a run, unless there is a newer run by now."""
        if self.watched is watched:
            self.checks[path] = check
            self.check_changed.emit()

    def clear(self) -> None:
        """Forget all runs: another model is opened. ``run_changed`` is emitted by the caller."""
        self.watched = self.watched_a = self.saved = None
        self.checks = {}

    def keep(self, watched: RecordedRun | None = None) -> None:
        """Keep a run as run A, the last one if none is given."""
        self.watched_a = watched or self.watched
        self.comparison_changed.emit()

    def drop(self) -> None:
        """Compare no longer."""
        self.watched_a = None
        self.comparison_changed.emit()

    def compare(self, comparison: "ComparisonMode") -> None:
        """Choose how the last run is compared with run A."""
        self.comparison = comparison
        self.comparison_changed.emit()
