"""Asks for the model that the open one is compared with, and shows what came of it."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.charts.place import Place
from bertviewer.core.errors import UserError
from bertviewer.core.frozen import frozen
from bertviewer.core.progress import Progress
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.source.parsing import parse_source
from bertviewer.ui.dialogs import MODEL_FILES, show_error
from bertviewer.ui.weights_consent import WeightsConsent
from bertviewer.ui.workspace import Workspace

if TYPE_CHECKING:
    from bertviewer.core.comparing.comparison import Comparison
    from bertviewer.ui.comparing.window import ComparisonWindow


@frozen
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


@frozen
class Sides:
    """The open model, and the other one; the open one is the right one if they were swapped."""

    opened: ModelSource
    other: ModelSource
    is_swapped: bool = False

    @property
    def left(self) -> ModelSource:
        """The one that the other is compared with."""
        return self.other if self.is_swapped else self.opened

    @property
    def right(self) -> ModelSource:
        """The one that is compared."""
        return self.opened if self.is_swapped else self.other

    def swapped(self) -> "Sides":
        """Return the same models the other way round."""
        return replace(self, is_swapped=not self.is_swapped)


class Comparing(QObject):
    """Compares models with the open one, which stays open."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._consent = WeightsConsent(workspace, window, self._compare)
        self._shown: ComparisonWindow | None = None
        self._opened: ModelSource | None = None  # of the window that is shown
        workspace.architecture_changed.connect(self._on_architecture)

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
        """Compare a preset, the demo, a path or a model of the hub, with the head that is open."""
        left = self._workspace.source
        if left is None:
            return
        try:
            self._consent.ask(parse_source(name, left.task.name))
        except UserError as error:
            show_error(self._window, str(error))

    def _compare(self, right: ModelSource) -> None:
        opened = self._workspace.source
        assert opened is not None  # only an open model is compared
        self._start(Sides(opened, right))

    def _start(self, sides: Sides) -> None:
        work = partial(compare, sides.left, sides.right)
        self._workspace.scheduler.start("compare", work, partial(self._show, sides))

    def _show(self, sides: Sides, compared: Compared) -> None:
        from bertviewer.ui.comparing.window import ComparisonWindow

        self._workspace.guard(*compared.sources)
        self._close()
        self._shown = window = ComparisonWindow(compared.comparison, self._workspace, self._window)
        self._opened = sides.opened
        window.chosen.connect(partial(self._go, sides.opened))
        window.swap_wanted.connect(partial(self._start, sides.swapped()))
        window.run_wanted.connect(partial(self._workspace.run_both, sides.other))
        window.finished.connect(partial(self._on_closed, window))
        if self._workspace.source == sides.opened:
            comparison = compared.comparison
            other = comparison.left if sides.is_swapped else comparison.right
            self._workspace.comparison.keep(comparison, other.name)
        window.show()

    def _close(self) -> None:
        """Let a window give way to the next one."""
        if self._shown is not None:
            self._shown.close()

    def _on_closed(self, window: QWidget, _result: int) -> None:
        if window is self._shown:
            self._shown = None
            self._workspace.comparison.close()

    def _on_architecture(self) -> None:
        """Mark nothing in a model that was not compared."""
        if self._shown is not None and self._workspace.source != self._opened:
            self._workspace.comparison.close()
            self._shown.unlink()

    def _go(self, opened: ModelSource, path: str) -> None:
        # Another model may be open by now, with a module of the same path.
        if self._workspace.source == opened:
            self._workspace.selection.go(Place(path))
