"""Says that the figures in sight were read from a file, and opens the model that they are of."""

from datetime import datetime
from typing import Protocol

from PySide6.QtWidgets import QPushButton, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.core.saved_runs.run_file import RunFile
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.state.weights_text import weights_words
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named
from bertviewer.ui.widgets.messages import show_error


class OpensModel(Protocol):
    """What opens a model in place of the one that is open."""

    def open_source(self, source: ModelSource) -> None: ...  # noqa: D102


class SavedBanner(QWidget):
    """A line that is there while a run of a file is shown.

    Its button opens the run's model; if that is the same, the run becomes its run A.
    """

    def __init__(self, workspace: Workspace, opening: OpensModel) -> None:
        super().__init__()
        self.setObjectName("savedBanner")
        self._workspace = workspace
        self._opening = opening
        self._waiting: tuple[RunFile, RecordedRun] | None = None
        self._text = named(plain_label(""), "savedText")
        self._open = QPushButton(self.tr("Open its model"))
        self._open.setObjectName("openSavedModel")
        self._open.setToolTip(
            self.tr("Open the model by name and keep this run as A, to compare new runs with it")
        )
        self._open.clicked.connect(self._on_open)
        hbox(
            (self._text, 1),
            self._open,
            parent=self,
            margins=(4 * GRID, GRID, 2 * GRID, GRID),
            spacing=3 * GRID,
        )
        workspace.runs.run_changed.connect(self._show)
        workspace.architecture_changed.connect(self._on_architecture)
        self.hide()

    def _show(self) -> None:
        watched, saved = self._workspace.runs.watched, self._workspace.runs.saved
        is_saved = watched is not None and watched.capture is None
        self.setVisible(is_saved)
        if is_saved and saved is not None:
            self._text.setText(self._words(saved))

    def _words(self, saved: RunFile) -> str:
        model, weights = saved.model, weights_words(saved.run.source)
        return self.tr(
            "Loaded from a file: a run of {0} ({1}, {2}), saved {3}. Its statistics are as "
            "recorded; further details need its model."
        ).format(model.name, model.task, weights, _day(saved.saved))

    def _on_open(self) -> None:
        saved, watched = self._workspace.runs.saved, self._workspace.runs.watched
        if saved is None or watched is None:
            return
        try:
            source = parse_source(saved.model.name, saved.model.task)
        except UserError as error:
            retry = self.tr("Try again"), self._on_open
            show_error(self, str(error), retry)
            return
        self._waiting = saved, watched
        self._opening.open_source(source)

    def _on_architecture(self) -> None:
        """Keep the run as A of its own model, once that is there."""
        waiting, architecture = self._waiting, self._workspace.architecture
        if waiting is None or architecture is None or self._workspace.source is None:
            return
        saved, watched = waiting
        self._waiting = None
        paths = {node.path for node in architecture.modules}
        if self._workspace.source.name == saved.model.name and paths >= {
            module.path for module in watched.run.modules
        }:
            self._workspace.runs.watched_a = watched
            self._workspace.runs.comparison_changed.emit()


def _day(when: str) -> str:
    """Return when it was saved as people read it; a file may say anything."""
    try:
        return f"{datetime.fromisoformat(when).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError, OSError):
        return when[:40]
