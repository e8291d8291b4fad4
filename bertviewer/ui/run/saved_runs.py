"""Runs in files: the dialog that saves them, and the banner above a run that was loaded."""

from datetime import datetime
from pathlib import Path
from typing import Protocol

from PySide6.QtWidgets import QFileDialog, QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.saved_runs.run_file import RunFile
from bertviewer.core.saving.atomic_files import check_writable
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import RUNS_SUFFIX, parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.runs import weights_text
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named
from bertviewer.ui.widgets.messages import show_error


def save_runs(workspace: Workspace, parent: QWidget) -> None:
    """Ask for a file, and write the current run and the baseline to it."""
    source = workspace.source
    if workspace.runs.run is None or source is None:
        return
    stem = Path(source.name.rstrip("/")).stem or "run"
    name, _ = QFileDialog.getSaveFileName(
        parent,
        translate("saved_runs", "Save run as"),
        f"{stem}{RUNS_SUFFIX}",
        translate("saved_runs", "Runs (*{0})").format(RUNS_SUFFIX),
    )
    if not name:
        return
    path = Path(name)
    if not path.suffix:
        path = path.with_suffix(RUNS_SUFFIX)
    try:
        check_writable(path, workspace.models)
    except UserError as error:
        show_error(parent, str(error))
        return
    workspace.save_runs(path)


class OpensModel(Protocol):
    """Opens a model instead of the current one."""

    def open_source(self, source: ModelSource) -> None: ...  # noqa: D102


class SavedRunBanner(QWidget):
    """Shown while the current run is one that was loaded from a file.

    Its button opens the run's model, for which the run becomes the baseline.
    """

    def __init__(self, workspace: Workspace, opening: OpensModel) -> None:
        super().__init__()
        self.setObjectName("savedBanner")
        self._workspace = workspace
        self._opening = opening
        self._pending: tuple[RunFile, RecordedRun] | None = None  # until its model is open
        self._text = named(plain_label(""), "savedText")
        tip = self.tr(
            "Open the model by name and set this run as baseline (A), to compare new runs with it"
        )
        button = named(QPushButton(self.tr("Open its model")), "openSavedModel", tooltip=tip)
        button.clicked.connect(self._on_open)
        margins = (4 * GRID, GRID, 2 * GRID, GRID)
        hbox((self._text, 1), button, parent=self, margins=margins, spacing=3 * GRID)
        workspace.runs.run_changed.connect(self._update)
        workspace.architecture_changed.connect(self._on_architecture)
        self.hide()

    def _update(self) -> None:
        current, saved = self._workspace.runs.current, self._workspace.runs.saved
        is_saved = current is not None and current.capture is None
        self.setVisible(is_saved)
        if is_saved and saved is not None:
            text = self.tr(
                "Loaded from a file: a run of {0} ({1}, {2}), saved {3}. Its statistics are as "
                "recorded; further details need its model."
            )
            model, weights = saved.model, weights_text(saved.run.source)
            self._text.setText(text.format(model.name, model.task, weights, _date(saved.saved)))

    def _on_open(self) -> None:
        saved, current = self._workspace.runs.saved, self._workspace.runs.current
        if saved is None or current is None:
            return
        try:
            source = parse_source(saved.model.name, saved.model.task)
        except UserError as error:
            retry = self.tr("Try again"), self._on_open
            show_error(self, str(error), retry)
            return
        self._pending = saved, current
        self._opening.open_source(source)

    def _on_architecture(self) -> None:
        """Set the run as baseline once its model is open."""
        pending, architecture = self._pending, self._workspace.architecture
        if pending is None or architecture is None or self._workspace.source is None:
            return
        (saved, recorded), self._pending = pending, None
        paths = {node.path for node in architecture.modules}
        if self._workspace.source.name == saved.model.name and paths >= {
            module.path for module in recorded.run.modules
        }:
            self._workspace.runs.baseline = recorded
            self._workspace.runs.comparison_changed.emit()


def _date(saved: str) -> str:
    """Return a file's time stamp in local time, or the beginning of what it says instead."""
    try:
        return f"{datetime.fromisoformat(saved).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return saved[:40]
