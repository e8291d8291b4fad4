"""The sentence as a whole: as one vector beside others, and padded, with the mask and without."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSplitter, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.run.padding_panel import PaddingPanel
from bertviewer.ui.run.sentences_panel import SentencesPanel
from bertviewer.ui.run.view import View
from bertviewer.ui.workspace import Workspace


class SentenceView(View):
    """Two panels side by side; both run the sentence again, in the worker, while in sight."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._panels = SentencesPanel(workspace), PaddingPanel(workspace)
        columns = QSplitter(Qt.Orientation.Horizontal)
        for panel in self._panels:
            columns.addWidget(panel)
        columns.setChildrenCollapsible(False)
        columns.setSizes([1000, 1100])
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, GRID, 0, 0)
        layout.addWidget(columns)

    def refresh(self) -> None:
        """Show both of the last run."""
        for panel in self._panels:
            panel.refresh()
