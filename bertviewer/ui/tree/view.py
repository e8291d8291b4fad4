"""The view of the module tree: what lies behind its rows, its chevrons and its keys."""

from collections.abc import Iterable

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPalette, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyleOptionViewItem, QTreeView

from bertviewer.charts.theme import mixed
from bertviewer.core.util.memory import gc_paused
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.tree.delegate import TreeDelegate
from bertviewer.ui.tree.model import MODULE, ModuleTreeModel

INDENT, NARROW_INDENT, SHIFT = 13, 9, 3
"""Pixels: of a level, of one where there is little room, and of all from the bar at the left."""
EDGE = 2.5
"""Pixels: of the bar at a selected row's left."""
_CHEVRON = 3.5
_STROKE = 1.5
_AWAY = 0.07
"""How grey a selected row is while the keys go elsewhere."""


class ModuleTreeView(QTreeView):
    """Names, shapes and counts on calm rows.

    ``opened`` says that a module is to be looked at closely, by its row's key; ``left`` that Escape
    was pressed.
    """

    opened = Signal(str)

    def __init__(self, model: ModuleTreeModel) -> None:
        super().__init__()
        self._tree = model
        self._hovered = QPersistentModelIndex()
        self.setObjectName("moduleTree")
        self.setAccessibleName(self.tr("Modules of the model"))
        self.setModel(model)
        self.setUniformRowHeights(True)
        self.setIndentation(INDENT)
        self.setHorizontalScrollMode(QTreeView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QTreeView.ScrollMode.ScrollPerPixel)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setMouseTracking(True)
        self.setItemDelegate(TreeDelegate(self, model))
        # What lies behind a selected row is drawn here: it hangs on where the keys go.
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Highlight, QColor(Qt.GlobalColor.transparent))
        self.setPalette(palette)
        self.entered.connect(self._hover)
        model.figures_changed.connect(self.viewport().update)
        self._follow_look()

    @property
    def cells(self) -> TreeDelegate:
        """What draws the cells."""
        delegate = self.itemDelegate()
        assert isinstance(delegate, TreeDelegate)
        return delegate

    def collapse_all(self) -> None:
        """Close all rows but the model itself."""
        self.collapseAll()
        self.expand(self._tree.index(0, MODULE))

    def open_rows(self, most: int | None = None) -> tuple[str, ...] | None:
        """Return the keys of the rows that are open; ``None`` where they are more than ``most``."""
        keys = tuple(
            item.key
            for number, item in enumerate(self._tree.rows.items)
            if item.children and self.isExpanded(self._tree.index_at(number))
        )
        return None if most is not None and len(keys) > most else keys

    @gc_paused()
    def open_only(self, keys: Iterable[str]) -> None:
        """Have these rows open, and no others; those that are not there are left out."""
        self.collapseAll()
        for key in keys:
            if (index := self._tree.index_of(key)).isValid():
                self.expand(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Open the module; Qt calls it, and does what arrows, ``*`` and letters are for."""
        item = self._tree.item(self.currentIndex())
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self.opened.emit(item.key)
            return
        super().keyPressEvent(event)

    def drawRow(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw a row over what tells that it is selected; Qt calls it."""
        theme = self._theme
        whole = QRectF(0, option.rect.y(), self.viewport().width(), option.rect.height())
        is_selected = self.selectionModel().isSelected(index)
        is_focused = self.hasFocus()
        if is_selected:
            away = mixed(theme.text, theme.surface, _AWAY)
            painter.fillRect(whole, QColor(theme.selection if is_focused else away))
        elif self._hovered == index:
            painter.fillRect(whole, QColor(theme.hover))
        super().drawRow(painter, option, index)
        if is_selected:
            edge = QRectF(0, whole.y(), EDGE, whole.height())
            painter.fillRect(edge, QColor(theme.accent if is_focused else theme.muted))

    def drawBranches(
        self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """Draw a chevron before a row that has others below it; Qt calls it."""
        if not self._tree.hasChildren(index):
            return
        middle = QPointF(rect.right() + 1 - self.indentation() / 2 + SHIFT, rect.center().y() + 0.5)
        is_open = self.isExpanded(index)
        steps = ((-1, -0.5), (0, 0.5), (1, -0.5)) if is_open else ((-0.5, -1), (0.5, 0), (-0.5, 1))
        points = [middle + QPointF(x * _CHEVRON, y * _CHEVRON) for x, y in steps]
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(QColor(self._theme.muted), _STROKE)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.drawPolyline(points)
        painter.restore()

    def changeEvent(self, event: QEvent) -> None:
        """Follow colours and type; Qt calls it."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._follow_look()

    def leaveEvent(self, event: QEvent) -> None:
        """Let no row look hovered any more; Qt calls it."""
        super().leaveEvent(event)
        self._hover(QModelIndex())

    def _hover(self, index: QModelIndex) -> None:
        self._hovered = QPersistentModelIndex(index.siblingAtColumn(MODULE))
        self.viewport().update()

    def _follow_look(self) -> None:
        self._theme = theme_of(self)
        if isinstance(delegate := self.itemDelegate(), TreeDelegate):
            delegate.follow_look()
