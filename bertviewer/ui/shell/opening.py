"""Opening models: by name, with dialogs, by dropping files, or again."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFileDialog, QWidget
from typing_extensions import override

from bertviewer.charts.theme import GRID, LARGE, ROUND
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import RUNS_SUFFIX, parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.plots.fonts import sized, weighted
from bertviewer.ui.checkpoint.pickle_consent import WeightsConsent
from bertviewer.ui.settings.settings import exists, forget, recent_names, remember
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.messages import MODEL_FILES, show_error

TINT = 40  # of 255: opacity of the drop hint


class Opening(QObject):
    """Opens models; after an error, which the window shows, the open model stays.

    Signals:
        began: the name of a model that is about to be opened.
        dragged: whether a file that can be opened is over the window.
        corpus_wanted: the folder of a corpus to be opened.
    """

    began = Signal(str)
    dragged = Signal(bool)
    corpus_wanted = Signal(str)

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._hub_name = ""  # of a model that is not open yet
        self.dragged.connect(DropHint(window).show_over)
        self._consent = WeightsConsent(workspace, window, workspace.open)
        workspace.architecture_changed.connect(self._on_opened)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    @property
    def recent(self) -> list[tuple[str, bool]]:
        """The names of the models that were opened last, and whether each still exists."""
        return [(name, exists(name)) for name in recent_names()]

    def open_source(self, source: ModelSource) -> None:
        """Replace the open model."""
        self.began.emit(source.name)
        self._consent.ask(source)

    def open_named(self, name: str) -> None:
        """Open a preset, the demo, a path or the folder of a corpus."""
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
        """Read the open model's files again."""
        if self._workspace.source is not None:
            self.open_source(self._workspace.source)

    def open_recent(self, name: str) -> None:
        """Open a recent model, or remove it from the list if it does not exist any more."""
        if exists(name):
            self.open_named(name)
            return
        forget(name)
        text = self.tr("{0} no longer exists and was removed from the list")
        show_error(self._window, text.format(name))

    def choose_folder(self) -> None:
        """Open a folder that the user chooses."""
        folder = QFileDialog.getExistingDirectory(
            self._window, self.tr("Open a model or corpus folder")
        )
        if folder:
            self.open_named(folder)

    def choose_file(self) -> None:
        """Open a configuration, weights or saved runs that the user chooses."""
        file, _ = QFileDialog.getOpenFileName(
            self._window,
            self.tr("Open a config.json, weights or saved runs"),
            "",
            self.tr("Models and runs ({0});;All files (*)").format(f"{MODEL_FILES} *{RUNS_SUFFIX}"),
        )
        if file:
            self.open_named(file)

    def choose_hub(self, use: Callable[[str], None] | None = None) -> None:
        """Open a Hugging Face model that the user chooses, or ``use`` its name."""
        from bertviewer.ui.hub.dialog import HubDialog

        dialog = HubDialog(self._window, self._hub_name)
        dialog.chosen.connect(self._keep_hub_name)
        dialog.chosen.connect(use or self.open_named)
        dialog.failed.connect(self._workspace.jobs.errored)
        dialog.open()

    def _keep_hub_name(self, name: str) -> None:
        # Until its model is open: a name that cannot be opened may be mistyped.
        self._hub_name = name

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            assert isinstance(event, QDropEvent)  # drag enter events are, too
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
    """Return the path of a single dropped file or folder; otherwise an empty text."""
    paths = [url.toLocalFile() for url in data.urls()]
    return paths[0] if len(paths) == 1 else ""


class DropHint(QWidget):
    """Shown over the window while a file or folder is dragged over it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("dropHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFont(weighted(sized(self.font(), LARGE)))
        self.hide()

    def show_over(self, is_over: bool) -> None:
        """Cover the parent, or not."""
        parent = self.parentWidget()
        assert parent is not None
        self.setGeometry(parent.rect())
        self.setVisible(is_over)
        self.raise_()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = theme_of(self), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = QColor(theme.accent)
        pen = QPen(color, 2)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        color.setAlpha(TINT)
        painter.setBrush(color)
        margin = float(2 * GRID)
        frame = QRectF(self.rect()).adjusted(margin, margin, -margin, -margin)
        painter.drawRoundedRect(frame, ROUND, ROUND)
        text, center = self.tr("Drop to open"), int(Qt.AlignmentFlag.AlignCenter)
        box = QRectF(painter.boundingRect(frame.toRect(), center, text))
        painter.setBrush(QColor(theme.surface))
        painter.drawRoundedRect(box.adjusted(-24, -12, 24, 12), ROUND, ROUND)
        painter.setPen(QColor(theme.text))
        painter.drawText(frame, center, text)
        painter.end()
