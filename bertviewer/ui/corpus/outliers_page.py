"""The features that are outliers in many sentences, and in which hidden states they are."""

from PySide6.QtWidgets import QWidget

from bertviewer.charts.corpus import outlier_chart, outlier_table
from bertviewer.core.corpus.corpus import FEW_SENTENCES, Corpus, Outliers, outlier_rows
from bertviewer.core.statistics.accumulators import DEVIATIONS
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.empty_state import EmptyState
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.labels import muted_label
from bertviewer.ui.widgets.layouts import named, split, vbox

MOST_COLUMNS = 24
"""So many of the features have a column: more of them could not be told apart."""


class OutliersPage(QWidget):
    """A table of the features, and a grid of those of most sentences by hidden state."""

    def __init__(self, corpus: Corpus, outliers: Outliers, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        rows = outlier_rows(corpus)
        rule = self.tr(
            "A feature is an outlier of a sentence’s hidden state if a token’s value is "
            "more than {0} standard deviations from the state’s mean. Features that are "
            "outliers in at least {1} of the sentences are shown."
        ).format(f"{DEVIATIONS:g}", f"{100 * FEW_SENTENCES:g}%")
        if not rows:
            message = EmptyState("corpusNoOutliers")
            message.show_message(self.tr("No outlier features.\n{0}").format(rule))
            vbox(message, parent=self)
            return
        self._features = [row.feature for row in rows]
        self._table = FigureView(workspace, "corpusOutliers", self.tr("Outlier features"))
        self._table.show_table(outlier_table(corpus, rows))
        self._table.chosen.connect(workspace.selection.go)
        title = self.tr("Share of sentences in which each feature is an outlier")
        grid = ChartPanel(workspace, title, GridPlot)
        grid.setContentsMargins(12, 0, 0, 0)
        named(grid.plot, "corpusOutlierGrid")
        grid.show_charts(outlier_chart(corpus, outliers, self._features[:MOST_COLUMNS]))
        parts = split(self._table, grid, sizes=(500, 470))
        vbox(muted_label(rule), (parts, 1), parent=self, margins=(0, 8, 0, 0), spacing=8)
        workspace.selection.feature_changed.connect(self._mark)
        self._mark()

    def _mark(self) -> None:
        feature = self._workspace.selection.feature
        rows = {number: row for row, number in enumerate(self._features)}
        self._table.mark(None if feature is None else rows.get(feature))
