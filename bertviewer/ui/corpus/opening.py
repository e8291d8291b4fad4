"""Corpora of the open model: read from their folder, or run, or gone on with; and shown."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.progress import Progress
from bertviewer.ui.dialogs import show_error
from bertviewer.ui.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.corpus.corpus import Corpus
    from bertviewer.core.corpus.making import CorpusWish
    from bertviewer.core.loading.loaded_model import LoadedModel
    from bertviewer.ui.corpus.window import CorpusWindow


def read(folder: Path, architecture: Architecture, progress: Progress) -> "Corpus":
    """Read a corpus, and check that it is of this model."""
    from bertviewer.core.corpus.as_run import check_model
    from bertviewer.core.corpus.reading import read_corpus

    progress(0, 0, f"Reading {folder.name}")
    found = read_corpus(folder)
    check_model(found, architecture)
    return found


def run(wish: "CorpusWish", model: "LoadedModel", progress: Progress) -> "Corpus":
    """Run a model over the data of a wish, or what is left of them."""
    from bertviewer.core.corpus.making import Part, make_corpus, threads_for
    from bertviewer.core.run.device import CPU

    model.check_weights(wish.choices.random_weights)
    found = make_corpus(model, wish, progress, Part(threads=threads_for(CPU)))
    assert found is not None  # there is no other process
    return found


class CorpusOpening(QObject):
    """Opens corpora beside the model that they are of, and has them made; one of them is shown."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._shown: CorpusWindow | None = None
        workspace.architecture_changed.connect(self._close)

    def choose_data(self) -> None:
        """Ask for files of sentences and for a folder, and run the open model over them."""
        files, _ = QFileDialog.getOpenFileNames(
            self._window,
            self.tr("Many sentences: text files with one a line, JSONL, CSV or Parquet"),
            "",
            self.tr("All files (*)"),
        )
        if not files:
            return
        folder = QFileDialog.getExistingDirectory(
            self._window,
            self.tr("A new folder for what comes of them, or one that has a part of it"),
        )
        if folder:
            self.run(files, folder)

    def run(self, files: Sequence[str], folder: str) -> None:
        """Run the open model over files; a folder that has a part of it already is gone on with."""
        workspace = self._workspace
        if (architecture := workspace.architecture) is None or workspace.scheduler.activity:
            return
        from bertviewer.core.corpus.choices import Choices
        from bertviewer.core.corpus.making import CorpusWish

        names = (Path(name).name for name in files)
        words = ("bertviewer", "corpus", architecture.source.name, *names, "-o", Path(folder).name)
        wish = CorpusWish(
            tuple(map(Path, files)),
            Choices(random_weights=workspace.next_run.random_weights),
            Path(folder),
            shlex.join(words),
        )
        workspace.run_corpus(partial(run, wish), partial(self._show, architecture))

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
