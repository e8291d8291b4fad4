"""The tables of the walk: its steps with their shapes and counts, and its groups."""

import re
from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from bertviewer.core.architecture.count_steps import readable
from bertviewer.core.text.numerals import count_text
from bertviewer.core.walk.groups import CountGroups
from bertviewer.core.walk.walk import Walk, WalkPart, WalkShape, WalkStep
from bertviewer.ui.tables import Column, Index, Row, TableModel

PADDING = 6
BREAK = "\u200b"
"""A space without width: where a line may end."""
_ENDS = re.compile(r"(?<=\+)|(?<=[a-z]-)|(?<=[a-z])(?=[A-Z])")
TICK, CROSS = "✓", "✗"


class WalkTableModel(TableModel):
    """Each part of the walk under its sum, a step in one or two lines, the total last."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column("", is_number=True),
            Column(self.tr("Step")),
            Column(self.tr("Input")),
            Column(self.tr("Output")),
            Column(self.tr("Trainable"), is_number=True),
            Column(self.tr("Counted as")),
        )
        self._steps: list[WalkStep | None] = []

    def set_walk(self, walk: Walk) -> None:
        """Show a walk."""
        rows: list[Row] = []
        self._steps = []
        for part in walk.parts:
            rows.append(self._heading(part))
            self._steps.append(None)
            for step in part.steps:
                rows.append(self._step(step))
                self._steps.append(step)
        total = f"{walk.trainable:,} {TICK if walk.reconciles else CROSS}"
        says = self.tr("the steps add up to the model: {0}").format(f"{walk.expected:,}")
        rows.append(Row(("", self.tr("Total"), "", "", total, says), is_bold=True))
        self._steps.append(None)
        self.set_rows(rows)

    def path(self, row: int) -> str | None:
        """Return the module to look at in a row, ``None`` where it has none."""
        step = self._steps[row]
        return None if step is None else step.path

    def row_of(self, step: WalkStep) -> int:
        """Return the row of a step."""
        return next(n for n, s in enumerate(self._steps) if s and s.number == step.number)

    def is_heading(self, row: int) -> bool:
        """Tell whether a row is a part's, or the total's: its title has all columns to itself."""
        return self._steps[row] is None

    def _heading(self, part: WalkPart) -> Row:
        title = part.title
        if part.times > 1:
            times = f"{part.letters} = {part.times}" if part.letters else str(part.times)
            title = self.tr("{0}, of {1}").format(title, times)
        total = f"{part.trainable:,} {TICK if part.reconciles else CROSS}"
        hint = self.tr("The steps add up to the modules' own count: {0}").format(
            f"{part.expected:,}"
        )
        order = "" if part.is_planned else self.tr("modules in the tree's order")
        return Row(("", title, "", "", total, order), hint, is_bold=True)

    def _step(self, step: WalkStep) -> Row:
        count = step.count
        counted = "\n".join(readable(text) for text in (count.symbols, count.numbers) if text)
        hint = "\n".join(text for text in (step.note, step.path) if text)
        cells = (
            str(step.number),
            step.name,
            _shape(step.input_shape),
            _shape(step.output_shape),
            "" if step.is_input else f"{count.trainable:,}",
            step.values or counted,
        )
        return Row(cells, hint)


class GroupTableModel(TableModel):
    """One row a group: the sum as it is spelled, and with like terms together."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__((), parent)
        self._columns = (
            Column(self.tr("Group")),
            Column(self.tr("Parameters"), is_number=True),
            Column(self.tr("Counted as")),
        )

    def set_groups(self, groups: CountGroups) -> None:
        """Show other groups."""
        self.set_rows(list(self._rows_of(groups)))

    def _rows_of(self, groups: CountGroups) -> Iterator[Row]:
        for group in groups.groups:
            counted = "\n= ".join(group.lines) or self.tr("no formula found")
            yield Row((group.title, f"{group.result:,}", counted), group.text)
        tick = TICK if groups.reconciles else CROSS
        says = count_text(groups.tensors, self.tr("in 1 tensor"), self.tr("in {0} tensors"))
        yield Row((self.tr("Total"), f"{groups.total:,} {tick}", says), is_bold=True)


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


def _shape(shape: WalkShape | None) -> str:
    if shape is None:
        return ""
    return "\n".join(dict.fromkeys((readable(shape.text), readable(shape.numbers))))
