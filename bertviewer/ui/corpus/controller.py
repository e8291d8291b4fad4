"""Opens, runs and compares corpora of the open model, and shows one in a window."""

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
    """Read a corpus of this model.

    Raises:
        UserError: it cannot be read, or is a corpus of another model.
    """
    from bertviewer.core.corpus.corpus import check_model
    from bertviewer.core.corpus.reading import read_corpus

    progress(0, 0, f"Reading {folder.name}")
    corpus = read_corpus(folder)
    check_model(corpus, architecture)
    return corpus


def compare(left: "Corpus", folder: Path, progress: Progress) -> "CorpusComparison":
    """Compare with the corpus in a folder, which may be of another model."""
    from bertviewer.core.corpus.comparison import compare_corpora
    from bertviewer.core.corpus.reading import read_corpus

    progress(0, 0, f"Reading {folder.name}")
    right = read_corpus(folder)
    progress(0, 0, "Comparing")
    return compare_corpora(left, right)


class CorpusController(QObject):
    """Owns the dialog and the window; ``folder`` is that of the shown corpus, "" for none."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._shown: CorpusWindow | None = None
        self._source: ModelSource | None = None  # of the shown corpus
        self.folder = ""
        workspace.architecture_changed.connect(self._on_architecture)

    def open_dialog(self) -> None:
        """Open the dialog that runs the model over a corpus."""
        architecture = self._workspace.architecture
        if architecture is None or self._workspace.jobs.activity:
            return
        from bertviewer.ui.corpus.dialog import CorpusDialog

        dialog = CorpusDialog(self._workspace, self._window)
        dialog.made.connect(partial(self._show, architecture))
        dialog.open()

    def open(self, folder: str) -> None:
        """Show the corpus in a folder."""
        architecture = self._workspace.architecture
        if architecture is None:
            text = self.tr("{0} is a corpus. Open its model first.")
            show_error(self._window, text.format(folder))
            return
        work = partial(read, Path(folder), architecture)
        self._workspace.jobs.start("open", work, partial(self._show, architecture, folder))

    def compare(self, folder: str) -> None:
        """Compare the shown corpus with the one in a folder."""
        if (shown := self._shown) is None:
            return

        def show(comparison: "CorpusComparison") -> None:
            if self._shown is shown:
                shown.show_comparison(comparison, Path(folder).name)

        work = partial(compare, shown.corpus, Path(folder))
        self._workspace.jobs.start("compare", work, show)

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
        shown.finished.connect(self._on_closed)
        shown.show()

    def _on_architecture(self) -> None:
        """Close the window if another model was opened; a run may replace the architecture too."""
        if self._workspace.source != self._source:
            self._close()

    def _close(self) -> None:
        if self._shown is not None:
            self._shown.close()

    def _on_closed(self) -> None:
        self._shown = None
        self.folder = ""
