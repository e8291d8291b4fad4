"""Corpora of the open model: read from their folder, made, compared, and shown."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.progress import Progress
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.messages import show_error

if TYPE_CHECKING:
    from bertviewer.core.corpus.comparison import CorpusComparison
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.ui.corpus.window import CorpusWindow


def read(folder: Path, architecture: Architecture, progress: Progress) -> "Corpus":
    """Read a corpus, and check that it is of this model."""
    from bertviewer.core.corpus.corpus import check_model
    from bertviewer.core.corpus.reading import read_corpus

    progress(0, 0, f"Reading {folder.name}")
    found = read_corpus(folder)
    check_model(found, architecture)
    return found


def compare(left: "Corpus", folder: Path, progress: Progress) -> "CorpusComparison":
    """Read another corpus, which may be of another model, and compare them."""
    from bertviewer.core.corpus.comparison import compare_corpora
    from bertviewer.core.corpus.reading import read_corpus

    progress(0, 0, f"Reading {folder.name}")
    right = read_corpus(folder)
    progress(0, 0, "Comparing")
    return compare_corpora(left, right)


class CorpusOpening(QObject):
    """Opens corpora beside the model that they are of, and has them made; one of them is shown."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._shown: CorpusWindow | None = None
        self._source: ModelSource | None = None  # of the model that the shown one is of
        self.folder = ""
        workspace.architecture_changed.connect(self._on_architecture)

    def choose_data(self) -> None:
        """Ask for files of sentences, and have the open model run over them."""
        architecture = self._workspace.architecture
        if architecture is None or self._workspace.scheduler.activity:
            return
        from bertviewer.ui.corpus.dialog import CorpusDialog

        dialog = CorpusDialog(self._workspace, self._window)
        dialog.made.connect(partial(self._show, architecture))
        dialog.open()

    def open(self, folder: str) -> None:
        """Show the corpus in a folder, or say why it cannot be."""
        architecture = self._workspace.architecture
        if architecture is None:
            text = self.tr("{0} is a corpus. Open its model first.")
            show_error(self._window, text.format(folder))
            return
        work = partial(read, Path(folder), architecture)

        def returned(corpus: "Corpus") -> None:
            self._show(architecture, folder, corpus)

        self._workspace.scheduler.start("open", work, returned)

    def compare(self, folder: str) -> None:
        """Compare the corpus that is shown with the one in a folder."""
        if (shown := self._shown) is None:
            return
        name = Path(folder).name

        def returned(comparison: "CorpusComparison") -> None:
            if self._shown is shown:
                shown.show_comparison(comparison, name)

        work = partial(compare, shown.corpus, Path(folder))
        self._workspace.scheduler.start("compare", work, returned)

    def _choose_other(self) -> None:
        folder = QFileDialog.getExistingDirectory(
            self._shown, self.tr("Choose a corpus folder to compare with")
        )
        if folder:
            self.compare(folder)

    def _show(self, architecture: Architecture, folder: str, corpus: "Corpus") -> None:
        from bertviewer.ui.corpus.window import CorpusWindow

        self._close()
        self._shown = shown = CorpusWindow(corpus, architecture, self._workspace, self._window)
        self._source, self.folder = self._workspace.source, folder
        shown.comparison_wanted.connect(self._choose_other)
        shown.finished.connect(self._forget)
        shown.show()

    def _on_architecture(self) -> None:
        """Let it go if another model is open; a first run may correct what is shown of this one."""
        if self._workspace.source != self._source:
            self._close()

    def _close(self) -> None:
        if self._shown is not None:
            self._shown.close()

    def _forget(self) -> None:
        self._shown = None
        self.folder = ""
