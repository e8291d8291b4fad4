"""Dialog that exports a report: its options, and a preview of its pages."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.report.builder import ReportBuilder
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.options import Options
from bertviewer.ui.export.drawer import Drawer
from bertviewer.ui.export.export_status import ExportStatus
from bertviewer.ui.export.inputs import report_inputs, valid_options
from bertviewer.ui.export.options_form import OptionsForm
from bertviewer.ui.export.pages_view import PagesView, page_size
from bertviewer.ui.export.preview import Preview
from bertviewer.ui.export.settings import load_options, store_options
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import named
from bertviewer.ui.widgets.progress_bar import thin_bar

SIZE = QSize(1120, 820)
TYPING_DELAY = 250
"""Milliseconds from the last typed letter to a new preview."""


class ReportDialog(QDialog):
    """Shows the report of the open model; ``export_wanted`` is emitted to save it."""

    export_wanted = Signal()

    def __init__(
        self,
        workspace: Workspace,
        statistic: str | None,
        drawer: Drawer,
        parent: QWidget,
        *,
        corpus: str = "",
    ) -> None:
        """Show the corpus in a folder, "" for the one of the last report."""
        super().__init__(parent)
        self.setObjectName("reportDialog")
        self.setWindowTitle(self.tr("Export report"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._workspace, self._statistic, self._drawer = workspace, statistic, drawer
        self.builder = ReportBuilder(report_inputs(workspace), drawer.draw)
        self._form = OptionsForm()
        self._view = PagesView()
        self._bar = thin_bar("reportProgress", self.tr("Progress of the report"))
        policy = self._bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._bar.setSizePolicy(policy)
        self._status = ExportStatus()
        self._preview = Preview(workspace, self)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_DELAY)
        self._typing.timeout.connect(self._update_preview)
        self._export = self._button(
            *("reportExport", self.tr("&Export…"), self._on_export),
            self.tr("Choose a file name and export the report"),
        )
        self._cancel = self._button(
            *("reportCancel", self.tr("Cancel"), workspace.jobs.cancel),
            self.tr("Cancel the export (Esc). An existing file is not changed."),
        )
        self._close = self._button(
            *("reportClose", self.tr("Close"), self.close),
            self.tr("Close the dialog (Esc). Your settings are kept."),
        )
        self._lay_out()
        self._export.setDefault(True)
        options = load_options(self._model_name)
        self._form.show_options(
            self.builder.inputs, replace(options, corpus=corpus) if corpus else options
        )
        self._connect()
        self.resize(SIZE.boundedTo(parent.size() - QSize(6 * GRID, 6 * GRID)))
        self._update()

    @property
    def options(self) -> Options:
        """The options that the user chose, as far as they fit the model."""
        return valid_options(self._form.options, self.builder.inputs, self._statistic)

    @property
    def _model_name(self) -> str:
        return self.builder.inputs.source.name

    @property
    def _is_exporting(self) -> bool:
        return self._workspace.jobs.activity == "export"

    def begin(self) -> None:
        """Show the first preview."""
        self._form.chapters.setFocus(Qt.FocusReason.PopupFocusReason)
        self._update_preview()

    def show_format(self, name: str) -> None:
        """Show the format that was chosen by the file's extension."""
        self._form.show_format(name)

    @override
    def reject(self) -> None:
        if self._is_exporting:
            self._workspace.jobs.cancel()
        else:
            super().reject()

    @override
    def done(self, result: int) -> None:
        self._store_options()
        self._typing.stop()
        self._preview.close()
        super().done(result)

    def _connect(self) -> None:
        workspace, jobs = self._workspace, self._workspace.jobs
        self._form.changed.connect(self._update_preview)
        self._form.typed.connect(self._typing.start)
        self._preview.changed.connect(self._on_pages)
        self._preview.drawn.connect(self._view.show_images)
        self._preview.late.connect(self._update)
        self._view.images_wanted.connect(self._preview.request_images)
        for signal in (
            *(workspace.formulas_changed, workspace.architecture_changed),
            *(workspace.runs.run_changed, workspace.runs.check_changed),
        ):
            signal.connect(self._update_inputs)
        jobs.activity_changed.connect(self._update)
        jobs.progressed.connect(self._on_progress)
        jobs.cancelled.connect(self._on_cancelled)
        workspace.exported.connect(self._on_exported)

    def _lay_out(self) -> None:
        middle = QHBoxLayout()
        middle.setSpacing(0)
        self._form.setFixedWidth(self._form.sizeHint().width())
        middle.addWidget(self._form)
        middle.addWidget(self._view, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(4 * GRID, 3 * GRID, 4 * GRID, 3 * GRID)
        foot.setSpacing(2 * GRID)
        foot.addWidget(self._status, 1)
        foot.addSpacing(2 * GRID)
        for button in (self._close, self._cancel, self._export):
            foot.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(middle, 1)
        layout.addWidget(self._bar)
        layout.addLayout(foot)

    def _button(
        self, name: str, text: str, on_click: Callable[[], object], tip: str
    ) -> QPushButton:
        button = named(QPushButton(text), name, tooltip=tip)
        button.setAutoDefault(False)
        button.clicked.connect(on_click)
        return button

    def _store_options(self) -> None:
        store_options(self._form.options, self._model_name)

    def _update_preview(self) -> None:
        self._typing.stop()
        self._status.show_text("")
        self._preview.request(self.builder, self.options)
        self._update()

    def _update_inputs(self) -> None:
        """Continue with the window's current model and runs."""
        inputs = report_inputs(self._workspace)
        self.builder = ReportBuilder(inputs, self._drawer.draw, self.builder)
        self._form.update_inputs(inputs)
        self._update_preview()

    def _on_pages(self) -> None:
        self._form.corpus.show_problem(self.builder.corpus_problem(self.options))
        pages = self._preview.pages
        if self._preview.error or pages is None:
            self._view.show_message(self._preview.error)
        else:
            self._form.chapters.show_written(pages.chapters)
            self._view.show_pages([*map(page_size, pages.svgs)])
        self._update()

    def _on_progress(self, done: int, total: int, label: str) -> None:
        if self._bar.isVisible():
            self._bar.setRange(0, total)
            self._bar.setValue(done)
            if label and self._is_exporting:
                self._status.show_text(f"{label}…")

    def _on_cancelled(self, activity: str) -> None:
        if activity == "export":
            self._status.show_result(self.tr("Cancelled. No file was written."))

    def _on_exported(self, path: str) -> None:
        text = self.tr("{0} was written").format(printable(Path(path).name))
        self._status.show_result(text, Path(path))

    def _on_export(self) -> None:
        if self._typing.isActive():
            self._update_preview()  # later it would replace the result
        self._store_options()
        self.export_wanted.emit()

    def _update(self) -> None:
        """Update buttons and status text."""
        is_exporting = self._is_exporting
        has_focus = self.focusWidget() in (self._export, self._cancel)
        self._bar.setVisible(is_exporting or self._preview.is_waiting)
        self._cancel.setVisible(is_exporting)
        self._export.setVisible(not is_exporting)
        self._export.setEnabled(not self._workspace.jobs.activity)
        self._close.setEnabled(not is_exporting)
        self._form.setEnabled(not is_exporting)
        if has_focus:
            button = self._cancel if is_exporting else self._export
            button.setFocus(Qt.FocusReason.OtherFocusReason)
        if is_exporting and self._status.is_result:
            self._status.show_text("")  # of an earlier export
        elif not is_exporting and not self._status.is_result:
            self._status.show_text(self._described())

    def _described(self) -> str:
        pages = self._preview.pages
        if self._preview.is_waiting:
            return self.tr("Generating preview…")
        if pages is None:
            return ""
        count = count_text(len(pages.svgs), self.tr("1 page"), self.tr("{0} pages"))
        is_pdf = self._form.options.format == FORMATS[0].name
        text = self.tr("{0}, {1} MB") if is_pdf else self.tr("{0}, {1} MB as PDF")
        return text.format(count, f"{pages.nbytes / 1e6:.1f}")
