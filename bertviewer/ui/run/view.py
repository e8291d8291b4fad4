"""What all views of a run share, and what they tell an explanation of themselves."""

from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtWidgets import QWidget

from bertviewer.charts.comparison import Alignment
from bertviewer.charts.table import DataTable
from bertviewer.core.analysis.tokens import align
from bertviewer.ui.run.sentence_part import SentencePart
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.figure_view import FigureView

if TYPE_CHECKING:
    from bertviewer.core.analysis.attention_maps import AttentionMaps

QUESTIONED = ("Layers", "Token", "Similarity", "Attention", "Predictions", "Tokens", "Sentence")
"""The views, by their titles, about which there are questions."""


class InSight(Struct, frozen=True):
    """A view's title, the attention that it shows and the hidden state, where it shows one."""

    title: str
    maps: "AttentionMaps | None" = None
    state: int | None = None

    @property
    def has_questions(self) -> bool:
        """Whether anything is asked about the view."""
        return self.title in QUESTIONED


class View(QWidget):
    """A view of the last run, and of run A where there is one.

    A subclass shows them in ``refresh()``, which is called while the view is in sight and what it
    shows has changed, also before there is a run. What takes long to compute, it requests.
    """

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace

    def refresh(self) -> None:
        """Show the present state."""
        raise NotImplementedError

    def clear(self) -> None:
        """Show nothing: what is drawn is of a model that is not open any more.

        A view keeps its last drawing until the next one is computed, which may take a while.
        """
        for panel in self.findChildren(ChartPanel):
            panel.set_title("")
            panel.show_charts(None)
        for table in self.findChildren(FigureView):
            table.show_table(DataTable((), ()))
        for part in self.findChildren(SentencePart):
            part.leave("")

    def in_sight(self, title: str) -> InSight:
        """Return what the view, which has this title, shows: what an explanation is about."""
        return InSight(title)

    def partners(self, rows: bool = False, columns: bool = True) -> Alignment:
        """Return which tokens of run A and of the last run are the same."""
        a, b = self.workspace.runs.watched_a, self.workspace.runs.run
        pairs = align(a.run.tokens, b.tokens) if a is not None and b is not None else ()
        return Alignment(pairs, pairs if rows else None, pairs if columns else None)
