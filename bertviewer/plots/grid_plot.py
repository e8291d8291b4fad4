"""A grid of coloured cells with a label for each row and column, and a colour bar."""

from collections.abc import Sequence
from math import inf

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from bertviewer.charts.change_grid import MAX_LABEL, MarkedGrid
from bertviewer.charts.chart import GridChart
from bertviewer.charts.levels import Levels, levels_of
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.plots.cell_signs import CellSigns
from bertviewer.plots.cells import Cells
from bertviewer.plots.color_bar import ColorBar
from bertviewer.plots.color_scale import ColorScale, color_table, tinted
from bertviewer.plots.frames import Frames
from bertviewer.plots.grid_keys import Cell, next_cell
from bertviewer.plots.label_axis import LABEL_LENGTH, LabelAxis
from bertviewer.plots.plot import Plot, Side

DIVIDER_Z = 5
"""Above the cells, below what is selected."""
HALO_OPACITY, HALO = 1.0, 5


class GridPlot(Plot):
    """Rows and columns of cells, coloured by their values, with the ``color_bar`` beside them.

    ``cell_clicked`` carries row and column.
    """

    cell_clicked = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__({side: LabelAxis(side) for side in ("bottom", "left")}, parent)
        self.chart: GridChart | None = None
        self._frames: Frames | None = None
        self._common_title = ""
        self._cells: Cells | None = None
        self._others = inf
        self.color_bar = ColorBar(self.area)

    def share(self, side: Side | None, title: str = "") -> None:
        """Have a neighbour or none; ``title`` is what the values of both are.

        A chart has to follow.
        """
        self.neighbour, self._common_title = side, title

    def align(self, other: "GridPlot | None") -> None:
        """Have cells as high as another plot of that size, or such as there is room for."""
        axis = None if other is None else other.area.getAxis("bottom")
        self.area.getAxis("bottom").stand_beside(axis)

    def look_like_cells_of(self, pixels: float) -> None:
        """Have space between cells only if there is some between others that are so wide."""
        self._others = pixels
        if self._cells is not None:
            self._cells.others = pixels
            self._cells.update()

    def beside_cells(self) -> float:
        """Return how many pixels of the width are not the cells', as far as it is not the same."""
        item = self.area
        left = float(item.margins[0] + item.getAxis("left").maximumWidth())
        return left + (self.color_bar.room if self.color_bar.isVisible() else 0.0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the colour bar's labels their room; Qt calls it."""
        super().resizeEvent(event)
        # There is no bar yet while pyqtgraph makes the widget.
        if event is not None and hasattr(self, "color_bar"):
            self.color_bar.fit(self.height())

    def show_chart(self, chart: GridChart | None) -> None:
        """Draw a chart, in place of the one drawn before."""
        before = self.chart
        self.chart = chart if chart is not None and chart.values.size else None
        if self.chart is None or before is None or self.chart.values.shape != before.values.shape:
            self.reached_point = None
        self.name_axes(chart)
        self.draw()

    def levels(self) -> Levels:
        """Return the values of the colours' two ends."""
        return self.color_bar.levels

    def place_at(self, position: QPointF) -> SelectionKey | None:
        """Return what the cell at a position in the scene stands for."""
        cell = self._cell(position)
        return self.chart.key(*cell) if cell and self.chart else None

    def text_at(self, position: QPointF) -> str:
        """Return the exact value of the cell at a position in the scene, in words."""
        cell = self._cell(position)
        return self.chart.text(*cell) if cell and self.chart else ""

    def draw(self) -> None:
        """Draw the cells, the colour bar and the axes."""
        super().draw()
        theme, item, chart = self.theme, self.area, self.chart
        self._frames = self._cells = None
        marked = chart if isinstance(chart, MarkedGrid) else None
        has_values = marked is None or marked.has_values
        is_shown = chart is not None and has_values and self.neighbour != "right"
        self.color_bar.setVisible(is_shown)
        if chart is None:
            for side in ("bottom", "left"):
                item.getAxis(side).set_labels(())
            return
        rows, columns = chart.values.shape
        levels = chart.levels or levels_of(chart.values, chart.is_signed)
        table = color_table(theme, chart.is_signed)
        is_log = marked is not None and marked.is_log
        scale = ColorScale(levels, table, chart.is_signed, chart.is_root, is_log)
        title = self._common_title if self.neighbour == "left" else chart.value_title
        if marked is not None:
            title = marked.scale_title
        shown = title if self.shows_titles else ""
        self.color_bar.show_scale(scale, shown, theme.muted, self.pen(theme.muted))
        self.color_bar.fit(self.height())
        self._cells = Cells(chart.values, scale, theme.surface)
        self._cells.others = self._others
        item.addItem(self._cells)
        if marked is not None:
            signs = {cell: note.sign for cell, note in marked.notes.items() if note.sign}
            bounds = QRectF(0, 0, columns, rows)
            item.addItem(CellSigns(signs, bounds, theme))
        self._draw_dividers(chart)
        self._frames = Frames(QRectF(0, 0, columns, rows), theme)
        item.addItem(self._frames, ignoreBounds=True)
        item.vb.invertY(chart.is_top_down)
        item.getAxis("bottom").is_flat = marked is None and not self.shows_titles
        longest = LABEL_LENGTH if marked is None else MAX_LABEL
        item.getAxis("bottom").set_labels(chart.columns, longest=longest)
        item.getAxis("left").set_labels(chart.rows, longest=longest)
        item.setRange(QRectF(0, 0, columns, rows))
        self.draw_marks()

    def draw_marks(self) -> None:
        """Frame the row and the column that are selected, and the cell where both meet."""
        if self.chart is None or self._frames is None:
            return
        rows, columns = self.chart.values.shape
        chosen_rows, chosen_columns = self.chosen(self.chart)
        bands = [QRectF(0, row, columns, 1) for row in chosen_rows]
        bands += [QRectF(column, 0, 1, rows) for column in chosen_columns]
        if isinstance(self.chart, MarkedGrid) and chosen_columns:
            bands = []  # a cell stands for itself, and most of its column for nothing
        cells = [(row, column) for row in chosen_rows for column in chosen_columns]
        self._show_frames(bands, cells)

    def chosen(self, chart: GridChart) -> tuple[Sequence[int], Sequence[int]]:
        """Return the rows and the columns that are marked."""
        return chart.chosen(self.selection)

    def go_to(self, cell: Cell) -> None:
        """Do what a click on a cell does."""
        assert self.chart is not None
        place = self.chart.key(*cell)
        if place != SelectionKey():
            self.clicked.emit(place)
        self.cell_clicked.emit(*cell)

    def point_beside(self, key: int) -> Cell | None:
        """Return the cell that a key leads to."""
        if self.chart is None:
            return None
        return next_cell(self.chart, self.reached_point or self._chosen_cell(), key)

    def told_at(self, point: Cell) -> tuple[str, QPointF]:
        """Return the exact value of a cell in words, and its middle."""
        assert self.chart is not None
        row, column = point
        return self.chart.text(row, column), QPointF(column + 0.5, row + 0.5)

    def _chosen_cell(self) -> Cell | None:
        """Return the cell that the selection means, if it is one."""
        if self.chart is None:
            return None
        rows, columns = self.chosen(self.chart)
        return (rows[0], columns[0]) if rows and columns else None

    def _show_frames(self, bands: Sequence[QRectF], cells: Sequence[Cell]) -> None:
        """Frame bands, and cells in thick lines; of cells only the one that somebody went to."""
        assert self._frames is not None
        rects = {cell: QRectF(cell[1], cell[0], 1, 1) for cell in cells}
        if (reached := self.reached_point) is not None:
            bands = [*bands, *(rect for cell, rect in rects.items() if cell != reached)]
            rects = {reached: QRectF(reached[1], reached[0], 1, 1)}
        self._frames.show_frames(bands, list(rects.values()))

    def _on_click(self, event: "pg.GraphicsScene.mouseEvents.MouseClickEvent") -> None:
        cell = self._cell(event.scenePos())
        if event.button() == Qt.MouseButton.LeftButton and cell is not None:
            self.reached_point = cell
            self.go_to(cell)
            self.draw_marks()

    def _draw_dividers(self, chart: GridChart) -> None:
        """Set texts off from one another, by lines that are seen on any colour."""
        rows, columns = chart.values.shape
        across = (chart.column_starts, columns, 90), (chart.row_starts, rows, 0)
        inside = [
            (start, angle)
            for starts, count, angle in across
            for start in starts
            if 0 < start < count
        ]
        halo = tinted(self.theme.surface, HALO_OPACITY)
        for color, width in ((halo, HALO), (self.theme.muted, 1)):
            for start, angle in inside:
                self.add_line(start, self.pen(color, width), DIVIDER_Z, angle)

    def _cell(self, position: QPointF) -> tuple[int, int] | None:
        """Return row and column of the cell at a position in the scene."""
        if self.chart is None:
            return None
        point = self.area.vb.mapSceneToView(position)
        column, row = int(np.floor(point.x())), int(np.floor(point.y()))
        rows, columns = self.chart.values.shape
        return (row, column) if 0 <= row < rows and 0 <= column < columns else None
