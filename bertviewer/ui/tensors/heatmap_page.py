"""A tensor as a picture: all of it in blocks, single cells from near."""

from typing import Any

from PySide6.QtWidgets import QComboBox

from bertviewer.charts.tensor_charts import map_chart
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.reduction import TensorMap
from bertviewer.plots.zoom_plot import ZoomPlot
from bertviewer.ui.jobs.requests import ModelWork
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors import jobs
from bertviewer.ui.tensors.page import ComputedPage
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import named

STEP = 1.5
"""By what a notch of the wheel goes nearer."""
LEAST = 8
"""Cells either way that are left at the nearest."""


class HeatmapPage(ComputedPage):
    """The map of a region; the wheel goes nearer, a drag moves it, and a button shows all."""

    needs_torch = False

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._region: tuple[Span, Span] = (0, 0), (0, 0)
        self._shown = named(
            QComboBox(),
            "heatmapShown",
            accessible_name=self.tr("Value shown per block"),
            tooltip=self.tr("Value shown per block: its mean, or the value farthest from 0"),
        )
        self._shown.addItem(self.tr("mean"), "mean")
        self._shown.addItem(self.tr("extreme"), "extreme")
        self._nearer = flat_button("heatmapNearer", "+", self.tr("Zoom in (mouse wheel)"))
        self._farther = flat_button("heatmapFarther", "−", self.tr("Zoom out (mouse wheel)"))
        self._all = flat_button("heatmapAll", self.tr("Fit"), self.tr("Zoom to fit"))
        controls = (self._shown, self._nearer, self._farther, self._all)
        self._panel = ChartPanel(workspace, "", ZoomPlot, controls)
        self._plot = self._panel.plot
        assert isinstance(self._plot, ZoomPlot)
        self._plot.setObjectName("tensorHeatmap")
        self.set_content(self._panel)
        self._shown.currentIndexChanged.connect(self.refresh)
        self._nearer.clicked.connect(lambda: self.zoom(0.5, 0.5, 2))
        self._farther.clicked.connect(lambda: self.zoom(0.5, 0.5, -2))
        self._all.clicked.connect(self.show_all)
        self._plot.zoomed.connect(self.zoom)
        self._plot.dragged.connect(self.move_by)

    def on_part(self) -> None:
        """Show all of the new tensor."""
        if self.part is not None:
            rows, columns = self.part.matrix.shape
            self._region = (0, rows), (0, columns)

    def show_all(self) -> None:
        """Show all of it."""
        self.on_part()
        self.refresh()

    def zoom(self, x: float, y: float, notches: int) -> None:
        """Go nearer to a place, given in parts of what is seen, or away from it."""
        if self.part is None:
            return
        rows, columns = self.part.matrix.shape
        factor = STEP**-notches
        self._region = (
            _zoomed(self._region[0], y, factor, rows),
            _zoomed(self._region[1], x, factor, columns),
        )
        self.refresh()

    def move_by(self, x: float, y: float) -> None:
        """Move the picture by parts of what is seen."""
        if self.part is None:
            return
        rows, columns = self.part.matrix.shape
        self._region = _moved(self._region[0], y, rows), _moved(self._region[1], x, columns)
        self.refresh()

    def key(self, part: TensorPart) -> object:
        """Return tensor and region."""
        return part.matrix, self._region

    def work(self, part: TensorPart) -> ModelWork[Any]:
        """Return the reduction of the region."""
        rows, columns = self._region
        return lambda model, progress: jobs.tensor_map_job(
            part.matrix, rows, columns, model, progress
        )

    def draw(self, part: TensorPart, result: Any) -> None:
        """Show a map."""
        assert isinstance(result, TensorMap)
        self._shown.setEnabled(not result.is_exact)
        whole = tuple((0, size) for size in part.matrix.shape)
        self._all.setEnabled(self._region != whole)
        self._farther.setEnabled(self._region != whole)
        self._panel.set_title(self._title(result))
        shown = self._shown.currentData()
        axes = _numbered(part.rows), _numbered(part.columns)
        chart = map_chart(result, part.matrix, shown, axes=axes)
        self._panel.show_charts(chart)

    def why_not(self, part: TensorPart) -> str:
        """Say that a vector is no picture."""
        if part.is_vector and min(part.matrix.shape):
            return self.tr("A vector has no heatmap. See its values or its histogram.")
        return super().why_not(part)

    def _title(self, found: TensorMap) -> str:
        sizes = [int(edges[1] - edges[0]) for edges in (found.row_edges, found.column_edges)]
        blocks = self.tr("blocks of {0} × {1}").format(*sizes)
        title = self.tr("each cell") if found.is_exact else blocks
        if not found.nonfinite:
            return title
        # The mean of a block says nothing of them.
        return self.tr("{0}, excluding {1} NaN or Inf").format(title, f"{found.nonfinite:,}")


def _numbered(axis: Axis) -> Axis:
    """Return an axis without the names of a vocabulary: of thousands numbers tell where one is."""
    return axis if axis.positions else Axis(kind=axis.kind)


def _zoomed(span: Span, place: float, factor: float, size: int) -> Span:
    """Return a span longer or shorter by a factor, the same index at the same place."""
    length = span[1] - span[0]
    wanted = round(length * factor)
    if factor > 1:
        wanted = max(wanted, length + 1)
    wanted = min(size, max(min(LEAST, size), wanted))
    start = round(span[0] + place * (length - wanted))
    start = min(max(0, start), size - wanted)
    return start, start + wanted


def _moved(span: Span, part: float, size: int) -> Span:
    length = span[1] - span[0]
    start = min(max(0, span[0] - round(part * length)), size - length)
    return start, start + length
