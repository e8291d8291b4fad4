"""All ways to open a model: by name, by a dialog, by dropping it on the window, or once more."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Signal
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import RUNS_SUFFIX, parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.ui.checkpoint.pickle_consent import WeightsConsent
from bertviewer.ui.settings.settings import exists, forget, recent_names, remember
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.messages import MODEL_FILES, show_error


class Opening(QObject):
    """Opens models in a window; an error is shown in the window, and nothing changes.

    ``began`` names a model that is about to be opened; ``dragged`` tells whether something that
    can be dropped is over the window. ``corpus_wanted`` brings the folder of a corpus.
    """

    began = Signal(str)
    dragged = Signal(bool)
    corpus_wanted = Signal(str)

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._hub_name = ""  # that could not be opened yet
        self._consent = WeightsConsent(workspace, window, workspace.open)
        workspace.architecture_changed.connect(self._on_opened)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    @property
    def recent(self) -> list[tuple[str, bool]]:
        """The models that were opened last, and whether each is still there."""
        return [(name, exists(name)) for name in recent_names()]

    def open_source(self, source: ModelSource) -> None:
        """Open a model in place of the one that is open."""
        self.began.emit(source.name)
        self._consent.ask(source)

    def open_named(self, name: str) -> None:
        """Open a preset, the demo or a path as it was saved, or the folder of a corpus."""
        if _is_corpus(name):
            self.corpus_wanted.emit(name)
            return
        try:
            self.open_source(parse_source(name))
        except UserError as error:
            retry = self.tr("Try again"), partial(self.open_named, name)
            other = self.tr("Open another folder…"), self.choose_folder
            show_error(self._window, str(error), retry, other)

    def open_again(self) -> None:
        """Open the open model anew, as its files are now."""
        if self._workspace.source is not None:
            self.open_source(self._workspace.source)

    def open_recent(self, name: str) -> None:
        """Open a model once more, or say that it is gone and take it off the list."""
        if exists(name):
            self.open_named(name)
            return
        forget(name)
        text = self.tr("{0} no longer exists and was removed from the list")
        show_error(self._window, text.format(name))

    def choose_folder(self) -> None:
        """Ask for a model's folder and open it."""
        folder = QFileDialog.getExistingDirectory(
            self._window, self.tr("Open a model or corpus folder")
        )
        if folder:
            self.open_named(folder)

    def choose_file(self) -> None:
        """Ask for a configuration or for weights, and open them."""
        file, _ = QFileDialog.getOpenFileName(
            self._window,
            self.tr("Open a config.json, weights or saved runs"),
            "",
            self.tr("Models and runs ({0});;All files (*)").format(f"{MODEL_FILES} *{RUNS_SUFFIX}"),
        )
        if file:
            self.open_named(file)

    def choose_hub(self, use: Callable[[str], None] | None = None) -> None:
        """Ask for a model of the hub and open it, or ``use`` its name otherwise."""
        from bertviewer.ui.hub.dialog import HubDialog

        dialog = HubDialog(self._window, self._hub_name)
        dialog.chosen.connect(self._keep_hub_name)
        dialog.chosen.connect(use or self.open_named)
        dialog.failed.connect(self._workspace.jobs.errored)
        dialog.open()

    def _keep_hub_name(self, name: str) -> None:
        """Keep a name until its model is open: one that cannot be opened may be mistyped."""
        self._hub_name = name

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take a file or folder that is dropped on the window; Qt calls it."""
        if event.type() in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            assert isinstance(event, QDropEvent)  # what enters is one too
            path = _dropped(event.mimeData())
            if path:
                event.acceptProposedAction()
                is_drop = event.type() == QEvent.Type.Drop
                self.dragged.emit(not is_drop)
                if is_drop:
                    self.open_named(path)
                return True
        elif event.type() == QEvent.Type.DragLeave:
            self.dragged.emit(False)
        return super().eventFilter(watched, event)

    def _on_opened(self) -> None:
        self._hub_name = ""
        if self._workspace.source is not None:
            remember(self._workspace.source)


def _is_corpus(name: str) -> bool:
    if not (Path(name) / "manifest.json").is_file():
        return False
    from bertviewer.core.corpus.reading import is_corpus  # needs numpy

    return is_corpus(Path(name))


def _dropped(data: QMimeData) -> str:
    """Return the path of the one thing that is dropped; empty for several, or for no file."""
    paths = [url.toLocalFile() for url in data.urls()]
    return paths[0] if len(paths) == 1 else ""
