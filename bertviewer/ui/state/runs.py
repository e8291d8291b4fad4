"""Runs and comparisons: the last run, the baseline, checks, and another model to compare with."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from bertviewer.charts.labels import shortened
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.check import Check
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.ui.settings.translation import translate

if TYPE_CHECKING:
    from bertviewer.charts.comparison import ComparisonMode
    from bertviewer.core.comparison.comparison import Comparison
    from bertviewer.core.saved_runs.run_file import RunFile, RunsToSave
    from bertviewer.core.sources.model_source import ModelSource

MAX_NAME = 32  # characters of a short name


class Runs(QObject):
    """The last run, the baseline it is compared with, and checks.

    Signals:
        run_changed: another last run, or none.
        comparison_changed: another baseline, or another way of comparing.
        check_changed: another check of the last run.

    Attributes:
        current: the last run.
        baseline: the run to compare it with ("A" in the window).
        comparison: how they are compared.
        checks: checks of the last run by the path of the module.
        saved: the file that the runs were read from.
    """

    run_changed = Signal()
    comparison_changed = Signal()
    check_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.current: RecordedRun | None = None
        self.baseline: RecordedRun | None = None
        self.comparison: ComparisonMode = "overlay"
        self.checks: dict[str, Check] = {}
        self.saved: RunFile | None = None

    @property
    def run(self) -> ActivationRun | None:
        """The last run."""
        return None if self.current is None else self.current.run

    @property
    def both(self) -> tuple[RecordedRun, ...]:
        """The last run and the baseline, as far as there are any; they may be the same."""
        return tuple(run for run in (self.current, self.baseline) if run is not None)

    def set_run(self, recorded: RecordedRun) -> None:
        """Replace the last run; the caller emits ``run_changed``."""
        self.current = recorded
        self.checks = {}

    def take_saved(self, saved: "RunFile", file: str) -> RecordedRun:
        """Take the baseline from a file of that name, and return the file's last run."""
        self.saved = saved
        self.baseline = None
        if saved.baseline is not None:
            self.baseline = RecordedRun(saved.baseline, None, file=file, is_saved_baseline=True)
        self.comparison = saved.comparison
        return RecordedRun(saved.run, None, file=file)

    def take_checks(self, saved: "RunFile") -> None:
        """Take the checks of the last run from a file."""
        self.checks = dict(saved.checks)
        self.check_changed.emit()
        self.comparison_changed.emit()

    def kept(self) -> "RunsToSave | None":
        """Return what can be saved, ``None`` without a run."""
        from bertviewer.core.saved_runs.run_file import RunsToSave

        if self.run is None:
            return None
        # A run of another model does not belong into the file.
        is_own = self.baseline is not None and self.baseline.model is None
        baseline = self.baseline.run if is_own and self.baseline is not None else None
        origin = None if self.saved is None else self.saved.model
        return RunsToSave(self.run, baseline, self.comparison, dict(self.checks), origin)

    def set_check(self, recorded: RecordedRun, path: str, check: Check) -> None:
        """Store the check of a module in a run, unless that is not the last run any more."""
        if self.current is recorded:
            self.checks[path] = check
            self.check_changed.emit()

    def clear(self) -> None:
        """Forget all runs, without a signal: another model is opened."""
        self.current = self.baseline = self.saved = None
        self.checks = {}

    def keep(self, recorded: RecordedRun | None = None) -> None:
        """Make a run the baseline, the last one by default."""
        self.baseline = recorded or self.current
        self.comparison_changed.emit()

    def drop(self) -> None:
        """Drop the baseline."""
        self.baseline = None
        self.comparison_changed.emit()

    def compare(self, comparison: "ComparisonMode") -> None:
        """Set how the last run is compared with the baseline."""
        self.comparison = comparison
        self.comparison_changed.emit()


class ModelComparison(QObject):
    """The comparison of the open model with another one, while its window is open.

    Signals:
        changed: another comparison, or none.
        window_requested: the user wants to see the window of the comparison.

    Attributes:
        comparison: how the two models differ, ``None`` without one.
        changes: ‖Δ‖ / ‖left‖ by the module's path.
        other: the name of the other model, "" without one.
        source: the other model, ``None`` without one.
    """

    changed = Signal()
    window_requested = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.comparison: Comparison | None = None
        self.changes: Mapping[str, float] = {}
        self.other = ""
        self.source: ModelSource | None = None

    @property
    def title(self) -> str:
        """The short name of the other model."""
        return short_name(self.other)

    def keep(
        self, comparison: "Comparison", other: str, source: "ModelSource | None" = None
    ) -> None:
        """Set the comparison with a model of that name; with ``source`` it can be run, too."""
        from bertviewer.core.comparison.comparison import module_changes

        self.comparison = comparison
        self.changes, self.other = module_changes(comparison), other
        self.source = source
        self.changed.emit()

    def close(self) -> None:
        """Drop the comparison."""
        if self.other:
            self.comparison, self.changes, self.other, self.source = None, {}, "", None
            self.changed.emit()


def short_name(name: str) -> str:
    """Return the last part of a model's name, shortened."""
    end = name if "://" in name else Path(name).name or name
    return shortened(printable(end), MAX_NAME)


def weights_text(source: SourceInfo) -> str:
    """Return "trained weights", "5 tensors random, the others trained", and so on."""
    if source.weights == "none":
        return translate("weights", "no weights")
    if source.weights == "random":
        return translate("weights", "random weights")
    if source.random_tensors:
        return count_text(
            len(source.random_tensors),
            translate("weights", "1 tensor random, the others trained"),
            translate("weights", "{0} tensors random, the others trained"),
        )
    return translate("weights", "trained weights")
