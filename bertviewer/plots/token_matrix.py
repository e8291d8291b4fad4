"""What every token gives every other one: square cells, each row and column with its name."""

from collections.abc import Sequence
from math import floor

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import SMALL, Theme
from bertviewer.plots.cells import LEAST_SPACED, is_paper
from bertviewer.plots.color_scale import ColorScale, color_table
from bertviewer.plots.fonts import sized
from bertviewer.plots.head_bar import HeadBar
from bertviewer.plots.matrix_cells import CellPicture, draw_dividers, draw_frames, draw_gaps
from bertviewer.plots.matrix_layout import MatrixLayout, MatrixRoom, View, lay_out_matrix, zoomed
from bertviewer.plots.matrix_names import MatrixNames
from bertviewer.plots.token_plot import MOVED, TokenPlot


class TokenMatrix(TokenPlot):
    """A grid of tokens as square cells, row 0 at the top; the colours' bar is beside it.

    All rows and columns have their names where there is room, or evenly spaced as many as fit. What
    is nearer has all the room that there is. Where a cell is smaller than a pixel, a pixel shows
    the largest of its cells. A click tells a row, or the token whose name it is on.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view = View()
        self._names = MatrixNames((), (), "", "", self.font())
        self._under: tuple[int, int] | None = None
        self._beside: TokenMatrix | None = None
        self._picture = CellPicture()
        self._bar = HeadBar(sized(self.font(), SMALL))

    def sizeHint(self) -> QSize:
        """Return a size at which some tokens have their names; Qt calls it."""
        return QSize(480, 360)

    def take(self, chart: GridChart | None) -> None:
        """Get ready to draw a chart."""
        self._under, self._picture = None, CellPicture()
        self._write_names(chart)

    def look_like(self, other: TokenPlot) -> None:
        """See the same rows and columns as another matrix."""
        if isinstance(other, TokenMatrix):
            self._view = other._view
            self.update()

    def set_theme(self, theme: Theme) -> None:
        """Draw again in other colours."""
        self._picture = CellPicture()
        self._bar = HeadBar(sized(self.font(), SMALL))
        self._write_names(self.chart)
        super().set_theme(theme)

    def _write_names(self, chart: GridChart | None) -> None:
        if chart is not None:
            titles = chart.y_title, chart.x_title
            self._names = MatrixNames(chart.rows, chart.columns, *titles, self.font())

    def beside_cells(self) -> float:
        """Return how many pixels of the width are not the cells' where these take all of it."""
        room = self._room()
        return room.row_names + room.bar

    def align(self, other: "TokenMatrix | None") -> None:
        """Leave as much room for names as another matrix needs, if that is more."""
        self._beside = other
        self.update()

    def layout_of_cells(self) -> MatrixLayout | None:
        """Return where the cells are, ``None`` without a chart."""
        if self.chart is None:
            return None
        return lay_out_matrix(self._room(), self._view)

    def cell_at(self, position: QPointF) -> tuple[int, int] | None:
        """Return row and column of the cell at a position."""
        layout = self.layout_of_cells()
        if layout is None or not layout.cells.contains(position):
            return None
        assert self.chart is not None
        rows, columns = self.chart.values.shape
        row, column = map(floor, layout.cell_at(position))
        return min(row, rows - 1), min(column, columns - 1)

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return what a cell or a name at a position stands for."""
        chart, layout = self.chart, self.layout_of_cells()
        if chart is None or layout is None:
            return None
        if (cell := self.cell_at(position)) is not None:
            return chart.key(*cell)
        row, column = layout.named_at(position)
        if row is not None and chart.row_keys:
            return chart.row_keys[row]
        places = chart.column_keys or chart.row_keys
        return places[column] if column is not None and column < len(places) else None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value of the cell at a position in words, or the whole of a name."""
        cell = self.cell_at(position)
        if cell != self._under:
            self._under = cell
            self.update()
        if self.chart is not None and cell is not None:
            return self.chart.text(*cell)
        return self.name_at(position)

    def name_at(self, position: QPointF) -> str:
        """Return the whole of the name at a position."""
        chart, layout = self.chart, self.layout_of_cells()
        row, column = (None, None) if layout is None else layout.named_at(position)
        if chart is not None and row is not None:
            return chart.named_rows[row]
        if chart is not None and column is not None:
            return chart.named_columns[column]
        return ""

    def zoom_at(self, position: QPointF, notches: float) -> None:
        """Go nearer by notches, or farther; the cell at a position stays there."""
        if self.chart is not None:
            self._view = zoomed(self._room(), self._view, position, notches)
            self.update()

    def move_by(self, offset: QPointF) -> None:
        """Move what is seen by pixels."""
        layout = self.layout_of_cells()
        if layout is not None and self._view.cell is not None:
            across = layout.across.starting(layout.across.start - offset.x() / layout.cell)
            down = layout.down.starting(layout.down.start - offset.y() / layout.cell)
            self._view = View(self._view.cell, across.start, down.start)
            self.update()

    def fit(self) -> None:
        """Show all of it."""
        self._view = View()
        self.update()

    def step(self, key: int) -> bool:
        """Select the row before or after, the first or the last, and tell the most of it.

        Left and right look further aside.
        """
        layout, chart = self.layout_of_cells(), self.chart
        if layout is None or chart is None:
            return False
        aside = {Qt.Key.Key_Left: 1, Qt.Key.Key_Right: -1}.get(Qt.Key(key))
        if aside is not None and not layout.across.is_whole:
            self.move_by(QPointF(aside * MOVED * layout.cells.width(), 0))
            return True
        found = self.row_beside(key, Qt.Key.Key_Up, Qt.Key.Key_Down)
        if found is None:
            return False
        values = np.abs(chart.measured[found])
        most = int(np.argmax(np.where(np.isfinite(values), values, -1.0)))
        self.go_to_row(found, chart.text(found, most), self.bring(found, most, is_aside=False))
        return True

    def bring(self, row: int, column: int, *, is_aside: bool = True) -> QPointF:
        """Bring a row into sight, and if so wished a column; return where both meet, if seen."""
        layout = lay_out_matrix(self._room(), self._view)
        across = layout.across.showing(column) if is_aside else layout.across
        self._view = View(self._view.cell, across.start, layout.down.showing(row).start)
        shown = lay_out_matrix(self._room(), self._view)
        at, seen = shown.rect(row, column).center(), shown.cells
        at.setX(min(max(at.x(), seen.left()), seen.right()))
        return at

    def chosen(self, chart: GridChart) -> tuple[Sequence[int], Sequence[int]]:
        """Return the rows and the columns that are marked."""
        return chart.chosen(self.selection)

    def draw_on(self, painter: QPainter) -> None:
        """Draw the matrix as large as the widget is, from the painter's origin."""
        painter.fillRect(QRectF(self.rect()), self.theme.surface)
        chart, layout = self.chart, self.layout_of_cells()
        if chart is None or layout is None:
            return
        scale = self._scale(chart)
        painter.save()
        painter.setClipRect(layout.cells)
        self._picture.draw(painter, chart, layout, scale, self.theme)
        if not is_paper(painter) and self._least_cell(layout) >= LEAST_SPACED:
            draw_gaps(painter, layout, self.theme)
        draw_dividers(painter, chart, layout, self.theme)
        chosen = self.chosen(chart)
        draw_frames(painter, chart, layout, chosen, self.theme)
        painter.restore()
        self._names.draw(painter, layout, self.theme, chosen, self._under)
        if self.neighbour != "right":
            self._bar.draw(painter, layout.cells, scale, self.theme, _masked_word(chart))
            end = QPointF(layout.cells.right() + self._room().bar, self.height())
            self._bar.draw_title(painter, layout.cells, end, self._title(chart), self.theme)

    def _room(self) -> MatrixRoom:
        chart = self.chart
        bar = 0.0
        if chart is not None and self.neighbour != "right":
            words = _masked_word(chart), self._title(chart)
            bar = self._bar.room(self._scale(chart), self.height(), *words)
        beside = () if self._beside is None else (self._beside._names,)
        return self._names.room(self.width(), self.height(), bar, beside)

    def _least_cell(self, layout: MatrixLayout) -> float:
        """Return how many pixels a cell has, or one of the matrix beside it, if that is fewer."""
        beside = None if self._beside is None else self._beside.layout_of_cells()
        return layout.cell if beside is None else min(layout.cell, beside.cell)

    def _title(self, chart: GridChart) -> str:
        return self.common_title if self.neighbour == "left" else chart.value_title

    def _scale(self, chart: GridChart) -> ColorScale:
        table = color_table(self.theme, chart.is_signed)
        return ColorScale(self.levels, table, chart.is_signed, chart.is_root)


def _masked_word(chart: GridChart) -> str:
    return "" if chart.masked is None else chart.masked_word
