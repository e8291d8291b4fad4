"""What a classifier says of the text, of each token, or where an answer stands."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.classification import answer_chart, best_line, label_grid, scores_table
from bertviewer.charts.comparison import Alignment
from bertviewer.core.analysis.predictions import ClassScores
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, split, vbox

Said = tuple[ActivationRun, ClassScores]
"""A run, and what the head says of it."""

WIDEST = 560
"""Pixels of a table alone: wider, its numbers would be far from its labels."""
ANY_WIDTH = 16_777_215  # Qt's own limit


class ClassesPanel(QWidget):
    """A line with the best answer, a table of all, and a chart of what is said token by token."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._b: Said | None = None
        self._a: Said | None = None
        self._partners = Alignment()
        self._best = named(plain_label(""), "classSummary")
        self._table = FigureView(workspace, "classTable", self.tr("Scores of the classes"))
        self._grid = ChartPanel(workspace, self.tr("Probability of each label"), GridPlot)
        self._grid.plot.setObjectName("labelGrid")
        self._answer = ChartPanel(workspace, self.tr("Start and end of the answer"), LinePlot)
        self._answer.plot.setObjectName("answerPlot")
        charts = self._table, self._grid, self._answer
        self._columns = split(*charts, sizes=(480, 600, 600))
        vbox(self._best, (hbox(self._columns, 0), 1), parent=self, spacing=4)
        self._table.chosen.connect(workspace.selection.go)

    def show_scores(self, b: Said, a: Said | None, partners: Alignment) -> None:
        """Show what the head says of the last run, beside what it says of run A."""
        run, scores = b
        of_a = None if a is None else a[1]
        best = best_line(run, scores)
        self._best.setText(best)
        self._best.setVisible(bool(best))
        self._grid.setVisible(scores.of == "tokens")
        self._answer.setVisible(scores.of == "answer")
        has_chart = scores.of in ("tokens", "answer")
        self._columns.setMaximumWidth(ANY_WIDTH if has_chart else WIDEST)
        self._b, self._a, self._partners = b, a, partners
        self._table.show_table(scores_table(run, scores, of_a, partners.in_a))
        self.mark_token()
        self._workspace.draw_queue.later(self._show_chart)

    def _show_chart(self) -> None:
        if self._b is None:
            return
        (run, scores), a = self._b, self._a
        if scores.of == "tokens":
            grid = None if a is None else label_grid(*a)
            self._grid.show_charts(label_grid(run, scores), grid, self._partners)
        elif scores.of == "answer":
            own, partners = scores.tokens, self._partners.in_a
            lines = None if a is None else answer_chart(run, own, a[1], partners)
            self._answer.show_charts(answer_chart(run, own, scores), lines)

    def forget(self) -> None:
        """Keep no run that nobody else keeps; what is drawn stays until something else is."""
        self._b = self._a = None

    def mark_token(self) -> None:
        """Mark the selected token's row."""
        places = [place.token for place in self._table.shown.keys]
        token = self._workspace.selection.token
        self._table.mark(places.index(token) if token in places else None)
