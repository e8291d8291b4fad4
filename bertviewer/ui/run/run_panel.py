"""What is below the sentence once it has been run: warnings, views, tokens."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from bertviewer.charts.theme import Theme
from bertviewer.ui.labels import plain_label
from bertviewer.ui.look.appearance import WARNING
from bertviewer.ui.run.compare_bar import CompareBar, KeepButton
from bertviewer.ui.run.notes import run_notes
from bertviewer.ui.run.views import RunViews
from bertviewer.ui.token_table import TokenTable
from bertviewer.ui.workspace import Workspace


class RunPanel(QWidget):
    """The views beside the table of tokens; hidden until there is a run."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._warning = plain_label("")
        self._warning.setObjectName("runWarning")
        self._warning.setForegroundRole(WARNING)
        self._views = RunViews(workspace)
        self._views.setCornerWidget(KeepButton(workspace))
        columns = QSplitter(Qt.Orientation.Horizontal)
        columns.addWidget(self._views)
        columns.addWidget(TokenTable(workspace.selection, workspace.runs, workspace.draw_queue))
        columns.setChildrenCollapsible(False)
        columns.setStretchFactor(0, 1)
        columns.setSizes([1080, 260])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 2, 8, 0)
        layout.setSpacing(2)
        layout.addWidget(self._warning)
        layout.addWidget(CompareBar(workspace))
        layout.addWidget(columns, 1)
        self.hide()
        workspace.runs.run_changed.connect(self._on_run)

    @property
    def statistic(self) -> str:
        """The statistic that is plotted per layer."""
        return self._views.layers.statistic

    def set_theme(self, theme: Theme) -> None:
        """Draw all plots in other colours."""
        self._views.pages.set_theme(theme)

    def _on_run(self) -> None:
        run, architecture = self._workspace.runs.run, self._workspace.architecture
        self.setVisible(run is not None)
        if run is not None and architecture is not None:
            notes = run_notes(run, architecture)
            self._warning.setText(" ".join(notes))
            self._warning.setVisible(bool(notes))
