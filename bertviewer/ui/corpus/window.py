"""What the open model does to many sentences: layers, values, heads, outlier features."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QDialog, QTableView, QTabWidget, QWidget

from bertviewer.charts.attentions import figures_chart
from bertviewer.charts.corpora import heads_of, quantile_chart, value_chart
from bertviewer.core.analysis.head_figures import Measure
from bertviewer.core.analysis.outliers import DEVIATIONS
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.corpus.corpus import Corpus, outlier_rows
from bertviewer.core.text.numerals import count_text, with_minus
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.charts.chart_panel import ChartPanel
from bertviewer.ui.charts.choice_box import ChoiceBox
from bertviewer.ui.elided_label import ElidedLabel
from bertviewer.ui.layouts import in_column, named
from bertviewer.ui.tables import Column, Row, TableModel, make_table
from bertviewer.ui.workspace import Workspace

SIZE = 1000, 620  # pixels


class CorpusWindow(QDialog):
    """Beside the main window: what is clicked is selected there, and what is selected is marked.

    The values are those of the module that is selected.
    """

    def __init__(
        self,
        corpus: Corpus,
        architecture: Architecture,
        workspace: Workspace,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("corpusWindow")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.setWindowTitle(self.tr("{0}: many sentences").format(architecture.source.name))
        self._corpus = corpus
        self._workspace = workspace
        self._layers, self._figures = heads_of(architecture, corpus)
        self._values = ChartPanel(workspace, "", HistogramPlot)
        named(self._values.plot, "corpusValues")
        self._tabs = tabs = named(QTabWidget(), "corpusTabs")
        tabs.setDocumentMode(True)
        tabs.addTab(self._make_layers(architecture), self.tr("Layers"))
        tabs.addTab(self._values, self.tr("Values"))
        if self._layers:
            tabs.addTab(self._make_heads(), self.tr("Heads"))
        if corpus.outliers is not None:
            tabs.addTab(self._make_outliers(), self.tr("Outlier features"))
        head = named(ElidedLabel(), "corpusHead")
        head.setText(self._described())
        in_column(head, (tabs, 1), on=self, margins=(12, 12, 12, 12), spacing=6)
        workspace.selection.row_changed.connect(self._show_values)
        self._show_values()
        tabs.tabBar().setFocus()
        self.resize(QSize(*SIZE).boundedTo(self.screen().availableSize()))

    def _described(self) -> str:
        corpus = self._corpus
        parts = [
            count_text(corpus.sentences, self.tr("{0} sentence"), self.tr("{0} sentences")),
            count_text(corpus.tokens, self.tr("{0} token"), self.tr("{0} tokens")),
            *(str(file["name"]) for file in corpus.manifest.get("data", ())),
        ]
        if left_out := corpus.manifest.get("left_out"):
            parts.append(self.tr("{0} left out").format(f"{left_out:,}"))
        return " · ".join(parts)

    def _make_layers(self, architecture: Architecture) -> QWidget:
        title = self.tr("Output of each layer: the median, and 5 % to 95 % of all values")
        panel = ChartPanel(self._workspace, title, LinePlot)
        named(panel.plot, "corpusLayers")
        panel.show_charts(quantile_chart(architecture, self._corpus))
        return panel

    def _make_heads(self) -> QWidget:
        self._measure = ChoiceBox("corpusMeasure", self.tr("Figure that is shown of each head"), 12)
        names: tuple[tuple[Measure, str], ...] = (
            ("entropy", self.tr("entropy")),
            ("distance", self.tr("distance")),
            ("cls", self.tr("start token")),
            ("sep", self.tr("separators")),
        )
        for measure, name in names:
            self._measure.addItem(name, measure)
        title = self.tr("Heads, means over all tokens")
        self._heads = ChartPanel(self._workspace, title, GridPlot, (self._measure,))
        named(self._heads.plot, "corpusHeads")
        self._measure.currentIndexChanged.connect(self._show_heads)
        self._show_heads()
        return self._heads

    def _show_heads(self) -> None:
        measure: Measure = self._measure.currentData()
        name = self._measure.currentText()
        self._heads.show_charts(figures_chart(self._layers, self._figures, measure, name=name))

    def _show_values(self) -> None:
        row = self._workspace.selection.row
        path = "" if row is None else row.node.path
        found = self._corpus.of(path)
        chart = None if found is None else value_chart(found)
        if chart is None:
            self._values.set_title("")
            text = self.tr("Nothing was measured of {0}.")
            self._values.show_message(text.format(path or self.tr("the model")))
            return
        name = path or (row.node.class_name if row is not None else "")
        title = self.tr("Output of {0}, without the last thousandth at either end")
        self._values.set_title(title.format(name))
        self._values.show_charts(chart)

    def _make_outliers(self) -> QTableView:
        rule = self.tr("More than {0} standard deviations from the mean of its sentence's state")
        most = self.tr("The one of which it is an outlier in most sentences")
        columns = (
            Column(self.tr("Feature"), True, rule.format(f"{DEVIATIONS:g}")),
            Column(self.tr("Sentences"), True),
            Column(self.tr("In state"), True, most),
            Column(self.tr("Tokens"), True),
            Column(self.tr("Farthest, std"), True),
        )
        model = TableModel(columns, self)
        model.set_rows(
            [
                Row(
                    (
                        str(row.feature),
                        f"{row.share:.1%}",
                        row.state,
                        f"{row.tokens:,}",
                        with_minus(f"{row.farthest:+.1f}"),
                    )
                )
                for row in outlier_rows(self._corpus)
            ]
        )
        return make_table(model, "corpusOutliers", self.tr("Outlier features"))
