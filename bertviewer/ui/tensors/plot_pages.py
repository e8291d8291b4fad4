"""Views of a tensor with a plot and a table: histogram, and singular values."""

from collections.abc import Callable

from PySide6.QtWidgets import QCheckBox, QWidget
from typing_extensions import override

from bertviewer.charts.statistics import histogram_chart, tensor_statistics_table
from bertviewer.charts.table import DataTable, TableCell, TableColumn, number_cell, text_cell
from bertviewer.charts.tensor_charts import spectrum_chart
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.statistics.histograms import Histogram
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.core.tensors.scan import matrix_histogram, scan
from bertviewer.core.tensors.spectrum import SHARE, Spectrum, singular_values, svd_cost
from bertviewer.core.util.progress import Progress
from bertviewer.plots.canvas_plot import CanvasPlot
from bertviewer.plots.histogram_plot import HistogramPlot
from bertviewer.plots.line_plot import SpectrumPlot
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.data_view import Notice, Query
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.layouts import named, split

MAX_COST = 20_000_000_000
"""Multiplications of a decomposition that starts by itself: one or two seconds."""


class _PlotPage(TensorPage):
    """Plot with a table of ``width`` pixels at its right."""

    def __init__(
        self,
        workspace: Workspace,
        plot: Callable[[], CanvasPlot],
        table: FigureView,
        width: int,
        *controls: QWidget,
    ) -> None:
        super().__init__(workspace)
        self.panel = ChartPanel(workspace, "", plot, controls)
        self.table = table
        columns = split(self.panel, table, sizes=(600, width))
        columns.setStretchFactor(0, 1)
        self.set_content(columns)


class HistogramPage(_PlotPage):
    """Histogram and statistics of the values."""

    def __init__(self, workspace: Workspace) -> None:
        tooltip = self.tr("Use a logarithmic axis for the counts, so that small counts are visible")
        self._log = named(QCheckBox(self.tr("Log counts")), "tensorLogCounts", tooltip=tooltip)
        title = self.tr("Statistics of the tensor")
        table = FigureView(workspace, "tensorStatistics", title)
        plot = named(HistogramPlot(), "tensorHistogram")
        super().__init__(workspace, lambda: plot, table, 190, self._log)
        self._log.toggled.connect(self.refresh)

    @override
    def part_query(self, part: TensorPart) -> Query[tuple[Statistics, Histogram]]:
        matrix = part.matrix

        def work(_model: object, progress: Progress) -> tuple[Statistics, Histogram]:
            statistics = scan(matrix, progress, "Measuring").statistics
            return statistics, matrix_histogram(matrix, statistics, progress, "Counting")

        return Query(matrix, work)

    @override
    def draw_result(self, part: TensorPart, result: tuple[Statistics, Histogram]) -> None:
        statistics, histogram = result
        self.panel.show_charts(histogram_chart(histogram, statistics, self._log.isChecked()))
        self.table.show_table(tensor_statistics_table(statistics))


class SpectrumPage(_PlotPage):
    """Singular values on a logarithmic axis, and ranks derived from them."""

    def __init__(self, workspace: Workspace) -> None:
        title = self.tr("Summary of the singular values")
        table = FigureView(workspace, "spectrumFacts", title)
        plot = named(SpectrumPlot(), "spectrumPlot")
        super().__init__(workspace, lambda: plot, table, 225)
        self._allowed: Matrix | None = None

    @override
    def part_query(self, part: TensorPart) -> Query[Spectrum] | Notice:
        matrix = part.matrix
        if part.is_vector:
            return Notice(self.tr("A vector has one singular value: its norm."))
        cost = svd_cost(matrix.shape)
        if matrix != self._allowed and cost > MAX_COST:
            text = self.tr(
                "Computing the singular values of {0} × {1} elements takes about {2} "
                "billion multiplications: seconds to minutes."
            ).format(*(f"{size:,}" for size in (*matrix.shape, cost // 10**9)))
            return Notice(
                text, CallToAction(self.tr("Compute anyway"), lambda: self._allow(matrix))
            )
        return Query(
            matrix, lambda _, progress: singular_values(matrix, progress, "Singular values")
        )

    @override
    def draw_result(self, part: TensorPart, result: Spectrum) -> None:
        self.panel.show_charts(spectrum_chart(result))
        self.table.show_table(self._summary(result))

    @override
    def clear(self) -> None:
        super().clear()
        self._allowed = None

    def _allow(self, matrix: Matrix) -> None:
        self._allowed = matrix
        self.refresh()

    def _summary(self, spectrum: Spectrum) -> DataTable:
        rows = [
            (text_cell(self.tr("largest")), number_cell(spectrum.largest)),
            (text_cell(self.tr("Frobenius norm")), number_cell(spectrum.norm)),
        ]
        if spectrum.effective_rank is not None and spectrum.stable_rank is not None:
            rank = self.tr("{0} of {1}").format(spectrum.rank, len(spectrum.values))
            above = self.tr("Number of values above rounding error")
            entropy = self.tr("exp of the entropy of the values’ shares")
            squares = self.tr("Sum of the squares divided by the largest square")
            count = self.tr("Number of values that make up {0} of the sum of all squares")
            share = f"{SHARE:.0%}"
            rows += [
                (text_cell(self.tr("rank"), above), TableCell(spectrum.rank, rank)),
                (
                    text_cell(self.tr("effective rank"), entropy),
                    number_cell(spectrum.effective_rank, digits=5),
                ),
                (
                    text_cell(self.tr("stable rank"), squares),
                    number_cell(spectrum.stable_rank, digits=5),
                ),
                (
                    text_cell(self.tr("{0} of the squares").format(share), count.format(share)),
                    number_cell(spectrum.rank_for_share()),
                ),
            ]
        if spectrum.condition is not None:
            ratio = self.tr("Largest value divided by the smallest")
            name = text_cell(self.tr("condition number"), ratio)
            rows.append((name, number_cell(spectrum.condition, digits=4)))
        columns = TableColumn(self.tr("Measure")), TableColumn(self.tr("Value"), "number")
        return DataTable(columns, tuple(rows))
