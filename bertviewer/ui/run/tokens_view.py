"""The text that was run: its tokens as a table, and the sentence as a whole."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QTabBar, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.ui.run.padding_panel import PaddingPanel
from bertviewer.ui.run.sentences_panel import SentencesPanel
from bertviewer.ui.run.token_table import TokenTable
from bertviewer.ui.run.view import InSight, View
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import hbox, named, split, stacked, vbox

WIDEST = 560  # pixels


class TokensView(View):
    """Number, text, id and segment of each token, to be read and copied.

    On a second page the sentence is one vector, beside others, and is padded, with the mask and
    without. Both run it again, in the worker, while they are in sight.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._table = TokenTable(workspace.selection)
        # Wider, its numbers would be far from its tokens.
        self._table.setMaximumWidth(WIDEST)
        self._vectors, self._padding = SentencesPanel(workspace), PaddingPanel(workspace)
        whole = split(self._vectors, self._padding, sizes=(1000, 1100))
        tokens = QWidget()
        hbox(self._table, 0, parent=tokens)
        self._pages = stacked(tokens, whole)
        self._switch = named(QTabBar(), "tokensSwitch", accessible_name=self.tr("View of the text"))
        self._switch.setDrawBase(False)
        self._switch.addTab(self.tr("Token list"))
        self._switch.addTab(self.tr("Sentence vectors"))
        self._switch.currentChanged.connect(self._turn)
        workspace.sentences_wanted.connect(lambda: self._switch.setCurrentIndex(1))
        vbox(
            (self._switch, Qt.AlignmentFlag.AlignLeft),
            (self._pages, 1),
            parent=self,
            margins=(GRID, 0, 0, 0),
            spacing=GRID,
        )

    def in_sight(self, title: str) -> InSight:
        """Return the page that is in sight: a sentence as a whole has questions of its own."""
        return InSight(title if self._pages.currentIndex() == 0 else "Sentence")

    def refresh(self) -> None:
        """Show the last run on the page in sight."""
        if self._pages.currentIndex() == 0:
            self._table.show_run(self.workspace.runs.run)
        else:
            self._vectors.refresh()
            self._padding.refresh()

    def _turn(self, page: int) -> None:
        self._pages.setCurrentIndex(page)
        self.refresh()
