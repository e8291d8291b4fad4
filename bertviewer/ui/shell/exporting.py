"""Exports: the report, the modules as CSV, and saved runs."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.core.util.errors import UserError
from bertviewer.ui.run.saved_runs import save_runs
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.messages import show_error

if TYPE_CHECKING:
    from bertviewer.report.builder import ReportBuilder
    from bertviewer.report.options import Options
    from bertviewer.ui.export.dialog import ReportDialog
    from bertviewer.ui.export.drawer import Drawer
    from bertviewer.ui.export.save_dialog import Target


class Exporting(QObject):
    """Asks for files and writes them.

    Args:
        workspace: what is exported.
        window: parent of the dialogs.
        statistic: returns the statistic that is plotted per layer, which the report shows, too;
            ``None`` without a plot.
        corpus: returns the folder of the corpus that is shown, "" without one.
    """

    def __init__(
        self,
        workspace: Workspace,
        window: QWidget,
        statistic: Callable[[], str | None],
        corpus: Callable[[], str],
    ) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._statistic, self._corpus = statistic, corpus
        self._made_drawer: Drawer | None = None

    def choose_report(self) -> None:
        """Show the dialog with the preview and the options of the report."""
        if self._workspace.architecture is None:
            return
        from bertviewer.ui.export.dialog import ReportDialog

        self._workspace.prepare_drawing()
        dialog = ReportDialog(
            *(self._workspace, self._statistic(), self._drawer(), self._window),
            corpus=self._corpus(),
        )
        dialog.export_wanted.connect(partial(self._ask, dialog))
        dialog.open()
        dialog.begin()

    def write_report(self, path: Path) -> None:
        """Write the report of the open model and its last run, with the options chosen last."""
        if self._workspace.source is None:
            return
        from bertviewer.report.builder import ReportBuilder
        from bertviewer.report.formats.formats import format_by_name, format_by_suffix
        from bertviewer.ui.export.inputs import report_inputs, valid_options
        from bertviewer.ui.export.save_dialog import Target
        from bertviewer.ui.export.settings import load_options

        inputs = report_inputs(self._workspace)
        options = valid_options(load_options(inputs.source.name), inputs, self._statistic())
        target = Target(path, format_by_suffix(path) or format_by_name(options.format))
        builder = ReportBuilder(inputs, self._drawer().draw)
        self._write(target, builder, options, self._window)

    def _ask(self, dialog: "ReportDialog") -> None:
        """Ask for a file, and write the report of a dialog to it."""
        from bertviewer.report.formats.formats import format_by_name
        from bertviewer.ui.export.save_dialog import ask_file
        from bertviewer.ui.export.settings import store_folder

        form = format_by_name(dialog.options.format)
        target = ask_file(dialog, dialog.builder.inputs.source, form)
        if target is not None:
            dialog.show_format(target.form.name)
            store_folder(target.path.parent)
            self._write(target, dialog.builder, dialog.options, dialog)

    def _write(
        self, target: "Target", builder: "ReportBuilder", options: "Options", parent: QWidget
    ) -> None:
        from bertviewer.report.formats.saving import check_report

        workspace = self._workspace
        try:
            check_report(target.path, target.form, workspace.models)
        except UserError as error:
            show_error(parent, str(error))
            return
        write = partial(builder.write, target.path, target.form, options, workspace.models)
        workspace.export(write)

    def _drawer(self) -> "Drawer":
        """Return the drawer for the worker, which lives as long as the window."""
        from bertviewer.ui.export.drawer import Drawer

        if self._made_drawer is None:
            self._made_drawer = Drawer(self)
        return self._made_drawer

    def choose_modules(self) -> None:
        """Ask for a file and write the modules to it, as ``summary --format csv`` does."""
        title, kind = self.tr("Export modules as CSV"), self.tr("CSV (*.csv)")
        name, _ = QFileDialog.getSaveFileName(self._window, title, "modules.csv", kind)
        if name:
            self._workspace.export_modules(Path(name))

    def choose_runs(self) -> None:
        """Ask for a file and save the last run and the baseline to it."""
        save_runs(self._workspace, self._window)
