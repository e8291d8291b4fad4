"""Where the square cells of a matrix stand in a plot, with the names beside and below them."""

from math import floor

from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF

from bertviewer.plots.token_labels import GAP, SIZES, label_size, line_height
from bertviewer.plots.zoom import LEAST, STEP, Span

MARGIN = 4.0
PART = 0.34
"""Names below take no more of the height than that."""


class MatrixRoom(Struct, frozen=True):
    """How many cells a matrix has, and what they share: the widget, with names and the bar."""

    rows: int
    columns: int
    width: float
    height: float
    row_names: float
    column_names: float
    bar: float


class View(Struct, frozen=True):
    """From how near a matrix is seen: how many pixels a cell has, from which column and row on.

    ``None`` pixels are as many as let all of it be seen.
    """

    cell: float | None = None
    column: float = 0.0
    row: float = 0.0


class MatrixLayout(Struct, frozen=True):
    """The rectangle of the cells that are seen, which ones these are, and the names' room."""

    cells: QRectF
    cell: float
    across: Span
    down: Span
    left: float
    below: float
    is_upright: bool

    def rect(self, row: float, column: float, rows: float = 1, columns: float = 1) -> QRectF:
        """Return where so many rows and columns are, from these on."""
        x = self.cells.x() + (column - self.across.start) * self.cell
        y = self.cells.y() + (row - self.down.start) * self.cell
        return QRectF(x, y, columns * self.cell, rows * self.cell)

    def cell_at(self, position: QPointF) -> tuple[float, float]:
        """Return the row and the column at a position, with their fractions."""
        return (
            self.down.start + (position.y() - self.cells.y()) / self.cell,
            self.across.start + (position.x() - self.cells.x()) / self.cell,
        )

    def named_at(self, position: QPointF) -> tuple[int | None, int | None]:
        """Return the row or the column beside which, or below which, a position is."""
        cells, (row, column) = self.cells, map(floor, self.cell_at(position))
        is_beside = cells.left() - self.left <= position.x() < cells.left()
        is_below = cells.bottom() <= position.y() <= cells.bottom() + self.below
        if is_beside and cells.top() <= position.y() < cells.bottom():
            return row, None
        if is_below and cells.left() <= position.x() < cells.right():
            return None, column
        return None, None


def lay_out_matrix(room: MatrixRoom, view: View) -> MatrixLayout:
    """Return cells in the middle of their room, all of them squares.

    Names below stand upright where one is wider than its cell when all are seen. From nearer, as
    much of the matrix is seen as there is room for.
    """
    left = room.row_names + GAP
    wide = max(1.0, room.width - left - room.bar - 2 * MARGIN)

    def high(below: float) -> float:
        return max(1.0, room.height - below - 2 * MARGIN)

    def fitting(below: float) -> float:
        return max(0.1, min(wide / room.columns, high(below) / room.rows))

    below, is_upright = 2 * line_height() + GAP, False
    cell = fitting(below)
    if room.column_names * label_size(cell) / SIZES[0] + GAP > cell:
        below, is_upright = min(room.column_names, PART * room.height) + GAP, True
        cell = fitting(below)
    tall = high(below)
    if view.cell is not None:
        cell = max(cell, view.cell)
    across, down = (
        Span(0.0, min(float(size), pixels / cell), size).starting(start)
        for size, pixels, start in ((room.columns, wide, view.column), (room.rows, tall, view.row))
    )
    x = MARGIN + left + (wide - across.length * cell) / 2
    y = MARGIN + (tall - down.length * cell) / 2
    cells = QRectF(x, y, across.length * cell, down.length * cell)
    return MatrixLayout(cells, cell, across, down, left, below, is_upright)


def zoomed(room: MatrixRoom, view: View, at: QPointF, notches: float) -> View:
    """Return a view from so many notches nearer, with the same cell at a position."""
    before = lay_out_matrix(room, view)
    nearest = max(before.cell, min(room.width, room.height) / LEAST)
    cell = min(nearest, before.cell * STEP**notches)
    whole = lay_out_matrix(room, View())
    if cell <= whole.cell:
        return View()
    row, column = before.cell_at(at)
    cells = lay_out_matrix(room, View(cell)).cells
    return View(cell, column - (at.x() - cells.x()) / cell, row - (at.y() - cells.y()) / cell)
