"""View of the module tree: backgrounds of rows, chevrons and keys."""

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
from typing_extensions import override

from bertviewer.charts.theme import mixed
from bertviewer.core.util.memory import gc_paused
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.tree.columns import MODULE
from bertviewer.ui.tree.delegate import TreeDelegate
from bertviewer.ui.tree.model import ModuleTreeModel

INDENT, NARROW_INDENT, SHIFT = 13, 9, 3
"""Pixels: of a level, of a level of a narrow tree, and to the right of the bar at the left edge."""
EDGE = 2.5
"""Pixels: the bar at the left edge of a selected row."""
_CHEVRON = 3.5
_STROKE = 1.5
_UNFOCUSED = 0.07
"""Strength of the grey behind a selected row without the focus."""


class ModuleTreeView(QTreeView):
    """Tree of modules; Enter emits ``opened`` with the key of the current row."""

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
        # drawRow paints selections: their colour depends on the focus.
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Highlight, QColor(Qt.GlobalColor.transparent))
        self.setPalette(palette)
        self.entered.connect(self._hover)
        model.figures_changed.connect(self.viewport().update)
        self._update_style()

    @property
    def cells(self) -> TreeDelegate:
        """The delegate."""
        delegate = self.itemDelegate()
        assert isinstance(delegate, TreeDelegate)
        return delegate

    def collapse_all(self) -> None:
        """Collapse all rows but the root."""
        self.collapseAll()
        self.expand(self._tree.index(0, MODULE))

    def open_rows(self, most: int | None = None) -> tuple[str, ...] | None:
        """Return the keys of expanded rows, ``None`` if there are more than ``most``."""
        keys = tuple(
            item.key
            for number, item in enumerate(self._tree.rows.items)
            if item.children and self.isExpanded(self._tree.index_at(number))
        )
        return None if most is not None and len(keys) > most else keys

    @gc_paused()
    def open_only(self, keys: Iterable[str]) -> None:
        """Expand these rows only; unknown keys are ignored."""
        self.collapseAll()
        for key in keys:
            if (index := self._tree.index_of(key)).isValid():
                self.expand(index)

    @override
    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self._tree.item(self.currentIndex())
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and item is not None:
            self.opened.emit(item.key)
            return
        super().keyPressEvent(event)

    @override
    def drawRow(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        theme = self._theme
        whole = QRectF(0, option.rect.y(), self.viewport().width(), option.rect.height())
        is_selected = self.selectionModel().isSelected(index)
        is_focused = self.hasFocus()
        if is_selected:
            unfocused = mixed(theme.text, theme.surface, _UNFOCUSED)
            painter.fillRect(whole, QColor(theme.selection if is_focused else unfocused))
        elif self._hovered == index:
            painter.fillRect(whole, QColor(theme.hover))
        super().drawRow(painter, option, index)
        if is_selected:
            edge = QRectF(0, whole.y(), EDGE, whole.height())
            painter.fillRect(edge, QColor(theme.accent if is_focused else theme.muted))

    @override
    def drawBranches(
        self, painter: QPainter, rect: QRect, index: QModelIndex | QPersistentModelIndex
    ) -> None:
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

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange):
            self._update_style()

    @override
    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(QModelIndex())

    def _hover(self, index: QModelIndex) -> None:
        self._hovered = QPersistentModelIndex(index.siblingAtColumn(MODULE))
        self.viewport().update()

    def _update_style(self) -> None:
        self._theme = theme_of(self)
        if isinstance(delegate := self.itemDelegate(), TreeDelegate):
            delegate.update_style()
