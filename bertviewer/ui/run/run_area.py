"""Bottom of the window: the sentence bar, and the current run's tokens and views below it."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from bertviewer.ui.run.sentence_bar import HEIGHT, OPEN, SentenceBar
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import vbox

if TYPE_CHECKING:
    from bertviewer.ui.run.run_panel import RunPanel

NO_MAXIMUM = 16_777_215  # QWIDGETSIZE_MAX
MIN_OPEN_HEIGHT = 240


class RunArea(QWidget):
    """The sentence bar alone while there is no run, else with the run panel below it.

    ``opened`` says whether the panel is shown.
    """

    opened = Signal(bool)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.setObjectName("runArea")
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.setAutoFillBackground(True)
        self._workspace = workspace
        self.bar = SentenceBar(workspace)
        self._panel: RunPanel | None = None  # built before the first run
        self._runs_when_open = False
        self._layout = vbox(self.bar, parent=self, spacing=0)
        workspace.views_ready.connect(self._build_panel)
        workspace.architecture_changed.connect(self._on_architecture)
        for signal in (workspace.jobs.errored, workspace.jobs.cancelled):
            signal.connect(self._cancel_run)
        self._set_open(False)

    @property
    def is_open(self) -> bool:
        """Whether the run panel is shown."""
        return self._panel is not None and not self._panel.isHidden()

    @property
    def statistic(self) -> str | None:
        """The statistic that is plotted per layer, ``None`` before there is a plot."""
        return None if self._panel is None else self._panel.statistic

    def run_when_open(self) -> None:
        """Run the sentence as soon as a model is open."""
        self._runs_when_open = True

    def _build_panel(self) -> None:
        if self._panel is not None:
            return
        from bertviewer.ui.run.run_panel import RunPanel  # its plots take long to import

        self._panel = RunPanel(self._workspace)
        self._layout.addWidget(self._panel, 1)
        self._panel.opened.connect(self._set_open)

    def _set_open(self, is_open: bool) -> None:
        self.bar.setMinimumHeight(OPEN if is_open else HEIGHT)
        line = max(HEIGHT, self.bar.sizeHint().height())
        self.setMinimumHeight(MIN_OPEN_HEIGHT if is_open else line)
        self.setMaximumHeight(NO_MAXIMUM if is_open else line)
        self.opened.emit(is_open)

    def _on_architecture(self) -> None:
        runs, self._runs_when_open = self._runs_when_open, False
        if runs:
            self._workspace.deferred.add(self._run_unless_busy)

    def _run_unless_busy(self) -> None:
        """Run the sentence, unless the user has started something else in the meantime."""
        if not self._workspace.jobs.activity:
            self._workspace.run_next()

    def _cancel_run(self) -> None:
        self._runs_when_open = False
