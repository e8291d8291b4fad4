"""How the values are spread that the selected module gives for many sentences."""

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.corpus import corpus_histogram, corpus_statistics
from bertviewer.core.corpus.corpus import ClassSums, Corpus
from bertviewer.core.util.numbers import number_text
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.layouts import hbox, named, split

TABLE = 250  # pixels
ALL = ""
_CLASSES = {
    ALL: QT_TRANSLATE_NOOP("ValuesPage", "all tokens"),
    "content": QT_TRANSLATE_NOOP("ValuesPage", "content"),
    "cls": QT_TRANSLATE_NOOP("ValuesPage", "start tokens"),
    "sep": QT_TRANSLATE_NOOP("ValuesPage", "separators"),
    "mask": QT_TRANSLATE_NOOP("ValuesPage", "masks"),
    "special": QT_TRANSLATE_NOOP("ValuesPage", "other special"),
}


class ValuesPage(QWidget):
    """A histogram of all values, or of those at tokens of one class, beside their statistics."""

    def __init__(self, corpus: Corpus, workspace: Workspace) -> None:
        super().__init__()
        self._corpus, self._workspace = corpus, workspace
        self._classes = ChoiceBox("corpusTokens", self.tr("Tokens whose values are shown"))
        there = {row.token_class for row in corpus.rows}
        for name, title in _CLASSES.items():
            if name == ALL or name in there:
                self._classes.addItem(self.tr(title), name)
        self._panel = ChartPanel(workspace, "", HistogramPlot, (self._classes,))
        named(self._panel.plot, "corpusValues")
        self._table = FigureView(
            workspace, "corpusStatistics", self.tr("Statistics and quantiles of the values")
        )
        columns = split(self._panel, self._table, sizes=(800, TABLE))
        columns.setStretchFactor(0, 1)
        columns.setStretchFactor(1, 0)
        hbox(columns, parent=self, margins=(0, 4, 0, 0))
        self._classes.currentIndexChanged.connect(self._show)
        workspace.selection.row_changed.connect(self._follow)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """Show the module that was selected while this was out of sight; Qt calls it."""
        super().showEvent(event)
        self._show()

    def _follow(self) -> None:
        if self.isVisible():
            self._show()

    def _show(self) -> None:
        row = self._workspace.selection.row
        path = "" if row is None else row.node.path
        name = path or (row.node.class_name if row is not None else self.tr("the model"))
        found = self._found(path)
        chart = None if found is None else corpus_histogram(found)
        self._table.setVisible(found is not None)
        if found is not None:
            self._table.show_table(corpus_statistics(found))
        self._panel.set_title(
            self.tr("Output of {0}").format(name),
            self.tr("The outermost 0.1% at each end is omitted. Areas are shares of all values."),
        )
        if chart is not None:
            self._panel.show_charts(chart)
        else:
            self._panel.show_message(self._why_not(found, name))

    def _found(self, path: str) -> ClassSums | None:
        """Return what a module gave at the chosen tokens, in all of its calls."""
        chosen = self._classes.currentData()
        if chosen == ALL:
            return self._corpus.of(path)
        found: ClassSums | None = None
        for row in self._corpus.rows:
            if (row.path, row.token_class) == (path, chosen):
                found = row if found is None else found.merge(row)
        return found

    def _why_not(self, found: ClassSums | None, name: str) -> str:
        if found is None or not found.count:
            text = self.tr("No values of {0} were recorded at these tokens. Select another module.")
            return text.format(name)
        if found.min is None:
            return self.tr("No value of {0} is finite.").format(name)
        text = self.tr("Nearly all values of {0} are {1}.")
        return text.format(name, number_text((found.quantiles((0.5,)) or (found.min,))[0]))
