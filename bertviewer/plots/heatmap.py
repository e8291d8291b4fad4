"""Heatmap: rows and columns of coloured cells with labels, and a colour bar."""

from collections.abc import Mapping, Sequence
from math import ceil, floor

import numpy as np
from msgspec import Struct
from PySide6.QtCore import QLineF, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QApplication, QWidget
from typing_extensions import override

from bertviewer.charts.attention import AllHeadsChart
from bertviewer.charts.change_grid import MAX_LABEL, MarkedGrid
from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import ColorIndices, Levels, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import NORMAL, Theme
from bertviewer.charts.translation import translate
from bertviewer.plots.axes import RIGHT, Axes, axis_font, left_room
from bertviewer.plots.canvas_plot import CanvasPlot, Point
from bertviewer.plots.cells import (
    MIN_SPACED,
    THICK,
    THIN,
    CellGrid,
    CellImages,
    draw_frame,
    is_paper,
)
from bertviewer.plots.color_bar import ColorBar
from bertviewer.plots.color_scale import ColorScale, color_table
from bertviewer.plots.fonts import sized
from bertviewer.plots.span import Span
from bertviewer.plots.thumbnails import draw_spot, draw_thumbnails
from bertviewer.plots.ticks import LABEL_LENGTH, LabelTicks, ShownLabels

GAP_WIDTH = 1.0
"""Pixels between cells that are large enough."""
MIN_SIGN = 7.0
"""Smaller cells, in pixels, have no letter."""
HALO = 5.0
"""Pixels of background around a line between two texts."""


Cells = tuple[int, int, int, int]
"""First row and column, number of rows and columns."""


class CellLayout(Struct, frozen=True):
    """The rectangle of all cells in sight, the size of a cell, and which part of the grid it is."""

    cells: QRectF
    width: float
    height: float
    across: Span
    down: Span
    is_top_down: bool = True

    def rect(self, row: float, column: float, rows: float = 1, columns: float = 1) -> QRectF:
        """Return the rectangle of rows and columns."""
        x = self.cells.x() + (column - self.across.start) * self.width
        if self.is_top_down:
            y = self.cells.y() + (row - self.down.start) * self.height
        else:
            y = self.cells.bottom() - (row + rows - self.down.start) * self.height
        return QRectF(x, y, columns * self.width, rows * self.height)

    def cell_at(self, position: QPointF) -> tuple[float, float]:
        """Return the row and the column at a position, with their fractions."""
        y = (
            position.y() - self.cells.y()
            if self.is_top_down
            else self.cells.bottom() - position.y()
        )
        return (
            self.down.start + y / self.height,
            self.across.start + (position.x() - self.cells.x()) / self.width,
        )


class Heatmap(CanvasPlot):
    """A grid of cells that fill the widget, coloured by their values.

    Args:
        parent: the widget that it is in.
        selects_pairs: whether row and column of a cell mean two things, such as two tokens: then
            ``paired`` carries both, and ``mark_row()`` says which row is framed.

    Signals:
        cell_clicked: row and column of a cell that was clicked or that a key leads to.
        paired: the same before the selection changes, where cells are pairs.
    """

    cell_clicked = Signal(int, int)
    paired = Signal(int, int)
    has_gaps_on_paper = True
    has_compact_bar = True
    divider_halo = HALO
    divider_opacity = 1.0

    def __init__(self, parent: QWidget | None = None, *, selects_pairs: bool = False) -> None:
        super().__init__(parent)
        self.chart: GridChart | None = None
        self.levels: Levels = (0.0, 1.0)
        self._selects_pairs = selects_pairs
        self._marked_row: int | None = None
        self._spot: Point | None = None
        self._aligned_plot: Heatmap | None = None
        self._images = CellImages(self.theme)
        self._bar: tuple[object, ColorBar] | None = None
        self._prepare()

    def show_chart(self, chart: GridChart | None) -> None:
        """Draw a chart instead of the current one."""
        before = self.chart
        self.chart = chart if chart is not None and chart.values.size else None
        if self.chart is not None:
            self.levels = self.chart.levels or levels_of(self.chart.values, self.chart.is_signed)
        if self.chart is None or before is None or self.chart.values.shape != before.values.shape:
            self.focused_point = None
        self._prepare()
        self.update()

    def mark_row(self, row: int | None) -> None:
        """Frame a row, where cells are pairs."""
        self._marked_row = row
        self.update()

    def mark_spot(self, cell: Point | None) -> None:
        """Mark a cell with a spot."""
        self._spot = cell
        self.update()

    @override
    def align(self, other: CanvasPlot | None) -> None:
        self._aligned_plot = other if isinstance(other, Heatmap) else None
        self.update()

    @override
    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self._prepare()

    @override
    def reserved_width(self) -> float:
        layout = self.layout_of_cells()
        return 0.0 if layout is None else self.width() - layout.cells.width()

    @override
    def cells_across(self) -> int:
        return 1 if self.chart is None else self.chart.values.shape[1]

    @override
    def content_size(self) -> QSizeF:
        layout = self.layout_of_cells()
        return QSizeF() if layout is None else layout.cells.size()

    @property
    def color_bar(self) -> ColorBar | None:
        """The colour bar, if the plot has one."""
        chart = self.chart
        if chart is None or self.neighbour == "right" or self._thumbnails:
            return None
        title = self.shared_title if self.neighbour == "left" else chart.value_title
        if isinstance(chart, MarkedGrid):
            if not chart.has_values:
                return None
            title = chart.scale_title
        title = title if self.has_titles else ""
        masked = "" if chart.masked is None else chart.masked_word
        is_compact = self.has_compact_bar or self.is_on_paper
        key = chart, self.theme, title, axis_font().pixelSize(), is_compact
        if self._bar is None or self._bar[0] != key:
            scale = self._scale(chart)
            bar = ColorBar(scale, self.theme, title, masked, chart.end_label, is_compact=is_compact)
            self._bar = key, bar
        return self._bar[1]

    def layout_of_cells(self) -> CellLayout | None:
        """Return where the cells are, ``None`` without a chart."""
        axes = self._axes()
        return None if axes is None else self._layout(axes)

    def cell_at(self, position: QPointF) -> Point | None:
        """Return row and column of the cell at a position."""
        layout = self.layout_of_cells()
        if self.chart is None or layout is None or not layout.cells.contains(position):
            return None
        rows, columns = self.chart.values.shape
        row, column = map(floor, layout.cell_at(position))
        return max(0, min(row, rows - 1)), max(0, min(column, columns - 1))

    @override
    def key_at(self, position: QPointF) -> SelectionKey | None:
        cell = self.cell_at(position)
        return self.chart.key(*cell) if cell and self.chart else None

    @override
    def text_at(self, position: QPointF) -> str:
        cell = self.cell_at(position)
        return self.chart.text(*cell) if cell and self.chart else ""

    @override
    def name_at(self, position: QPointF) -> str:
        axes = self._axes()
        if axes is None or position.y() < axes.rect.bottom():
            return ""
        hint = translate("plots", "Not all labels fit; point at a cell to see its label")
        return hint if self.column_labels().are_omitted else ""

    def chosen(self, chart: GridChart) -> tuple[Sequence[int], Sequence[int]]:
        """Return the rows and columns that are marked."""
        if not self._selects_pairs:
            return chart.chosen(self.selection)
        if self.focused_point is not None:
            return self.focused_point[:1], self.focused_point[1:]
        row = self._marked_row
        rows = () if row is None or row >= len(chart.rows) else (row,)
        return rows, chart.chosen(self.selection)[1]

    @override
    def next_point(self, key: int) -> Point | None:
        if self.chart is None:
            return None
        rows, columns = self.chosen(self.chart)
        start = self.focused_point or ((rows[0], columns[0]) if rows and columns else None)
        return next_cell(self.chart, start, key)

    @override
    def go_to(self, point: Point) -> None:
        assert self.chart is not None
        if self._selects_pairs:
            self.paired.emit(*point)
        place = self.chart.key(*point)
        if place != SelectionKey():
            self.clicked.emit(place)
        self.cell_clicked.emit(*point)

    @override
    def describe_point(self, point: Point) -> tuple[str, QPointF]:
        layout = self.layout_of_cells()
        assert self.chart is not None
        assert layout is not None
        return self.chart.text(*point), layout.rect(*point).center()

    @override
    def click_at(self, position: QPointF) -> None:
        cell = self.cell_at(position)
        if cell is not None:
            self.focused_point = None if self._selects_pairs else cell
            self.go_to(cell)
            self.update()

    @override
    def draw_on(self, painter: QPainter) -> None:
        painter.fillRect(QRectF(self.rect()), QColor(self.theme.surface))
        chart, layout = self.chart, self.layout_of_cells()
        if chart is None or layout is None:
            return
        painter.save()
        painter.setClipRect(layout.cells)
        self._draw_cells(painter, chart, layout)
        painter.restore()
        self._draw_labels(painter, chart)
        if (bar := self.color_bar) is not None:
            bar.draw(painter, layout.cells, self.height())

    def _prepare(self) -> None:
        """Measure labels and forget images of another chart, theme or text size."""
        chart, metrics = self.chart, QFontMetricsF(axis_font())
        longest = MAX_LABEL if isinstance(chart, MarkedGrid) else LABEL_LENGTH
        names = ((), ()) if chart is None else (chart.rows, chart.columns)
        self._rows, self._columns = (LabelTicks(each, metrics, longest=longest) for each in names)
        self._images = CellImages(self.theme)

    @property
    def _thumbnails(self) -> Mapping[int, ColorIndices]:
        chart = self.chart
        if isinstance(chart, AllHeadsChart) and not chart.is_signed:
            return chart.pictures or {}
        return {}

    def _axes(self) -> Axes | None:
        if self.chart is None:
            return None
        both = (self,) if self._aligned_plot is None else (self, self._aligned_plot)
        return Axes(
            (self.width(), self.height()),
            (self.chart.x_title if self.has_titles else "", self._y_title),
            label_width=ceil(self._rows.widest),
            label_height=max(each.column_labels().height for each in both),
            right=self._right_room(),
        )

    @property
    def _y_title(self) -> str:
        is_shown = self.has_titles and self.neighbour != "left"
        return self.chart.y_title if self.chart is not None and is_shown else ""

    def _right_room(self) -> float:
        bar = self.color_bar
        return RIGHT if bar is None else bar.width(self.height()) + RIGHT

    def _layout(self, axes: Axes) -> CellLayout:
        assert self.chart is not None
        rows, columns = self.chart.values.shape
        width, height = axes.rect.width() / columns, axes.rect.height() / rows
        spans = Span.all_of(columns), Span.all_of(rows)
        return CellLayout(axes.rect, width, height, *spans, self.chart.is_top_down)

    def column_labels(self) -> ShownLabels:
        """Return the labels of columns that are shown."""
        left = left_room(ceil(self._rows.widest), self._y_title)
        is_flat = not isinstance(self.chart, MarkedGrid) and not self.has_titles
        width = self.width() - left - self._right_room()
        return self._columns.side_by_side(width, is_flat=is_flat)

    def _draw_labels(self, painter: QPainter, chart: GridChart) -> None:
        axes = self._axes()
        assert axes is not None
        layout, color = self._layout(axes), self.theme.muted
        rows = self._rows.above_one_another(axes.rect.height())
        left = ((layout.rect(at, 0, 0).y(), text) for at, text in rows)
        axes.draw_left(painter, left, color)
        shown = self.column_labels()
        below = ((layout.rect(0, at).x(), text) for at, text in shown.labels)
        axes.draw_bottom(painter, below, color, is_upright=shown.is_upright)

    def _draw_cells(self, painter: QPainter, chart: GridChart, layout: CellLayout) -> None:
        """Draw the cells in sight with what is on them, those at the edges in part."""
        top, left = floor(layout.down.start), floor(layout.across.start)
        rows, columns = ceil(layout.down.end) - top, ceil(layout.across.end) - left
        part = np.s_[top : top + rows, left : left + columns]
        order = np.s_[:: 1 if layout.is_top_down else -1]
        masked = None if chart.masked is None else chart.masked[part][order]
        grid = CellGrid(
            (rows, columns), lambda: chart.measured[part][order], self._scale(chart), masked
        )
        self._images.draw(painter, layout.rect(top, left, rows, columns), grid)
        if not is_paper(painter) or self.has_gaps_on_paper:
            self._draw_gaps(painter, layout)
        if isinstance(chart, MarkedGrid):
            self._draw_signs(painter, chart, layout)
        if self._thumbnails:
            draw_thumbnails(painter, layout.cells, layout.rect, self._thumbnails, self.theme)
        self._draw_dividers(painter, chart, layout)
        self._draw_frames(painter, layout)
        if self._spot is not None:
            draw_spot(painter, layout.rect(*self._spot), self.theme)

    def _draw_gaps(self, painter: QPainter, layout: CellLayout) -> None:
        """Separate cells by lines, if they and those of the aligned plot are large enough."""
        layouts = [
            layout,
            None if self._aligned_plot is None else self._aligned_plot.layout_of_cells(),
        ]
        sizes = [min(each.width, each.height) for each in layouts if each is not None]
        if min(sizes) < MIN_SPACED:
            return
        painter.setPen(QPen(QColor(self.theme.surface), GAP_WIDTH))
        cells, across, down = layout.cells, layout.across, layout.down
        xs = (layout.rect(0, n).x() for n in range(floor(across.start) + 1, ceil(across.end)))
        ys = (layout.rect(n, 0, 0).y() for n in range(floor(down.start) + 1, ceil(down.end)))
        painter.drawLines([QLineF(x, cells.top(), x, cells.bottom()) for x in xs])
        painter.drawLines([QLineF(cells.left(), y, cells.right(), y) for y in ys])

    def _draw_signs(self, painter: QPainter, chart: MarkedGrid, layout: CellLayout) -> None:
        """Draw a letter on a quiet background in each cell that has no value but a word."""
        room, space = min(layout.width, layout.height), GAP_WIDTH / 2
        painter.setFont(sized(QApplication.font(), min(NORMAL, room)))
        painter.setPen(QColor(self.theme.muted))
        for cell, note in chart.notes.items():
            if note.sign:
                box = layout.rect(*cell)
                ground = box.adjusted(space, space, -space, -space)
                painter.fillRect(ground, QColor(self.theme.line))
                if room >= MIN_SIGN:
                    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), note.sign)

    def _draw_dividers(self, painter: QPainter, chart: GridChart, layout: CellLayout) -> None:
        """Draw lines between texts."""
        rows, columns = chart.values.shape
        inside = [
            *(layout.rect(0, n, rows, 0) for n in chart.column_starts if 0 < n < columns),
            *(layout.rect(n, 0, 0, columns) for n in chart.row_starts if 0 < n < rows),
        ]
        color = QColor(self.theme.muted)
        color.setAlphaF(self.divider_opacity)
        halo = QPen(QColor(self.theme.surface), self.divider_halo)
        for pen in (halo, QPen(color, 1)) if self.divider_halo else (QPen(color, 1),):
            painter.setPen(pen)
            for line in inside:
                painter.drawLine(line.topLeft(), line.bottomRight())

    def framed_cells(self) -> tuple[list[Cells], list[Cells]]:
        """Return what has a thin frame, and what has a thick one.

        Rows and columns have thin ones, the cell where both meet or that has the focus a thick one.
        """
        chart = self.chart
        if chart is None:
            return [], []
        rows, columns = chart.values.shape
        chosen_rows, chosen_columns = self.chosen(chart)
        thin = [(row, 0, 1, columns) for row in chosen_rows]
        thin += [(0, column, rows, 1) for column in chosen_columns]
        if isinstance(chart, MarkedGrid) and chosen_columns:
            thin = []  # its cells are independent of each other
        thick = [(row, column, 1, 1) for row in chosen_rows for column in chosen_columns]
        if self.focused_point is not None:
            focused = (*self.focused_point, 1, 1)
            thin += [cell for cell in thick if cell != focused]
            thick = [focused]
        return thin, thick

    def _draw_frames(self, painter: QPainter, layout: CellLayout) -> None:
        for framed, width in zip(self.framed_cells(), (THIN, THICK), strict=True):
            for cells in framed:
                rect = layout.rect(*cells)
                if rect.intersects(layout.cells):
                    draw_frame(painter, rect, layout.cells, self.theme, width)

    def _scale(self, chart: GridChart) -> ColorScale:
        table = color_table(self.theme, chart.is_signed)
        is_log = isinstance(chart, MarkedGrid) and chart.is_log
        return ColorScale(self.levels, table, chart.is_signed, chart.is_root, is_log)


def next_cell(chart: GridChart, cell: Point | None, key: int) -> Point | None:
    """Return the next cell that has a description, ``None`` where a key leads nowhere.

    Without a cell to start from, any of the keys leads to the first one.
    """
    up = -1 if chart.is_top_down else 1
    steps: dict[int, Point] = {
        Qt.Key.Key_Left: (0, -1),
        Qt.Key.Key_Right: (0, 1),
        Qt.Key.Key_Up: (up, 0),
        Qt.Key.Key_Down: (-up, 0),
        Qt.Key.Key_Home: (0, 1),
        Qt.Key.Key_End: (0, -1),
    }
    if key not in steps:
        return None
    rows, columns = chart.values.shape
    if cell is None:
        every = ((row, column) for row in range(rows) for column in range(columns))
        return next((each for each in every if chart.text(*each)), None)
    down, across = steps[key]
    row, column = cell
    column = {Qt.Key.Key_Home: -1, Qt.Key.Key_End: columns}.get(Qt.Key(key), column)
    while 0 <= (row := row + down) < rows and 0 <= (column := column + across) < columns:
        if chart.text(row, column):
            return row, column
    return None
