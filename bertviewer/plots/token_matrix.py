"""Heatmap of tokens by tokens: square cells, zoomed and panned, with the names of tokens."""

from collections.abc import Sequence
from math import floor

import numpy as np
from msgspec import Struct
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.chart import GridChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, SMALL
from bertviewer.plots.canvas_plot import CanvasPlot, Point
from bertviewer.plots.fonts import sized
from bertviewer.plots.heatmap import CellLayout, Heatmap
from bertviewer.plots.span import MIN_LENGTH, STEP, Span
from bertviewer.plots.token_names import (
    GAP,
    SIZES,
    Names,
    draw_upright,
    name_font,
    name_size,
    next_row,
    shown_names,
    type_line,
)

MARGIN = 4.0
NAMES_WIDTH, NAMES_HEIGHT = 0.3, 0.34
"""Names take no more than this fraction of the width and of the height."""
PAN_STEP = 0.25
"""An arrow key pans by this fraction of the visible part."""

_LEFT_OF = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_CENTER = int(Qt.AlignmentFlag.AlignCenter)


class View(Struct, frozen=True):
    """The visible part: pixels of a cell, ``None`` to fit, and the first column and row."""

    cell: float | None = None
    column: float = 0.0
    row: float = 0.0


class MatrixLayout(CellLayout, frozen=True, kw_only=True):
    """Cells with the room for names to the left and below, which may be upright."""

    left: float
    below: float
    is_upright: bool

    def named_at(self, position: QPointF) -> tuple[int | None, int | None]:
        """Return the row or the column whose name is at a position."""
        cells, (row, column) = self.cells, map(floor, self.cell_at(position))
        is_beside = cells.left() - self.left <= position.x() < cells.left()
        is_below = cells.bottom() <= position.y() <= cells.bottom() + self.below
        if is_beside and cells.top() <= position.y() < cells.bottom():
            return row, None
        if is_below and cells.left() <= position.x() < cells.right():
            return None, column
        return None, None


class TokenMatrix(Heatmap):
    """A heatmap whose cells are squares, row 0 on top; the visible part can be chosen.

    All rows and columns are named where there is room, or evenly spaced ones. A click selects a
    row, or the token whose name is clicked.
    """

    can_zoom = True
    has_gaps_on_paper = False
    has_compact_bar = False
    divider_halo = 0.0
    divider_opacity = 0.6

    def __init__(self, parent: QWidget | None = None, *, selects_pairs: bool = False) -> None:
        self._view = View()
        self._under: Point | None = None
        super().__init__(parent, selects_pairs=selects_pairs)
        self.setMinimumSize(120, 100)

    @override
    def sizeHint(self) -> QSize:
        return QSize(480, 360)

    @override
    def show_chart(self, chart: GridChart | None) -> None:
        before = self.chart
        super().show_chart(chart)
        if self.chart is None or before is None or self.chart.rows != before.rows:
            self.fit()
        self._under = None

    @override
    def look_like(self, other: CanvasPlot) -> None:
        if isinstance(other, TokenMatrix):
            self._view = other._view
            self.update()

    @override
    def reserved_width(self) -> float:
        return self._names_width + self._bar_width

    @override
    def cells_across(self) -> int:
        return 1

    @override
    def content_size(self) -> QSizeF:
        return CanvasPlot.content_size(self)

    @override
    def layout_of_cells(self) -> MatrixLayout | None:
        return None if self.chart is None else self._lay_out(self.chart, self._view)

    @override
    def key_at(self, position: QPointF) -> SelectionKey | None:
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

    @override
    def text_at(self, position: QPointF) -> str:
        cell = self.cell_at(position)
        if cell != self._under:
            self._under = cell
            self.update()
        return super().text_at(position) or self.name_at(position)

    @override
    def name_at(self, position: QPointF) -> str:
        chart, layout = self.chart, self.layout_of_cells()
        if chart is None or layout is None:
            return ""
        row, column = layout.named_at(position)
        if row is not None:
            return chart.named_rows[row]
        return "" if column is None else chart.named_columns[column]

    @override
    def zoom_at(self, position: QPointF, notches: float) -> None:
        if self.chart is None:
            return
        before = self._lay_out(self.chart, self._view)
        nearest = max(before.width, min(self.width(), self.height()) / MIN_LENGTH)
        cell = min(nearest, before.width * STEP**notches)
        self._view = View()
        if cell > self._lay_out(self.chart, self._view).width:
            row, column = before.cell_at(position)
            cells = self._lay_out(self.chart, View(cell)).cells
            x, y = position.x() - cells.x(), position.y() - cells.y()
            self._view = View(cell, column - x / cell, row - y / cell)
        self.update()

    @override
    def move_by(self, offset: QPointF) -> None:
        layout = self.layout_of_cells()
        if layout is not None and self._view.cell is not None:
            across = layout.across.starting(layout.across.start - offset.x() / layout.width)
            down = layout.down.starting(layout.down.start - offset.y() / layout.height)
            self._view = View(self._view.cell, across.start, down.start)
            self.update()

    @override
    def fit(self) -> None:
        self._view = View()
        self.update()

    @override
    def next_point(self, key: int) -> Point | None:
        """Return the next cell of a pair, or the largest cell of the next row."""
        if self._selects_pairs:
            return super().next_point(key)
        row = next_row(self.chart, self.selection, key, Qt.Key.Key_Up, Qt.Key.Key_Down)
        if row is None or self.chart is None:
            return None
        values = np.abs(self.chart.measured[row])
        return row, int(np.argmax(np.where(np.isfinite(values), values, -1.0)))

    @override
    def go_to(self, point: Point) -> None:
        assert self.chart is not None
        self._bring_into_view(*point)
        if self._selects_pairs:
            super().go_to(point)
        else:
            self.clicked.emit(self.chart.row_keys[point[0]])

    @override
    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        text, at = super().describe_point(point)
        layout = self.layout_of_cells()
        assert layout is not None
        at.setX(min(max(at.x(), layout.cells.left()), layout.cells.right()))
        return text, at

    @override
    def click_at(self, position: QPointF) -> None:
        self.focused_point = None
        cell = self.cell_at(position)
        if cell is not None and self._selects_pairs:
            self.paired.emit(*cell)
        super(Heatmap, self).click_at(position)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        layout = self.layout_of_cells()
        aside = {Qt.Key.Key_Left: 1, Qt.Key.Key_Right: -1}.get(Qt.Key(event.key()))
        is_cut = layout is not None and not layout.across.is_whole
        if aside is not None and layout is not None and is_cut and not self._selects_pairs:
            self.move_by(QPointF(aside * PAN_STEP * layout.cells.width(), 0))
            self.view_changed.emit()
        else:
            super().keyPressEvent(event)

    def _bring_into_view(self, row: int, column: int) -> None:
        """Pan to a row, and to a column where cells are pairs."""
        assert self.chart is not None
        layout = self._lay_out(self.chart, self._view)
        across = layout.across.showing(column) if self._selects_pairs else layout.across
        self._view = View(self._view.cell, across.start, layout.down.showing(row).start)
        self.update()

    @override
    def _prepare(self) -> None:
        super()._prepare()
        chart, normal = self.chart, sized(self.font(), NORMAL)
        self._row_names = Names.of(() if chart is None else chart.rows, normal)
        self._column_names = Names.of(() if chart is None else chart.columns, normal)
        titles = () if chart is None else ((chart.y_title, "↑"), (chart.x_title, "→"))
        if chart is not None and chart.y_title == chart.x_title:
            titles = ()
        self._titles = tuple(f"{title} {arrow}" for title, arrow in titles if title)
        small = QFontMetricsF(sized(self.font(), SMALL))
        self._titles_width = max(map(small.horizontalAdvance, self._titles), default=0.0)

    @property
    def _aligned(self) -> "tuple[TokenMatrix, ...]":
        return (
            (self, self._aligned_plot) if isinstance(self._aligned_plot, TokenMatrix) else (self,)
        )

    @property
    def _names_width(self) -> float:
        widest: float = max(
            max(each._row_names.widest, each._titles_width) for each in self._aligned
        )
        return min(widest, NAMES_WIDTH * self.width())

    @property
    def _bar_width(self) -> float:
        bar = self.color_bar
        return 0.0 if bar is None else bar.width(self.height())

    def _lay_out(self, chart: GridChart, view: View) -> MatrixLayout:
        """Return square cells in the middle of their room.

        Names below are upright where one is wider than its cell in the whole matrix. Zoomed in, as
        much of the matrix is visible as there is room for.
        """
        rows, columns = len(chart.rows), len(chart.columns)
        left = self._names_width + GAP
        wide = max(1.0, self.width() - left - self._bar_width - 2 * MARGIN)

        def high(below: float) -> float:
            return max(1.0, self.height() - below - 2 * MARGIN)

        def fitting(below: float) -> float:
            return float(max(0.1, min(wide / columns, high(below) / rows)))

        below, is_upright = 2 * type_line() + GAP, False
        cell = fitting(below)
        widest = max(each._column_names.widest for each in self._aligned)
        if widest * name_size(cell) / SIZES[0] + GAP > cell:
            below, is_upright = min(widest, NAMES_HEIGHT * self.height()) + GAP, True
            cell = fitting(below)
        tall = high(below)
        cell = max(cell, view.cell or 0.0)
        across, down = (
            Span(0.0, min(float(size), pixels / cell), size).starting(start)
            for size, pixels, start in ((columns, wide, view.column), (rows, tall, view.row))
        )
        x = MARGIN + left + (wide - across.length * cell) / 2
        y = MARGIN + (tall - down.length * cell) / 2
        cells = QRectF(x, y, across.length * cell, down.length * cell)
        return MatrixLayout(
            cells, cell, cell, across, down, left=left, below=below, is_upright=is_upright
        )

    @override
    def _draw_labels(self, painter: QPainter, chart: GridChart) -> None:
        """Draw the names for which there is room, first those that are marked or pointed at."""
        layout = self.layout_of_cells()
        assert layout is not None
        chosen, size = self.chosen(chart), name_size(layout.width)
        rows, columns = ((), ()) if self._under is None else (self._under[:1], self._under[1:])
        painter.setPen(QColor(self.theme.text))
        right, high = layout.cells.x() - GAP, type_line()
        for row in shown_names(layout.down, layout.height, size, _once(chosen[0], rows)):
            painter.setFont(name_font(self.font(), size, is_marked=row in chosen[0]))
            y = layout.rect(row, 0).center().y() - high
            line = QRectF(right - layout.left, y, layout.left, 2 * high)
            text, room = self._row_names.texts[row], layout.left - GAP
            metrics = QFontMetricsF(painter.font())
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
            painter.drawText(line, _LEFT_OF, text)
        for column in shown_names(layout.across, layout.width, size, _once(chosen[1], columns)):
            painter.setFont(name_font(self.font(), size, is_marked=column in chosen[1]))
            self._draw_below(painter, layout, column)
        painter.setFont(sized(self.font(), SMALL))
        painter.setPen(QColor(self.theme.muted))
        wide, top = self._titles_width, layout.cells.bottom() + GAP
        for number, title in enumerate(self._titles):
            line = QRectF(right - wide, top + number * high, wide, high)
            painter.drawText(line, _LEFT_OF, title)

    def _draw_below(self, painter: QPainter, layout: MatrixLayout, column: int) -> None:
        middle = QPointF(layout.rect(0, column).center().x(), layout.cells.bottom() + GAP)
        text = self._column_names.texts[column]
        if layout.is_upright:
            draw_upright(painter, middle, text, layout.below - GAP)
            return
        wide = QFontMetricsF(painter.font()).horizontalAdvance(text)
        line = QRectF(middle.x() - wide, middle.y(), 2 * wide, type_line())
        painter.drawText(line, _CENTER, text)


def _once(*groups: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(place for group in groups for place in group))
