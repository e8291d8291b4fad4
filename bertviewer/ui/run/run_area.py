"""The bottom of the window: the sentence, and what it did to the model once it was run."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from bertviewer.ui.run.sentence_bar import HEIGHT, OPEN, SentenceBar
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import vbox

if TYPE_CHECKING:
    from bertviewer.ui.run.run_panel import RunPanel

ANY_HEIGHT = 16_777_215  # Qt's own limit
LEAST_OPEN = 240


class RunArea(QWidget):
    """One line while there is no run, and else its tokens and views below.

    ``opened`` says that it has become higher, or one line again; ``bar`` is that line.
    """

    opened = Signal(bool)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("runArea")
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._workspace = workspace
        self.bar = SentenceBar(workspace)
        self._panel: RunPanel | None = None  # built when there is a run to come
        self._runs_when_open = False
        self._layout = vbox(self.bar, parent=self, spacing=0)
        workspace.views_wanted.connect(self._build_panel)
        workspace.architecture_changed.connect(self._on_architecture)
        for signal in (workspace.scheduler.errored, workspace.scheduler.cancelled):
            signal.connect(self._give_up_run)
        self._set_open(False)

    @property
    def is_open(self) -> bool:
        """Whether there is more than the one line."""
        return self._panel is not None and not self._panel.isHidden()

    @property
    def statistic(self) -> str | None:
        """The statistic that is plotted per layer, ``None`` before there is a plot."""
        return None if self._panel is None else self._panel.statistic

    def run_when_open(self) -> None:
        """Run it as soon as a model is open, if that has all that it takes."""
        self._runs_when_open = True

    def _build_panel(self) -> None:
        """Build what a run is shown in; its plots take longer to import than all the rest."""
        if self._panel is not None:
            return
        from bertviewer.ui.run.run_panel import RunPanel

        self._panel = RunPanel(self._workspace)
        self._layout.addWidget(self._panel, 1)
        self._panel.opened.connect(self._set_open)

    def _set_open(self, is_open: bool) -> None:
        self.bar.setMinimumHeight(OPEN if is_open else HEIGHT)
        line = max(HEIGHT, self.bar.sizeHint().height())
        self.setMinimumHeight(LEAST_OPEN if is_open else line)
        self.setMaximumHeight(ANY_HEIGHT if is_open else line)
        self.opened.emit(is_open)

    def _on_architecture(self) -> None:
        wished, self._runs_when_open = self._runs_when_open, False
        if wished:
            self._workspace.draw_queue.later(self._run_unless_busy)

    def _run_unless_busy(self) -> None:
        """Run the sentence, unless the user has started something else meanwhile."""
        if not self._workspace.scheduler.activity:
            self._workspace.run_next()

    def _give_up_run(self) -> None:
        self._runs_when_open = False
