"""The dialog of a report: what is chosen of it, and its pages as they will be printed."""

from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import printable
from bertviewer.report.contents import CHAPTERS
from bertviewer.report.formats.formats import FORMATS
from bertviewer.report.layers import read_layers
from bertviewer.ui.export.command import recipe_of
from bertviewer.ui.export.drawer import Drawer
from bertviewer.ui.export.export_status import Outcome
from bertviewer.ui.export.maker import Order, ReportMaker
from bertviewer.ui.export.options import Wishes, remember, remembered
from bertviewer.ui.export.options_form import Choosing
from bertviewer.ui.export.pages_view import PagesView, size_of
from bertviewer.ui.export.preview import Preview
from bertviewer.ui.export.report_inputs import Material, layers_of, material_of
from bertviewer.ui.export.save_dialog import find_format, proposed_name
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.progress_bar import thin_bar

SIZE = QSize(1120, 820)
PATIENCE = 250
"""Milliseconds from the last letter that was typed to the pages that have it."""
_NAMES = tuple(chapter.name for chapter in CHAPTERS)


def order_of(material: Material, wishes: Wishes, file: str = "") -> Order:
    """Return what is to be made of a material for these wishes; ``file`` is its file's name."""
    choices = wishes.choices(_NAMES, "")
    try:
        layers = read_layers(wishes.layers).of(layers_of(material))
    except UserError:
        layers = None  # which ones there are is said beside the field
    name = file or proposed_name(material.source, find_format(wishes.form))
    command = recipe_of(material, choices, layers, name, wishes.corpus).command
    return Order(wishes.choices(_NAMES, command), layers, wishes.corpus)


class ReportDialog(QDialog):
    """Shows the report of what the window has open; ``export_wanted`` asks for its file.

    ``corpus`` is the folder of the corpus that is shown beside the window, ``""`` for none.
    """

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
        super().__init__(parent)
        self.setObjectName("reportDialog")
        self.setWindowTitle(self.tr("Export report"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._workspace, self._statistic, self._drawer = workspace, statistic, drawer
        self.maker = ReportMaker(material_of(workspace, statistic), drawer)
        self._choosing = Choosing()
        self._view = PagesView()
        self._bar = thin_bar("reportProgress", self.tr("Progress of the report"))
        policy = self._bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing moves when it comes and goes
        self._bar.setSizePolicy(policy)
        self._outcome = Outcome()
        self._preview = Preview(workspace, self)
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(PATIENCE)
        self._typed.timeout.connect(self._make)
        self._export = self._button("reportExport", self.tr("&Export…"), self._on_export)
        self._export.setToolTip(self.tr("Choose a file name and export the report"))
        self._cancel = self._button("reportCancel", self.tr("Cancel"), workspace.jobs.cancel)
        self._cancel.setToolTip(
            self.tr("Cancel the export (Esc). An existing file is not changed.")
        )
        self._close = self._button("reportClose", self.tr("Close"), self.close)
        self._close.setToolTip(self.tr("Close the dialog (Esc). Your settings are kept."))
        self._lay_out()
        self._export.setDefault(True)
        wishes = remembered(self.maker.material.source.name)
        self._choosing.show_wishes(
            self.maker.material, replace(wishes, corpus=corpus) if corpus else wishes
        )
        self._connect()
        self.resize(SIZE.boundedTo(parent.size() - QSize(6 * GRID, 6 * GRID)))
        self._update()

    @property
    def wishes(self) -> Wishes:
        """What is chosen."""
        return self._choosing.wishes

    @property
    def _is_written(self) -> bool:
        """Whether a file is being written."""
        return self._workspace.jobs.activity == "export"

    def begin(self) -> None:
        """Have the pages made."""
        self._choosing.chapters.setFocus(Qt.FocusReason.PopupFocusReason)
        self._make()

    def show_form(self, name: str) -> None:
        """Show which format was chosen by a file's ending."""
        self._choosing.show_form(name)

    def reject(self) -> None:
        """Give up what is written, and else close; Qt calls it for Esc and the window's cross."""
        if self._is_written:
            self._workspace.jobs.cancel()
        else:
            super().reject()

    def done(self, result: int) -> None:
        """Keep what is chosen, and want no more pages; Qt calls it."""
        remember(self.wishes, self.maker.material.source.name)
        self._typed.stop()
        self._preview.close()
        super().done(result)

    def _connect(self) -> None:
        workspace, jobs = self._workspace, self._workspace.jobs
        self._choosing.changed.connect(self._make)
        self._choosing.typed.connect(self._typed.start)
        self._preview.changed.connect(self._on_pages)
        self._preview.drawn.connect(self._view.show_images)
        self._preview.late.connect(self._update)
        self._view.seen.connect(self._preview.want_images)
        for signal in (workspace.formulas_changed, workspace.architecture_changed):
            signal.connect(self._gather)
        for signal in (workspace.runs.run_changed, workspace.runs.check_changed):
            signal.connect(self._gather)
        jobs.activity_changed.connect(self._update)
        jobs.progressed.connect(self._on_progress)
        jobs.cancelled.connect(self._on_cancelled)
        workspace.exported.connect(self._on_exported)

    def _lay_out(self) -> None:
        middle = QHBoxLayout()
        middle.setSpacing(0)
        self._choosing.setFixedWidth(self._choosing.sizeHint().width())
        middle.addWidget(self._choosing)
        middle.addWidget(self._view, 1)
        foot = QHBoxLayout()
        foot.setContentsMargins(4 * GRID, 3 * GRID, 4 * GRID, 3 * GRID)
        foot.setSpacing(2 * GRID)
        foot.addWidget(self._outcome, 1)
        foot.addSpacing(2 * GRID)
        for button in (self._close, self._cancel, self._export):
            foot.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(middle, 1)
        layout.addWidget(self._bar)
        layout.addLayout(foot)

    def _button(self, name: str, words: str, call: object) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setAutoDefault(False)
        button.clicked.connect(call)
        return button

    def _make(self) -> None:
        """Have the pages made as they are wished for now."""
        self._typed.stop()
        self._outcome.say("")
        self._preview.want(self.maker, order_of(self.maker.material, self.wishes))
        self._update()

    def _gather(self) -> None:
        """Begin anew with what the window knows now."""
        material = material_of(self._workspace, self._statistic)
        self.maker = ReportMaker(material, self._drawer, self.maker)
        self._choosing.take(self.maker.material)
        self._make()

    def _on_pages(self) -> None:
        order = order_of(self.maker.material, self.wishes)
        self._choosing.corpus.show_trouble(self.maker.trouble(order))
        pages = self._preview.pages
        if self._preview.error or pages is None:
            self._view.show_message(self._preview.error)
        else:
            self._choosing.chapters.show_told(pages.chapters)
            self._view.show_pages([size_of(page) for page in pages.svgs])
        self._update()

    def _on_progress(self, done: int, total: int, label: str) -> None:
        if self._bar.isVisible():
            self._bar.setRange(0, total)
            self._bar.setValue(done)
            if label and self._is_written:
                self._outcome.say(f"{label}…")

    def _on_cancelled(self, activity: str) -> None:
        if activity == "export":
            self._outcome.show_end(self.tr("Cancelled. No file was written."))

    def _on_exported(self, path: str) -> None:
        words = self.tr("{0} was written").format(printable(Path(path).name))
        self._outcome.show_end(words, Path(path))

    def _on_export(self) -> None:
        remember(self.wishes, self.maker.material.source.name)
        self.export_wanted.emit()

    def _update(self) -> None:
        """Show what goes on, and offer what can be done meanwhile."""
        is_written = self._is_written
        has_focus = self.focusWidget() in (self._export, self._cancel)
        self._bar.setVisible(is_written or self._preview.is_waiting)
        self._cancel.setVisible(is_written)
        self._export.setVisible(not is_written)
        self._export.setEnabled(not self._workspace.jobs.activity)
        self._close.setEnabled(not is_written)
        self._choosing.setEnabled(not is_written)
        if has_focus:
            button = self._cancel if is_written else self._export
            button.setFocus(Qt.FocusReason.OtherFocusReason)
        if is_written and self._outcome.has_ended:
            self._outcome.say("")  # another one is on its way
        elif not is_written and not self._outcome.has_ended:
            self._outcome.say(self._described())

    def _described(self) -> str:
        pages = self._preview.pages
        if self._preview.is_waiting:
            return self.tr("Generating preview…")
        if pages is None:
            return ""
        count = count_text(len(pages.svgs), self.tr("1 page"), self.tr("{0} pages"))
        is_pdf = self.wishes.form == FORMATS[0].name
        text = self.tr("{0}, {1} MB") if is_pdf else self.tr("{0}, {1} MB as PDF")
        return text.format(count, f"{pages.nbytes / 1e6:.1f}")
