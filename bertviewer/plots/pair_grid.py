"""A grid of things by the same things, where a cell is a pair of them."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chosen import chosen
from bertviewer.plots.grid_plot import GridPlot

if TYPE_CHECKING:
    from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent


class PairGrid(GridPlot):
    """Tells both of a pair: ``paired`` carries the row and the column of a cell that is clicked.

    The column is the one that the selection means; the row is framed as ``mark_row()`` says.
    """

    paired = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._row: int | None = None
        super().__init__(parent)

    def mark_row(self, row: int | None) -> None:
        """Frame a row, in place of the one framed before."""
        self._row = row
        self.draw_marks()

    def draw_marks(self) -> None:
        """Frame the selected column, the marked row, and the cell where both meet."""
        if self.chart is None or self._frames is None:
            return
        rows, columns = self.chart.values.shape
        _, marked = chosen(self.chart, self.selection)
        row = self._row if self._row is not None and self._row < rows else None
        bars = [QRectF(column, 0, 1, rows) for column in marked]
        cells = [] if row is None else [QRectF(column, row, 1, 1) for column in marked]
        if row is not None:
            bars.append(QRectF(0, row, columns, 1))
        self._frames.show_frames(bars, cells)

    def _on_click(self, event: "MouseClickEvent") -> None:
        cell = self._cell(event.scenePos())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self.paired.emit(*cell)
        super()._on_click(event)
