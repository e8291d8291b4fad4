"""What each layer gives for many sentences: quantiles, or a statistic."""

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import LineChart
from bertviewer.charts.corpus import quantile_chart
from bertviewer.charts.layers import layer_chart, selected_series
from bertviewer.core.corpus.corpus import Corpus, as_run
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.choice_box import ChoiceBox
from bertviewer.ui.widgets.layouts import named, vbox

_QUANTILES = QT_TRANSLATE_NOOP("LayersPage", "quantiles")


class LayersPage(QWidget):
    """A line for the layers, and one for the part of a layer that is selected."""

    def __init__(self, corpus: Corpus, architecture: Architecture, workspace: Workspace) -> None:
        super().__init__()
        self._corpus, self._architecture, self._workspace = corpus, architecture, workspace
        self._run = as_run(corpus)
        self._drawn: object = None
        self._figure = ChoiceBox("corpusStatistic", self.tr("Statistic shown per layer"))
        self._figure.addItem(self.tr(_QUANTILES), "")
        for name in STATISTIC_NAMES:
            self._figure.addItem(name, name)
        self._panel = ChartPanel(workspace, "", LinePlot, (self._figure,))
        named(self._panel.plot, "corpusLayers")
        vbox(self._panel, parent=self, margins=(0, 4, 0, 0))
        self._figure.currentIndexChanged.connect(self._show)
        workspace.selection.row_changed.connect(self._follow)

    def showEvent(self, event: QShowEvent) -> None:
        """Show the part that was selected while this was out of sight; Qt calls it."""
        super().showEvent(event)
        self._show()

    def _follow(self) -> None:
        if self.isVisible():
            self._show()

    def _show(self) -> None:
        path, figure = self._workspace.selection.place.path or "", self._figure.currentData()
        shown = figure, selected_series(self._architecture, self._run, path)
        if shown == self._drawn:
            return
        self._drawn = shown
        if figure:
            title = self.tr("{0} of each layer’s output, over all tokens").format(figure)
        else:
            title = self.tr("Each layer’s output: median and 5%–95% range of the values")
        self._panel.set_title(title)
        self._panel.show_charts(self._chart(figure, path))

    def _chart(self, figure: str, path: str) -> LineChart:
        if not figure:
            return quantile_chart(self._architecture, self._corpus, path)
        return layer_chart(self._architecture, self._run, figure, path)
