"""Asks where runs shall be saved, and which file of runs shall be opened."""

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.core.saving.atomic_files import check_writable
from bertviewer.core.sources.parsing import RUNS_SUFFIX
from bertviewer.core.util.errors import UserError
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.messages import show_error


class SavesRuns(QObject):
    """Saves what the window shows; opening is done as with any model."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window

    def choose(self) -> None:
        """Ask for a file, and write the last run and run A to it."""
        source = self._workspace.source
        if self._workspace.runs.run is None or source is None:
            return
        stem = Path(source.name.rstrip("/")).stem or "run"
        name, _ = QFileDialog.getSaveFileName(
            self._window,
            self.tr("Save run as"),
            f"{stem}{RUNS_SUFFIX}",
            self.tr("Runs (*{0})").format(RUNS_SUFFIX),
        )
        if not name:
            return
        path = Path(name)
        if not path.suffix:
            path = path.with_suffix(RUNS_SUFFIX)
        try:
            check_writable(path, self._workspace.models)
        except UserError as error:
            show_error(self._window, str(error))
            return
        self._workspace.save_runs(path)
