"""The dialog in which many sentences are run: what is chosen, what it does, how far it is."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QDialog, QPushButton, QScrollArea, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence, printable
from bertviewer.ui.corpus.command_line import CommandLine
from bertviewer.ui.corpus.eta_estimator import Pace
from bertviewer.ui.corpus.folder_line import FolderLine
from bertviewer.ui.corpus.options import Wishes, remember, remembered
from bertviewer.ui.corpus.options_form import Choosing
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, scroll_area, vbox
from bertviewer.ui.widgets.progress_bar import thin_bar

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.loading.loaded_model import LoadedModel

SIZE = QSize(760, 400)
RUNNING = "Sentence"
"""What progress begins with that counts sentences."""


def run(wishes: Wishes, model: "LoadedModel", progress: Progress) -> "Corpus | UserError":
    """Run a model over data, or what is left of them; what is finished stays if that fails."""
    from bertviewer.core.corpus.making import CorpusRequest, Process, make_corpus, threads_for
    from bertviewer.core.runs.device import CPU

    try:
        model.check_weights(wishes.choices.random_weights)
        command = wishes.command(model.source, are_names=True)
        wish = CorpusRequest(
            tuple(map(Path, wishes.files)), wishes.choices, Path(wishes.folder), command
        )
        found = make_corpus(model, wish, progress, Process(threads=threads_for(CPU)))
    except UserError as error:
        return error
    assert found is not None  # there is no other process
    return found


class CorpusDialog(QDialog):
    """``made`` brings the folder and the corpus in it."""

    made = Signal(str, object)

    def __init__(self, workspace: Workspace, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("corpusDialog")
        self.setWindowTitle(self.tr("Run a corpus"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._workspace = workspace
        self._pace = Pace()
        self._is_taken_over = False
        self._grown = 0
        self._choosing = Choosing(offers_random=not workspace.next_run.is_trained)
        self._folder = FolderLine(workspace)
        self._command = CommandLine("corpusCommand")
        self._bar = thin_bar("corpusProgress", self.tr("Progress of the run"))
        policy = self._bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing moves when it comes and goes
        self._bar.setSizePolicy(policy)
        self._told = named(plain_label(""), "corpusTold")
        self._start = self._button("corpusStart", self.tr("&Run"), self._on_start)
        self._cancel = self._button("corpusCancel", self.tr("Cancel"), workspace.scheduler.cancel)
        self._cancel.setToolTip(self.tr("Stop (Esc). Finished shards are kept."))
        self._close = self._button("corpusClose", self.tr("Close"), self.close)
        self._close.setToolTip(self.tr("Close the dialog (Esc). Your settings are kept."))
        self._inside, self._area = QWidget(), QScrollArea()
        self._lay_out()
        self._start.setDefault(True)
        self._show_last()
        self._connect()
        self.resize(SIZE.boundedTo(parent.size() - QSize(6 * GRID, 6 * GRID)))
        self._folder.look_into(self.wishes.folder)

    @property
    def wishes(self) -> Wishes:
        """What is chosen."""
        return self._choosing.wishes

    @property
    def _is_running(self) -> bool:
        return self._workspace.scheduler.activity == "corpus"

    def reject(self) -> None:
        """Stop what is run, and else close; Qt calls it for Esc and the window's cross."""
        if self._is_running:
            self._workspace.scheduler.cancel()
        else:
            super().reject()

    def done(self, result: int) -> None:
        """Keep what is chosen, and want nothing more; Qt calls it."""
        remember(self.wishes)
        self._folder.forget()
        super().done(result)

    def _lay_out(self) -> None:
        margins = (4 * GRID, 4 * GRID, 4 * GRID, 2 * GRID)
        vbox(self._choosing, STRETCH, parent=self._inside, margins=margins)
        buttons = hbox((self._told, 1), self._close, self._cancel, self._start, spacing=2 * GRID)
        foot = vbox(
            self._folder,
            self._command,
            buttons,
            margins=(4 * GRID, 3 * GRID, 4 * GRID, 3 * GRID),
            spacing=3 * GRID,
        )
        self._area = scroll_area(self._inside)
        vbox((self._area, 1), self._bar, foot, parent=self, spacing=0)

    def _button(self, name: str, words: str, call: object) -> QPushButton:
        button = named(QPushButton(words), name)
        button.setAutoDefault(False)
        button.clicked.connect(call)
        return button

    def _connect(self) -> None:
        scheduler = self._workspace.scheduler
        self._choosing.changed.connect(self._on_changed)
        self._choosing.folder_changed.connect(self._on_folder)
        self._choosing.more_toggled.connect(self._grow)
        self._folder.looked.connect(self._on_looked)
        self._folder.choices_wanted.connect(self._take_over)
        scheduler.activity_changed.connect(self._update)
        scheduler.progressed.connect(self._on_progress)
        scheduler.cancelled.connect(self._on_cancelled)

    def _show_last(self) -> None:
        """Show what was chosen last, if its files are still there."""
        wishes = remembered()
        if all(Path(file).is_file() for file in wishes.files):
            self._choosing.show_wishes(wishes)

    def _on_folder(self) -> None:
        self._folder.look_into(self.wishes.folder, is_typed=True)

    def _on_looked(self) -> None:
        """Take over the choices of a run that is gone on with, where the folder is a new one."""
        if self._folder.brings_choices:
            self._take_over()
        self._update()

    def _take_over(self) -> None:
        self._folder.brings_choices = False
        state = self._folder.state
        if state is not None and state.kind in ("part", "whole"):
            self._is_taken_over = not state.goes_on_with(self.wishes.choices)
            self._choosing.show_choices(state.choices)
        self._update()

    def _grow(self, is_open: bool) -> None:
        """Give the further choices their room, and take it back."""
        lacking = self._inside.sizeHint().height() - self._area.viewport().height()
        if is_open and lacking > 0:
            most = self.screen().availableSize().height() - self.height()
            # What is said of the folder may come, and takes some of it.
            lacking += self._folder.sizeHint().height() + 3 * GRID
            self._grown = max(0, min(lacking, most))
            self.resize(self.width(), self.height() + self._grown)
        elif not is_open and self._grown:
            self.resize(self.width(), self.height() - self._grown)
            self._grown = 0

    def _on_changed(self) -> None:
        self._is_taken_over = False
        if not self._is_running:
            self._say("")
        self._update()

    def _on_start(self) -> None:
        wishes = self.wishes
        remember(wishes)
        self._pace = Pace()
        self._say("")
        self._workspace.run_corpus(partial(run, wishes), partial(self._on_returned, wishes.folder))

    def _on_returned(self, folder: str, found: "Corpus | UserError") -> None:
        if isinstance(found, UserError):
            self._say(as_sentence(str(found)), is_error=True)
            self._folder.look_into(folder)
            return
        self.made.emit(folder, found)
        self.accept()

    def _on_progress(self, done: int, total: int, label: str) -> None:
        if not self._is_running:
            return
        self._bar.setRange(0, total)
        self._bar.setValue(done)
        pace = self._pace.told(done, total) if label.startswith(RUNNING) else ""
        self._say(f"{label} · {pace}" if pace else label)

    def _on_cancelled(self, activity: str) -> None:
        if activity == "corpus":
            self._say(
                self.tr("Stopped. To resume, run again with the same files, settings and folder.")
            )
            self._folder.look_into(self.wishes.folder)

    def _say(self, words: str, *, is_error: bool = False) -> None:
        self._told.setText(words)
        self._told.setForegroundRole(WARNING if is_error else QPalette.ColorRole.WindowText)

    def _update(self) -> None:
        """Show what goes on, and offer what can be done meanwhile."""
        is_running, wishes, source = self._is_running, self.wishes, self._workspace.source
        has_focus = self.focusWidget() in (self._start, self._cancel)
        self._bar.setVisible(is_running)
        self._cancel.setVisible(is_running)
        self._start.setVisible(not is_running)
        self._close.setEnabled(not is_running)
        self._choosing.setEnabled(not is_running)
        if not is_running:
            self._folder.show_words(wishes, is_taken_over=self._is_taken_over)
        lacking = self._lacking(wishes)
        self._start.setEnabled(not lacking)
        self._start.setToolTip(lacking or self.tr("Run the open model on all sentences"))
        state = self._folder.state
        goes_on = state is not None and state.kind == "part"
        self._start.setText(self.tr("&Resume") if goes_on else self.tr("&Run"))
        self._command.setVisible(bool(wishes.files))
        if source is not None and wishes.files:
            self._command.show_command(printable(wishes.command(source)))
        if has_focus:
            button = self._cancel if is_running else self._start
            button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _lacking(self, wishes: Wishes) -> str:
        """Return why nothing can be run now, "" if it can be."""
        if not wishes.files:
            return self.tr("Add a sentence file first")
        if not wishes.folder:
            return self.tr("Choose an output folder first")
        if self._workspace.scheduler.activity:
            return self.tr("Another task is running")
        if self._folder.words.is_warning:
            return self._folder.words.text
        if not self._workspace.next_run.is_trained and not wishes.choices.random_weights:
            return self.tr("This model has no weights. Select random weights to run it.")
        return ""
