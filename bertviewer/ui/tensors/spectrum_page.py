"""A tensor's singular values, and what they tell of its rank."""

from functools import partial
from typing import Any

from bertviewer.charts.table import DataTable, TableCell, TableColumn, number_cell, text_cell
from bertviewer.charts.tensor_charts import spectrum_chart
from bertviewer.core.tensors.matrix import Matrix, TensorPart
from bertviewer.core.tensors.spectrum import SHARE, Spectrum, svd_cost
from bertviewer.plots.line_plot import SpectrumPlot
from bertviewer.ui.jobs.requests import ModelWork
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import jobs
from bertviewer.ui.tensors.page import ComputedPage
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.empty_state import CallToAction
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.widgets.layouts import split

MOST_COST = 20_000_000_000
"""Multiplications that take a second or two: what takes more is not begun unasked."""

TABLE = 225  # pixels


class SpectrumPage(ComputedPage):
    """Singular values on a logarithmic axis, beside what they tell of the tensor."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._agreed: Matrix | None = None
        self._panel = ChartPanel(workspace, "", SpectrumPlot)
        self._panel.plot.setObjectName("spectrumPlot")
        self._facts = FigureView(
            workspace, "spectrumFacts", self.tr("Summary of the singular values")
        )
        # Side by side: a flat plot tells little of how fast values fall.
        columns = split(self._panel, self._facts, sizes=(600, TABLE))
        columns.setStretchFactor(0, 1)
        self.set_content(columns)

    def work(self, part: TensorPart) -> ModelWork[Any]:
        """Return the decomposition."""
        return lambda model, progress: jobs.singular_values_job(part.matrix, model, progress)

    def draw(self, part: TensorPart, result: Any) -> None:
        """Show the values and what they tell."""
        assert isinstance(result, Spectrum)
        self._panel.show_charts(spectrum_chart(result))
        self._facts.show_table(self._table(result))

    def why_not(self, part: TensorPart) -> str:
        """Say that a vector has but its norm, or that it would take long."""
        matrix = part.matrix
        if part.is_vector and min(matrix.shape):
            return self.tr("A vector has one singular value: its norm.")
        if matrix != self._agreed and svd_cost(matrix.shape) > MOST_COST:
            return self.tr(
                "Computing the singular values of {0} × {1} elements takes about {2} "
                "billion multiplications: seconds to minutes."
            ).format(*(f"{size:,}" for size in (*matrix.shape, svd_cost(matrix.shape) // 10**9)))
        return super().why_not(part)

    def way_out(self, part: TensorPart) -> CallToAction | None:
        """Offer to compute what takes long."""
        is_long = not part.is_vector and svd_cost(part.matrix.shape) > MOST_COST
        call = partial(self._agree, part.matrix)
        return CallToAction(self.tr("Compute anyway"), call) if is_long else None

    def _agree(self, matrix: Matrix) -> None:
        self._agreed = matrix
        self.refresh()

    def forget(self) -> None:
        """Keep nothing: the model is another one."""
        super().forget()
        self._agreed = None

    def _table(self, found: Spectrum) -> DataTable:
        rows = [
            (text_cell(self.tr("largest")), number_cell(found.largest)),
            (text_cell(self.tr("Frobenius norm")), number_cell(found.norm)),
        ]
        if found.effective_rank is not None and found.stable_rank is not None:
            rank = self.tr("{0} of {1}").format(found.rank, len(found.values))
            rows += [
                (
                    text_cell(self.tr("rank"), self.tr("Number of values above rounding error")),
                    TableCell(found.rank, rank),
                ),
                (
                    text_cell(
                        self.tr("effective rank"),
                        self.tr("exp of the entropy of the values’ shares"),
                    ),
                    number_cell(found.effective_rank, digits=5),
                ),
                (
                    text_cell(
                        self.tr("stable rank"),
                        self.tr("Sum of the squares divided by the largest square"),
                    ),
                    number_cell(found.stable_rank, digits=5),
                ),
                (
                    text_cell(
                        self.tr("{0} of the squares").format(f"{SHARE:.0%}"),
                        self.tr(
                            "Number of values that make up {0} of the sum of all squares"
                        ).format(f"{SHARE:.0%}"),
                    ),
                    number_cell(found.rank_for_share()),
                ),
            ]
        if found.condition is not None:
            name = text_cell(
                self.tr("condition number"), self.tr("Largest value divided by the smallest")
            )
            rows.append((name, number_cell(found.condition, digits=4)))
        columns = TableColumn(self.tr("Measure")), TableColumn(self.tr("Value"), "number")
        return DataTable(columns, tuple(rows))
