"""Asks for the model that the open one is compared with, and shows what came of it."""

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


class Compared(Struct, frozen=True):
    """How two models differ, and where they lie."""

    comparison: "Comparison"
    sources: tuple[ModelSource, ModelSource]


def compare(left: ModelSource, right: ModelSource, progress: Progress) -> Compared:
    """Open two models once more, which takes no weights, and compare them."""
    from bertviewer.core.comparison.compare_models import compare_models
    from bertviewer.core.loading import opening

    ours, theirs = (opening.open_model(source, progress) for source in (left, right))
    comparison = compare_models(ours, theirs, progress)
    return Compared(comparison, (ours.source, theirs.source))


class Sides(Struct, frozen=True):
    """The open model, and the other one; the open one is the left one if they were swapped.

    Changes go from left to right, as run B differs from run A, which is the other model's.
    """

    opened: ModelSource
    other: ModelSource
    is_swapped: bool = False

    @property
    def left(self) -> ModelSource:
        """The one that the other is compared with."""
        return self.opened if self.is_swapped else self.other

    @property
    def right(self) -> ModelSource:
        """The one that is compared."""
        return self.other if self.is_swapped else self.opened

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
        self._waits_for_run = False
        workspace.architecture_changed.connect(self._on_architecture)
        workspace.comparison.window_wanted.connect(self._bring_back)
        workspace.scheduler.errored.connect(self._on_errored)
        workspace.scheduler.cancelled.connect(self._on_errored)
        workspace.runs.run_changed.connect(self._on_run)

    def choose_folder(self) -> None:
        """Ask for a model's folder and compare it."""
        folder = QFileDialog.getExistingDirectory(
            self._window, self.tr("Compare with a model folder")
        )
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
            retry = self.tr("Try again"), partial(self.compare_with, name)
            other = self.tr("Choose another folder…"), self.choose_folder
            show_error(self._window, str(error), retry, other)

    def _compare(self, right: ModelSource) -> None:
        opened = self._workspace.source
        assert opened is not None  # only an open model is compared
        self._start(Sides(opened, right))

    def _start(self, sides: Sides) -> None:
        work = partial(compare, sides.left, sides.right)
        self._workspace.scheduler.start("compare", work, partial(self._show, sides))

    def _show(self, sides: Sides, compared: Compared) -> None:
        from bertviewer.ui.compare.window import ComparisonWindow

        self._workspace.guard(*compared.sources)
        self._close()
        self._shown = window = ComparisonWindow(compared.comparison, self._workspace, self._window)
        self._opened = sides.opened
        window.chosen.connect(partial(self._go, sides.opened))
        window.swap_wanted.connect(partial(self._start, sides.swapped()))
        window.run_wanted.connect(partial(self._run_both, sides.other))
        if sides.is_swapped:
            why = self.tr("Run B must belong to the open model. Swap the sides back first.")
            window.refuse_run(why)
        window.finished.connect(partial(self._on_closed, window))
        if self._workspace.source == sides.opened:
            comparison = compared.comparison
            other = comparison.right if sides.is_swapped else comparison.left
            self._workspace.comparison.keep(comparison, other.name)
        window.show()

    def _run_both(self, other: ModelSource) -> None:
        """Run the sentence through both models, and let what it gives be seen."""
        if self._shown is not None:
            self._shown.hide()
        self._waits_for_run = True
        self._workspace.run_both(other)

    def _on_run(self) -> None:
        self._waits_for_run = False

    def _bring_back(self) -> None:
        """Show the window of the comparison again."""
        if self._shown is not None:
            self._shown.show()
            self._shown.raise_()

    def _on_errored(self, error: object) -> None:
        """Show the window again, with the reason, if its run failed or was cancelled."""
        if self._shown is not None and self._waits_for_run:
            self._bring_back()
            if isinstance(error, UserError):
                show_error(self._shown, str(error))
        self._waits_for_run = False

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
            if self._shown.isHidden():
                self._shown.reject()

    def _go(self, opened: ModelSource, path: str) -> None:
        # Another model may be open by now, with a module of the same path.
        if self._workspace.source == opened:
            self._workspace.selection.go(SelectionKey(path))
