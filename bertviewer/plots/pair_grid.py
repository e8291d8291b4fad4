"""A grid of which both the row and the column of a cell are told, as of layers and heads."""

from PySide6.QtCore import QRectF, Signal
from PySide6.QtWidgets import QWidget

from bertviewer.charts.attentions import AllHeadsChart
from bertviewer.plots.grid_keys import Cell
from bertviewer.plots.grid_plot import GridPlot
from bertviewer.plots.head_pictures import HeadPictures, Spot


class PairGrid(GridPlot):
    """Tells both of a pair: ``paired`` carries the row and the column of a cell that is clicked.

    The column is the one that the selection means; the row is framed as ``mark_row()`` says. A
    spot marks the cell of ``mark_spot()``. Where the chart has pictures, they stand in the cells.
    """

    paired = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        self._row: int | None = None
        self._spot: tuple[int, int] | None = None
        super().__init__(parent)

    def mark_spot(self, cell: tuple[int, int] | None) -> None:
        """Mark a cell, in place of the one marked before; a chart has to follow."""
        self._spot = cell

    def draw(self) -> None:
        """Draw the cells, what stands in them, the colour bar and the axes."""
        super().draw()
        chart, item = self.chart, self.area
        if isinstance(chart, AllHeadsChart) and chart.pictures is not None and not chart.is_signed:
            # Their colours are those of shares, not of the figures.
            self.color_bar.setVisible(False)
            item.addItem(HeadPictures(chart.values.shape, chart.pictures, self.theme))
        if chart is not None and self._spot is not None:
            item.addItem(Spot(self._spot, self.theme), ignoreBounds=True)

    def mark_row(self, row: int | None) -> None:
        """Frame a row, in place of the one framed before."""
        self._row = row
        self.draw_marks()

    def draw_marks(self) -> None:
        """Frame the selected column, the marked row, and the cell where both meet."""
        if self.chart is None or self._frames is None:
            return
        rows, columns = self.chart.values.shape
        _, marked = self.chart.chosen(self.selection)
        row = self._row if self._row is not None and self._row < rows else None
        bars = [QRectF(column, 0, 1, rows) for column in marked]
        cells = [] if row is None else [(row, column) for column in marked]
        if row is not None:
            bars.append(QRectF(0, row, columns, 1))
        self._show_frames(bars, cells)

    def go_to(self, cell: Cell) -> None:
        """Tell the pair, and do what a click on a cell does."""
        self.paired.emit(*cell)
        super().go_to(cell)

    def _chosen_cell(self) -> Cell | None:
        """Return the cell of the marked row and the selected column."""
        if self.chart is None or self._row is None or self._row >= len(self.chart.values):
            return None
        _, columns = self.chart.chosen(self.selection)
        return (self._row, columns[0]) if columns else None
