"""A matrix of tokens of which both the row and the column of a cell are told."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.plots.grid_keys import Cell, next_cell, pair_of
from bertviewer.plots.token_matrix import TokenMatrix


class PairMatrix(TokenMatrix):
    """Tells both of a pair: ``paired`` carries the row and the column of a cell that is gone to.

    The column is the one that the selection means; the row is framed as ``mark_row()`` says.
    """

    paired = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row: int | None = None
        self._reached: Cell | None = None  # by a key: a token with itself is no pair to be marked

    def mark_row(self, row: int | None) -> None:
        """Frame a row, in place of the one framed before."""
        self._row = row
        self.update()

    def chosen(self, chart: GridChart) -> tuple[Sequence[int], Sequence[int]]:
        """Return the marked row and the selected columns."""
        if self._reached is not None:
            row, column = self._reached
            return (row,), (column,)
        return pair_of(chart, self._row, self.selection)

    def take(self, chart: GridChart | None) -> None:
        """Get ready to draw a chart."""
        super().take(chart)
        if chart is None or self._reached is None or max(self._reached) >= len(chart.rows):
            self._reached = None

    def click_at(self, position: QPointF) -> None:
        """Tell the pair, and select the column."""
        self._reached = None
        if (cell := self.cell_at(position)) is not None:
            self.paired.emit(*cell)
        super().click_at(position)

    def step(self, key: int) -> bool:
        """Go to the cell beside, which is brought into sight."""
        if self.chart is None:
            return False
        rows, columns = self.chosen(self.chart)
        cell = next_cell(self.chart, (rows[0], columns[0]) if rows and columns else None, key)
        if cell is None:
            return False
        self._reached, at = cell, self.bring(*cell)
        self.paired.emit(*cell)
        self.clicked.emit(self.chart.key(*cell))
        self.reached.emit(self.chart.text(*cell), at.toPoint())
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Mark what is selected again; Qt calls it."""
        super().focusOutEvent(event)
        self._reached = None
        self.update()
