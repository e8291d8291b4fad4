"""Table columns that fit the available width, with wrapped texts in two shades."""

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
from typing_extensions import override

from bertviewer.ui.widgets.tables import Index

PADDING = 6
BREAK = "\u200b"
"""Zero-width space."""
_MAY_WRAP = re.compile(r"(?<=\+)|(?<=[a-z]-)|(?<=[a-z])(?=[A-Z])")


class WrappedColumns(QObject):
    """Fits the columns of a table into its width, and the rows to their wrapped texts.

    The last column gets the remaining width, with its sums wrapped. If that is too narrow, the
    column ``names`` is wrapped, too. No column is narrower than its longest unbreakable text; then
    the table scrolls horizontally.
    """

    def __init__(self, table: QTableView, names: int) -> None:
        super().__init__(table)
        self._table = table
        self._header = header = table.horizontalHeader()
        self._names, self._last = names, header.count() - 1
        table.setItemDelegate(_WrappingDelegate(table))
        header.setStretchLastSection(False)
        for column in (self._names, self._last):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)
        # Deferred: the header would undo changes during its own resizing.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.fit)
        header.sectionResized.connect(self._on_resized)
        table.viewport().installEventFilter(self)

    def fit(self) -> None:
        """Fit the columns and rows to the texts of the model."""
        minimum = self._width(self._last, is_wrapped=True)
        others = set(range(self._header.count())) - {self._names, self._last}
        left = self._table.viewport().width() - sum(map(self._header.sectionSize, others))
        names = max(left - minimum, self._width(self._names, is_wrapped=True))
        names = min(names, self._width(self._names, is_wrapped=False))
        self._header.resizeSection(self._names, names)
        self._header.resizeSection(self._last, max(left - names, minimum))
        self._table.resizeRowsToContents()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return super().eventFilter(watched, event)

    def _width(self, column: int, is_wrapped: bool) -> int:
        """Return the width that a column needs, with its texts wrapped as much as possible."""
        model, metrics = self._table.model(), self._table.fontMetrics()
        rows = (n for n in range(model.rowCount()) if self._table.columnSpan(n, column) == 1)
        texts = [line for row in rows for line in _lines(model.index(row, column))]
        if is_wrapped:
            texts = [part for line in texts for part in line.replace(BREAK, " ").split()]
        widest = max(map(metrics.horizontalAdvance, texts), default=0)
        title = self._header.sectionSizeFromContents(column).width()
        return max(title, widest + 2 * PADDING + 2)

    def _on_resized(self, section: int) -> None:
        if section not in (self._names, self._last):
            self._timer.start()


class _WrappingDelegate(QStyledItemDelegate):
    """Draws the lines of a cell after the first one in a muted colour, all of them wrapped."""

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        option.text = ""
        style = self._table.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, self._table)
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        role = QPalette.ColorRole.Text
        muted = role if is_selected else QPalette.ColorRole.PlaceholderText
        heights = self._heights(option, index, option.rect.width())
        top = option.rect.top() + (option.rect.height() - sum(heights)) // 2
        side = option.displayAlignment & Qt.AlignmentFlag.AlignHorizontal_Mask
        flags = int(side | Qt.AlignmentFlag.AlignTop | Qt.TextFlag.TextWordWrap)
        painter.save()
        painter.setFont(option.font)
        for number, (text, height) in enumerate(zip(_lines(index), heights, strict=True)):
            painter.setPen(option.palette.color(muted if number else role))
            box = QRect(option.rect.left(), top, option.rect.width(), height)
            painter.drawText(box.adjusted(PADDING, 0, -PADDING, 0), flags, text)
            top += height
        painter.restore()

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        self.initStyleOption(option, index)
        metrics = QFontMetrics(option.font)
        width = max(metrics.horizontalAdvance(line) for line in _lines(index)) + 2 * PADDING + 2
        if self._table.columnSpan(index.row(), index.column()) > 1:
            width = 0
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
    """Return the lines of a cell, which may wrap after a plus and between the words of a name."""
    return _MAY_WRAP.sub(BREAK, str(index.data())).split("\n")
