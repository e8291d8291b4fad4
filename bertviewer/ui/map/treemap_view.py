"""The model as a treemap: every module as large as what it has."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from typing_extensions import override

from bertviewer.charts.graph.draw_items import NodeColor
from bertviewer.charts.graph.drawing import Rect
from bertviewer.charts.map.neighbours import Direction
from bertviewer.charts.map.treemap import Area, Cell, cell_at, next_cell, treemap
from bertviewer.plots.fonts import tabular
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.ui.map.hover import Pointed, as_qt
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.theme.theme_of import theme_of

_WAYS: dict[int, Direction] = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
}


class TreemapView(Pointed):
    """Nested rectangles. ``picked`` brings the module that a person chose, ``opened`` one to open.

    ``tint`` gives a module's colour and figure, ``tip`` what is told of it.
    """

    picked = Signal(str)
    opened = Signal(str)
    left = Signal()
    flow_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("mapTreemap", translate("map", "Treemap of the model"))
        self.setMinimumSize(200, 60)
        self.tint: Callable[[str], NodeColor] = lambda _path: NodeColor()
        self.tip: Callable[[Area], str] = lambda area: area.path
        self.selected = ""
        self._area: Area | None = None
        self._cell: Cell | None = None

    @property
    def cell(self) -> Cell | None:
        """What is shown, in its place."""
        return self._cell

    def show_area(self, area: Area | None) -> None:
        """Show a module with all that is in it."""
        self._area = area
        self._hovered = None
        self._lay_out()

    def select(self, path: str) -> None:
        """Mark a module."""
        if path != self.selected:
            self.selected = path
            self._describe()
        self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(760, 380)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter, here = theme_of(self), QPainter(self), None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._cell is not None:
            paint_cells(painter, self._cell, self.tint, theme, tabular(self.font()))
            here = self._find(self.selected)
            for cell, color, width in ((self._hovered, theme.text, 1.0), (here, theme.accent, 2.0)):
                if isinstance(cell, Cell):
                    painter.setPen(QPen(QColor(color), width))
                    painter.setBrush(Qt.BrushStyle.NoBrush)
                    painter.drawRoundedRect(as_qt(cell.rect), 3.0, 3.0)
        around = None if here is None else as_qt(here.rect).adjusted(-2.5, -2.5, 2.5, 2.5)
        self.paint_focus(painter, around)
        painter.end()

    def tip_at(self, place: QPointF) -> str:
        """Return what is told of the module at a place."""
        cell = self.cell_at(place)
        return "" if cell is None else self.tip(cell.area)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.hover(self.cell_at(event.position()))

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self._pick(cell)

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        if cell is not None:
            self.opened.emit(cell.area.path)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        is_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        found = None if is_key else self.cell_at(QPointF(event.pos()))
        if found is not None:
            self._pick(found)
        entries = (
            ("openPart", self.tr("Open (Enter)"), partial(self.opened.emit, self.selected)),
            ("upFromPart", self.tr("Go to parent (Backspace)"), self.left.emit),
        )
        self.show_menu(event.globalPos(), entries)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, here = event.key(), self._find(self.selected)
        if self._cell is None:
            super().keyPressEvent(event)
        elif key in _WAYS:
            found = self._cell if here is None else next_cell(self._cell, here, _WAYS[key])
            if found is not None:
                self._pick(found)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and here is not None:
            self.opened.emit(here.area.path)
        elif key == Qt.Key.Key_Backspace:
            self.left.emit()
        elif key == Qt.Key.Key_T:
            self.flow_wanted.emit()
        else:
            super().keyPressEvent(event)

    def cell_at(self, place: QPointF) -> Cell | None:
        """Return the innermost module at a place."""
        return None if self._cell is None else cell_at(self._cell, place.x(), place.y())

    def _pick(self, cell: Cell) -> None:
        self.select(cell.area.path)
        self.picked.emit(cell.area.path)

    def _find(self, path: str) -> Cell | None:
        """Return a module's cell, or that of what it is in if it is too small to be seen."""
        found: Cell | None = None
        for cell in () if self._cell is None else self._cell.all_cells():
            own = cell.area.path
            is_around = not own or path == own or path.startswith(f"{own}.")
            if is_around and cell.area.name and cell is not self._cell:
                found = cell
        return found

    def _lay_out(self) -> None:
        room = Rect(1.0, 1.0, max(self.width() - 2.0, 1.0), max(self.height() - 2.0, 1.0))
        self._cell = None if self._area is None else treemap(self._area, room)
        self._hovered = None
        self.update()

    def _describe(self) -> None:
        cell = self._find(self.selected)
        self.describe("" if cell is None else self.tip(cell.area))
