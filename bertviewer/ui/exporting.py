"""All ways to take along what is open: the report, the modules, and the runs that are kept."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.core.errors import UserError
from bertviewer.core.saving.files import check_writable
from bertviewer.ui.dialogs import show_error
from bertviewer.ui.run_files.saving import SavesRuns
from bertviewer.ui.workspace import Workspace


class Exporting(QObject):
    """Asks for files and has them written.

    ``statistic`` says which one is plotted per layer, ``None`` before there is a plot: the report
    shows the same.
    """

    def __init__(
        self, workspace: Workspace, window: QWidget, statistic: Callable[[], str | None]
    ) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._statistic = statistic

    def choose_report(self) -> None:
        """Ask for a file and write the report to it."""
        title, kind = self.tr("Export report as PDF"), self.tr("PDF (*.pdf)")
        name, _ = QFileDialog.getSaveFileName(self._window, title, "bertviewer.pdf", kind)
        if name:
            self.write_report(Path(name))

    def write_report(self, path: Path) -> None:
        """Write the report of the open model and of its last run."""
        workspace = self._workspace
        architecture = workspace.architecture
        if architecture is None:
            return
        try:
            check_writable(path, workspace.models)
        except UserError as error:
            show_error(self._window, str(error))
            return
        run, statistic, drawn = workspace.runs.run, self._statistic(), None
        if run is not None and statistic is not None:
            from bertviewer.report.document import draw_run

            # Plots are widgets, which only this thread may draw; the rest is the worker's.
            drawn = draw_run(architecture, run, statistic)
        workspace.export(path, drawn)

    def choose_modules(self) -> None:
        """Ask for a file and write the module tree to it, as ``summary --format csv`` does."""
        title, kind = self.tr("Export modules as CSV"), self.tr("CSV (*.csv)")
        name, _ = QFileDialog.getSaveFileName(self._window, title, "modules.csv", kind)
        if name:
            self._workspace.export_modules(Path(name))

    def choose_runs(self) -> None:
        """Ask for a file and save the last run and run A to it."""
        SavesRuns(self._workspace, self._window).choose()
