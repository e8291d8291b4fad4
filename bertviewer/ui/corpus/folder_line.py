"""A line that says what is in the folder of a corpus, and offers the choices of a run there."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.util.progress import Progress
from bertviewer.ui.corpus.folder_state import FolderState, look
from bertviewer.ui.corpus.folder_words import Words, folder_words
from bertviewer.ui.corpus.options import Wishes
from bertviewer.ui.jobs.requests import Request
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named

PATIENCE = 250
"""Milliseconds from the last letter of a folder's name to the look into it."""


class FolderLine(QWidget):
    """``looked`` says that it is known what there is, ``choices_wanted`` tells of the button.

    ``brings_choices`` until the choices of a run in another folder than before are taken over.
    """

    looked = Signal()
    choices_wanted = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._folder: str | None = None
        self._looks = 0
        self.brings_choices = False
        self.words = Words()
        self._request: Request[FolderState] = Request(workspace.requests, self, needs_torch=False)
        self._request.finished.connect(self.looked)
        self._text = named(plain_label(""), "corpusState")
        self._button = named(
            QPushButton(self.tr("&Use its settings")),
            "corpusTakeOver",
            tooltip=self.tr("Use the settings of the run in this folder"),
        )
        self._button.setAutoDefault(False)
        self._button.clicked.connect(self.choices_wanted)
        self._typed = QTimer(self)
        self._typed.setSingleShot(True)
        self._typed.setInterval(PATIENCE)
        self._typed.timeout.connect(self._look)
        hbox((self._text, 1), self._button, parent=self, spacing=2 * GRID)

    @property
    def state(self) -> FolderState | None:
        """What is in the folder, as far as it is known."""
        return self._request.result

    def look_into(self, folder: str, *, is_typed: bool = False) -> None:
        """See what is in a folder now; more letters may follow what is typed."""
        if folder != self._folder:
            self._folder, self.brings_choices = folder, True
        if is_typed:
            self._typed.start()
        else:
            self._look()

    def forget(self) -> None:
        """Want nothing more."""
        self._typed.stop()
        self._request.forget()

    def show_words(self, wishes: Wishes, *, is_taken_over: bool) -> None:
        """Say what there is, and what that means for what is wished."""
        self.words = words = folder_words(self.state, wishes, is_taken_over=is_taken_over)
        self._text.setText(words.text)
        role = WARNING if words.is_warning else QPalette.ColorRole.PlaceholderText
        self._text.setForegroundRole(role)
        self._button.setVisible(words.has_other_choices)
        self.setVisible(bool(words.text))

    def _look(self) -> None:
        self._typed.stop()
        self._looks += 1
        folder, architecture = self._folder, self._workspace.architecture
        if not folder or architecture is None:
            self._request.forget()
            self.looked.emit()
            return
        work = partial(_look_of, Path(folder), dict(architecture.config))
        self._request.want((folder, self._looks), work)


def _look_of(
    folder: Path, config: dict[str, object], _model: object, progress: Progress
) -> FolderState:
    return look(folder, config, progress)
