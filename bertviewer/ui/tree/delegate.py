"""Delegate of the module tree: names with the colour of their part, shapes, counts and bars."""

import re

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
)
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeView
from typing_extensions import override

from bertviewer.charts.theme import LARGE, MEDIUM, NORMAL, SMALL, STRONG, mixed
from bertviewer.core.util.numbers import count_text, short_count
from bertviewer.core.util.text import printable
from bertviewer.plots.fonts import monospaced, sized, tabular, weighted
from bertviewer.ui.theme.appearance import theme_of
from bertviewer.ui.tree.columns import (
    CLASS,
    COLUMNS,
    MACS,
    MODULE,
    OUTPUT_SHAPE,
    PARAMETERS,
    SHAPE,
    VISUAL_ORDER,
    shape_sizes,
    sizes_text,
)
from bertviewer.ui.tree.model import ModuleTreeModel
from bertviewer.ui.tree.rows import TreeItem
from bertviewer.ui.widgets.labels import highlighted_line

SQUARE, NAME_LEFT, PADDING, BAR = 8, 18, 8, 3
"""Pixels: the square of a part, where names start, beside each column, the height of a bar."""
HIGHLIGHT = 0.28
"""Opacity of the accent behind highlighted text."""
LONGEST = 160
"""Characters of a name or class that are drawn."""

_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class TreeDelegate(QStyledItemDelegate):
    """Draws the cells; the view draws the background of a row."""

    def __init__(self, view: QTreeView, model: ModuleTreeModel) -> None:
        super().__init__(view)
        self._view = view
        self._model = model
        self.is_exact = False  # whether counts have all digits
        self.update_style()

    def update_style(self) -> None:
        """Take over the view's colours and fonts."""
        font = sized(self._view.font(), LARGE)
        self._theme = theme_of(self._view)
        self.name_font, self._strong = font, weighted(font, STRONG)
        self.count_font = tabular(weighted(sized(font, NORMAL), MEDIUM))
        self.shape_font = monospaced(sized(font, SMALL))
        self._small = sized(font, NORMAL)

    @override
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        item = self._model.item(index)
        if item is None:
            return
        box, column = QRectF(option.rect), index.column()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if column == MODULE:
            is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
            self._draw_name(painter, box, item, is_selected)
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
        if item.row.is_folded:  # folded layers
            painter.setBrush(QColor(theme.shade(part, 0.45)))
            painter.drawRoundedRect(square.translated(2, -2), 2, 2)
        painter.setBrush(QColor(theme.parts[part]))
        painter.drawRoundedRect(square, 2, 2)
        is_hit = not self._model.filter.terms or item.is_hit
        painter.setFont(self._strong if is_selected else self.name_font)
        painter.setPen(QColor(theme.text if is_hit else theme.muted))
        room = box.adjusted(NAME_LEFT, 0, self._free_width(item), 0)
        name = shortened(item.row.label)
        names = self._model.filter.highlights("name") if is_hit else ()
        classes = self._model.filter.highlights("class") if is_hit else ()
        used = self._draw_highlighted(painter, room, name, names)
        room.adjust(used + PADDING, 0, 0, 0)
        secondary = self._secondary(item, name, classes)
        if secondary and QFontMetricsF(self._small).horizontalAdvance(secondary) <= room.width():
            painter.setFont(self._small)
            painter.setPen(QColor(theme.muted))
            self._draw_highlighted(painter, room, secondary, classes)

    def _free_width(self, item: TreeItem) -> int:
        """Return how far a name may extend into the column of right-aligned shapes."""
        header = self._view.header()
        shown = (column for column in VISUAL_ORDER[1:] if not header.isSectionHidden(column))
        if next(shown, None) != SHAPE:
            return 0
        text = self._shape(item, SHAPE)
        taken = QFontMetricsF(self.shape_font).horizontalAdvance(text) + 2 * PADDING if text else 0
        return max(0, int(header.sectionSize(SHAPE) - taken))

    def _secondary(self, item: TreeItem, name: str, texts: tuple[str, ...]) -> str:
        """Return the muted text after a name: the class if it matches, or the layers."""
        if texts and not _found(name, texts) and _found(item.row.class_label, texts):
            return shortened(item.row.class_label)
        if item.row.is_folded:
            many = self.tr("{0} identical layers")
            return count_text(len(item.row.members), self.tr("1 layer"), many)
        return ""

    def _draw_highlighted(
        self, painter: QPainter, room: QRectF, text: str, texts: tuple[str, ...]
    ) -> float:
        """Draw a text, elided in its middle if necessary; return its whole width."""
        metrics = QFontMetricsF(painter.font())
        width = metrics.horizontalAdvance(text)
        if width > room.width():
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room.width())
        spans = _found(text, texts)
        if not spans:
            painter.drawText(room, int(_LEFT), text)
            return width
        look, theme = QTextCharFormat(), self._theme
        look.setBackground(QColor(mixed(theme.accent, theme.surface, HIGHLIGHT)))
        look.setForeground(QColor(theme.text))
        ranges = [(start, end - start, look) for start, end in spans]
        layout = highlighted_line(text, painter.font(), ranges)
        top = room.center().y() - layout.lineAt(0).height() / 2
        layout.draw(painter, QPointF(room.left(), top))
        return width

    def _draw_shape(self, painter: QPainter, box: QRectF, item: TreeItem, column: int) -> None:
        is_own = column == SHAPE and item.row.shape is not None
        painter.setFont(self.shape_font)
        painter.setPen(QColor(self._theme.text if is_own else self._theme.muted))
        room = box.adjusted(PADDING / 2, 0, -PADDING / 2, 0)
        self._draw_right(painter, room, self._shape(item, column))

    def _shape(self, item: TreeItem, column: int) -> str:
        own = item.row.shape if column == SHAPE else None
        return sizes_text(item.rows.figures.output(item.row) if own is None else shape_sizes(own))

    def _draw_count(self, painter: QPainter, box: QRectF, item: TreeItem) -> None:
        theme, row = self._theme, item.row
        count = f"{row.parameters:,}" if self.is_exact else short_count(row.parameters)
        inner = box.adjusted(PADDING / 2, 0, -PADDING, 0)
        painter.setFont(self.count_font)
        painter.setPen(QColor(theme.text if row.parameters else theme.muted))
        self._draw_right(painter, inner.adjusted(0, -1, 0, -BAR - 2), count)
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
        room = box.adjusted(PADDING / 2, 0, -PADDING / 2, 0)
        if column == CLASS:
            texts = self._model.filter.highlights("class")
            painter.setFont(self._small)
            painter.setPen(QColor(self._theme.muted))
            self._draw_highlighted(painter, room, shortened(item.row.class_label), texts)
            return
        if column == MACS and not self.is_exact:
            macs = item.rows.figures.macs(item.row)
            text = "" if macs is None else short_count(macs)
        else:
            text = COLUMNS[column].text(item, self._model.statistic)
        painter.setPen(QColor(self._theme.muted if text == "0" else self._theme.text))
        painter.setFont(self.count_font)
        self._draw_right(painter, room, text)

    def _draw_right(self, painter: QPainter, room: QRectF, text: str) -> None:
        """Draw a right-aligned text, or an ellipsis: a number is never cut."""
        if painter.fontMetrics().horizontalAdvance(text) > room.width() + 1:
            text = "…"
        painter.drawText(room, int(_RIGHT), text)


def shortened(text: str) -> str:
    """Return an untrusted text that can be drawn on one line."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    return printable(text)


def _found(text: str, texts: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return the spans of a text that match any of several texts, without overlaps."""
    spans: list[tuple[int, int]] = []
    if texts:
        pattern = "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
        spans = [found.span() for found in re.finditer(pattern, text, re.IGNORECASE)]
    return spans
