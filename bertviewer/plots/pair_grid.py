"""A grid of which both the row and the column of a cell are told, as of layers and heads."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from bertviewer.charts.attention import AllHeadsChart
from bertviewer.charts.chart import GridChart
from bertviewer.plots.grid_keys import Cell, pair_of
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

    def chosen(self, chart: GridChart) -> tuple[Sequence[int], Sequence[int]]:
        """Return the marked row and the selected columns."""
        return pair_of(chart, self._row, self.selection)

    def go_to(self, cell: Cell) -> None:
        """Tell the pair, and do what a click on a cell does."""
        self.paired.emit(*cell)
        super().go_to(cell)
