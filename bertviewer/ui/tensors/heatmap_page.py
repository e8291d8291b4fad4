"""View of a tensor as a zoomable heatmap, of blocks of elements or single ones."""

from PySide6.QtWidgets import QComboBox
from typing_extensions import override

from bertviewer.charts.tensor_charts import map_chart
from bertviewer.core.checkpoints.reading import Span
from bertviewer.core.tensors.axes import Axis
from bertviewer.core.tensors.matrix import TensorPart
from bertviewer.core.tensors.reduction import TensorMap, tensor_map
from bertviewer.plots.region_heatmap import RegionHeatmap
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.tensors.page import TensorPage
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.data_view import Notice, Query
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.layouts import named

STEP = 1.5  # zoom factor per notch of the mouse wheel
MIN_CELLS = 8  # elements per axis at the highest zoom


class HeatmapPage(TensorPage):
    """Heatmap of a region: the wheel zooms, dragging moves it, a button resets it."""

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
        zoom_in = flat_button("heatmapNearer", "+", self.tr("Zoom in (mouse wheel)"))
        self._zoom_out = flat_button("heatmapFarther", "−", self.tr("Zoom out (mouse wheel)"))
        self._all = flat_button("heatmapAll", self.tr("Fit"), self.tr("Zoom to fit"))
        controls = (self._shown, zoom_in, self._zoom_out, self._all)
        plot = named(RegionHeatmap(), "tensorHeatmap")
        self._panel = ChartPanel(workspace, "", lambda: plot, controls)
        self.set_content(self._panel)
        self._shown.currentIndexChanged.connect(self.refresh)
        zoom_in.clicked.connect(lambda: self.zoom(0.5, 0.5, 2))
        self._zoom_out.clicked.connect(lambda: self.zoom(0.5, 0.5, -2))
        self._all.clicked.connect(self.show_all)
        plot.zoomed.connect(self.zoom)
        plot.dragged.connect(self.move_by)

    @override
    def show_part(self, part: TensorPart) -> None:
        if part is not self.part:
            self._region = _whole(part)
        super().show_part(part)

    def show_all(self) -> None:
        """Reset the zoom."""
        if self.part is not None:
            self._region = _whole(self.part)
            self.refresh()

    def zoom(self, x: float, y: float, notches: int) -> None:
        """Zoom in, or out for negative notches, around a point given as fractions of the plot."""
        if self.part is not None:
            rows, columns = self.part.matrix.shape
            down, across = self._region
            factor = STEP**-notches
            self._region = _zoomed(down, y, factor, rows), _zoomed(across, x, factor, columns)
            self.refresh()

    def move_by(self, x: float, y: float) -> None:
        """Move the picture by fractions of the plot."""
        if self.part is not None:
            rows, columns = self.part.matrix.shape
            self._region = _moved(self._region[0], y, rows), _moved(self._region[1], x, columns)
            self.refresh()

    @override
    def part_query(self, part: TensorPart) -> Query[TensorMap] | Notice:
        if part.is_vector:
            return Notice(self.tr("A vector has no heatmap. See its values or its histogram."))
        matrix, (rows, columns) = part.matrix, self._region
        return Query(
            (matrix, rows, columns),
            lambda _, progress: tensor_map(matrix, rows, columns, progress, "Drawing"),
        )

    @override
    def draw_result(self, part: TensorPart, result: TensorMap) -> None:
        self._shown.setEnabled(not result.is_exact)
        is_zoomed = self._region != _whole(part)
        self._all.setEnabled(is_zoomed)
        self._zoom_out.setEnabled(is_zoomed)
        self._panel.set_title(self._title(result))
        axes = _without_vocabulary(part.rows), _without_vocabulary(part.columns)
        chart = map_chart(result, part.matrix, self._shown.currentData(), axes=axes)
        self._panel.show_charts(chart)

    def _title(self, shown: TensorMap) -> str:
        sizes = [int(edges[1] - edges[0]) for edges in (shown.row_edges, shown.column_edges)]
        blocks = self.tr("blocks of {0} × {1}").format(*sizes)
        title = self.tr("each cell") if shown.is_exact else blocks
        if not shown.nonfinite:
            return title
        return self.tr("{0}, excluding {1} NaN or Inf").format(title, f"{shown.nonfinite:,}")


def _whole(part: TensorPart) -> tuple[Span, Span]:
    rows, columns = part.matrix.shape
    return (0, rows), (0, columns)


def _without_vocabulary(axis: Axis) -> Axis:
    """Return an axis that keeps the tokens of a run, but not those of a vocabulary."""
    return axis if axis.positions else Axis(kind=axis.kind)


def _zoomed(span: Span, position: float, factor: float, size: int) -> Span:
    """Return a span scaled by a factor around a position, given as a fraction of it."""
    length = span[1] - span[0]
    scaled = round(length * factor)
    if factor > 1:
        scaled = max(scaled, length + 1)
    scaled = min(size, max(min(MIN_CELLS, size), scaled))
    start = round(span[0] + position * (length - scaled))
    start = min(max(0, start), size - scaled)
    return start, start + scaled


def _moved(span: Span, fraction: float, size: int) -> Span:
    length = span[1] - span[0]
    start = min(max(0, span[0] - round(fraction * length)), size - length)
    return start, start + length
