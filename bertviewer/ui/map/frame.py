"""How strip and card of the map share its room."""

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.map.blocks import block_of
from bertviewer.charts.map.part_graphs import Scope
from bertviewer.plots.fonts import grown
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.map.head import MapHead
from bertviewer.ui.map.strip_painting import paint_lead
from bertviewer.ui.map.treemap_page import TreemapPage
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.widgets.layouts import vbox

_BETWEEN, _BETWEEN_LOW = 20, 5
"""Pixels between strip and card, through which two lines lead down where there is room."""
_LOW = 320
"""A tab of fewer pixels has room for little but the picture."""


class MapFrame(QWidget):
    """The head above, the card below, and two lines from what is opened down to its picture."""

    def __init__(self, head: MapHead, card: MapCard, treemap: TreemapPage) -> None:
        super().__init__()
        self._head, self._card, self._treemap = head, card, treemap
        self._is_low = False
        card.add_treemap(treemap.view, treemap.choice)
        self._rows = vbox(head, (card, 1), parent=self, margins=(14, 8, 14, 10), spacing=_BETWEEN)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        if self._is_low:
            return
        shown = self._head.strip.current
        if self._head.treemap.isChecked():
            shown = block_of(self._head.strip.blocks, Scope(self._treemap.path))
        block = self._head.strip.rect_of(shown).translated(QPointF(self._head.pos()))
        if block.isEmpty():
            return
        # Of two strips the lines of the upper one begin below both.
        block.setBottom(max(block.bottom(), self._head.geometry().bottom()))
        painter = QPainter(self)
        paint_lead(painter, block, QRectF(self._card.geometry()), theme_of(self))
        painter.end()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_low = self.height() < grown(_LOW)
        if is_low != self._is_low:
            self._is_low = is_low
            self._rows.setSpacing(_BETWEEN_LOW if is_low else _BETWEEN)
            self._head.set_low(is_low)
            self._card.set_low(is_low)
