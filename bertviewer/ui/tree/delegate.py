"""Draws the cells of the module tree: names with the hue of their part, shapes, counts and bars."""

import re

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
)
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView

from bertviewer.charts.theme import LARGE, MEDIUM, NORMAL, SMALL, STRONG, mixed
from bertviewer.core.util.numbers import count_text, short_count
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import monospaced, sized, tabular, weighted
from bertviewer.ui.theme.theme_of import theme_of
from bertviewer.ui.tree.cells import (
    CLASS,
    MACS,
    MODULE,
    ORDER,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    cell_text,
    look,
    sizes_of,
)
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.rows import TreeItem
from bertviewer.ui.widgets.labels import highlighted_line

SQUARE, NAME_LEFT = 8, 18
"""Pixels: a part's square, and where a name begins."""
PAD = 8
"""Pixels at both sides of a column."""
BAR = 3
MARKED = 0.28
"""How much of the accent lies behind letters that were looked for."""
LONGEST = 160
"""Letters of a name, of which nobody sees more."""

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TreeDelegate(QStyledItemDelegate):
    """Draws what stands on a row; the view draws what lies behind it."""

    def __init__(self, view: QTreeView, model: ModuleTreeModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self.is_exact = False  # whether counts have room for all digits
        self.follow_look()

    def follow_look(self) -> None:
        """Take over the view's colours and type; to be called when they change."""
        font = sized(self._view.font(), LARGE)
        self._theme = theme_of(self._view)
        self.name_font, self._strong = font, weighted(font, STRONG)
        self.count_font = tabular(weighted(sized(font, NORMAL), MEDIUM))
        self.shape_font = monospaced(sized(font, SMALL))
        self._small = sized(font, NORMAL)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        """Draw one cell; Qt calls it."""
        item = self._model.item(index)
        if item is None:
            return
        box, column = QRectF(option.rect), index.column()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if column == MODULE:
            self._draw_name(
                painter, box, item, bool(option.state & QStyle.StateFlag.State_Selected)
            )
        elif column in (SHAPE, OUTPUT_SHAPE):
            self._draw_shape(painter, box, item, column)
        elif column == PARAMETERS:
            self._draw_count(painter, box, item)
        else:
            self._draw_text(painter, box, item, column)
        painter.restore()

    def _draw_name(self, painter: QPainter, box: QRectF, item: TreeItem, is_selected: bool) -> None:
        theme, part = self._theme, item.rows.part(item)
        square = QRectF(box.left() + 4, box.center().y() - SQUARE / 2, SQUARE, SQUARE)
        painter.setPen(Qt.PenStyle.NoPen)
        if item.row.is_folded:  # a deck of layers
            painter.setBrush(QColor(theme.shade(part, 0.45)))
            painter.drawRoundedRect(square.translated(2, -2), 2, 2)
        painter.setBrush(QColor(theme.parts[part]))
        painter.drawRoundedRect(square, 2, 2)
        is_hit = not self._model.filter.terms or item.is_hit
        font = self._strong if is_selected else self.name_font
        color = theme.text if is_hit else theme.muted
        room = box.adjusted(NAME_LEFT, 0, self._empty_beside(item), 0)
        name = shortened(item.row.label)
        used = self._draw_marked(
            painter, room, name, font, color, self._model.filter.marks("name") if is_hit else ()
        )
        beside = room.adjusted(used + PAD, 0, 0, 0)
        remark = self._remark(item, is_hit, name)
        if remark and QFontMetricsF(self._small).horizontalAdvance(remark) <= beside.width():
            marks = self._model.filter.marks("class") if is_hit else ()
            self._draw_marked(painter, beside, remark, self._small, theme.muted, marks)

    def _empty_beside(self, item: TreeItem) -> int:
        """Return how far a name may go on into the column of shapes, which stand at its right."""
        header = self._view.header()
        beside = (column for column in ORDER[1:] if not header.isSectionHidden(column))
        if next(beside, None) != SHAPE:
            return 0
        text = self._shape(item, SHAPE)
        taken = QFontMetricsF(self.shape_font).horizontalAdvance(text) + 2 * PAD if text else 0
        return max(0, int(header.sectionSize(SHAPE) - taken))

    def _remark(self, item: TreeItem, is_hit: bool, name: str) -> str:
        """Return what stands behind a name: the class that was looked for, or how many layers."""
        marks = self._model.filter.marks("class") if is_hit else ()
        if marks and not _found(name, marks) and _found(item.row.class_label, marks):
            return shortened(item.row.class_label)
        if item.row.is_folded:
            many = self.tr("{0} identical layers")
            return count_text(len(item.row.members), self.tr("1 layer"), many)
        return ""

    def _draw_marked(  # noqa: PLR0917
        self,
        painter: QPainter,
        room: QRectF,
        text: str,
        font: QFont,
        color: str,
        marks: tuple[str, ...],
    ) -> float:
        """Draw a text from the left on, cut in its middle where it has to be; return its width."""
        metrics = QFontMetricsF(font)
        width = metrics.horizontalAdvance(text)
        if width > room.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room.width())
        painter.setPen(QColor(color))
        painter.setFont(font)
        spans = _found(text, marks)
        if not spans:
            painter.drawText(room, int(_LEFT), text)
            return width
        behind = QTextCharFormat()
        theme = self._theme
        behind.setBackground(QColor(mixed(theme.accent, theme.surface, MARKED)))
        behind.setForeground(QColor(theme.text))
        layout = highlighted_line(
            text, font, [(start, end - start, behind) for start, end in spans]
        )
        top = room.center().y() - layout.lineAt(0).height() / 2
        layout.draw(painter, QPointF(room.left(), top))
        return width

    def _draw_shape(self, painter: QPainter, box: QRectF, item: TreeItem, column: int) -> None:
        is_own = column == SHAPE and item.row.shape is not None
        painter.setFont(self.shape_font)
        painter.setPen(QColor(self._theme.text if is_own else self._theme.muted))
        room = box.adjusted(PAD / 2, 0, -PAD / 2, 0)
        self._draw_whole(painter, room, self._shape(item, column))

    def _shape(self, item: TreeItem, column: int) -> str:
        own = item.row.shape if column == SHAPE else None
        return look(item.rows.figures.output(item.row) if own is None else sizes_of(own))

    def _draw_count(self, painter: QPainter, box: QRectF, item: TreeItem) -> None:
        theme, row = self._theme, item.row
        count = f"{row.parameters:,}" if self.is_exact else short_count(row.parameters)
        inner = box.adjusted(PAD / 2, 0, -PAD, 0)
        painter.setFont(self.count_font)
        painter.setPen(QColor(theme.text if row.parameters else theme.muted))
        self._draw_whole(painter, inner.adjusted(0, -1, 0, -BAR - 2), count)
        if not row.parameters:
            return
        track = QRectF(inner.left(), inner.bottom() - BAR - 3, inner.width(), BAR)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line))
        painter.drawRoundedRect(track, BAR / 2, BAR / 2)
        track.setWidth(max(1.5, track.width() * min(1.0, row.share)))
        painter.setBrush(QColor(theme.parts[item.rows.part(item)]))
        painter.drawRoundedRect(track, BAR / 2, BAR / 2)

    def _draw_text(self, painter: QPainter, box: QRectF, item: TreeItem, column: int) -> None:
        room = box.adjusted(PAD / 2, 0, -PAD / 2, 0)
        if column == CLASS:
            marks = self._model.filter.marks("class")
            text = shortened(item.row.class_label)
            self._draw_marked(painter, room, text, self._small, self._theme.muted, marks)
            return
        if column == MACS and not self.is_exact:
            macs = item.rows.figures.macs(item.row)
            text = "" if macs is None else short_count(macs)
        else:
            text = cell_text(item, column, self._model.statistic)
        painter.setPen(QColor(self._theme.muted if text == "0" else self._theme.text))
        painter.setFont(self.count_font)
        self._draw_whole(painter, room, text)

    def _draw_whole(self, painter: QPainter, room: QRectF, text: str) -> None:
        """Draw numbers at the right, or an ellipsis: half a number would be a wrong one."""
        if painter.fontMetrics().horizontalAdvance(text) > room.width() + 1:
            text = "…"
        painter.drawText(room, int(_RIGHT), text)


def shortened(text: str) -> str:
    """Return a stranger's text fit to be drawn on one line."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    return printable(text)


def _found(text: str, marks: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where a text has what was looked for, from the left on and apart from one another."""
    spans: list[tuple[int, int]] = []
    if marks:
        pattern = "|".join(map(re.escape, sorted(marks, key=len, reverse=True)))
        spans = [found.span() for found in re.finditer(pattern, text, re.IGNORECASE)]
    return spans
