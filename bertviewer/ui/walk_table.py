"""The tables of the walk: its steps with their shapes and counts, and its groups."""

from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from bertviewer.core.counting.count_steps import readable
from bertviewer.core.walk.groups import CountGroups
from bertviewer.core.walk.walk import Walk, WalkPart, WalkShape, WalkStep
from bertviewer.ui.tables import Column, Index, Row, TableModel

PADDING = 6
NARROWEST = 110  # pixels of the last column, whose sums are broken into lines
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

    def row_of(self, path: str) -> int | None:
        """Return the first row about a module, ``None`` if there is none."""
        return next((n for n, s in enumerate(self._steps) if s and s.path == path), None)

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
        says = self.tr("in {0} tensors").format(groups.tensors)
        yield Row((self.tr("Total"), f"{groups.total:,} {tick}", says), is_bold=True)


class LastColumn(QObject):
    """Keeps a table's last column as wide as the room that is left, and rows as high as it needs.

    It is never narrower than ``NARROWEST`` and than its longest word; then the table scrolls to
    the side.
    """

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table
        self._header = table.horizontalHeader()
        self._header.setStretchLastSection(False)
        self._header.setSectionResizeMode(self._last, QHeaderView.ResizeMode.Fixed)
        self._header.sectionResized.connect(self._on_section)
        table.viewport().installEventFilter(self)

    def fit(self) -> None:
        """Fit the column and the rows to what is shown now."""
        others = self._header.length() - self._header.sectionSize(self._last)
        room = self._table.viewport().width() - others
        self._header.resizeSection(self._last, max(room, self._least()))
        self._table.resizeRowsToContents()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the table's size; Qt calls it."""
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return super().eventFilter(watched, event)

    @property
    def _last(self) -> int:
        return self._header.count() - 1

    def _least(self) -> int:
        """Return the width of the longest word, which cannot be broken."""
        model, metrics = self._table.model(), self._table.fontMetrics()
        texts = (str(model.index(row, self._last).data()) for row in range(model.rowCount()))
        words = (word for text in texts for word in text.replace("+", "+ ").split())
        longest = max(map(metrics.horizontalAdvance, words), default=0)
        return max(NARROWEST, longest + 2 * PADDING)

    def _on_section(self, section: int) -> None:
        if section != self._last:
            self.fit()


class WrappingDelegate(QStyledItemDelegate):
    """Draws a cell's second line paler than its first, and breaks sums in the last column."""

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
        role = QPalette.ColorRole.HighlightedText if is_selected else QPalette.ColorRole.Text
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

    def _is_last(self, index: Index) -> bool:
        return index.column() == index.model().columnCount() - 1

    def _heights(self, option: QStyleOptionViewItem, index: Index, width: int) -> list[int]:
        metrics = QFontMetrics(option.font)
        if not self._is_last(index):
            return [metrics.height() for _ in _lines(index)]
        box = QRect(0, 0, width - 2 * PADDING, 10_000)
        wrapped = int(Qt.TextFlag.TextWordWrap)
        return [metrics.boundingRect(box, wrapped, line).height() for line in _lines(index)]


def _lines(index: Index) -> list[str]:
    """Return a cell's lines, which may break at each plus."""
    return str(index.data()).replace("+", "+\u200b").split("\n")


def _shape(shape: WalkShape | None) -> str:
    if shape is None:
        return ""
    return "\n".join(dict.fromkeys((readable(shape.text), readable(shape.numbers))))
