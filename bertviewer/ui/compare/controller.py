"""Opens the model to compare with, and the window of the comparison."""

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QWidget

from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.ui.checkpoint.pickle_consent import WeightsConsent
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.messages import MODEL_FILES, show_error

if TYPE_CHECKING:
    from bertviewer.core.comparison.comparison import Comparison
    from bertviewer.ui.compare.window import ComparisonWindow


class Sides(Struct, frozen=True):
    """The open model and the other one; the open one is at the right unless they are swapped.

    Changes go from left to right, as run B differs from run A, which is the other model's.
    """

    opened: ModelSource
    other: ModelSource
    is_swapped: bool = False

    @property
    def in_order(self) -> tuple[ModelSource, ModelSource]:
        """The left and the right model."""
        return (self.opened, self.other) if self.is_swapped else (self.other, self.opened)


def compare(
    sides: Sides, progress: Progress
) -> "tuple[Comparison, tuple[ModelSource, ModelSource]]":
    """Open both models, which reads no weights; return the comparison and the resolved sources."""
    from bertviewer.core.comparison.compare_models import compare_models
    from bertviewer.core.loading.opening import open_model

    left, right = (open_model(source, progress) for source in sides.in_order)
    return compare_models(left, right, progress), (left.source, right.source)


class ComparisonController(QObject):
    """Compares a model with the open one, which stays open."""

    def __init__(self, workspace: Workspace, window: QWidget) -> None:
        super().__init__(window)
        self._workspace = workspace
        self._window = window
        self._consent = WeightsConsent(workspace, window, self._compare)
        self._shown: ComparisonWindow | None = None
        self._opened: ModelSource | None = None  # when the shown window was opened
        self._waits_for_run = False
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.comparison.window_requested.connect(self._show_again)
        workspace.jobs.errored.connect(self._on_errored)
        workspace.jobs.cancelled.connect(self._on_errored)
        workspace.runs.run_changed.connect(self._on_run)

    def choose_folder(self) -> None:
        """Ask for a model folder and compare it."""
        folder = QFileDialog.getExistingDirectory(
            self._window, self.tr("Compare with a model folder")
        )
        if folder:
            self.compare_with(folder)

    def choose_file(self) -> None:
        """Ask for a file with a configuration or weights, and compare it."""
        file, _ = QFileDialog.getOpenFileName(
            self._window,
            self.tr("Compare with a config.json or a .safetensors file"),
            "",
            self.tr("Models ({0});;All files (*)").format(MODEL_FILES),
        )
        if file:
            self.compare_with(file)

    def compare_with(self, name: str) -> None:
        """Compare a preset, the demo, a path or a Hub model, with the open model's task head."""
        left = self._workspace.source
        if left is None:
            return
        try:
            self._consent.ask(parse_source(name, left.task.name))
        except UserError as error:
            retry = self.tr("Try again"), partial(self.compare_with, name)
            other = self.tr("Choose another folder…"), self.choose_folder
            show_error(self._window, str(error), retry, other)

    def _compare(self, right: ModelSource) -> None:
        opened = self._workspace.source
        assert opened is not None  # only an open model is compared
        self._start(Sides(opened, right))

    def _start(self, sides: Sides) -> None:
        work = partial(compare, sides)
        self._workspace.jobs.start("compare", work, partial(self._show, sides))

    def _show(
        self, sides: Sides, compared: "tuple[Comparison, tuple[ModelSource, ModelSource]]"
    ) -> None:
        from bertviewer.ui.compare.window import ComparisonWindow

        comparison, sources = compared
        self._workspace.guard(*sources)
        if self._shown is not None:
            self._shown.close()
        self._shown = window = ComparisonWindow(comparison, self._workspace, self._window)
        self._opened = sides.opened
        window.chosen.connect(partial(self._go, sides.opened))
        swapped = replace(sides, is_swapped=not sides.is_swapped)
        window.swap_wanted.connect(partial(self._start, swapped))
        window.run_wanted.connect(partial(self._run_both, sides.other))
        if sides.is_swapped:
            reason = self.tr("Run B must belong to the open model. Swap the sides back first.")
            window.disable_run(reason)
        window.finished.connect(partial(self._on_closed, window))
        if self._workspace.source == sides.opened:
            other = sources[1] if sides.is_swapped else sources[0]
            self._workspace.comparison.keep(comparison, other.name, other)
        window.show()

    def _run_both(self, other: ModelSource) -> None:
        """Run the sentence on both models, and hide the window meanwhile."""
        if self._shown is not None:
            self._shown.hide()
        self._waits_for_run = True
        self._workspace.run_both(other)

    def _on_run(self) -> None:
        self._waits_for_run = False

    def _show_again(self) -> None:
        if self._shown is not None:
            self._shown.show()
            self._shown.raise_()

    def _on_errored(self, error: object) -> None:
        """Show the window again if its run failed, with the error, or was cancelled."""
        if self._shown is not None and self._waits_for_run:
            self._show_again()
            if isinstance(error, UserError):
                show_error(self._shown, str(error))
        self._waits_for_run = False

    def _on_closed(self, window: QWidget, _result: int) -> None:
        if window is self._shown:
            self._shown = None
            self._workspace.comparison.close()

    def _on_architecture(self) -> None:
        """Unlink the window if another model was opened."""
        if self._shown is not None and self._workspace.source != self._opened:
            self._workspace.comparison.close()
            self._shown.unlink()
            if self._shown.isHidden():
                self._shown.reject()

    def _go(self, opened: ModelSource, path: str) -> None:
        # Another model that is open now may have a module of the same path.
        if self._workspace.source == opened:
            self._workspace.selection.go(SelectionKey(path))
