"""Dialog that runs the open model over a corpus."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QDialog, QPushButton, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence, printable
from bertviewer.ui.corpus.fields import CommandField
from bertviewer.ui.corpus.options import CorpusTask, load_task, store_task
from bertviewer.ui.corpus.options_form import OptionsForm
from bertviewer.ui.corpus.output_folder import FolderLine
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, scroll_area, vbox
from bertviewer.ui.widgets.progress_bar import thin_bar

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.loading.loaded_model import LoadedModel

SIZE = QSize(760, 400)
SENTENCE = "Sentence"
"""Start of the progress labels that count sentences."""
MIN_ELAPSED = 2.0  # seconds until a rate is meaningful
MINUTE, HOUR = 60, 3600


def run(task: CorpusTask, model: "LoadedModel", progress: Progress) -> "Corpus | UserError":
    """Run a task, or the rest of it; on an error, finished shards are kept."""
    from bertviewer.core.corpus.making import CorpusRequest, Process, make_corpus, threads_for
    from bertviewer.core.runs.device import CPU

    try:
        model.check_weights(task.options.random_weights)
        command = task.command(model.source, is_portable=True)
        files = tuple(map(Path, task.files))
        request = CorpusRequest(files, task.options, Path(task.folder), command)
        corpus = make_corpus(model, request, progress, Process(threads=threads_for(CPU)))
    except UserError as error:
        return error
    assert corpus is not None  # it is None only in one of several processes
    return corpus


class EtaEstimator:
    """Estimates rate and remaining time; ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start: tuple[float, int] | None = None

    def update(self, done: int, total: int) -> str:
        """Return rate and remaining time, "" while they are unknown."""
        now = self._clock()
        if self._start is None or done < self._start[1]:
            self._start = now, done
        since, first = self._start
        if now - since < MIN_ELAPSED or done <= first:
            return ""
        rate = (done - first) / (now - since)
        speed = translate("Pace", "{0} sentences per second").format(f"{rate:,.3g}")
        left = translate("Pace", "{0} left").format(_duration((total - done) / rate))
        return f"{speed} · {left}"


def _duration(seconds: float) -> str:
    if seconds < MINUTE:
        return translate("Pace", "{0} s").format(max(1, round(seconds)))
    if seconds < HOUR:
        return translate("Pace", "{0} min").format(round(seconds / MINUTE))
    hours, minutes = divmod(round(seconds / MINUTE), 60)
    return translate("Pace", "{0} h {1} min").format(hours, minutes)


class CorpusDialog(QDialog):
    """Options, state of the output folder, command, and progress.

    ``made`` has the folder and its corpus.
    """

    made = Signal(str, object)

    def __init__(self, workspace: Workspace, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("corpusDialog")
        self.setWindowTitle(self.tr("Run a corpus"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._workspace = workspace
        self._eta = EtaEstimator()
        self._is_taken_over = False
        self._extra_height = 0  # for the advanced options
        self._form = OptionsForm(offers_random=not workspace.run_input.is_trained)
        self._folder = FolderLine(workspace)
        self._command = CommandField("corpusCommand")
        self._bar = thin_bar("corpusProgress", self.tr("Progress of the run"))
        policy = self._bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._bar.setSizePolicy(policy)
        self._status = named(plain_label(""), "corpusTold")
        cancel_tooltip = self.tr("Stop (Esc). Finished shards are kept.")
        close_tooltip = self.tr("Close the dialog (Esc). Your settings are kept.")
        self._start = self._button("corpusStart", self.tr("&Run"), self._on_start)
        self._cancel = self._button(
            "corpusCancel", self.tr("Cancel"), workspace.jobs.cancel, cancel_tooltip
        )
        self._close = self._button("corpusClose", self.tr("Close"), self.close, close_tooltip)
        self._lay_out()
        self._start.setDefault(True)
        task = load_task()
        if all(Path(file).is_file() for file in task.files):
            self._form.show_task(task)
        self._connect()
        self.resize(SIZE.boundedTo(parent.size() - QSize(6 * GRID, 6 * GRID)))
        self._folder.read(self.task.folder)

    @property
    def task(self) -> CorpusTask:
        """What the form contains."""
        return self._form.task

    @property
    def _is_running(self) -> bool:
        return self._workspace.jobs.activity == "corpus"

    @override
    def reject(self) -> None:
        if self._is_running:
            self._workspace.jobs.cancel()
        else:
            super().reject()

    @override
    def done(self, result: int) -> None:
        store_task(self.task)
        self._folder.stop()
        super().done(result)

    def _lay_out(self) -> None:
        self._content = QWidget()
        margins = (4 * GRID, 4 * GRID, 4 * GRID, 2 * GRID)
        vbox(self._form, STRETCH, parent=self._content, margins=margins)
        self._area = scroll_area(self._content)
        buttons = self._close, self._cancel, self._start
        line = hbox((self._status, 1), *buttons, spacing=2 * GRID)
        margins = (4 * GRID, 3 * GRID, 4 * GRID, 3 * GRID)
        foot = vbox(self._folder, self._command, line, margins=margins, spacing=3 * GRID)
        vbox((self._area, 1), self._bar, foot, parent=self, spacing=0)

    def _button(self, name: str, text: str, call: object, tooltip: str = "") -> QPushButton:
        button = named(QPushButton(text), name, tooltip=tooltip)
        button.setAutoDefault(False)
        button.clicked.connect(call)
        return button

    def _connect(self) -> None:
        jobs = self._workspace.jobs
        self._form.changed.connect(self._on_changed)
        self._form.folder_changed.connect(
            lambda: self._folder.read(self.task.folder, is_typing=True)
        )
        self._form.advanced_toggled.connect(self._fit_height)
        self._folder.state_changed.connect(self._on_folder_state)
        self._folder.options_wanted.connect(self._take_over)
        jobs.activity_changed.connect(self._update)
        jobs.progressed.connect(self._on_progress)
        jobs.cancelled.connect(self._on_cancelled)

    def _on_folder_state(self) -> None:
        if self._folder.is_new_folder:
            self._take_over()
        self._update()

    def _take_over(self) -> None:
        """Use the options of the run in the folder."""
        self._folder.is_new_folder = False
        state = self._folder.state
        if state is not None and state.kind in ("part", "whole"):
            self._is_taken_over = not state.has_options(self.task.options)
            self._form.show_options(state.options)
        self._update()

    def _fit_height(self, is_expanded: bool) -> None:
        """Enlarge the dialog for the advanced options, or restore its height."""
        missing = self._content.sizeHint().height() - self._area.viewport().height()
        if is_expanded and missing > 0:
            available = self.screen().availableSize().height() - self.height()
            missing += self._folder.sizeHint().height() + 3 * GRID  # it may be shown later
            self._extra_height = max(0, min(missing, available))
            self.resize(self.width(), self.height() + self._extra_height)
        elif not is_expanded and self._extra_height:
            self.resize(self.width(), self.height() - self._extra_height)
            self._extra_height = 0

    def _on_changed(self) -> None:
        self._is_taken_over = False
        if not self._is_running:
            self._show_status("")
        self._update()

    def _on_start(self) -> None:
        task = self.task
        store_task(task)
        self._eta = EtaEstimator()
        self._show_status("")
        self._workspace.run_corpus(partial(run, task), partial(self._on_returned, task.folder))

    def _on_returned(self, folder: str, result: "Corpus | UserError") -> None:
        if isinstance(result, UserError):
            self._show_status(as_sentence(str(result)), is_error=True)
            self._folder.read(folder)
            return
        self.made.emit(folder, result)
        self.accept()

    def _on_progress(self, done: int, total: int, label: str) -> None:
        if not self._is_running:
            return
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        eta = self._eta.update(done, total) if label.startswith(SENTENCE) else ""
        self._show_status(f"{label} · {eta}" if eta else label)

    def _on_cancelled(self, activity: str) -> None:
        if activity == "corpus":
            self._show_status(
                self.tr("Stopped. To resume, run again with the same files, settings and folder.")
            )
            self._folder.read(self.task.folder)

    def _show_status(self, text: str, *, is_error: bool = False) -> None:
        self._status.setText(text)
        self._status.setForegroundRole(WARNING if is_error else QPalette.ColorRole.WindowText)

    def _update(self) -> None:
        """Show the state, and enable what is possible in it."""
        is_running, task, source = self._is_running, self.task, self._workspace.source
        has_focus = self.focusWidget() in (self._start, self._cancel)
        self._bar.setVisible(is_running)
        self._cancel.setVisible(is_running)
        self._start.setVisible(not is_running)
        self._close.setEnabled(not is_running)
        self._form.setEnabled(not is_running)
        if not is_running:
            self._folder.update_message(task, is_taken_over=self._is_taken_over)
        reason = self._disabled_reason(task)
        self._start.setEnabled(not reason)
        self._start.setToolTip(reason or self.tr("Run the open model on all sentences"))
        state = self._folder.state
        is_resumed = state is not None and state.kind == "part"
        self._start.setText(self.tr("&Resume") if is_resumed else self.tr("&Run"))
        self._command.setVisible(bool(task.files))
        if source is not None and task.files:
            self._command.show_command(printable(task.command(source)))
        if has_focus:
            button = self._cancel if is_running else self._start
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _disabled_reason(self, task: CorpusTask) -> str:
        """Return why the task cannot be run now, "" if it can."""
        if not task.files:
            return self.tr("Add a sentence file first")
        if not task.folder:
            return self.tr("Choose an output folder first")
        if self._workspace.jobs.activity:
            return self.tr("Another task is running")
        if self._folder.message.is_warning:
            return self._folder.message.text
        if not self._workspace.run_input.is_trained and not task.options.random_weights:
            return self.tr("This model has no weights. Select random weights to run it.")
        return ""
