"""The tokens as a table, to be read and copied with their ids."""

from PySide6.QtWidgets import QHBoxLayout, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.run.view import View
from bertviewer.ui.token_table import TokenTable
from bertviewer.ui.workspace import Workspace

WIDEST = 560  # pixels


class TokensView(View):
    """Number, text, id and segment of each token."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(workspace, parent)
        self._table = TokenTable(workspace.selection)
        # Wider, its numbers would be far from its tokens.
        self._table.setMaximumWidth(WIDEST)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(GRID, GRID, 0, 0)
        layout.addWidget(self._table)
        layout.addStretch(0)

    def refresh(self) -> None:
        """Show the tokens of the last run."""
        self._table.show_run(self.workspace.runs.run)
