"""How a tensor's values are spread: statistics and histogram."""

from typing import Any

from PySide6.QtWidgets import QCheckBox

from bertviewer.charts.statistics import histogram_chart, tensor_statistics_table
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.ui.jobs.requests import ModelWork
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import jobs
from bertviewer.ui.tensors.page import ComputedPage
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.layouts import named, split

TABLE = 190  # pixels


class DistributionPage(ComputedPage):
    """A histogram beside the statistics of the same values."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        tip = self.tr("Use a logarithmic axis for the counts, so that small counts are visible")
        self._log = named(QCheckBox(self.tr("Log counts")), "tensorLogCounts", tooltip=tip)
        self._panel = ChartPanel(workspace, "", HistogramPlot, (self._log,))
        self._panel.plot.setObjectName("tensorHistogram")
        self._statistics = FigureView(
            workspace, "tensorStatistics", self.tr("Statistics of the tensor")
        )
        columns = split(self._panel, self._statistics, sizes=(600, TABLE))
        columns.setStretchFactor(0, 1)
        self.set_content(columns)
        self._log.toggled.connect(self.refresh)

    def work(self, part: TensorPart) -> ModelWork[Any]:
        """Return two passes over the tensor."""
        return lambda model, progress: jobs.distribution_job(part.matrix, model, progress)

    def draw(self, part: TensorPart, result: Any) -> None:
        """Show histogram and statistics."""
        statistics, counted = result
        is_log = self._log.isChecked()
        self._panel.show_charts(histogram_chart(counted, statistics, is_log))
        self._statistics.show_table(tensor_statistics_table(statistics))
