"""Reads the folder of a corpus, which has to be of the open model, and shows it."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.progress import Progress
from bertviewer.ui.dialogs import show_error
from bertviewer.ui.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.ui.corpus.window import CorpusWindow


def read(folder: Path, architecture: Architecture, progress: Progress) -> "Corpus":
    """Read a corpus, and check that it is of this model."""
    from bertviewer.core.corpus.as_run import check_model
    from bertviewer.core.corpus.reading import read_corpus

    progress(0, 0, f"Reading {folder.name}")
    found = read_corpus(folder)
    check_model(found, architecture)
    return found


class CorpusOpening(QObject):
    """Opens corpora beside the model that they are of; one of them is shown."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._shown: CorpusWindow | None = None
        workspace.architecture_changed.connect(self._close)

    def open(self, folder: str) -> None:
        """Show the corpus in a folder, or say why it cannot be."""
        architecture = self._workspace.architecture
        if architecture is None:
            text = self.tr("{0} is a corpus, which is shown beside its model: open that first")
            show_error(self._window, text.format(folder))
            return
        work = partial(read, Path(folder), architecture)
        self._workspace.scheduler.start("open", work, partial(self._show, architecture))

    def _show(self, architecture: Architecture, corpus: "Corpus") -> None:
        from bertviewer.ui.corpus.window import CorpusWindow

        self._close()
        self._shown = shown = CorpusWindow(corpus, architecture, self._workspace, self._window)
        shown.finished.connect(self._forget)
        shown.show()

    def _close(self) -> None:
        """Let it go: the model that is open now may be another one."""
        if self._shown is not None:
            self._shown.close()

    def _forget(self) -> None:
        self._shown = None
