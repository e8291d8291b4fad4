"""Asks for the model that the open one is compared with, and shows what came of it."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.charts.place import Place
from bertviewer.core.errors import UserError
from bertviewer.core.progress import Progress
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.parsing import parse_source
from bertviewer.ui.dialogs import MODEL_FILES, show_error
from bertviewer.ui.weights_consent import WeightsConsent
from bertviewer.ui.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.comparing.comparison import Comparison


@dataclass(frozen=True, slots=True)
class Compared:
    """How two models differ, and where they lie."""

    comparison: "Comparison"
    sources: tuple[ModelSource, ModelSource]


def compare(left: ModelSource, right: ModelSource, progress: Progress) -> Compared:
    """Open two models once more, which takes no weights, and compare them."""
    from bertviewer.core.closer_look.comparing import compare_models
    from bertviewer.core.loading import opening

    ours, theirs = (opening.open_model(source, progress) for source in (left, right))
    comparison = compare_models(ours, theirs, progress)
    return Compared(comparison, (ours.source, theirs.source))


class Comparing(QObject):
    """Compares models with the open one, which is the left one of both and stays open."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._consent = WeightsConsent(workspace, window, self._compare)

    def choose_folder(self) -> None:
        """Ask for a model's folder and compare it."""
        folder = QFileDialog.getExistingDirectory(self._window, self.tr("Compare with a folder"))
        if folder:
            self.compare_with(folder)

    def choose_file(self) -> None:
        """Ask for a configuration or for weights, and compare them."""
        file, _ = QFileDialog.getOpenFileName(
            self._window,
            self.tr("Compare with a config.json or a .safetensors file"),
            "",
            self.tr("Models ({0});;All files (*)").format(MODEL_FILES),
        )
        if file:
            self.compare_with(file)

    def compare_with(self, name: str) -> None:
        """Compare a preset, the demo or a path, with the head that is open."""
        left = self._workspace.source
        if left is None:
            return
        try:
            self._consent.ask(parse_source(name, left.task.name))
        except UserError as error:
            show_error(self._window, str(error))

    def _compare(self, right: ModelSource) -> None:
        left = self._workspace.source
        assert left is not None  # only an open model is compared
        work = partial(compare, left, right)
        self._workspace.scheduler.start("compare", work, partial(self._show, left))

    def _show(self, left: ModelSource, compared: Compared) -> None:
        from bertviewer.ui.comparing.window import ComparisonWindow

        self._workspace.guard(*compared.sources)
        window = ComparisonWindow(compared.comparison, self._workspace, self._window)
        window.chosen.connect(partial(self._go, left))
        window.show()

    def _go(self, left: ModelSource, path: str) -> None:
        # Another model may be open by now, with a module of the same path.
        if self._workspace.source == left:
            self._workspace.selection.go(Place(path))
