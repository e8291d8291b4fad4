"""Columns of the walk's tables that fit the room that there is, with their texts in lines."""

import re

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from bertviewer.ui.widgets.tables import Index

PADDING = 6
BREAK = "\u200b"
"""A space without width: where a line may end."""
_ENDS = re.compile(r"(?<=\+)|(?<=[a-z]-)|(?<=[a-z])(?=[A-Z])")


class ElasticColumns(QObject):
    """Keeps a table as wide as the room that there is, and rows as high as they need.

    The last column takes what the others leave; its sums are broken into lines. Where that is too
    little for it, the first names (column ``names``) are broken too. No column is narrower than its
    longest part that cannot be broken; then the table scrolls to the side.
    """

    def __init__(self, table: QTableView, names: int) -> None:
        super().__init__(table)
        self._table = table
        self._header = header = table.horizontalHeader()
        self._names, self._last = names, header.count() - 1
        header.setStretchLastSection(False)
        for column in (self._names, self._last):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        # Amid the header's own work it would take back what is changed here.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.fit)
        header.sectionResized.connect(self._on_section)
        table.viewport().installEventFilter(self)

    def fit(self) -> None:
        """Fit the columns and the rows to what is shown now."""
        least = self._width(self._last, is_broken=True)
        whole = self._width(self._names, is_broken=False)
        broken = self._width(self._names, is_broken=True)
        others = set(range(self._header.count())) - {self._names, self._last}
        room = self._table.viewport().width() - sum(map(self._header.sectionSize, others))
        names = min(whole, max(room - least, broken))
        self._header.resizeSection(self._names, names)
        self._header.resizeSection(self._last, max(room - names, least))
        self._table.resizeRowsToContents()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the table's size; Qt calls it."""
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return super().eventFilter(watched, event)

    def _width(self, column: int, is_broken: bool) -> int:
        """Return the width that a column needs, its texts broken wherever they may be or whole."""
        model, metrics = self._table.model(), self._table.fontMetrics()
        rows = (n for n in range(model.rowCount()) if self._table.columnSpan(n, column) == 1)
        lines = [line for row in rows for line in _lines(model.index(row, column))]
        parts = lines
        if is_broken:
            parts = [part for line in lines for part in line.replace(BREAK, " ").split()]
        widest = max(map(metrics.horizontalAdvance, parts), default=0)
        title = self._header.sectionSizeFromContents(column).width()
        return max(title, widest + 2 * PADDING + 2)

    def _on_section(self, section: int) -> None:
        if section not in (self._names, self._last):
            self._later.start()


class WrappingDelegate(QStyledItemDelegate):
    """Draws a cell's second line paler than its first; breaks names, and sums at their signs."""

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw one cell; Qt calls it."""
        self.initStyleOption(option, index)
        option.text = ""
        style = self._table.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, self._table)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        role = QPalette.ColorRole.Text
        muted = role if is_selected else QPalette.ColorRole.PlaceholderText
        lines = _lines(index)
        heights = self._heights(option, index, option.rect.width())
        top = option.rect.top() + (option.rect.height() - sum(heights)) // 2
        side = option.displayAlignment & Qt.AlignmentFlag.AlignHorizontal_Mask
        flags = int(side | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)
        painter.save()
        painter.setFont(option.font)
        for number, (text, height) in enumerate(zip(lines, heights, strict=True)):
            painter.setPen(option.palette.color(muted if number else role))
            box = QRect(option.rect.left(), top, option.rect.width(), height)
            painter.drawText(box.adjusted(PADDING, 0, -PADDING, 0), flags, text)
            top += height
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return what a cell needs; Qt calls it."""
        self.initStyleOption(option, index)
        metrics = QFontMetrics(option.font)
        width = max(metrics.horizontalAdvance(line) for line in _lines(index)) + 2 * PADDING + 2
        if self._table.columnSpan(index.row(), index.column()) > 1:
            width = 0  # it has other columns' room too
        height = sum(self._heights(option, index, self._table.columnWidth(index.column())))
        return QSize(width, height + 8)

    def _heights(self, option: QStyleOptionViewItem, index: Index, width: int) -> list[int]:
        metrics = QFontMetrics(option.font)
        if self._table.columnSpan(index.row(), index.column()) > 1:
            return [metrics.height() for _ in _lines(index)]
        box = QRect(0, 0, width - 2 * PADDING, 10_000)
        wrapped = int(Qt.TextFlag.TextWordWrap)
        return [metrics.boundingRect(box, wrapped, line).height() for line in _lines(index)]


def _lines(index: Index) -> list[str]:
    """Return a cell's lines, which may end at each plus and between the words of a name."""
    return _ENDS.sub(BREAK, str(index.data())).split("\n")
