"""Treemap of the model or of a module, with a choice of what areas show."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
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
from bertviewer.charts.map.coloring import MapColoring
from bertviewer.charts.map.neighbours import Direction
from bertviewer.charts.map.part_graphs import PartGraphs
from bertviewer.charts.map.treemap import (
    AREA_KINDS,
    Area,
    AreaKind,
    Cell,
    areas_of,
    cell_at,
    next_cell,
    treemap,
)
from bertviewer.charts.map.values import MapData
from bertviewer.charts.parts import parts_of
from bertviewer.charts.theme import Part
from bertviewer.core.util.numbers import short_count
from bertviewer.plots.fonts import tabular
from bertviewer.plots.treemap_painting import paint_cells
from bertviewer.ui.map.header import capitalized
from bertviewer.ui.map.hover import HoverView, as_qt
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP, translate
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.widgets.buttons import MenuButton

_DIRECTIONS: dict[int, Direction] = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
}
_TITLES: dict[AreaKind, str] = {
    "parameters": QT_TRANSLATE_NOOP("map", "parameters"),
    "macs": QT_TRANSLATE_NOOP("map", "multiply-adds"),
    "memory": QT_TRANSLATE_NOOP("map", "weight memory"),
}
_UNITS: dict[AreaKind, str] = {**_TITLES, "memory": QT_TRANSLATE_NOOP("map", "bytes")}


class TreemapView(HoverView[Cell]):
    """Nested rectangles.

    ``picked`` has the module that the user selects, ``opened`` the one to open; ``left`` asks for
    the parent, ``flow_wanted`` for the data flow. ``color`` returns the colour and number of a
    module, ``area_tooltip`` its tooltip.
    """

    picked = Signal(str)
    opened = Signal(str)
    left = Signal()
    flow_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("mapTreemap", translate("map", "Treemap of the model"))
        self.setMinimumSize(200, 60)
        self.color: Callable[[str], NodeColor] = lambda _path: NodeColor()
        self.area_tooltip: Callable[[Area], str] = lambda area: area.path
        self.selected = ""
        self._area: Area | None = None
        self.cell: Cell | None = None

    def show_area(self, area: Area | None) -> None:
        """Show a module with everything inside."""
        self._area = area
        self._lay_out()

    def select(self, path: str) -> None:
        """Mark a module as selected."""
        if path != self.selected:
            self.selected = path
            cell = self._find(path)
            self.describe("" if cell is None else self.tooltip(cell))
        self.update()

    @override
    def item_at(self, position: QPointF) -> Cell | None:
        return None if self.cell is None else cell_at(self.cell, position.x(), position.y())

    @override
    def tooltip(self, item: Cell) -> str:
        return self.area_tooltip(item.area)

    @override
    def sizeHint(self) -> QSize:
        return QSize(760, 380)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter, selected = theme_of(self), QPainter(self), self._find(self.selected)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.cell is not None:
            paint_cells(painter, self.cell, self.color, theme, tabular(self.font()))
        for cell, color, width in ((self._hovered, theme.text, 1.0), (selected, theme.accent, 2.0)):
            if cell is not None:
                painter.setPen(QPen(QColor(color), width))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRoundedRect(as_qt(cell.rect), 3.0, 3.0)
        ring = None if selected is None else as_qt(selected.rect).adjusted(-2.5, -2.5, 2.5, 2.5)
        self.paint_focus(painter, ring)
        painter.end()

    @override
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pick(self.item_at(event.position()))

    @override
    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        cell = self.item_at(event.position())
        if cell is not None:
            self.opened.emit(cell.area.path)

    @override
    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() != QContextMenuEvent.Reason.Keyboard:
            self._pick(self.item_at(QPointF(event.pos())))
        entries = (
            ("openPart", self.tr("Open (Enter)"), partial(self.opened.emit, self.selected)),
            ("upFromPart", self.tr("Go to parent (Backspace)"), self.left.emit),
        )
        self.show_menu(event.globalPos(), entries)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, selected = event.key(), self._find(self.selected)
        if self.cell is None:
            super().keyPressEvent(event)
        elif key in _DIRECTIONS:
            target: Cell | None = self.cell
            if selected is not None:
                target = next_cell(self.cell, selected, _DIRECTIONS[key])
            self._pick(target)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and selected is not None:
            self.opened.emit(selected.area.path)
        elif key == Qt.Key.Key_Backspace:
            self.left.emit()
        elif key == Qt.Key.Key_T:
            self.flow_wanted.emit()
        else:
            super().keyPressEvent(event)

    def _pick(self, cell: Cell | None) -> None:
        if cell is not None:
            self.select(cell.area.path)
            self.picked.emit(cell.area.path)

    def _find(self, path: str) -> Cell | None:
        """Return the cell of a module, or of its innermost visible ancestor."""
        found: Cell | None = None
        for cell in () if self.cell is None else self.cell.all_cells():
            own = cell.area.path
            contains = not own or path == own or path.startswith(f"{own}.")
            if contains and cell.area.name and cell is not self.cell:
                found = cell
        return found

    def _lay_out(self) -> None:
        rect = Rect(1.0, 1.0, max(self.width() - 2.0, 1.0), max(self.height() - 2.0, 1.0))
        self.cell = None if self._area is None else treemap(self._area, rect)
        self._hovered = None
        self.update()


class Treemap(QObject):
    """Data of the treemap: its view, its menu of areas, and the module that is shown.

    ``changed`` is emitted when another module or other areas are shown.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.view = TreemapView()
        self.area_button = MenuButton("mapArea", self.tr("Choose what areas show"))
        self._actions: dict[AreaKind, QAction] = {
            kind: self.area_button.add(kind, capitalized(translate("map", _TITLES[kind])))
            for kind in AREA_KINDS
        }
        self.path = ""
        self._kind: AreaKind = "parameters"
        self._graphs: PartGraphs | None = None
        self._data = MapData()
        self._coloring: MapColoring | None = None
        self._parts: dict[str, Part] = {}
        self._total = 0.0
        self._values: dict[str, float] = {}
        self.area_button.chosen.connect(self._set_kind)
        self._show_kind()
        self.view.opened.connect(self.open)
        self.view.left.connect(self.up)

    @property
    def facts(self) -> str:
        """The value of the shown module and its share."""
        value = self._values.get(self.path, 0.0)
        text = f"{value:,.0f} {translate('map', _UNITS[self._kind])}"
        if not self.path or not self._total:
            return text
        share = translate("map", "{0}, {1} of the model")
        return share.format(text, f"{value / self._total:.1%}")

    def set_model(self, graphs: PartGraphs, data: MapData, coloring: MapColoring) -> None:
        """Show another model, or the same one in other colours."""
        if self._graphs is None or self._graphs.architecture is not graphs.architecture:
            self.path = "" if graphs.module(self.path) is None else self.path
            self._parts = parts_of(graphs.architecture.modules)
        self._graphs, self._data, self._coloring = graphs, data, coloring
        if self.view.isVisible():
            self.update_areas()

    def update_areas(self) -> None:
        """Compute the areas and show them."""
        if self._graphs is None or self._coloring is None:
            return
        architecture, run = self._graphs.architecture, self._data.run
        whole = areas_of(architecture, self._kind, run)
        self._total = whole.value
        self._values = {}
        self._collect_values(whole)
        self.view.color = partial(self.color, self._coloring)
        self.view.area_tooltip = self._tooltip
        self.view.show_area(areas_of(architecture, self._kind, run, self.path))
        self.changed.emit()

    def open(self, path: str) -> None:
        """Show a module alone, if it has children."""
        if self._graphs is not None and self._graphs.architecture.children(path):
            self.path = path
            self.update_areas()

    def up(self) -> None:
        """Show the parent of the shown module."""
        if self.path:
            self.open(self.path.rpartition(".")[0])

    def color(self, coloring: MapColoring, path: str) -> NodeColor:
        """Return the colour and number of a module."""
        figure = short_count(round(self._values.get(path, 0.0)))
        if self._kind == "memory" and figure[-1:].isalpha():
            figure = f"{figure}B"
        return coloring.module(path, self._parts.get(path, "plain"), figure)

    def _collect_values(self, area: Area) -> None:
        if area.name:
            self._values[area.path] = area.value
        for part in area.parts:
            self._collect_values(part)

    def _tooltip(self, area: Area) -> str:
        module = None if self._graphs is None else self._graphs.module(area.path)
        share = area.value / self._total if self._total else 0.0
        name = area.path or area.name
        if not area.name:
            name = translate("map", "{0} itself, excluding its parts").format(area.path)
        unit = translate("map", _UNITS[self._kind])
        lines = [name, "" if module is None else module.class_name]
        lines.append(f"{area.value:,.0f} {unit} · {share:.2%}")
        return "\n".join(line for line in lines if line)

    def _show_kind(self) -> None:
        text = self.tr("Area: {0}").format(translate("map", _TITLES[self._kind]))
        self.area_button.show_choice(self._actions[self._kind], text)

    def _set_kind(self, kind: AreaKind) -> None:
        self._kind = kind
        self._show_kind()
        self.update_areas()
